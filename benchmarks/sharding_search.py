"""Compare `shard-search` on known programs without annotations with their annotated forms.

    MESH_OPT_PEERS_PYTHON=... python -m benchmarks.sharding_search

Prints the table of docs/sharding_search.md.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.search.candidates import program_cost
from mesh_opt.passes.sharding.shard_search import ShardSearchPass
from mesh_opt.passes.sharding.spmd import SpmdPass
from mesh_opt.passes.sharding.strip_annotations import strip_annotations
from mesh_opt.sharding.machine_presets import GPU_HOST
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp

from .arguments import parser_of
from .program_costs import collective_bytes, contraction_work
from .sharding_choices import TOKENS, Figures, of_peers, our_figures, peers_figures

COLUMNS = ("annotated", "searched", "searched, half the memory")


def main() -> int:
    """Print the table row by row, and to standard error how many rows are better and worse."""
    parser_of(__doc__).parse_args()
    found = peers_figures(os.environ.get("MESH_OPT_PEERS_PYTHON", "python3"), TOKENS)
    names = dict.fromkeys(key.partition("/")[0] for key in found)
    heads = [f"{tokens} tokens: {COLUMNS[0]}" for tokens in TOKENS]
    print("| program | " + " | ".join(" | ".join((h, *COLUMNS[1:])) for h in heads) + " |")
    print("|---" * (1 + len(COLUMNS) * len(TOKENS)) + "|")
    fewer = more = 0
    for name in names:
        cells: list[str] = []
        for tokens in TOKENS:
            entry = found[f"{name}/{tokens}"]
            text = str(entry["linalg"])
            ours = (*of_peers(entry), our_figures(text))
            best = min(ours, key=lambda each: (each.kibibytes, each.work))
            cells.append(str(best))
            whole = searched(text, None)
            held = program_cost(without_annotations(text), GPU_HOST).peak
            for memory in (None, held // 2):
                figures = whole if memory is None else searched(text, memory)
                cells.append(marked(figures, best))
            fewer += whole is not None and whole.kibibytes < best.kibibytes * 0.999
            more += whole is None or whole.kibibytes > best.kibibytes * 1.001
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"fewer bytes: {fewer}, more: {more} of {len(found)}", file=sys.stderr)
    return 0


def marked(figures: Figures | None, best: Figures) -> str:
    """Format figures: bold for fewer bytes than `best`, italic for more bytes or work."""
    if figures is None:
        return "does not fit"
    if figures.kibibytes < best.kibibytes * 0.999:
        return f"**{figures}**"
    return str(figures) if figures.no_worse([best]) else f"_{figures}_"


def without_annotations(text: str) -> ModuleOp:
    """Return a program without its shardings."""
    context = new_context()
    module = parse_module(context, Source(text, "program"))
    strip_annotations().apply(context, module)
    return module


def searched(text: str, memory: int | None) -> Figures | None:
    """Return the figures of the program that the search finds; `None` if none fits the memory."""
    context, module = new_context(), without_annotations(text)
    options = ShardSearchPass(grid="2x4", objective="bytes")
    if memory is not None:
        options = replace(options, memory=f"{memory}B")
    try:
        options.apply(context, module)
    except OperationError:
        return None
    SpmdPass().apply(context, module)
    return Figures(collective_bytes(module) / 1024, contraction_work(module))


if __name__ == "__main__":
    sys.exit(main())
