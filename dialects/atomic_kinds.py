"""The operations that combine numbers in memory: the enum `AtomicRMWKind` of MLIR's `arith`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

KINDS = (
    *("addf", "addi", "andi", "assign", "maximumf", "maxnumf", "maxs", "maxu"),
    *("minimumf", "minnumf", "mins", "minu", "mulf", "muli", "ori", "xori"),
)
"""Each name is at its number."""


def kind_name(kind: Attribute | None) -> str | None:
    """Return the name of a stored kind; `None` for anything else."""
    number = kind.value.data if isinstance(kind, IntegerAttr) else -1
    return KINDS[number] if 0 <= number < len(KINDS) else None


def kind_names(kinds: Attribute | None) -> list[str | None]:
    """Return the names in an array of kinds."""
    found = cast("ArrayAttr[Attribute]", kinds) if isinstance(kinds, ArrayAttr) else ()
    return [kind_name(each) for each in found]


def named_kind(parser: AttrParser, name: str, start: int) -> IntegerAttr:
    """Return the kind of that name. Raises ParseError at `start` if there is none."""
    if name not in KINDS:
        parser.raise_error(f"unknown kind '{name}', expected one of {', '.join(KINDS)}", start)
    return IntegerAttr(KINDS.index(name), i64)
