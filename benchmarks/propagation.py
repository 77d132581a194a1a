"""Compare sharding propagation through a long chain of MLP layers with the time to parse it.

    python -m benchmarks.propagation [--quick]

Measures the least CPU time of several runs in one process. The targets: at most half of the time to
parse the same text, time proportional to the number of operations, and no more time for 4096
devices than for 4. The figures are meaningful only on an otherwise idle machine.
"""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass
from mesh_opt.tools.driver import new_context

from .arguments import is_quick
from .programs import mlp_chain

RATIO_TARGET = 0.5
LINEAR_TARGET = 1.3
DEVICES_TARGET = 1.1


@dataclass(frozen=True)
class Times:
    """CPU times in seconds."""

    parse: float
    propagate: float


def main() -> int:
    """Measure and print; return 0 if every target was met, otherwise 1."""
    quick = is_quick(__doc__)
    small, large, runs = (1_000, 5_000, 2) if quick else (10_000, 50_000, 4)
    base = measure(small, "2x2", runs)
    ratio = base.propagate / base.parse
    print(f"{small} operations: parse {base.parse:.2f} s, propagate {base.propagate:.2f} s")
    print(f"  propagate / parse = {ratio:.2f} (target {RATIO_TARGET})")
    many = measure(small, "64x64", runs)
    devices = many.propagate / base.propagate
    print(f"  4096 devices / 4 devices = {devices:.2f} (target {DEVICES_TARGET})")
    long = measure(large, "2x2", max(1, runs // 2))
    linear = long.propagate / base.propagate / (large / small)
    print(f"{large} operations: propagate {long.propagate:.2f} s")
    print(f"  time per operation, against {small} operations = {linear:.2f} ({LINEAR_TARGET})")
    met = (ratio <= RATIO_TARGET, devices <= DEVICES_TARGET, linear <= LINEAR_TARGET)
    return 0 if all(met) else 1


def measure(operations: int, grid: str, runs: int) -> Times:
    """Return the least times of several runs on one program."""
    text = mlp_chain(operations, grid)
    parse, propagate = float("inf"), float("inf")
    for _ in range(runs):
        gc.collect()
        gc.disable()
        start = time.process_time()
        context = new_context()
        module = parse_module(context, Source(text, "chain"))
        parsed = time.process_time()
        ShardingPropagationPass().apply(context, module)
        done = time.process_time()
        gc.enable()
        parse, propagate = min(parse, parsed - start), min(propagate, done - parsed)
    return Times(parse, propagate)


if __name__ == "__main__":
    sys.exit(main())
