"""What `--remarks` asks for, in every tool."""

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
    "print what was decided: about sharding, encoding, dispatch, backend (what has no native"
    " kernel, and why), or all"
)


def check_categories(categories: Sequence[str]) -> None:
    """Raise UsageError for a category that there is not."""
    for category in categories:
        if category not in REMARKS:
            known = ", ".join(REMARKS)
            raise UsageError(f"--remarks: there is no category '{category}', but {known}")


_MISSED = frozenset({"backend"})
"""Categories of remarks on what could not be done; all others are on what was done."""


def wanted_categories(listed: Sequence[str], filters: Mapping[str, str | None]) -> tuple[str, ...]:
    """The categories that `--remarks` names, and those that regular expressions find.

    `filters` are these by the name of their option behind `--remarks-`. Raises UsageError for what
    is no category, or no regular expression.
    """
    check_categories(listed)
    found = list(listed)
    for name, pattern in filters.items():
        if pattern is not None:
            try:
                expression = re.compile(pattern)
            except re.error as problem:
                what = f"'{pattern}' is no regular expression: {problem}"
                raise UsageError(f"--remarks-{name}: {what}") from problem
            found += [one for one in _categories_of(name) if expression.search(one)]
    return tuple(dict.fromkeys(found))


def _categories_of(kind: str) -> list[str]:
    """The categories among which a filter chooses; there are no remarks of the other kinds."""
    categories = [one for one in REMARKS if one != "all"]
    if kind == "filter":
        return categories
    if kind in ("filter-passed", "filter-missed"):
        return [one for one in categories if (one in _MISSED) == (kind == "filter-missed")]
    return []


def remark_text(remark: Remark) -> str:
    """A remark in YAML, as LLVM's tools for remarks read it."""
    from ..ir.attribute_access import operation_name
    from .diagnostics import place_of

    place = place_of(remark.operation)
    lines = [
        f"--- !{'Missed' if remark.category in _MISSED else 'Passed'}",
        f"Pass:            {remark.category}",
        f"Name:            {operation_name(remark.operation)}",
    ]
    if place is not None:
        file = json.dumps(place.file)
        where = f"File: {file}, Line: {place.line}, Column: {place.column}"
        lines.append(f"DebugLoc:        {{ {where} }}")
    lines += ["Args:", f"  - Remark:        {json.dumps(remark.message)}"]
    lines += [f"  - Note:          {json.dumps(note.message)}" for note in remark.notes]
    return "\n".join([*lines, "...", ""])


def wants(categories: Collection[str], category: str) -> bool:
    """Whether remarks of a category are asked for."""
    return "all" in categories or category in categories


def remark_sink(
    categories: Collection[str], report: Callable[[Diagnostic], None], *, repeats: bool = False
) -> Callable[[Remark], None]:
    """Reports remarks of some categories, each once: a program may be looked at again."""
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
    """Appends remarks of some categories to a list, in YAML."""

    def sink(remark: Remark) -> None:
        if wants(categories, remark.category):
            text = remark_text(remark)
            if repeats or text not in texts:
                texts.append(text)

    return sink
