"""Canonicalization of ops on strings in host memory: constants become part of the text."""

from __future__ import annotations

import re
from itertools import count

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import constant_integer, text
from ...ir.canonicalization import Patterns
from ...ir.locations import made_by
from .dialect import BufferConstantOp
from .memory import PLACEHOLDER

rewrites = Patterns()


def _known_text(value: SSAValue) -> str | None:
    """Return the text of a constant: a string, or an integer, which is written unsigned."""
    constant = made_by(value, "util.buffer.constant")
    if constant is not None:
        found = constant.properties["value"]
        return found.data if isinstance(found, StringAttr) else None
    number = constant_integer(value)
    if number is None:
        return None
    type_: Attribute = value.type
    width = type_.bitwidth if isinstance(type_, IntegerType) else 64
    return str(number % (1 << width))


def _constant(op: Operation, known: str) -> Operation:
    return BufferConstantOp.build(
        result_types=[op.results[0].type], properties={"value": StringAttr(known)}
    )


@rewrites("util.string.itoa")
def fold_number_text(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute the text of a constant number."""
    known = _known_text(op.operands[0])
    if known is not None:
        rewriter.replace(op, _constant(op, known))


@rewrites("util.string.format")
def fold_format(op: Operation, rewriter: PatternRewriter) -> None:
    """Write constants into a format; return its text, or its only argument, if no more is left."""
    format_ = text(op, "format")
    if format_ in ("{}", "{0}") and op.operands[0].type == op.results[0].type:
        rewriter.replace(op, (), (op.operands[0],))
        return
    known = [_known_text(value) for value in op.operands]
    left = [at for at, found in enumerate(known) if found is None]
    if left and len(left) == len(known):
        return
    sequential = count()

    def written(found: re.Match[str]) -> str:
        if (placeholder := found["placeholder"]) is None:
            return found[0]
        index = int(placeholder or next(sequential))
        if (text_ := known[index]) is None:
            return f"{{{left.index(index)}}}" if placeholder else "{}"
        return text_.replace("{", "{{").replace("}", "}}")

    format_ = PLACEHOLDER.sub(written, format_)
    if not left:
        rewriter.replace(op, _constant(op, format_.replace("{{", "{").replace("}}", "}")))
        return
    op.properties["format"] = StringAttr(format_)
    op.operands = [op.operands[at] for at in left]
    rewriter.notify_op_modified(op)
