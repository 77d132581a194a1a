"""Verifiers of tosa's constants and of arithmetic on shapes. They raise VerifyException."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, integer, number_list
from ...ir.index_lists import INDEX
from ...ir.tensor_types import shapes_agree, static_shape
from .attributes import ShapeType


def _require_numbers(operation: Operation, *kinds: type[Attribute]) -> Attribute:
    found = operation.properties["values"]
    if not isinstance(found, kinds):
        wanted = " or ".join(each.name for each in kinds)
        raise VerifyException(f"expected {wanted} as 'values', but got '{found}'")
    return found


def verify_const(operation: Operation) -> None:
    """Check that the result has the shape of the constant."""
    values = _require_numbers(operation, DenseIntOrFPElementsAttr, DenseResourceAttr)
    values_type: Attribute = getattr(values, "type", operation.results[0].type)
    if element_type(values_type) != element_type(operation.results[0].type):
        raise VerifyException(
            f"expected same attr/result element types, got '{values_type}' and "
            f"'{operation.results[0].type}'"
        )
    if isinstance(values_type, TensorType) and not shapes_agree(
        tuple(cast("TensorType[Attribute]", values_type).get_shape()),
        static_shape(operation.results[0]),
    ):
        raise VerifyException(
            f"failed to verify that all of {{values, output}} have same shape: '{values_type}' "
            f"and '{operation.results[0].type}'"
        )


def verify_const_shape(operation: Operation) -> None:
    """Check that there are as many values as the rank of the result type."""
    values = _require_numbers(operation, DenseIntOrFPElementsAttr)
    result_type = operation.results[0].type
    if not isinstance(result_type, ShapeType):
        raise VerifyException(f"result must be a tosa shape, but got '{result_type}'")
    if element_type(getattr(values, "type", result_type)) != INDEX:
        raise VerifyException(f"expected index elements as 'values', got '{values}'")
    count = len(number_list(values))
    if count != result_type.rank.data:
        raise VerifyException(
            f"expect number of elements in attribute values ({count}) to be equal to the rank "
            f"({result_type.rank.data}) for the result shape type"
        )


def _rank_of(value: SSAValue) -> int:
    if not isinstance(value.type, ShapeType):
        raise VerifyException(f"expected a tosa shape, got '{value.type}'")
    return value.type.rank.data


def verify_shapes(operation: Operation) -> None:
    """Check that all shapes have one rank; `concat_shape` adds up those of its operands."""
    ranks, result = [_rank_of(each) for each in operation.operands], _rank_of(operation.results[0])
    if operation.name == "tosa.concat_shape":
        ranks = [sum(ranks)]
    if any(rank != result for rank in ranks):
        raise VerifyException(f"expected a result of rank {ranks[0]}, got {result}")


def verify_dim(operation: Operation) -> None:
    """Check that the axis is one of the input's, and the result one size."""
    axis, rank = integer(operation, "axis"), len(static_shape(operation.operands[0]))
    if not 0 <= axis < rank:
        raise VerifyException(f"expect axis to be in the range [0, {rank}), got {axis}")
    if _rank_of(operation.results[0]) != 1:
        raise VerifyException(
            f"expect output shape type to contain one element, got '{operation.results[0].type}'"
        )
