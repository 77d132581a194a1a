"""What `--remarks` options mean: their categories and filters, and how remarks are written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..ir.usage_error import UsageError

if TYPE_CHECKING:
    from ..ir.diagnostics import Remark
    from .diagnostics import Diagnostic

REMARKS = ("sharding", "encoding", "dispatch", "backend", "all")
"""The categories of remarks."""

REMARKS_HELP = (
    "print remarks on decisions about sharding, encoding, dispatch, backend (why operations have no"
    " native kernel), or all"
)


def check_categories(categories: Sequence[str]) -> None:
    """Raise UsageError for an unknown category."""
    for category in categories:
        if category not in REMARKS:
            known = ", ".join(REMARKS)
            raise UsageError(f"--remarks: there is no category '{category}', but {known}")


_MISSED = frozenset({"backend"})
"""Categories of missed optimisations in LLVM's terms; the others are "passed"."""


def wanted_categories(listed: Sequence[str], filters: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the categories listed in `--remarks` and those that match regular expressions.

    `filters` are the expressions by option name after `--remarks-`. Raises UsageError for an
    unknown category or an invalid expression.
    """
    check_categories(listed)
    found = list(listed)
    for name, pattern in filters.items():
        if pattern is not None:
            try:
                expression = re.compile(pattern)
            except re.error as problem:
                what = f"'{pattern}' is not a valid regular expression: {problem}"
                raise UsageError(f"--remarks-{name}: {what}") from problem
            found += [one for one in _categories_of(name) if expression.search(one)]
    return tuple(dict.fromkeys(found))


def _categories_of(kind: str) -> list[str]:
    """Return the categories that a filter chooses from. No remarks of other kinds exist."""
    categories = [one for one in REMARKS if one != "all"]
    if kind == "filter":
        return categories
    if kind in ("filter-passed", "filter-missed"):
        return [one for one in categories if (one in _MISSED) == (kind == "filter-missed")]
    return []


def remark_text(remark: Remark) -> str:
    """Return a remark as YAML in the format of LLVM's remark tools."""
    from ..ir.attribute_access import operation_name
    from .diagnostics import position_of

    position = position_of(remark.operation)
    lines = [
        f"--- !{'Missed' if remark.category in _MISSED else 'Passed'}",
        f"Pass:            {remark.category}",
        f"Name:            {operation_name(remark.operation)}",
    ]
    if position is not None:
        file = json.dumps(position.file)
        where = f"File: {file}, Line: {position.line}, Column: {position.column}"
        lines.append(f"DebugLoc:        {{ {where} }}")
    lines += ["Args:", f"  - Remark:        {json.dumps(remark.message)}"]
    lines += [f"  - Note:          {json.dumps(note.message)}" for note in remark.notes]
    return "\n".join([*lines, "...", ""])


def wants(categories: Collection[str], category: str) -> bool:
    """Return whether remarks of a category are requested."""
    return "all" in categories or category in categories


def remark_sink(
    categories: Collection[str], report: Callable[[Diagnostic], None], *, repeats: bool = False
) -> Callable[[Remark], None]:
    """Return a sink that reports remarks of some categories, without duplicates unless `repeats`.

    A program may be analysed more than once, with the same remarks.
    """
    from .diagnostics import from_remark

    seen: set[Diagnostic] = set()

    def sink(remark: Remark) -> None:
        diagnostic = from_remark(remark)
        if wants(categories, remark.category) and (repeats or diagnostic not in seen):
            seen.add(diagnostic)
            report(diagnostic)

    return sink


def yaml_sink(
    categories: Collection[str], texts: list[str], *, repeats: bool = False
) -> Callable[[Remark], None]:
    """Return a sink that appends remarks of some categories to a list, as YAML."""

    def sink(remark: Remark) -> None:
        if wants(categories, remark.category):
            text = remark_text(remark)
            if repeats or text not in texts:
                texts.append(text)

    return sink
