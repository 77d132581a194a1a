"""Analysis of a text that is being edited: its errors, operations and names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import ParseError

from ...ir.attribute_access import symbol_name
from ...ir.garbage_collection import without_garbage_collection
from ...ir.nesting_limits import deep_recursion
from ...ir.regions import enclosing
from ...ir.symbols import symbol_at
from ...ir.text.source import Source, split_source
from ...ir.verification import verification_errors
from ..diagnostics import Diagnostic, SourcePosition, from_operation_error, from_parse_error
from .positions import Positions, rest_of_line
from .recovering_parser import RecoveringParser
from .reused_functions import Extent, ReusableFunctions, without_bodies

WORD = re.compile(r"[%@#!^]?(?:[\w$.-]+|\"[^\"\n]*\")", re.ASCII)
"""A name in the text with its prefix character."""

MAX_BAD_CHARACTERS = 20
"""A text that begins with more unreadable characters is not a program."""

_ALIAS = re.compile(r"^[ \t]*([#!][\w$.-]+)[ \t]*=", re.MULTILINE | re.ASCII)


@dataclass(slots=True)
class Piece:
    """A part of a file that is parsed separately: all of it, or between `// -----` lines."""

    source: Source
    base: int
    """The offset of its first character in the file."""
    module: ModuleOp | None
    parser: RecoveringParser
    errors: list[Diagnostic]
    broken: set[Operation] = field(default_factory=set[Operation])
    """Isolated operations with a syntax error."""
    outside: str = ""
    """The text without the bodies of functions."""
    invalid: set[Operation] = field(default_factory=set[Operation])
    """Functions with verifier errors."""
    is_consumed: bool = False
    """Whether the analysis of the next version has taken functions out of it."""
    _places: tuple[list[int], list[tuple[int, int, SSAValue]]] | None = None
    _definitions: dict[SSAValue, Extent] | None = None

    def value_at(self, offset: int) -> SSAValue | None:
        """Return the value whose name is at an offset of this piece; `None` if there is none."""
        if self._places is None:
            parser = self.parser
            found = [
                (start, end, parser.replaced.get(v, v)) for start, end, v in parser.places.uses
            ]
            found += [
                (start, end, values[0])
                for start, end, values in parser.places.definitions
                if values
            ]
            found.sort(key=lambda each: each[0])
            self._places = [start for start, _, _ in found], found
        starts, found = self._places
        index = bisect_right(starts, offset) - 1
        if index >= 0 and offset <= found[index][1]:
            return found[index][2]
        return None

    def definition_of(self, value: SSAValue) -> Extent | None:
        """Return the extent of a value's name where it is defined; `None` if it is not written."""
        if self._definitions is None:
            self._definitions = {
                value: Extent(start, end)
                for start, end, values in self.parser.places.definitions
                for value in values
            }
        return self._definitions.get(value)

    def operations_around(self, offset: int) -> list[Operation]:
        """Return the operations whose text contains an offset, innermost first."""
        around = [
            (extent.end - extent.start, operation)
            for operation, extent in self.parser.places.extents.items()
            if extent.start <= offset <= extent.end
        ]
        return [operation for _, operation in sorted(around, key=lambda each: each[0])]

    def name_of(self, operation: Operation) -> Extent:
        """Return the extent of a symbol's name in the text of its operation."""
        extent, name = self.parser.places.extents[operation], symbol_name(operation)
        found = re.compile(rf'@"?{re.escape(name or "")}"?(?![\w$.-])').search(
            self.source.content, extent.start, extent.end
        )
        return extent if found is None else Extent(found.start(), found.end())


