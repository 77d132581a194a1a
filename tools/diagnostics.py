"""Diagnostics as tools show them: with position and severity, and rendered as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from ..ir.attribute_access import operation_name
from ..ir.diagnostics import Note, OperationError, Remark
from ..ir.locations import file_positions
from ..ir.regions import enclosing
from ..ir.text.source import Source

LONGEST_EXCERPT = 160
"""The maximum length of a source line shown with a diagnostic."""


class Severity(Enum):
    """The severity of a diagnostic; the value is the printed word."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A position in a file; line and column are 1-based."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message with its notes."""

    severity: Severity
    message: str
    position: SourcePosition | None = None
    notes: tuple[Diagnostic, ...] = ()


def with_notes(diagnostic: Diagnostic, notes: Iterable[Diagnostic]) -> Diagnostic:
    """Return the diagnostic with its notes replaced."""
    return replace(diagnostic, notes=tuple(notes))


def error(message: str, position: SourcePosition | None = None) -> Diagnostic:
    """Return an error without notes."""
    return Diagnostic(Severity.ERROR, message, position)


def positions_of_location(location: Attribute) -> Iterator[SourcePosition]:
    """Yield the file positions in a location."""
    for position in file_positions(location):
        yield SourcePosition(position.filename.data, position.line.data, position.column.data)


def position_of(operation: Operation) -> SourcePosition | None:
    """Return the position of an operation in the source; `None` if unknown.

    If a pass created the operation without a location, the result is the position of the nearest
    located operation before it in its block, or else of its parent.
    """
    for ancestor in enclosing(operation):
        candidate: Operation | None = ancestor
        while candidate is not None:
            position = next(positions_of_location(candidate.location), None)
            if position is not None:
                return position
            candidate = candidate.prev_op
    return None


def describe_position(operation: Operation) -> str:
    """Return the position of an operation as text, or its name if the position is unknown."""
    return str(position_of(operation) or f"'{operation.name}'")


def _position_of_span(span: Span[str] | Span[bytes]) -> SourcePosition:
    if isinstance(span.input, Source):
        line, column = span.input.line_and_column(span.start)
        return SourcePosition(span.input.name, line, column)
    location = span.get_location()
    return SourcePosition(location.file, location.line, location.col)


def from_parse_error(failure: ParseError) -> Diagnostic:
    """Convert a ParseError to a diagnostic."""
    notes: tuple[Diagnostic, ...] = ()
    if isinstance(failure, MultipleSpansParseError):
        notes = tuple(
            Diagnostic(
                Severity.NOTE, text or failure.ref_text or "see here", _position_of_span(span)
            )
            for span, text in failure.refs
        )
    return Diagnostic(Severity.ERROR, failure.msg, _position_of_span(failure.span), notes)


def from_operation_error(failure: OperationError) -> Diagnostic:
    """Convert an OperationError to a diagnostic."""
    return operation_diagnostic(Severity.ERROR, failure.operation, failure.message, failure.notes)


def from_remark(remark: Remark) -> Diagnostic:
    """Convert a remark to a diagnostic."""
    return operation_diagnostic(
        Severity.REMARK, remark.operation, f"[{remark.category}] {remark.message}", remark.notes
    )


def operation_diagnostic(
    severity: Severity, operation: Operation, message: str, notes: Iterable[Note] = ()
) -> Diagnostic:
    """Return the diagnostic `'name' op message` at an operation's position."""
    prefix = f"'{operation_name(operation)}' op "
    return Diagnostic(
        severity,
        message if message.startswith(prefix) else prefix + message,
        position_of(operation),
        tuple(
            Diagnostic(
                Severity.NOTE,
                note.message,
                position_of(note.operation if note.operation is not None else operation),
            )
            for note in notes
        ),
    )


def render(diagnostic: Diagnostic, sources: Iterable[Source], *, color: bool = False) -> str:
    """Return the text of a diagnostic and its notes, with source lines and carets where known."""
    sources = list(sources)
    return "".join(_render_one(part, sources, color) for part in (diagnostic, *diagnostic.notes))


_BOLD, _GREEN, _PLAIN = "\x1b[1m", "\x1b[1;32m", "\x1b[0m"
_COLORS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;35m",
    Severity.REMARK: "\x1b[1;34m",
    Severity.NOTE: "\x1b[1;36m",
}
"""Terminal escape sequences in clang's colours."""


def _render_one(diagnostic: Diagnostic, sources: list[Source], color: bool) -> str:
    position, severity = diagnostic.position, diagnostic.severity
    where = f"{position}: " if position is not None else ""
    if color:
        kind = f"{_COLORS[severity]}{severity.value}: {_PLAIN}"
        message = diagnostic.message
        if severity is not Severity.NOTE:
            message = f"{_BOLD}{message}{_PLAIN}"
        text = f"{_BOLD}{where}{_PLAIN}{kind}{message}\n"
    else:
        text = f"{where}{severity.value}: {diagnostic.message}\n"
    if position is None:
        return text
    for source in sources:
        line = source.line_text(position.line) if source.name == position.file else None
        if line is not None and line.strip():
            above, _, _ = (excerpt := _excerpt(line, position.column)).rpartition("^")
            return text + (f"{above}{_GREEN}^{_PLAIN}\n" if color else excerpt)
    return text


def _excerpt(line: str, column: int) -> str:
    """Return a source line with a caret below `column`; a long line is cut around the column."""
    if len(line) > LONGEST_EXCERPT:
        start = max(0, min(column - LONGEST_EXCERPT // 2, len(line) - LONGEST_EXCERPT))
        end = start + LONGEST_EXCERPT
        before, after = "..." if start else "", "..." if end < len(line) else ""
        line = f"{before}{line[start:end]}{after}"
        column += len(before) - start
    # Keep tabs, so that the caret is below its column whatever the tab width.
    margin = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
    return f"{line}\n{margin}^\n"
