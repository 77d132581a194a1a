"""Kinds of operations that the formation of kernels tells apart."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
)
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, is_side_effect_free

from ....dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ....ir.attribute_access import is_splat
from ....ir.locations import made_by
from ....ir.regions import inner_blocks

_VALUE_DIALECTS = frozenset({"arith", "complex", "linalg", "math", "tensor"})
"""Dialects whose operations have no side effects, provided that they do not use buffers."""

_BODY_DIALECTS = frozenset({"scf"})
"""Dialects whose operations have only the side effects of their bodies."""


def is_memory_effect_free(operation: Operation) -> bool:
    """Return whether an operation has no effect besides its results."""
    if is_side_effect_free(operation):
        return True
    dialect = operation.name.partition(".")[0]
    if dialect in _VALUE_DIALECTS:
        if _has_buffer(operation):
            return False
    elif dialect not in _BODY_DIALECTS:
        return False
    return all(
        inner.has_trait(IsTerminator, value_if_unregistered=False) or is_memory_effect_free(inner)
        for block in inner_blocks(operation)
        for inner in block.ops
    )


def _has_buffer(operation: Operation) -> bool:
    types = (*operation.operand_types, *operation.result_types)
    return any(isinstance(each, MemRefType | UnrankedMemRefType) for each in types)


FLOW_VIEWS = frozenset(
    {"tensor.bitcast", "tensor.cast", "tensor.collapse_shape", "tensor.expand_shape"}
)
"""Operations that give the same bytes another shape or element type, on the host."""

ENCODING_OPS = frozenset({SetEncodingOp.name, UnsetEncodingOp.name})


def is_rematerialized(operation: Operation) -> bool:
    """Return whether an operation is repeated in each kernel that reads it, not computed once."""
    if operation.name == "linalg.fill":
        return made_by(operation.operands[-1], "tensor.empty") is not None
    if operation.name == "arith.constant":
        value = operation.properties.get("value")
        if isinstance(value, DenseIntOrFPElementsAttr):
            return is_splat(cast(DenseIntOrFPElementsAttr[Any], value))
        return True
    return operation.name in ("complex.constant", "tensor.empty", "tensor.splat")


def is_collective(operation: Operation) -> bool:
    """Return whether an operation is a collective: a dispatch of its own on all processes."""
    return operation.name.startswith("shard.") and any(
        isinstance(result.type, TensorType) for result in operation.results
    )


def has_effect(operation: Operation) -> bool:
    """Return whether an operation of the host program has to keep its place."""
    return not operation.name.startswith("flow.") and not is_memory_effect_free(operation)
