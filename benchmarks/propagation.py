"""Compare sharding propagation through a long chain of MLP layers with the time to parse it.

    python -m benchmarks.propagation [--quick]

Measures as `benchmarks.scaling` does; propagation should take at most half of the time to parse.
The figures are meaningful only on an otherwise idle machine.
"""

from __future__ import annotations

import sys

from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass

from .arguments import is_quick
from .programs import mlp_chain
from .scaling import meets_targets

RATIO_TARGET = 0.5


def main() -> int:
    """Measure and print; return 0 if every target was met, otherwise 1."""
    passes = {"propagate": ShardingPropagationPass()}
    return 0 if meets_targets(passes, mlp_chain, RATIO_TARGET, is_quick(__doc__)) else 1


if __name__ == "__main__":
    sys.exit(main())
