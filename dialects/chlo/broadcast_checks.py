"""Verifiers of CHLO's operations that broadcast their operands. They raise VerifyException."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type
from ..quant import quantization
from ..stablehlo.checks import Shape, operand_shape, require_shape, result_shape

_INTEGERS = ("chlo.broadcast_and", "chlo.broadcast_or", "chlo.broadcast_xor")
_FLOATS = ("chlo.broadcast_complex", "chlo.broadcast_zeta")


def verify_broadcasting(operation: Operation) -> None:
    """Check the element types, and that the result has the shape of the broadcast operands."""
    _verify_elements(operation)
    if not all(isinstance(each, TensorType) for each in _types(operation)):
        return
    left, right = operand_shape(operation, 0), operand_shape(operation, 1)
    if attribute(operation, "broadcast_dimensions") is None:
        require_shape(operation, _broadcast(left, right))
    elif len(result_shape(operation)) != max(len(left), len(right)):
        raise VerifyException(
            f"expected a result of rank {max(len(left), len(right))}, got "
            f"{len(result_shape(operation))}"
        )


def verify_broadcasting_select(operation: Operation) -> None:
    """Check that the predicate is of i1, and that all operands can be broadcast to the result."""
    if element_type(operation.operand_types[0]) != IntegerType(1):
        raise VerifyException(f"expected a predicate of i1, got {operation.operand_types[0]}")
    if not all(isinstance(each, TensorType) for each in _types(operation)):
        return
    shape: Shape = ()
    for index in range(3):
        shape = _broadcast(shape, operand_shape(operation, index))
    require_shape(operation, shape)


def _types(operation: Operation) -> tuple[Attribute, ...]:
    return (*operation.operand_types, *operation.result_types)


def _verify_elements(operation: Operation) -> None:
    left, right, result = (element_type(each) for each in _types(operation))
    if any(quantization(each) for each in (left, right, result)):
        return
    if left != right:
        raise VerifyException(f"requires the same element type, got {left} and {right}")
    expected = _result_element(operation.name, left)
    if operation.name in _INTEGERS and not isinstance(left, IntegerType):
        raise VerifyException(f"expected elements that are integers, got {left}")
    if operation.name in _FLOATS and not isinstance(left, AnyFloat):
        raise VerifyException(f"expected elements that are floats, got {left}")
    if result != expected:
        raise VerifyException(f"expected elements of type {expected} in the result, got {result}")


def _result_element(name: str, element: Attribute) -> Attribute:
    if name == "chlo.broadcast_complex":
        return cast(Attribute, ComplexType(cast(Any, element)))
    return IntegerType(1) if name == "chlo.broadcast_compare" else element


def _broadcast(left: Shape, right: Shape) -> Shape:
    """Return the shape of the result; sizes that do not fit are for the conversion to refuse."""
    sizes = [
        a if b == 1 else b if a in (1, b) else -1
        for a, b in zip_longest(reversed(left), reversed(right), fillvalue=1)
    ]
    return tuple(reversed(sizes))
