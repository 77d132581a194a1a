"""Count operations by their names."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...ir.attribute_access import operation_name
from ...ir.diagnostics import write_pass_output


@dataclass(frozen=True)
class PrintOpStatsPass(ModulePass):
    """Print the number of operations of each name on standard error."""

    name = "print-op-stats"

    json: bool = False
    """Whether to print them as JSON."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        counts = Counter(operation_name(operation) for operation in op.walk())
        write_pass_output(_as_json(counts) if self.json else _as_table(counts))


def _as_json(counts: Counter[str]) -> str:
    return f"{json.dumps(dict(sorted(counts.items())), indent=2)}\n"


def _as_table(counts: Counter[str]) -> str:
    """Return the table that `mlir-opt` prints, aligned at the dot between dialect and op name."""
    names = [name.partition(".") for name in sorted(counts)]
    left = max((len(dialect) for dialect, _, _ in names), default=0) + 2
    right = max((len(rest) for _, _, rest in names), default=0)
    lines = ["Operations encountered:", "-----------------------"]
    for dialect, dot, rest in names:
        count = counts[f"{dialect}{dot}{rest}"]
        lines.append(f"{dialect:>{left}}{dot}{rest:<{right}} , {count}")
    return "\n".join(lines) + "\n"
