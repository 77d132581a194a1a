"""Compare the partitioning of a long chain of annotated MLP layers with the time to parse it.

    python -m benchmarks.partition [--quick]

Measures as `benchmarks.scaling` does; partitioning should take at most 0.7 of the time to parse the
annotated text. Another target is 5 ms to plan a reshard of a rank-4 tensor on a three-dimensional
grid. The figures are meaningful only on an otherwise idle machine.
"""

from __future__ import annotations

import gc
import random
import sys
import time
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
from .scaling import meets_targets

RATIO_TARGET = 0.7
PLAN_TARGET = 5e-3


def main() -> int:
    """Measure and print; return 0 if every target was met, otherwise 1."""
    quick = is_quick(__doc__)
    passes = {"partition": ShardPartitionPass(), "simplify": ShardSimplifyPass()}
    met = meets_targets(passes, _annotated_chain, RATIO_TARGET, quick)
    mean, most = planning(20 if quick else 200)
    print(f"plan a reshard: mean {mean * 1e3:.1f} ms, most {most * 1e3:.1f} ms (target: mean 5)")
    return 0 if met and mean <= PLAN_TARGET else 1


def _annotated_chain(operations: int, grid: str) -> str:
    """Return a chain with the annotations that propagation adds."""
    context = new_context()
    module = parse_module(context, Source(mlp_chain(operations, grid), "chain"))
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
