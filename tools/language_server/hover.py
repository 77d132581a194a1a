"""Hover information about the name at a position."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import ParseError

from ...ir.attribute_access import operation_name
from ...ir.diagnostics import Remark
from ...ir.tensor_types import element_bytes
from ..diagnostics import position_of
from ..opt.help import paragraphs
from .analysis import Analysis, Piece, alias_definition, symbol_definition
from .definitions import reference_at
from .positions import rest_of_line
from .shardings import Shardings, describe

MAX_REMARKS = 4


def hover_at(
    analysis: Analysis, offset: int, context: Context, shardings: Callable[[Piece], Shardings]
) -> str | None:
    """Return information about the name at an offset, as Markdown; `None` if there is none.

    `shardings` returns the shardings of a piece, which may take time.
    """
    piece = analysis.piece_at(offset)
    word = analysis.word_around(offset)
    at = offset - piece.base
    match word[:1]:
        case "%":
            value = piece.value_at(at)
            return None if value is None else _of_value(word, value, shardings(piece))
        case "@":
            found = symbol_definition(piece, at, reference_at(piece, at))
            return None if found is None else _code(_first_line(piece, found[0]))
        case "#" | "!":
            extent = alias_definition(piece, word)
            text = piece.source.content
            return None if extent is None else _code(rest_of_line(text, extent.start))
        case _:
            return _of_operation(piece, at, word, context, shardings)


def _code(text: str) -> str:
    return f"```mlir\n{text[:400]}\n```"


def _first_line(piece: Piece, operation: Operation) -> str:
    extent = piece.parser.places.extents[operation]
    return piece.source.content[extent.start : extent.end].partition("\n")[0]


def _of_value(word: str, value: SSAValue, shardings: Shardings) -> str:
    parts = [_code(f"{word} : {value.type}")]
    size = _element_bytes(value)
    found = shardings.of(value)
    if found is not None:
        parts.append(describe(*found, size))
    elif size is not None and isinstance(value.type, ShapedType):
        extents = value.type.get_shape()
        if all(extent >= 0 for extent in extents):
            parts.append(f"{size * prod(extents):,} bytes")
    if shardings.failure is not None and isinstance(value.type, ShapedType):
        parts.append(f"No shardings are known: {shardings.failure.message}")
    parts += [_remark(each) for each in shardings.why(value)[:MAX_REMARKS]]
    return "\n\n".join(parts)


def _element_bytes(value: SSAValue) -> int | None:
    try:
        return element_bytes(value)
    except Exception:
        # A type without a size, such as one of another package.
        return None


def _remark(remark: Remark) -> str:
    lines = [f"*{remark.category}*: {remark.message}"]
    for note in remark.notes:
        position = position_of(note.operation) if note.operation is not None else None
        where = f" (line {position.line})" if position is not None else ""
        lines.append(f"- {note.message}{where}")
    return "\n".join(lines)


def _of_operation(
    piece: Piece,
    offset: int,
    word: str,
    context: Context,
    shardings: Callable[[Piece], Shardings],
) -> str | None:
    name = word.strip('"')
    around = piece.operations_around(offset)
    operation = around[0] if around and operation_name(around[0]).endswith(name) else None
    full = operation_name(operation) if operation is not None and name else name
    try:
        kind = context.get_optional_op(full)
    except ParseError:
        return None
    if kind is None or "." not in full:
        return None
    parts = [f"**{full}**"]
    if text := documentation(kind):
        parts.append(text)
    if operation is not None:
        position = position_of(operation)
        if position is not None:
            about = shardings(piece).remarks.get((position.line, position.column), [])
            parts += [_remark(each) for each in about[:MAX_REMARKS]]
    return "\n\n".join(parts)


def documentation(kind: type[Operation]) -> str:
    """Return the first paragraph of an operation's docstring; empty if it only repeats the name."""
    return next(iter(paragraphs(kind)), "")
