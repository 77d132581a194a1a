"""Compare the partitioning of a long chain of annotated MLP layers with the time to parse it.

    python -m benchmarks.partition [--quick]

Measures the least CPU time of several runs in one process. The targets: at most 0.7 of the time to
parse the annotated text, time proportional to the number of operations, no more time for 4096
devices than for 4, and 5 ms to plan a reshard of a rank-4 tensor on a three-dimensional grid. The
figures are meaningful only on an otherwise idle machine.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from dataclasses import dataclass
from itertools import permutations, product

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.registry import all_passes
from mesh_opt.passes.sharding.shard_partition import ShardPartitionPass
from mesh_opt.passes.sharding.shard_simplify import ShardSimplifyPass
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.reshard import plan_reshard
from mesh_opt.sharding.sharding import Sharding
from mesh_opt.tools.driver import new_context

from .arguments import is_quick
from .programs import mlp_chain

RATIO_TARGET = 0.7
LINEAR_TARGET = 1.3
DEVICES_TARGET = 1.1
PLAN_TARGET = 5e-3


@dataclass(frozen=True)
class Times:
    """CPU times in seconds."""

    parse: float
    partition: float
    simplify: float


def main() -> int:
    """Measure and print; return 0 if every target was met, otherwise 1."""
    quick = is_quick(__doc__)
    small, large, runs = (1_000, 5_000, 2) if quick else (10_000, 50_000, 3)
    base = measure(small, "2x2", runs)
    ratio = base.partition / base.parse
    print(
        f"{small} operations: parse {base.parse:.2f} s, partition {base.partition:.2f} s,"
        f" simplify {base.simplify:.2f} s"
    )
    print(f"  partition / parse = {ratio:.2f} (target {RATIO_TARGET})")
    many = measure(small, "64x64", runs)
    devices = many.partition / base.partition
    print(f"  4096 devices / 4 devices = {devices:.2f} (target {DEVICES_TARGET})")
    long = measure(large, "2x2", max(1, runs // 2))
    linear = long.partition / base.partition / (large / small)
    print(f"{large} operations: partition {long.partition:.2f} s")
    print(f"  time per operation, against {small} operations = {linear:.2f} ({LINEAR_TARGET})")
    mean, most = planning(20 if quick else 200)
    print(f"plan a reshard: mean {mean * 1e3:.1f} ms, most {most * 1e3:.1f} ms (target: mean 5)")
    met = (
        ratio <= RATIO_TARGET,
        devices <= DEVICES_TARGET,
        linear <= LINEAR_TARGET,
        mean <= PLAN_TARGET,
    )
    return 0 if all(met) else 1


def measure(operations: int, grid: str, runs: int) -> Times:
    """Return the least times of several runs on one program."""
    text = _annotated(mlp_chain(operations, grid))
    best = [float("inf")] * 3
    for _ in range(runs):
        gc.collect()
        context = new_context()
        start = time.process_time()
        module = parse_module(context, Source(text, "chain"))
        parsed = time.process_time()
        ShardPartitionPass().apply(context, module)
        partitioned = time.process_time()
        ShardSimplifyPass().apply(context, module)
        end = time.process_time()
        times = (parsed - start, partitioned - parsed, end - partitioned)
        best = [min(old, new) for old, new in zip(best, times, strict=True)]
    return Times(*best)


def _annotated(text: str) -> str:
    """Return a program with the annotations that propagation adds."""
    context = new_context()
    module = parse_module(context, Source(text, "chain"))
    for name in ("sharding-propagation", "shard-complete"):
        all_passes()[name]()().apply(context, module)
    return print_operation(module)


def planning(pairs: int) -> tuple[float, float]:
    """Return the mean and maximal time to plan a reshard between random shardings, uncached."""
    grid = Grid("g", (2, 4, 8))
    ways = [
        Sharding(
            grid,
            tuple(
                tuple(a for a, place in zip(axes, places, strict=True) if place == d)
                for d in range(4)
            ),
        )
        for length in range(4)
        for axes in permutations(range(3), length)
        for places in product(range(4), repeat=length)
        if list(places) == sorted(places)
    ]
    chosen = random.Random(0)
    # Disable garbage collection, as inside the pass: it would repeatedly scan the program.
    gc.collect()
    gc.disable()
    times: list[float] = []
    for _ in range(pairs):
        source, target = chosen.choice(ways), chosen.choice(ways)
        start = time.process_time()
        plan_reshard((64, 64, 64, 64), source, target)
        times.append(time.process_time() - start)
    gc.enable()
    return sum(times) / len(times), max(times)


if __name__ == "__main__":
    sys.exit(main())
