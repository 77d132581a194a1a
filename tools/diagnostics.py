"""What a tool tells its user about a program: where, how bad, what, and the line itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from ..ir.diagnostics import Note, OperationError, Remark
from ..ir.text.source import Source

LONGEST_EXCERPT = 160
"""How many characters of a source line are shown with a diagnostic."""


class Severity(Enum):
    """How bad it is; the value is the word that is printed."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Place:
    """A line and column of a file, both counted from one."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message, and the notes that belong to it."""

    severity: Severity
    message: str
    place: Place | None = None
    notes: tuple[Diagnostic, ...] = ()


def with_notes(diagnostic: Diagnostic, notes: Iterable[Diagnostic]) -> Diagnostic:
    """A diagnostic with other notes."""
    return replace(diagnostic, notes=tuple(notes))


def error(message: str, place: Place | None = None) -> Diagnostic:
    """An error without notes."""
    return Diagnostic(Severity.ERROR, message, place)


def place_of_location(location: Attribute) -> Place | None:
    """The first file position that a location mentions."""
    match location:
        case FileLineColLoc():
            return Place(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return place_of_location(location.location)
        case CallSiteLoc():
            return place_of_location(location.callee)
        case FusedLoc():
            places = (place_of_location(part) for part in _parts(location))
            return next((place for place in places if place is not None), None)
        case _:
            return None


def _parts(location: FusedLoc) -> Iterable[LocationAttr]:
    return location.locations.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


def place_of(operation: Operation) -> Place | None:
    """Where an operation stands in the text.

    A pass may have made it without saying from what: then the nearest located operation before it
    in its block, or else the operation around it, tells where to look.
    """
    current: Operation | None = operation
    while current is not None:
        candidate: Operation | None = current
        while candidate is not None:
            place = place_of_location(candidate.location)
            if place is not None:
                return place
            candidate = candidate.prev_op
        current = current.parent_op()
    return None


def describe_place(operation: Operation) -> str:
    """The same in words, the operation's name if its place is not known."""
    return str(place_of(operation) or f"'{operation.name}'")


def _place_of_span(span: Span[str] | Span[bytes]) -> Place:
    if isinstance(span.input, Source):
        line, column = span.input.line_and_column(span.start)
        return Place(span.input.name, line, column)
    location = span.get_location()
    return Place(location.file, location.line, location.col)


def from_parse_error(failure: ParseError) -> Diagnostic:
    """The diagnostic of a text that cannot be read."""
    notes: tuple[Diagnostic, ...] = ()
    if isinstance(failure, MultipleSpansParseError):
        notes = tuple(
            Diagnostic(Severity.NOTE, text or failure.ref_text or "see here", _place_of_span(span))
            for span, text in failure.refs
        )
    return Diagnostic(Severity.ERROR, failure.msg, _place_of_span(failure.span), notes)


def from_operation_error(failure: OperationError) -> Diagnostic:
    """The diagnostic of an operation that a pass or verifier refuses."""
    return operation_diagnostic(Severity.ERROR, failure.operation, failure.message, failure.notes)


def from_remark(remark: Remark) -> Diagnostic:
    """The diagnostic of a decision that a pass reports."""
    return operation_diagnostic(
        Severity.REMARK, remark.operation, f"[{remark.category}] {remark.message}", remark.notes
    )


def operation_diagnostic(
    severity: Severity, operation: Operation, message: str, notes: Iterable[Note] = ()
) -> Diagnostic:
    """A message about an operation: `'name' op message`, at its place."""
    prefix = f"'{_name(operation)}' op "
    return Diagnostic(
        severity,
        message if message.startswith(prefix) else prefix + message,
        place_of(operation),
        tuple(
            Diagnostic(
                Severity.NOTE,
                note.message,
                place_of(note.operation if note.operation is not None else operation),
            )
            for note in notes
        ),
    )


def _name(operation: Operation) -> str:
    from xdsl.dialects.builtin import UnregisteredOp

    return operation.op_name.data if isinstance(operation, UnregisteredOp) else operation.name


def render(diagnostic: Diagnostic, sources: Iterable[Source], *, color: bool = False) -> str:
    """The text of a diagnostic and its notes, with source lines and carets where known."""
    sources = list(sources)
    return "".join(_render_one(part, sources, color) for part in (diagnostic, *diagnostic.notes))


_BOLD, _GREEN, _PLAIN = "\x1b[1m", "\x1b[1;32m", "\x1b[0m"
_COLORS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;35m",
    Severity.REMARK: "\x1b[1;34m",
    Severity.NOTE: "\x1b[1;36m",
}
"""What a terminal takes for colours; those of clang."""


def _render_one(diagnostic: Diagnostic, sources: list[Source], color: bool) -> str:
    place, severity = diagnostic.place, diagnostic.severity
    where = f"{place}: " if place is not None else ""
    if color:
        kind = f"{_COLORS[severity]}{severity.value}: {_PLAIN}"
        message = diagnostic.message
        if severity is not Severity.NOTE:
            message = f"{_BOLD}{message}{_PLAIN}"
        text = f"{_BOLD}{where}{_PLAIN}{kind}{message}\n"
    else:
        text = f"{where}{severity.value}: {diagnostic.message}\n"
    if place is None:
        return text
    for source in sources:
        line = source.line_text(place.line) if source.name == place.file else None
        if line is not None and line.strip():
            above, _, _ = (excerpt := _excerpt(line, place.column)).rpartition("^")
            return text + (f"{above}{_GREEN}^{_PLAIN}\n" if color else excerpt)
    return text


def _excerpt(line: str, column: int) -> str:
    """A source line, or the part of a long one around a column, with a caret below."""
    if len(line) > LONGEST_EXCERPT:
        start = max(0, min(column - LONGEST_EXCERPT // 2, len(line) - LONGEST_EXCERPT))
        end = start + LONGEST_EXCERPT
        before, after = "..." if start else "", "..." if end < len(line) else ""
        line = f"{before}{line[start:end]}{after}"
        column += len(before) - start
    # Tabs stay tabs, so that the caret stands under its column in any terminal.
    margin = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
    return f"{line}\n{margin}^\n"
