"""Compare the cost of our sharding choices with Shardy's and XLA's.

    MESH_OPT_PEERS_PYTHON=... make choices

Prints `docs/sharding_choices.md`, and exits with 1 if a program sends more bytes than the better of
the two, or computes more than that one does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.imports.convert_sdy_to_shard import ConvertSdyToShardPass
from mesh_opt.passes.sharding.shard_complete import shard_complete
from mesh_opt.passes.sharding.shard_partition import ShardPartitionPass
from mesh_opt.passes.sharding.shard_simplify import ShardSimplifyPass
from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass
from mesh_opt.tools.driver import new_context

from .arguments import parser_of
from .program_costs import collective_bytes, contraction_work

TOKENS = (64, 4096)
MORE = 1.001
"""Figures count as equal up to this factor; their first four digits are printed."""
HEAD = """# What the choices of shardings cost

The programs of `benchmarks/jax_programs.py`, on a mesh of dp=2 x tp=4 and in f32. Each cell has
the KiB that one device sends (by ring algorithms) / the millions of multiplications and additions
in its tensor products. Bold: fewer bytes than both others. Italic: more bytes than the better of
the two, or more work than that one. With all three, results without an annotation may end up
split.

To generate this file again, name a Python that has JAX:

    MESH_OPT_PEERS_PYTHON=... make choices
"""
PASSES = (
    ConvertSdyToShardPass,
    ShardingPropagationPass,
    shard_complete,
    ShardPartitionPass,
    ShardSimplifyPass,
)


@dataclass(frozen=True)
class Figures:
    """What one device of a partitioned program sends, and computes in tensor products."""

    kibibytes: float
    work: float
    """Multiplications and additions."""

    def __str__(self) -> str:
        return f"{self.kibibytes:.4g} / {self.work / 1e6:.4g}"

    def no_worse(self, others: Sequence[Figures]) -> bool:
        """Return whether bytes and work are at most those of the one that sends least."""
        best = min(others, key=lambda each: (each.kibibytes, each.work))
        return self.kibibytes <= best.kibibytes * MORE and self.work <= best.work * MORE


def main() -> int:
    """Print the table; return 1 if a program is worse than the better of Shardy and XLA."""
    parser_of(__doc__).parse_args()
    found = peers_figures(os.environ.get("MESH_OPT_PEERS_PYTHON", "python3"), TOKENS)
    names = dict.fromkeys(key.partition("/")[0] for key in found)
    print(HEAD)
    print("| program | " + " | ".join(f"{n} tokens: Shardy | XLA | ours" for n in TOKENS) + " |")
    print("|---" * (1 + 3 * len(TOKENS)) + "|")
    worse = 0
    for name in names:
        cells: list[str] = []
        for tokens in TOKENS:
            peers = of_peers(found[f"{name}/{tokens}"])
            ours = our_figures(str(found[f"{name}/{tokens}"]["linalg"]))
            worse += not ours.no_worse(peers)
            fewer = ours.kibibytes * MORE < min(each.kibibytes for each in peers)
            mark = "**" if fewer else "" if ours.no_worse(peers) else "_"
            cells += [*map(str, peers), f"{mark}{ours}{mark}"]
        print(f"| {name} | " + " | ".join(cells) + " |")
    return 1 if worse else 0


def of_peers(figures: dict[str, str | float]) -> tuple[Figures, Figures]:
    """Return the figures of Shardy and of XLA from `jax_programs.py`."""
    return (
        Figures(float(figures["shardy"]), float(figures["shardy_work"])),
        Figures(float(figures["xla"]), float(figures["xla_work"])),
    )


def peers_figures(python: str, tokens: tuple[int, ...]) -> dict[str, dict[str, str | float]]:
    """Return programs and figures from the script that runs in a Python with JAX."""
    script = Path(__file__).with_name("jax_programs.py")
    done = subprocess.run(
        [python, str(script), *map(str, tokens)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def our_figures(text: str) -> Figures:
    """Return the figures of our partitioned program."""
    context = new_context()
    module = parse_module(context, Source(text, "program"))
    for each in PASSES:
        each().apply(context, module)
    return Figures(collective_bytes(module) / 1024, contraction_work(module))


if __name__ == "__main__":
    sys.exit(main())
