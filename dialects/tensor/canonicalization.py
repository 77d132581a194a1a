"""Canonicalization of `tensor` ops, by name."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.canonicalization import Patterns
from ...ir.locations import made_by

rewrites = Patterns()


@rewrites("tensor.cast")
def join_casts(op: CastOp, rewriter: PatternRewriter) -> None:
    """Drop a cast to the same type, and one to a type with no other static sizes on the way."""
    if op.source.type == op.dest.type:
        rewriter.replace(op, (), (op.source,))
        return
    inner = made_by(op.source, "tensor.cast")
    if inner is not None and _tells_no_size(inner.operands[0].type, op.source.type, op.dest.type):
        op.operands = inner.operands
        rewriter.notify_op_modified(op)


def _tells_no_size(before: Attribute, between: Attribute, after: Attribute) -> bool:
    """Return whether a type tells no size that the types before and after it do not tell."""
    tensors = (before, between, after)
    if not all(isinstance(each, TensorType) for each in tensors):
        return False
    types = cast("tuple[TensorType[Any], ...]", tensors)
    if len({(type_.element_type, type_.encoding) for type_ in types}) > 1:
        return False
    for first, known, last in zip(*(type_.get_shape() for type_ in types), strict=True):
        if DYNAMIC_INDEX not in (first, last) and first != last:
            return False
        if known != DYNAMIC_INDEX and first == last == DYNAMIC_INDEX:
            return False
    return True