class Analysis:
    """The analysis of one version of a text."""

    def __init__(self, text: str, pieces: list[Piece]) -> None:
        self.text = text
        self.pieces = pieces
        self._positions: dict[str, Positions] = {}

    def positions(self, encoding: str) -> Positions:
        """Return the conversion between offsets and positions in the editor's encoding."""
        if encoding not in self._positions:
            self._positions[encoding] = Positions(self.text, encoding)
        return self._positions[encoding]

    def piece_at(self, offset: int) -> Piece:
        """Return the piece that contains an offset of the file."""
        starts = [piece.base for piece in self.pieces]
        return self.pieces[max(0, bisect_right(starts, offset) - 1)]

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yield all diagnostics in textual order."""
        for piece in self.pieces:
            yield from sorted(piece.errors, key=_line_and_column)

    def offset_of(self, position: SourcePosition) -> int:
        """Return the offset of a position in the file."""
        starts = self._line_starts
        line = max(1, min(position.line, len(starts)))
        return min(starts[line - 1] + position.column - 1, len(self.text))

    def word_at(self, offset: int) -> tuple[int, int]:
        """Return the range of the name at an offset, or of one character, to mark an error."""
        match = WORD.match(self.text, offset)
        return offset, match.end() if match is not None else min(offset + 1, len(self.text))

    def word_around(self, offset: int) -> str:
        """Return the name that contains or ends at an offset; empty if there is none."""
        begin = self.text.rfind("\n", 0, offset) + 1
        for match in WORD.finditer(rest_of_line(self.text, begin)):
            if begin + match.start() <= offset <= begin + match.end():
                return match[0]
        return ""

    @cached_property
    def _line_starts(self) -> list[int]:
        return Source(self.text, "").line_starts


def _line_and_column(diagnostic: Diagnostic) -> tuple[int, int]:
    position = diagnostic.position
    return (0, 0) if position is None else (position.line, position.column)


def analyse(
    text: str,
    name: str,
    context: Context,
    last: Analysis | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Analysis:
    """Analyse a text; unchanged pieces of the last analysis are reused.

    Raises Cancelled if `is_cancelled` returns true.
    """
    known = {_key(piece): piece for piece in last.pieces if not piece.is_consumed} if last else {}
    pieces: list[Piece] = []
    base = 0
    sources = list(split_source(name, text, "// -----"))
    for number, source in enumerate(sources):
        piece = known.get((base, source.first_line, source.content))
        if piece is None:
            same_place = last is not None and len(last.pieces) == len(sources)
            before = last.pieces[number] if last is not None and same_place else None
            piece = _analyse_piece(source, base, context, is_cancelled, before)
        pieces.append(piece)
        # A piece is followed by its marker, on a line of its own.
        marker = text.find("\n", base + len(source.content))
        base = marker + 1 if marker >= 0 else len(text)
    return Analysis(text, pieces)


def _key(piece: Piece) -> tuple[int, int, str]:
    return piece.base, piece.source.first_line, piece.source.content


def _analyse_piece(
    source: Source,
    base: int,
    context: Context,
    is_cancelled: Callable[[], bool],
    before: Piece | None,
) -> Piece:
    """Analyse one piece; unchanged functions of the previous version `before` are reused."""
    known = ReusableFunctions() if before is None else ReusableFunctions(before.parser.functions())
    statements = None if before is None else before.parser.statements()
    if before is not None:
        before.is_consumed = True
    text, errors = source, list[Diagnostic]()
    while True:
        try:
            parser = RecoveringParser(context, text, is_cancelled, known, statements)
            break
        except ParseError as failure:
            # The first token is invalid, and with it the parser cannot start: replace it by blanks.
            errors.append(from_parse_error(failure))
            start = failure.span.start if len(errors) < MAX_BAD_CHARACTERS else source.len
            text = replace(source, content=" " * (start + 1) + source.content[start + 1 :])
    with without_garbage_collection(), deep_recursion():
        module = parser.parse_recovering()
        errors += [from_parse_error(failure) for failure in parser.failures]
        piece = Piece(source, base, module, parser, errors)
        piece.outside = without_bodies(parser.source.content, parser.marks, parser.places)
        valid = set[Operation]()
        if before is not None and before.outside == piece.outside:
            valid = parser.reused - before.invalid
        if module is not None:
            _verify(piece, module, valid)
    return piece


def _verify(piece: Piece, module: ModuleOp, valid: set[Operation]) -> None:
    """Add verifier errors, except in functions with syntax errors and functions in `valid`."""
    parser = piece.parser
    for failure in parser.failures:
        around = piece.operations_around(failure.span.start)
        piece.broken.update(
            each
            for each in around
            if each.has_trait(IsolatedFromAbove, value_if_unregistered=False)
        )
    # A module with syntax errors is verified, too; errors that name its lost symbols are dropped.
    skipped = valid | {each for each in piece.broken if not isinstance(each, ModuleOp)}
    lost = {f"@{name}" for name in parser.lost_symbols} | {
        f"'{name}'" for name in parser.lost_symbols
    }
    try:
        for failure in verification_errors(module, skipped):
            piece.invalid.update(enclosing(failure.operation))
            diagnostic = from_operation_error(failure)
            if not any(name in diagnostic.message for name in lost):
                piece.errors.append(diagnostic)
    except Exception:
        # An incomplete program may be wrong in ways that no verifier expects.
        if not parser.failures:
            raise


def symbol_definition(
    piece: Piece, offset: int, names: list[str]
) -> tuple[Operation, Extent] | None:
    """Return the operation that `@names[0]::@names[1]...` refers to, and its name's extent."""
    modules = [] if piece.module is None else [piece.module]
    for table in (*piece.operations_around(offset), *modules):
        found = symbol_at(table, names)
        if found is not None and found in piece.parser.places.extents:
            return found, piece.name_of(found)
    return None


def alias_definition(piece: Piece, name: str) -> Extent | None:
    """Return the extent of an alias's name in its definition; `None` if it is not defined."""
    for match in _ALIAS.finditer(piece.source.content):
        if match[1] == name:
            return Extent(match.start(1), match.end(1))
    return None


def alias_names(piece: Piece) -> list[str]:
    """Return the aliases that a piece defines."""
    return [match[1] for match in _ALIAS.finditer(piece.source.content)]
