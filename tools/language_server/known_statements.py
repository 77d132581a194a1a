"""Statements of the last version of a text, which the next one takes where they did not change.

An edit in a long function then costs what it changes, and not the function.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from .known_functions import FUNCTION, Extent, Places

_BLANK = re.compile(r"(?:\s|//[^\n]*)*", re.ASCII)


@dataclass(slots=True)
class Taken:
    """A statement of the last version, and what is in it."""

    operation: Operation
    start: int
    text: str
    inner: list[tuple[Operation, Extent]]
    operands: list[tuple[Operation, int, SSAValue]]
    """Operands that are computed in front of it: what they are in the new version."""
    places: Places
    """What is used in it, in the values of the new version, and defined."""


@dataclass(slots=True)
class KnownStatements:
    """The statements of a text that were read without an error, by how they begin."""

    content: str = ""
    aliases: tuple[str, ...] = ()
    hollow: set[Operation] = field(default_factory=set[Operation])
    """Functions that statements were taken out of."""
    _statements: list[tuple[int, int, Operation]] = field(
        default_factory=list[tuple[int, int, Operation]]
    )
    _by_line: dict[tuple[str, str], list[int]] = field(
        default_factory=dict[tuple[str, str], list[int]]
    )
    """By the first lines of the function in front of or around them, and of their own."""
    _uses: list[tuple[int, int, SSAValue]] = field(default_factory=list[tuple[int, int, SSAValue]])
    _definitions: list[tuple[int, int, tuple[SSAValue, ...]]] = field(
        default_factory=list[tuple[int, int, tuple[SSAValue, ...]]]
    )
    _names: dict[SSAValue, tuple[str, int, int]] = field(
        default_factory=dict[SSAValue, tuple[str, int, int]]
    )
    """How each value is called, which result of that name it is, and where it is defined."""
    _taken: set[Operation] = field(default_factory=set[Operation])

    def fill(
        self, places: Places, replaced: Mapping[SSAValue, SSAValue], failures: Sequence[int]
    ) -> None:
        """Take in what was read of a text with errors at these offsets."""
        wrong = sorted(failures)
        for operation, extent in places.extents.items():
            at = bisect_left(wrong, extent.start)
            if at == len(wrong) or wrong[at] > extent.end:
                self._statements.append((extent.start, extent.end, operation))
        # Where a text was read twice, the second time counts.
        self._statements = sorted(
            {each[:2]: each for each in self._statements}.values(),
            key=lambda each: (each[0], -each[1]),
        )
        function = ""
        for index, (start, end, operation) in enumerate(self._statements):
            line = self.content[start:end].partition("\n")[0]
            if operation.name == FUNCTION:
                function = line
            self._by_line.setdefault((function, line), []).append(index)
        uses = {start: (end, replaced.get(value, value)) for start, end, value in places.uses}
        self._uses = [(start, *uses[start]) for start in sorted(uses)]
        definitions = {start: (end, values) for start, end, values in places.definitions}
        self._definitions = [(start, *definitions[start]) for start in sorted(definitions)]
        for start, end, values in self._definitions:
            name = self.content[start + 1 : end]
            self._names.update((value, (name, at, start)) for at, value in enumerate(values))

    def at(
        self,
        content: str,
        start: int,
        function: str,
        values: Mapping[str, Sequence[SSAValue]],
        dialects: Sequence[str],
    ) -> Taken | None:
        """The statement at an offset of a text in which `values` are defined, if it is known.

        It is looked for in the function that begins with the line `function`. What it names must
        be of the same types as before, and what is around it, of the same `dialects`: names are
        short in these.
        """
        end = content.find("\n", start)
        line = content[start : end if end >= 0 else len(content)]
        alike = self._by_line.get((function, line), ())
        for index in alike:
            first, last, operation = self._statements[index]
            text = self.content[first:last]
            if (
                content.startswith(text, start)
                and self._stands_alike(content, start, index)
                and _is_within(operation, dialects)
            ):
                found = self._found(operation, index, text, values, start - first)
                if found is not None:
                    return found
        return None

    def _stands_alike(self, content: str, start: int, index: int) -> bool:
        """Whether a statement is as far to the right as before, with the same thing behind it."""
        first, last, _ = self._statements[index]
        behind = start + last - first
        if start - content.rfind("\n", 0, start) != first - self.content.rfind("\n", 0, first):
            return False
        if content[behind : behind + 1] != "\n" or self.content[last : last + 1] != "\n":
            return False
        return _next_line(content, behind) == _next_line(self.content, last) or bool(
            _BEGINS.match(content, _next_word(content, behind))
        )

    def _found(
        self,
        operation: Operation,
        index: int,
        text: str,
        values: Mapping[str, Sequence[SSAValue]],
        by: int,
    ) -> Taken | None:
        start, end, _ = self._statements[index]
        if "loc(" in text or self._is_elsewhere(operation):
            return None
        inner: list[tuple[Operation, Extent]] = []
        for at in range(index + 1, len(self._statements)):
            if self._statements[at][0] >= end:
                break
            inner.append((self._statements[at][2], Extent(*self._statements[at][:2])))
        operands: list[tuple[Operation, int, SSAValue]] = []
        new: dict[SSAValue, SSAValue] = {}
        for each in (operation, *(op for op, _ in inner)):
            if each.name == FUNCTION or each.successors or each in self._taken:
                return None
            for number, value in enumerate(each.operands):
                name, place, defined = self._names.get(value, ("", 0, -1))
                if start <= defined < end:
                    continue
                now = values.get(name, ())
                if place >= len(now) or now[place].type != value.type:
                    return None
                new[value] = now[place]
                operands.append((each, number, now[place]))
        inner.sort(key=lambda each: each[1].end)
        places = self._places(start, end, by, new)
        return Taken(operation, start, text, inner, operands, places)

    def _places(self, start: int, end: int, by: int, new: Mapping[SSAValue, SSAValue]) -> Places:
        places = Places()
        uses, definitions = self._uses, self._definitions
        for at in range(bisect_left(uses, start, key=_start), bisect_left(uses, end, key=_start)):
            first, last, value = uses[at]
            places.uses.append((first + by, last + by, new.get(value, value)))
        begin = bisect_left(definitions, start, key=_start)
        for at in range(begin, bisect_left(definitions, end, key=_start)):
            first, last, values = definitions[at]
            places.definitions.append((first + by, last + by, values))
        return places

    def _is_elsewhere(self, operation: Operation) -> bool:
        """Whether a statement, or what is around it, is in the new version already."""
        around: Operation | None = operation
        while around is not None:
            if around in self._taken:
                return True
            around = around.parent_op()
        return False

    def take(self, found: Taken) -> None:
        """Move a statement out of the last version."""
        around = found.operation.parent_op()
        while around is not None and around.name != FUNCTION:
            around = around.parent_op()
        if around is not None:
            self.hollow.add(around)
        if found.operation.parent is not None:
            found.operation.detach()
        self._taken.add(found.operation)
        for operation, number, value in found.operands:
            if operation.operands[number] is not value:
                operation.operands[number] = value

    def leave(self, function: Operation) -> None:
        """Leave a function as it is: the new version has it whole."""
        self._taken.add(function)


_BEGINS = re.compile(
    r"%[\w$.-]+(?::\d+)?(?:[ \t]*,[ \t]*%[\w$.-]+(?::\d+)?)*[ \t]*=(?!=)"
    r"|\}|\"?[a-zA-Z_]\w*\.[\w.$]+|return\b",
    re.ASCII,
)
"""How the next statement, or the end of the block, begins."""


def _is_within(operation: Operation, dialects: Sequence[str]) -> bool:
    """Whether operations of these dialects are around one, and at most a module around them."""
    around = operation.parent_op()
    for dialect in reversed(dialects[1:]):
        if around is None or around.name.partition(".")[0] != dialect:
            return False
        around = around.parent_op()
    # What was read as a part of a statement that was left out is nowhere.
    return isinstance(around, ModuleOp) and around.parent is None


def _start(entry: tuple[int, int, object]) -> int:
    return entry[0]


def _next_word(content: str, offset: int) -> int:
    blank = _BLANK.match(content, offset)
    return offset if blank is None else blank.end()


def _next_line(content: str, offset: int) -> str:
    begin = _next_word(content, offset)
    end = content.find("\n", begin)
    return content[begin : end if end >= 0 else len(content)]
