"""What our choices of shardings cost, against Shardy's and XLA's.

    MESH_OPT_PEERS_PYTHON=... python -m benchmarks.sharding_choices

Prints a table of KiB that each device sends (ring algorithms, f32, mesh dp=2 x tp=4), and exits
with 1 if a program sends more than the better of the two. What nobody asked to be replicated in the
end may end up split, with all three.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from mesh_opt.passes.sharding.convert_sdy_to_shard import ConvertSdyToShardPass
from mesh_opt.passes.sharding.shard_complete import ShardCompletePass
from mesh_opt.passes.sharding.shard_partition import ShardPartitionPass
from mesh_opt.passes.sharding.shard_simplify import ShardSimplifyPass
from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.parsing import parse_module
from mesh_opt.tools.source import Source

from .collective_bytes import collective_bytes

TOKENS = (64, 4096)
PASSES = (
    ConvertSdyToShardPass,
    ShardingPropagationPass,
    ShardCompletePass,
    ShardPartitionPass,
    ShardSimplifyPass,
)


def main() -> int:
    """Print the table."""
    found = peers_figures(os.environ.get("MESH_OPT_PEERS_PYTHON", "python3"), TOKENS)
    names = dict.fromkeys(key.partition("/")[0] for key in found)
    print("| program | " + " | ".join(f"{n} tokens: Shardy | XLA | ours" for n in TOKENS) + " |")
    print("|---" * (1 + 3 * len(TOKENS)) + "|")
    worse = 0
    for name in names:
        cells: list[str] = []
        for tokens in TOKENS:
            figures = found[f"{name}/{tokens}"]
            shardy, xla = float(figures["shardy"]), float(figures["xla"])
            ours = our_kibibytes(str(figures["linalg"]))
            worse += ours > min(shardy, xla) * 1.001
            mark = "**" if ours < min(shardy, xla) * 0.999 else ""
            cells += [f"{shardy:.4g}", f"{xla:.4g}", f"{mark}{ours:.4g}{mark}"]
        print(f"| {name} | " + " | ".join(cells) + " |")
    return 1 if worse else 0


def peers_figures(python: str, tokens: tuple[int, ...]) -> dict[str, dict[str, str | float]]:
    """Programs and figures from the script that runs in a Python with JAX."""
    script = Path(__file__).with_name("jax_programs.py")
    done = subprocess.run(
        [python, str(script), *map(str, tokens)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def our_kibibytes(text: str) -> float:
    """The KiB that each device sends in our partitioned program."""
    context = new_context()
    module = parse_module(context, Source(text, "program"))
    for each in PASSES:
        each().apply(context, module)
    return collective_bytes(module) / 1024


if __name__ == "__main__":
    sys.exit(main())
