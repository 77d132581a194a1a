"""Options for printing IR, which correspond to those of `mlir-opt`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

LISTED = 100
"""Constants with at most this many elements are printed as lists, as in MLIR."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintStyle:
    """How to print IR."""

    generic: bool = False
    """Print every operation in its generic form."""
    locations: bool = False
    pretty_locations: bool = False
    """Print locations in a readable form that cannot be parsed."""
    name_locations: bool = False
    """Use the names in `loc("name")` as value names."""
    aliases: bool = True
    unique_names: bool = False
    """Make value names unique in the whole text, not only within each function."""
    value_users: bool = False
    """Print the users of each value in comments."""
    skip_regions: bool = False
    elide_larger: int | None = None
    """Elide constants with more elements."""
    elide_longer_resources: int | None = None
    """Elide resources with longer text."""
    hex_larger: int = LISTED
    """Print constants with more elements as hexadecimal data; -1 disables this."""


def location_name(value: SSAValue) -> str | None:
    """Return the name in the location of a value, as a valid value name, or `None`."""
    if isinstance(value, OpResult):
        location = value.op.location
    else:
        location = value.location if isinstance(value, BlockArgument) else None
    if not isinstance(location, NameLoc):
        return None
    name = re.sub(r"[^A-Za-z0-9_$.-]", "_", location.desc.data)
    return f"_{name}" if name[:1].isdigit() else name or None


def pretty_location(location: Attribute) -> str:
    """Return a location as `mlir-opt --mlir-pretty-debuginfo` prints it."""
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
    """Return the names of a function's arguments in its text, without `%`."""
    body = function.regions[0].blocks
    arguments = body[0].args if body else ()
    return [
        location_name(argument) or argument.name_hint or f"arg{index}"
        for index, argument in enumerate(arguments)
    ]
