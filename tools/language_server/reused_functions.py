"""Reuse functions of the previous version of a text that did not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IntAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from .positions import rest_of_line

FUNCTION = "func.func"


@dataclass(frozen=True, slots=True)
class Extent:
    """The range of an operation in the text, as offsets."""

    start: int
    end: int

    def moved(self, by: int) -> Extent:
        """Return the extent shifted by a number of characters."""
        return Extent(self.start + by, self.end + by) if by else self


Use = tuple[int, int, SSAValue]
Definition = tuple[int, int, tuple[SSAValue, ...]]


@dataclass(frozen=True, slots=True)
class Places:
    """The positions that a parser records: extents of operations, uses and definitions of values.

    Operations are in textual order; nested operations precede their parents.
    """

    extents: dict[Operation, Extent] = field(default_factory=dict[Operation, Extent])
    uses: list[Use] = field(default_factory=list[Use])
    definitions: list[Definition] = field(default_factory=list[Definition])

    def mark(self) -> tuple[int, int, int]:
        """Return the current length of each list."""
        return len(self.extents), len(self.uses), len(self.definitions)

    def add(self, other: Places, by: int) -> None:
        """Add the positions of a text that has moved by a number of characters."""
        self.extents.update((each, extent.moved(by)) for each, extent in other.extents.items())
        self.uses.extend((start + by, end + by, value) for start, end, value in other.uses)
        self.definitions.extend(
            (start + by, end + by, values) for start, end, values in other.definitions
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """A parsed function, and the range of its parser's `Places` that belongs to it."""

    operation: Operation
    extent: Extent
    first: tuple[int, int, int]
    last: tuple[int, int, int]
    aliases: tuple[str, ...]
    """The texts of the alias definitions before it, which it may use."""


@dataclass(frozen=True, slots=True)
class ReusableFunction:
    """A function without a syntax error."""

    operation: Operation
    start: int
    text: str
    places: Places
    """The positions inside it, without the function itself."""
    aliases: tuple[str, ...]


class ReusableFunctions:
    """The functions of a text, indexed by their first lines."""

    def __init__(self, found: Iterable[ReusableFunction] = ()) -> None:
        self._by_line: dict[str, list[ReusableFunction]] = {}
        for each in found:
            self._by_line.setdefault(each.text.partition("\n")[0], []).append(each)

    def pop(self, content: str, start: int, aliases: tuple[str, ...]) -> ReusableFunction | None:
        """Remove and return the function that is at an offset of a text, or return `None`."""
        if not content.startswith(FUNCTION, start):
            return None
        candidates = self._by_line.get(rest_of_line(content, start), [])
        for index, each in enumerate(candidates):
            end = start + len(each.text)
            if (
                content.startswith(each.text, start)
                and content[end : end + 1] in ("", "\n")
                and each.aliases == aliases
            ):
                return candidates.pop(index)
        return None


def reusable_functions(
    content: str,
    marks: Sequence[Mark],
    places: Places,
    replaced: Mapping[SSAValue, SSAValue],
    failures: Sequence[int],
) -> list[ReusableFunction]:
    """Return the functions that were parsed without errors; `failures` are offsets of errors."""
    extents = list(places.extents.items())
    found: list[ReusableFunction] = []
    for mark in marks:
        start, end = mark.extent.start, mark.extent.end
        text = content[start:end]
        # A missing brace causes an error after the function.
        end = len(content) - len(content[end:].lstrip()) if failures else end
        is_wrong = any(start <= failure <= end for failure in failures)
        # Explicit locations do not move with the text.
        if "loc(" in text or is_wrong:
            continue
        (extent, use, definition), (extent_end, use_end, definition_end) = mark.first, mark.last
        inside = Places(
            dict(extents[extent:extent_end]),
            [(s, e, replaced.get(v, v)) for s, e, v in places.uses[use:use_end]],
            places.definitions[definition:definition_end],
        )
        found.append(ReusableFunction(mark.operation, start, text, inside, mark.aliases))
    return found


def move_to(function: Operation, place: Attribute) -> None:
    """Move the locations of a function and everything in it, so that the function is at `place`."""
    was = function.location
    if was == place or not isinstance(was, FileLineColLoc) or not isinstance(place, FileLineColLoc):
        return
    lines = place.line.data - was.line.data
    moved: dict[Attribute, FileLineColLoc] = {}

    def moved_location(location: Attribute) -> FileLineColLoc | None:
        if not isinstance(location, FileLineColLoc):
            return None
        if location not in moved:
            line = IntAttr(location.line.data + lines)
            moved[location] = FileLineColLoc(location.filename, line, location.column)
        return moved[location]

    for operation in function.walk():
        if (location := moved_location(operation.location)) is not None:
            operation.location = location
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.args:
                    _move_argument(argument, moved_location(argument.location))


def _move_argument(argument: BlockArgument, location: FileLineColLoc | None) -> None:
    if location is not None:
        argument.location = location


def without_bodies(content: str, marks: Sequence[Mark], places: Places) -> str:
    """Return a text without function bodies: all that other functions depend on."""
    extents = list(places.extents.values())
    parts: list[str] = []
    at = 0
    for mark in marks:
        inside = [extent.start for extent in extents[mark.first[0] : mark.last[0]]]
        if inside and mark.extent.start >= at:
            parts.append(content[at : min(inside)])
            at = mark.extent.end
    return "".join([*parts, content[at:]])
