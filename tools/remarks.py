"""What `--remarks` asks for, in every tool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..ir.usage_error import UsageError

if TYPE_CHECKING:
    from ..ir.diagnostics import Remark
    from .diagnostics import Diagnostic

REMARKS = ("sharding", "encoding", "dispatch", "backend", "all")
"""The categories of remarks."""

REMARKS_HELP = (
    "print what was decided: about sharding, encoding, dispatch, backend (what has no native"
    " kernel, and why), or all"
)


def check_categories(categories: Sequence[str]) -> None:
    """Raise UsageError for a category that there is not."""
    for category in categories:
        if category not in REMARKS:
            known = ", ".join(REMARKS)
            raise UsageError(f"--remarks: there is no category '{category}', but {known}")


def wants(categories: Collection[str], category: str) -> bool:
    """Whether remarks of a category are asked for."""
    return "all" in categories or category in categories


def remark_sink(
    categories: Collection[str], report: Callable[[Diagnostic], None]
) -> Callable[[Remark], None]:
    """Reports remarks of some categories, each once: a program may be looked at again."""
    from .diagnostics import from_remark

    seen: set[Diagnostic] = set()

    def sink(remark: Remark) -> None:
        diagnostic = from_remark(remark)
        if wants(categories, remark.category) and diagnostic not in seen:
            seen.add(diagnostic)
            report(diagnostic)

    return sink
