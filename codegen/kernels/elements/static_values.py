"""What is known about a value at compile time: its static shape, or that it is a constant."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.arith.divisions import INTEGER_DIVISIONS
from ....ir.attribute_access import integers, is_splat, kept_dimensions
from ....ir.diagnostics import OperationError
from .scalar_operations import is_scalar_operation


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the static shape of a tensor, `DYNAMIC_INDEX` where unknown; `()` for a scalar."""
    value_type = value.type
    if isinstance(value_type, TensorType):
        return cast("TensorType[Attribute]", value_type).get_shape()
    return ()


def is_tensor(value: SSAValue) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(value.type, TensorType)


def has_fixed_shapes(operation: Operation) -> bool:
    """Return whether an operation's shapes are the same in each run: nothing is dynamic."""
    return all(map(_has_static_shape, operation.results)) and all(
        constant_attribute(each) is not None
        or isinstance(each.type, AnyFloat | IntegerType)
        or (_has_static_shape(each) and operation.name != "tensor.reshape")
        for each in operation.operands
    )


def _has_static_shape(value: SSAValue) -> bool:
    return is_tensor(value) and min(shape_of(value), default=0) >= 0


def constant_attribute(value: SSAValue) -> Attribute | None:
    """Return the attribute of a constant, `None` for other values."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    name = CONSTANTS.get(owner.name)
    return None if name is None else owner.get_attr_or_prop(name)


def computed_constants(block: Block) -> set[Operation]:
    """Return the operations that compute an integer of constants, and cannot fail."""
    found: set[Operation] = set()
    for operation in block.ops:
        if (
            is_scalar_operation(operation.name)
            and operation.name not in INTEGER_DIVISIONS
            and len(operation.results) == 1
            and isinstance(operation.results[0].type, IntegerType | IndexType)
            and all(
                constant_attribute(each) is not None or each.owner in found
                for each in operation.operands
            )
        ):
            found.add(operation)
    return found


def is_index_operand(value: SSAValue, others: Set[Operation]) -> bool:
    """Return whether an index is an operand in its block, but for operations that are `others`.

    The host, too, reads such an operand: those of slices are checked there.
    """
    block = value.owner.parent_block() if isinstance(value.owner, Operation) else value.owner
    return isinstance(value.type, IndexType) and any(
        use.operation.parent_block() is block and use.operation not in others for use in value.uses
    )


def may_divide_by_zero(operation: Operation) -> bool:
    """Return whether an integer division's divisor is not constant, or is 0 or -1."""
    if operation.name not in INTEGER_DIVISIONS:
        return False
    attribute = constant_attribute(operation.operands[1])
    return not isinstance(attribute, IntegerAttr) or attribute.value.data in (0, -1)


CONSTANTS = {
    "arith.constant": "value",
    "complex.constant": "value",
}
"""Constant operations, and the attribute that has the value."""


def splat_value(attribute: Attribute) -> Attribute | None:
    """Return the value of a splat constant as a scalar attribute, `None` for other attributes."""
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    constant = cast(DenseIntOrFPElementsAttr[Any], attribute)
    if not is_splat(constant):
        return None
    kind = cast(Attribute, constant.get_element_type())
    number = cast(float, constant.get_values()[0])
    if isinstance(kind, AnyFloat):
        return FloatAttr(float(number), kind)
    if isinstance(kind, IntegerType):
        return IntegerAttr(int(number), cast(IntegerType, kind))
    if isinstance(kind, IndexType):
        return IntegerAttr(int(number), kind)
    return None


def is_number(constant: SSAValue) -> bool:
    """Return whether a constant is a scalar or a splat."""
    if not isinstance(constant.type, TensorType):
        return True
    attribute = constant_attribute(constant)
    return attribute is not None and splat_value(attribute) is not None


def dimensions_of_part(operation: Operation, part: SSAValue) -> tuple[int, ...]:
    """Return the dimensions of the whole that a rank-reduced slice keeps.

    Raises OperationError if the slice cannot have the type of `part`.
    """
    kept = kept_dimensions(integers(operation, "static_sizes"), shape_of(part))
    if kept is None:
        raise OperationError(operation, f"has no slice of type {part.type}")
    return kept
