"""Reuse statements of the previous version of a text that did not change.

The cost of an edit in a long function is then proportional to the edit, not to the function.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...ir.regions import enclosing
from .positions import rest_of_line
from .reused_functions import FUNCTION, Definition, Extent, Places, Use

_BLANK = re.compile(r"(?:\s|//[^\n]*)*", re.ASCII)


@dataclass(slots=True)
class ReusedStatement:
    """A statement of the previous version, with its nested operations."""

    operation: Operation
    start: int
    text: str
    inner: list[tuple[Operation, Extent]]
    operands: list[tuple[Operation, int, SSAValue]]
    """The operands that are defined before it: operation, index, and value in the new version."""
    places: Places
    """The positions of uses and definitions in it, with values of the new version."""


@dataclass(slots=True)
class ReusableStatements:
    """The statements of a text that were parsed without errors, indexed by their first lines."""

    content: str = ""
    aliases: tuple[str, ...] = ()
    emptied: set[Operation] = field(default_factory=set[Operation])
    """Functions from which statements were taken."""
    _statements: list[tuple[int, int, Operation]] = field(
        default_factory=list[tuple[int, int, Operation]]
    )
    _by_line: dict[tuple[str, str], list[int]] = field(
        default_factory=dict[tuple[str, str], list[int]]
    )
    """Indices of statements, by the first lines of the last `func.func` and of their own."""
    _uses: list[Use] = field(default_factory=list[Use])
    _definitions: list[Definition] = field(default_factory=list[Definition])
    _names: dict[SSAValue, tuple[str, int, int]] = field(
        default_factory=dict[SSAValue, tuple[str, int, int]]
    )
    """The name of each value, its result number, and the offset of its definition."""
    _taken: set[Operation] = field(default_factory=set[Operation])

    def fill(
        self, places: Places, replaced: Mapping[SSAValue, SSAValue], failures: Sequence[int]
    ) -> None:
        """Add the operations of a parsed text; `failures` are the offsets of errors."""
        wrong = sorted(failures)
        for operation, extent in places.extents.items():
            at = bisect_left(wrong, extent.start)
            if at == len(wrong) or wrong[at] > extent.end:
                self._statements.append((extent.start, extent.end, operation))
        # If a text was parsed twice, the second time counts.
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
    ) -> ReusedStatement | None:
        """Return the statement at an offset of a text, if it is known; `values` are those in scope.

        `function` is the first line of the enclosing function. The statement's operands must have
        the same types as before. The enclosing operations must be of the same `dialects`, since op
        names may omit the dialect there.
        """
        for index in self._by_line.get((function, rest_of_line(content, start)), ()):
            first, last, operation = self._statements[index]
            text = self.content[first:last]
            if (
                content.startswith(text, start)
                and self._is_in_same_position(content, start, index)
                and _is_within(operation, dialects)
            ):
                found = self._reused(operation, index, text, values, start - first)
                if found is not None:
                    return found
        return None

    def _is_in_same_position(self, content: str, start: int, index: int) -> bool:
        """Return whether a statement has the same column and the same continuation as before."""
        first, last, _ = self._statements[index]
        end = start + last - first
        if start - content.rfind("\n", 0, start) != first - self.content.rfind("\n", 0, first):
            return False
        if content[end : end + 1] != "\n" or self.content[last : last + 1] != "\n":
            return False
        return _next_line(content, end) == _next_line(self.content, last) or bool(
            _BEGINS.match(content, _next_word(content, end))
        )

    def _reused(
        self,
        operation: Operation,
        index: int,
        text: str,
        values: Mapping[str, Sequence[SSAValue]],
        by: int,
    ) -> ReusedStatement | None:
        start, end, _ = self._statements[index]
        if "loc(" in text or any(ancestor in self._taken for ancestor in enclosing(operation)):
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
        return ReusedStatement(operation, start, text, inner, operands, places)

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

    def take(self, found: ReusedStatement) -> None:
        """Move a statement out of the previous version."""
        ancestors = enclosing(found.operation.parent_op())
        function = next((each for each in ancestors if each.name == FUNCTION), None)
        if function is not None:
            self.emptied.add(function)
        if found.operation.parent is not None:
            found.operation.detach()
        self._taken.add(found.operation)
        for operation, number, value in found.operands:
            if operation.operands[number] is not value:
                operation.operands[number] = value

    def keep_out(self, function: Operation) -> None:
        """Mark a function as reused as a whole, so that no statements are taken from it."""
        self._taken.add(function)


OPERATION = (
    r"%[\w$.-]+(?::\d+)?(?:[ \t]*,[ \t]*%[\w$.-]+(?::\d+)?)*[ \t]*=(?!=)"
    r"|\"?[a-zA-Z_]\w*\.[\w.$]+"
)
"""The start of an operation: its results, or a name with a dialect. A regular expression."""

_BEGINS = re.compile(rf"{OPERATION}|\}}|return\b", re.ASCII)
"""The start of the next statement, or the end of the block."""


def _is_within(operation: Operation, dialects: Sequence[str]) -> bool:
    """Return whether the enclosing operations are of these dialects, below at most one module."""
    ancestors = [*enclosing(operation.parent_op())]
    if not ancestors or not isinstance(ancestors[-1], ModuleOp):
        # Operations parsed as part of a discarded statement have no module.
        return False
    found = [each.name.partition(".")[0] for each in ancestors[:-1]]
    return found == [*reversed(dialects[1:])]


def _start(entry: tuple[int, int, object]) -> int:
    return entry[0]


def _next_word(content: str, offset: int) -> int:
    blank = _BLANK.match(content, offset)
    return offset if blank is None else blank.end()


def _next_line(content: str, offset: int) -> str:
    return rest_of_line(content, _next_word(content, offset))
