"""Verifiers of the elements of tosa's zero points, accumulators and factors.

They raise VerifyException.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
    f16,
    f32,
    i8,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, flag
from ...ir.tensor_types import StaticShape, shape_text, shapes_agree, static_shape
from ..quant import quantization


def stored(value: SSAValue) -> Attribute:
    """Return the element type of a tensor, or of the numbers that its quantised elements store."""
    element = element_type(value.type)
    found = quantization(element)
    return found.storage if found else element


def require_same_stored(left: SSAValue, right: SSAValue, what: str) -> None:
    """Check that two tensors have the same element type."""
    if stored(left) != stored(right):
        raise VerifyException(
            f"expect {what} to have same element type, got '{stored(left)}' and '{stored(right)}'"
        )


def verify_scalars(operation: Operation, first: int) -> None:
    """Check that the operands from `first` on have rank 1 and one element each."""
    for index, value in enumerate(operation.operands[first:], start=first):
        if static_shape(value) not in ((1,), (-1,)):
            raise VerifyException(
                f"operand #{index} must be a tensor of one element, but got '{value.type}'"
            )


def verify_zero_points(operation: Operation, first: int, tensors: Sequence[SSAValue]) -> None:
    """Check that the operands from `first` on are zero points of these tensors, in order."""
    verify_scalars(operation, first)
    for zero_point, tensor in zip(operation.operands[first:], tensors, strict=True):
        require_same_stored(tensor, zero_point, "a tensor and its zero point")


# Accumulators ------------------------------------------------------------------------------------

_ACCUMULATORS: tuple[tuple[type[Attribute] | Attribute, tuple[Attribute, ...]], ...] = (
    (i8, (i32,)),
    (i16, (IntegerType(48),)),
    (Float8E4M3FNType, (f16, f32)),
    (Float8E5M2Type, (f16, f32)),
    (Float16Type, (f16, f32)),
    (BFloat16Type, (f32,)),
    (Float32Type, (f32,)),
)
"""Elements of the input of a convolution, and what their products may be added in."""


def verify_accumulator(operation: Operation) -> None:
    """Check `acc_type` of a convolution or of an average, whose integers are added in i32."""
    element, found = stored(operation.operands[0]), operation.properties["acc_type"]
    if operation.name == "tosa.avg_pool2d" and isinstance(element, IntegerType):
        element = i8
    for kind, allowed in _ACCUMULATORS:
        matches = isinstance(element, kind) if isinstance(kind, type) else element == kind
        if matches and found not in allowed:
            raise VerifyException(
                f"accumulator type for {element} tensor is not {'/'.join(map(str, allowed))}"
            )


def verify_convolution_elements(operation: Operation) -> None:
    """Check the elements of input, weight, bias, zero points and result of a convolution."""
    source, weight, bias = operation.operands[:3]
    if isinstance(stored(source), AnyFloat) != isinstance(stored(weight), AnyFloat):
        raise VerifyException(
            "expect both input and weight to be float or not together, got "
            f"'{stored(source)}' and '{stored(weight)}'"
        )
    verify_accumulator(operation)
    verify_zero_points(operation, 3, (source, weight))
    # Quantised biases may be given with another type than the result.
    if not quantization(element_type(bias.type)):
        require_same_stored(bias, operation.results[0], "both bias and result")


# Rescaling ---------------------------------------------------------------------------------------


def verify_factors(operation: Operation) -> None:
    """Check the multipliers and shifts of a `rescale`: one, or one for each channel."""
    shape: StaticShape = (1,)
    source = static_shape(operation.operands[0])
    if flag(operation, "per_channel"):
        shape = source[-1:] or (1,)
    wanted = i32 if flag(operation, "scale32") else i16
    for index, what, element in ((1, "multiplier", wanted), (2, "shift", i8)):
        value = operation.operands[index]
        if element_type(value.type) != element:
            raise VerifyException(f"expect {element} elements of the {what}, got '{value.type}'")
        if not shapes_agree(static_shape(value), shape):
            raise VerifyException(
                f"expect shape of {{ {shape_text(shape)} }} for {what} input, got "
                f"{{ {shape_text(static_shape(value))} }}"
            )
    for what, tensor, zero_point in (
        ("input", operation.operands[0], operation.operands[3]),
        ("output", operation.results[0], operation.operands[4]),
    ):
        element, other = stored(tensor), stored(zero_point)
        if not isinstance(element, IntegerType):
            raise VerifyException(f"expect {what} to have integer element type, got '{element}'")
        if not isinstance(other, IntegerType) or other.bitwidth != element.bitwidth:
            raise VerifyException(
                f"expected {what} and {what}_zp to both be integer of the same bitwidth, but got "
                f"'{element}' vs. '{other}'"
            )
