"""Functions of the last version of a text, which the next one takes where they did not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IntAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

FUNCTION = "func.func"


@dataclass(frozen=True, slots=True)
class Extent:
    """From where to where an operation goes in the text."""

    start: int
    end: int

    def moved(self, by: int) -> Extent:
        """The same extent further behind."""
        return Extent(self.start + by, self.end + by) if by else self


Use = tuple[int, int, SSAValue]
Definition = tuple[int, int, tuple[SSAValue, ...]]


@dataclass(frozen=True, slots=True)
class Places:
    """What a parser keeps of a text: where operations are, and where values are used and defined.

    The operations are in the order of the text, inner ones before those around them.
    """

    extents: dict[Operation, Extent] = field(default_factory=dict[Operation, Extent])
    uses: list[Use] = field(default_factory=list[Use])
    definitions: list[Definition] = field(default_factory=list[Definition])

    def mark(self) -> tuple[int, int, int]:
        """How much there is of each."""
        return len(self.extents), len(self.uses), len(self.definitions)

    def add(self, other: Places, by: int) -> None:
        """Take over what was kept of a text that is now further behind."""
        self.extents.update((each, extent.moved(by)) for each, extent in other.extents.items())
        self.uses.extend((start + by, end + by, value) for start, end, value in other.uses)
        self.definitions.extend(
            (start + by, end + by, values) for start, end, values in other.definitions
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """A function that was read, and which of its parser's `Places` are in it."""

    operation: Operation
    extent: Extent
    first: tuple[int, int, int]
    last: tuple[int, int, int]
    aliases: tuple[str, ...]
    """The definitions of aliases in front of it, which it may name."""


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """A function without an error in its text."""

    operation: Operation
    start: int
    text: str
    places: Places
    """What is in it, without the function itself."""
    aliases: tuple[str, ...]


class KnownFunctions:
    """The functions of a text by how they begin."""

    def __init__(self, found: Iterable[KnownFunction] = ()) -> None:
        self._by_line: dict[str, list[KnownFunction]] = {}
        for each in found:
            self._by_line.setdefault(each.text.partition("\n")[0], []).append(each)

    def at(self, content: str, start: int, aliases: tuple[str, ...]) -> KnownFunction | None:
        """The function that stands at an offset of a text, which no other function has yet."""
        if not content.startswith(FUNCTION, start):
            return None
        end = content.find("\n", start)
        alike = self._by_line.get(content[start : end if end >= 0 else len(content)], [])
        for index, each in enumerate(alike):
            behind = start + len(each.text)
            if (
                content.startswith(each.text, start)
                and content[behind : behind + 1] in ("", "\n")
                and each.aliases == aliases
            ):
                return alike.pop(index)
        return None


def known_functions(
    content: str,
    marks: Sequence[Mark],
    places: Places,
    replaced: Mapping[SSAValue, SSAValue],
    failures: Sequence[int],
) -> list[KnownFunction]:
    """What was read of a text that has errors at the offsets `failures`."""
    extents = list(places.extents.items())
    found: list[KnownFunction] = []
    for mark in marks:
        start, end = mark.extent.start, mark.extent.end
        text = content[start:end]
        # A missing brace is an error behind it.
        behind = len(content) - len(content[end:].lstrip()) if failures else end
        is_wrong = any(start <= failure <= behind for failure in failures)
        # What says itself where it is stays there.
        if "loc(" in text or is_wrong:
            continue
        (extent, use, definition), (extent_end, use_end, definition_end) = mark.first, mark.last
        inside = Places(
            dict(extents[extent:extent_end]),
            [(s, e, replaced.get(v, v)) for s, e, v in places.uses[use:use_end]],
            places.definitions[definition:definition_end],
        )
        found.append(KnownFunction(mark.operation, start, text, inside, mark.aliases))
    return found


def move_to(function: Operation, place: Attribute) -> None:
    """Let a function and all in it be as many lines further as its first is."""
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
    """A text without what is in its functions: all that one of them can know of another."""
    extents = list(places.extents.values())
    parts: list[str] = []
    at = 0
    for mark in marks:
        inside = [extent.start for extent in extents[mark.first[0] : mark.last[0]]]
        if inside and mark.extent.start >= at:
            parts.append(content[at : min(inside)])
            at = mark.extent.end
    return "".join([*parts, content[at:]])
