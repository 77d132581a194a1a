"""The ops and attributes of CHLO."""

from __future__ import annotations

import sys
from itertools import zip_longest
from typing import Any, cast

from xdsl.dialects.builtin import ComplexType, TensorType, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type, integer, number_list
from ...ir.dialect_extension import dialect_of, variant
from ..stablehlo.attributes import ComparisonDirectionAttr as _Direction
from ..stablehlo.attributes import ComparisonTypeAttr as _Type
from ..stablehlo.attributes import word_attribute
from ..stablehlo.checks import (
    Shape,
    operand_shape,
    require_shape,
    verify_distinct,
    verify_same_shape,
)
from ..stablehlo.elementwise import ConstantOp
from ..stablehlo.syntax import define
from . import ragged_dot, scan
from .ragged_dot import verify_ragged_dot


def verify_broadcasting(operation: Operation) -> None:
    """Check that the result has the shape of the broadcast operands, and a complex result."""
    kinds = [element_type(each) for each in _types(operation)]
    if operation.name == "chlo.broadcast_complex" and kinds[2] != ComplexType(cast(Any, kinds[0])):
        raise VerifyException(f"expected a result of complex<{kinds[0]}>, got {kinds[2]}")
    if not all(isinstance(each, TensorType) for each in _types(operation)):
        return
    small, large = sorted((operand_shape(operation, 0), operand_shape(operation, 1)), key=len)
    dimensions = attribute(operation, "broadcast_dimensions")
    if dimensions is not None and len(small) < len(large):
        numbers = number_list(dimensions)
        verify_distinct(numbers, len(large), "broadcast dimensions")
        if len(numbers) != len(small):
            raise VerifyException(f"expected {len(small)} broadcast dimensions, got {dimensions}")
        sizes = dict(zip(numbers, small, strict=True))
        small = tuple(sizes.get(dimension, 1) for dimension in range(len(large)))
    require_shape(operation, _broadcast(small, large))


def _verify_comparison(operation: Operation) -> None:
    """Check the words of a comparison, and that its result has the shape of the operands."""
    for name, kind in (
        ("comparison_direction", ComparisonDirectionAttr),
        ("compare_type", ComparisonTypeAttr),
    ):
        if not isinstance(found := attribute(operation, name), kind | None):
            raise VerifyException(f"expected {name} to be a {kind.name}, got {found}")
    verify_broadcasting(operation)


def verify_broadcasting_select(operation: Operation) -> None:
    """Check that all operands can be broadcast to the result."""
    if not all(isinstance(each, TensorType) for each in _types(operation)):
        return
    shape: Shape = ()
    for index in range(3):
        shape = _broadcast(shape, operand_shape(operation, index))
    require_shape(operation, shape)


def _types(operation: Operation) -> tuple[Attribute, ...]:
    return (*operation.operand_types, *operation.result_types)


def _broadcast(left: Shape, right: Shape) -> Shape:
    """Return the shape of the result; sizes that do not fit are for the conversion to refuse."""
    sizes = [
        a if b == 1 else b if a in (1, b) else -1
        for a, b in zip_longest(reversed(left), reversed(right), fillvalue=1)
    ]
    return tuple(reversed(sizes))


UNARY = (
    "_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj cosh constant_like digamma "
    "erf erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma sinh square tan"
)
BINARY = "next_after polygamma zeta mulhi"
BROADCASTING = (
    "add and atan2 complex divide maximum minimum multiply next_after or polygamma power remainder "
    "shift_left shift_right_arithmetic shift_right_logical subtract xor zeta"
)


ComparisonDirectionAttr = word_attribute("chlo.comparison_direction", *_Direction.WORDS)
ComparisonTypeAttr = word_attribute("chlo.comparison_type", *_Type.WORDS)
PrecisionAttr = word_attribute("chlo.precision", "DEFAULT", "HIGH", "HIGHEST")


def _verify_top_k(operation: Operation) -> None:
    """Check that both results have the operand's shape with `k` elements in the last dimension."""
    *outer, length = operand_shape(operation, 0) or (0,)
    count = integer(operation, "k")
    if count < 0 or 0 <= length < count:
        raise VerifyException(f"expected k in [0, {length}], got {count}")
    for index in (0, 1):
        require_shape(operation, (*outer, count), index)
    if element_type(operation.result_types[1]) != i32:
        raise VerifyException(f"expected indices of i32, got {operation.result_types[1]}")


def _verify_constant_like(operation: Operation) -> None:
    """Check that the value is an element of the result, which has the shape of the operand."""
    found, wanted = attribute(operation, "value"), element_type(operation.result_types[0])
    if getattr(found, "type", wanted) != wanted:
        raise VerifyException(f"expected a value of type {wanted}, got {found}")
    verify_same_shape(operation)


ROWS: list[type[Operation]] = [
    variant(ConstantOp, "chlo.constant"),
    *(
        define(
            f"chlo.{name}",
            "operand -> result",
            " $operand attr-dict : type($operand) -> type($result)",
            verify=verify_same_shape,
        )
        for name in UNARY.split()
        if name != "constant_like"
    ),
    *(
        define(
            f"chlo.{name}",
            "lhs rhs -> result",
            " $lhs, $rhs attr-dict : type($lhs), type($rhs) -> type($result)",
            verify=verify_same_shape,
        )
        for name in BINARY.split()
    ),
    *(
        define(
            f"chlo.broadcast_{name}",
            "lhs rhs -> result | broadcast_dimensions:numbers?",
            " $lhs, $rhs attr-dict : signature($lhs, $rhs, $result)",
            verify=verify_broadcasting,
        )
        for name in BROADCASTING.split()
    ),
    define("chlo.constant_like", "operand -> result | value", verify=_verify_constant_like),
    define(
        "chlo.broadcast_compare",
        "lhs rhs -> result | broadcast_dimensions:numbers? comparison_direction compare_type?",
        " $lhs, $rhs attr-dict : signature($lhs, $rhs, $result)",
        verify=_verify_comparison,
    ),
    define(
        "chlo.broadcast_select",
        "pred on_true on_false -> result",
        " $pred, $on_true, $on_false attr-dict : signature($pred, $on_true, $on_false, $result)",
        verify=verify_broadcasting_select,
    ),
    define(
        "chlo.top_k",
        "operand -> values indices | k:i64attr is_stable:bool?",
        "($operand, k = signed-int($k)(, is_stable = bool($is_stable))?)"
        " attr-dict : type($operand) -> (type($values), type($indices))",
        verify=_verify_top_k,
    ),
    define(
        "chlo.ragged_dot",
        "lhs rhs group_sizes -> result | ragged_dot_dimension_numbers precision_config?",
        verify=verify_ragged_dot,
    ),
]

Chlo = dialect_of("chlo", sys.modules[__name__], ragged_dot, scan)
