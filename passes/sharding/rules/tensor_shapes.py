"""Rules of `tensor` operations that regroup dimensions without moving elements."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from ....ir.attribute_access import attribute
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorRule
from .builder import RuleBuilder
from .registry import rule
from .reshapes import reshape_rule


def reassociation(operation: Operation) -> list[list[int]] | None:
    """The groups of expanded dimensions, one per collapsed dimension."""
    found = attribute(operation, "reassociation")
    return None if found is None else [_numbers(group) for group in _elements(found)]


def _elements(array: Attribute) -> tuple[Attribute, ...]:
    return cast("ArrayAttr[Attribute]", array).data if isinstance(array, ArrayAttr) else ()


def _numbers(array: Attribute) -> list[int]:
    return [each.value.data for each in _elements(array) if isinstance(each, IntegerAttr)]


@rule("tensor.collapse_shape")
def collapse_shape(operation: Operation) -> FactorRule | None:
    """Each expanded dimension is a factor, each collapsed one its group's."""
    shape, groups = tensor_shape(operation.operands[0]), reassociation(operation)
    if shape is None or groups is None:
        return None
    builder = RuleBuilder(operation)
    factors = [builder.factor(size) for size in shape]
    builder.operand_dimensions(0, [(factor,) for factor in factors])
    builder.result_dimensions(0, [tuple(factors[d] for d in group) for group in groups])
    return builder.build()


@rule("tensor.expand_shape")
def expand_shape(operation: Operation) -> FactorRule | None:
    """As `collapse_shape`, the other way."""
    shape, groups = tensor_shape(operation.results[0]), reassociation(operation)
    if shape is None or groups is None:
        return None
    builder = RuleBuilder(operation)
    factors = [builder.factor(size) for size in shape]
    builder.operand_dimensions(0, [tuple(factors[d] for d in group) for group in groups])
    builder.result_dimensions(0, [(factor,) for factor in factors])
    return builder.build()


@rule("tensor.reshape")
def reshape(operation: Operation) -> FactorRule | None:
    """What the shapes before and after have in common."""
    return reshape_rule(operation)
