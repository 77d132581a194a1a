"""How IR is printed: the choices that `mlir-opt` has options for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

LISTED = 100
"""Constants of at most so many elements are printed as lists of them, as MLIR does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintStyle:
    """What a text of IR looks like."""

    generic: bool = False
    """The generic form of every operation."""
    locations: bool = False
    pretty_locations: bool = False
    """Locations for people, which cannot be read again."""
    name_locations: bool = False
    """Values are called as their locations name them."""
    aliases: bool = True
    unique_names: bool = False
    """No two values of the text share a name, in whatever function they are."""
    value_users: bool = False
    """Comments say who uses each value."""
    skip_regions: bool = False
    elide_larger: int | None = None
    """Constants of more elements are left out."""
    elide_longer_resources: int | None = None
    """Resources whose text is longer are left out."""
    hex_larger: int = LISTED
    """Constants of more elements are printed as bytes; -1: none are."""


def location_name(value: SSAValue) -> str | None:
    """The name that the location of a value gives it, if it is one that values may have."""
    if isinstance(value, OpResult):
        location = value.op.location
    else:
        location = value.location if isinstance(value, BlockArgument) else None
    if not isinstance(location, NameLoc):
        return None
    name = re.sub(r"[^A-Za-z0-9_$.-]", "_", location.desc.data)
    return f"_{name}" if name[:1].isdigit() else name or None


def pretty_location(location: Attribute) -> str:
    """A location for people, as `mlir-opt --mlir-pretty-debuginfo` has it."""
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        case NameLoc():
            inner = pretty_location(location.location)
            return f'"{location.desc.data}"' + ("" if inner == "[unknown]" else f"({inner})")
        case CallSiteLoc():
            return f"{pretty_location(location.callee)} at {pretty_location(location.caller)}"
        case FusedLoc():
            parts = cast("ArrayAttr[Attribute]", location.locations).data
            return f"[{', '.join(map(pretty_location, parts))}]"
        case _:
            return "[unknown]"


def argument_names(function: Operation) -> list[str]:
    """What the arguments of a function are called in its text: `%x` is `x`."""
    body = function.regions[0].blocks
    arguments = body[0].args if body else ()
    return [
        location_name(argument) or argument.name_hint or f"arg{index}"
        for index, argument in enumerate(arguments)
    ]
