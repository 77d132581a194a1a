"""Checks of the scales and zero points of StableHLO's ops on quantised tensors.

The verifiers raise VerifyException.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type, number_list
from ...ir.tensor_types import element_count, sizes_agree
from ..quant import Quantization, quantization
from .attributes import StructAttribute
from .types import ConvAttr

Scales = tuple[Sequence[float], Sequence[int]]


def verify_quantized_types(operation: Operation) -> None:
    """Check that tensors have a scale for each slice, and what the op says about scales."""
    types = (*operation.operand_types, *operation.result_types)
    if not any(quantization(element_type(each)) for each in types):
        return
    for each in types:
        if isinstance(each, TensorType):
            _verify_slices(cast("TensorType[Any]", each))
    if (verify := _VERIFIERS.get(operation.name)) is not None:
        verify(operation)


def _verify_slices(tensor: TensorType[Any]) -> None:
    stored = quantization(element_type(tensor))
    if stored is None or stored.axis is None:
        return
    sizes = tensor.get_shape()
    size = sizes[stored.axis] if stored.axis < len(sizes) else 0
    if size >= 0 and size != len(stored.scales):
        raise VerifyException(
            f"expected a scale for each of {size} slices in dimension {stored.axis}, got {tensor}"
        )


def _quantizations(types: Sequence[Attribute]) -> list[Quantization | None]:
    return [quantization(element_type(each)) for each in types]


def _require(condition: bool, what: str, operation: Operation) -> None:
    if not condition:
        shown = ", ".join(map(str, (*operation.operand_types, *operation.result_types)))
        raise VerifyException(f"expected {what}, got {shown}")


# Moved elements ----------------------------------------------------------------------------------


def _scales(stored: Quantization) -> Scales:
    return stored.scales, stored.zero_points


def _moved(operation: Operation) -> tuple[Quantization, Quantization] | None:
    """Return the quantisation of operand and result; `None` if they are not quantised."""
    source, result = _quantizations((operation.operand_types[0], operation.result_types[0]))
    if source is None or result is None:
        return None
    same_kind = (source.axis is None) == (result.axis is None)
    _require(
        same_kind, "scales of operand and result to be along an axis, or of both not", operation
    )
    return source, result


def _verify_same_scales(operation: Operation) -> tuple[int, int] | None:
    """Check that scales are kept; return the axes of operand and result if they have them."""
    moved = _moved(operation)
    if moved is None:
        return None
    source, result = moved
    _require(_scales(source) == _scales(result), "the same scales of operand and result", operation)
    return None if source.axis is None or result.axis is None else (source.axis, result.axis)


def _verify_transposed(operation: Operation) -> None:
    axes = _verify_same_scales(operation)
    if axes is not None:
        order = number_list(attribute(operation, "permutation"))
        _require(order[axes[1]] == axes[0], "the axis of the scales to be permuted", operation)


def _verify_reshaped(operation: Operation) -> None:
    axes = _verify_same_scales(operation)
    if axes is None:
        return
    outer = [
        cast("TensorType[Any]", each).get_shape()[:axis]
        for each, axis in zip(
            (operation.operand_types[0], operation.result_types[0]), axes, strict=True
        )
    ]
    counts = [element_count(each) for each in outer]
    _require(sizes_agree(*counts), "as many slices before the axis of the scales", operation)


def _verify_broadcast(operation: Operation) -> None:
    moved = _moved(operation)
    if moved is None:
        return
    source, result = moved
    wanted = _scales(source)
    if source.axis is not None:
        axes = number_list(attribute(operation, "broadcast_dimensions"))
        _require(axes[source.axis] == result.axis, "the axis of the scales to be mapped", operation)
        count = len(result.scales) if len(source.scales) == 1 else 1
        wanted = (source.scales * count, source.zero_points * count)
    _require(_scales(result) == wanted, "the same scales of operand and result", operation)


def _verify_expressed(operation: Operation) -> None:
    """Check that operand and result stand for real numbers of one type."""
    found = [
        stored.expressed if stored else element_type(each)
        for each in (operation.operand_types[0], operation.result_types[0])
        for stored in _quantizations([each])
    ]
    _require(found[0] == found[1], f"numbers that stand for {found[0]}", operation)


def _verify_added(operation: Operation) -> None:
    *operands, result = _quantizations((*operation.operand_types, *operation.result_types))
    has_axis = any(each is not None and each.axis is not None for each in operands)
    fits = not has_axis or (result is not None and result.axis is not None)
    _require(fits, "a result with scales along the axis of the operands", operation)


# Products ----------------------------------------------------------------------------------------


def _verify_factors(operation: Operation) -> Quantization:
    """Check the quantisation of factors and product; return that of the right factor."""
    types = (*operation.operand_types[:2], operation.result_types[0])
    left, right, result = _quantizations(types)
    if right is None or (left is None) != (result is None):
        raise VerifyException("expected a quantised rhs, lhs and result both quantised or neither")
    if left is None or result is None:
        elements = {element_type(types[0]), element_type(types[2])}
        _require(elements == {right.expressed}, f"{right.expressed} beside rhs", operation)
        return right
    _require(left.storage == right.storage, "factors that are stored alike", operation)
    expressed = {each.expressed for each in (left, right, result)}
    _require(len(expressed) == 1, "numbers that stand for one type", operation)
    fits = right.axis is not None or result.axis is None
    _require(fits, "a result without an axis of scales, as rhs", operation)
    return right


def _verify_dot_general(operation: Operation) -> None:
    right = _verify_factors(operation)
    _require(not any(right.zero_points), "zero points of rhs to be 0", operation)
    numbers = cast(StructAttribute, attribute(operation, "dot_dimension_numbers"))
    contracted = numbers.integers("rhs_contracting_dimensions")
    _require(right.axis not in contracted, "scales of rhs along another dimension", operation)


def _verify_convolution(operation: Operation) -> None:
    right = _verify_factors(operation)
    result = quantization(element_type(operation.result_types[0]))
    numbers = cast(ConvAttr, attribute(operation, "dimension_numbers"))
    for stored, which, letter in ((right, 1, "o"), (result, 2, "f")):
        fits = stored is None or stored.axis in (None, numbers.data[which].index(letter))
        _require(fits, "scales along the dimension of the output features", operation)


_VERIFIERS: dict[str, Callable[[Operation], None]] = {
    "stablehlo.add": _verify_added,
    "stablehlo.broadcast_in_dim": _verify_broadcast,
    "stablehlo.convolution": _verify_convolution,
    "stablehlo.dot_general": _verify_dot_general,
    "stablehlo.dynamic_broadcast_in_dim": _verify_broadcast,
    "stablehlo.dynamic_conv": _verify_convolution,
    "stablehlo.reshape": _verify_reshaped,
    "stablehlo.transpose": _verify_transposed,
    "stablehlo.uniform_dequantize": _verify_expressed,
    "stablehlo.uniform_quantize": _verify_expressed,
}
