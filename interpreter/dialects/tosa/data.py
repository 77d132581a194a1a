"""Execute the data movement of the `tosa` dialect, and arithmetic on shapes.

A shape (`!tosa.shape<n>`) is held as an array of n int64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ....ir.attribute_access import integer, integers, operation_name
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Array, Value, shape_text
from ...frames import Frame
from ...nests.loops import check_indices
from ...registry import Results, impl
from ...shapes import check_countable
from .operations import one_element


def numbers(operand: Value) -> list[int]:
    """Return the numbers of a `!tosa.shape`."""
    return [int(number) for number in np.asarray(operand).reshape(-1)]


@impl("tosa.pad")
def _pad(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    array = np.asarray(operands[0])
    widths = numbers(operands[1])
    if len(widths) != 2 * array.ndim or min(widths, default=0) < 0:
        raise OperationError(op, f"cannot pad {shape_text(array.shape)} by {list(widths)}")
    ends = zip(array.shape, widths[::2], widths[1::2], strict=True)
    shape = tuple(low + extent + high for extent, low, high in ends)
    check_countable(op, shape)
    filler = one_element(op, operands, 2)
    result = np.full(shape, filler, array.dtype)
    inside = zip(widths[::2], array.shape, strict=True)
    result[tuple(slice(low, low + extent) for low, extent in inside)] = array
    return (result,)


@impl("tosa.reshape")
def _reshape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    array = np.asarray(operands[0])
    return (array.reshape(reshaped(op, array.shape, numbers(operands[1]))),)


def reshaped(op: Operation, shape: tuple[int, ...], wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of a `tosa.reshape`; one extent may be -1 (inferred).

    Raises OperationError.
    """
    rest = prod(extent for extent in wanted if extent != -1)
    found = [prod(shape) // rest if extent == -1 and rest else extent for extent in wanted]
    if prod(found) != prod(shape) or min(found, default=0) < 0:
        text = "x".join(map(str, wanted))
        raise OperationError(op, f"cannot reshape {shape_text(shape)} to {text}")
    return tuple(found)


@impl("tosa.reverse")
def _reverse(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.flip(operands[0], axis=integer(op, "axis")),)


@impl("tosa.slice")
def _slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    array = np.asarray(operands[0])
    starts = numbers(operands[1])
    sizes = sliced_shape(op, array.shape, starts, numbers(operands[2]))
    return (array[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))],)


def sliced_shape(
    op: Operation, shape: tuple[int, ...], starts: Sequence[int], sizes: Sequence[int]
) -> tuple[int, ...]:
    """Return the shape of a `tosa.slice`; a size of -1 extends to the end.

    Raises OperationError if it is out of bounds.
    """
    if not len(shape) == len(starts) == len(sizes):
        raise OperationError(op, f"slices {len(starts)} dimensions of {shape_text(shape)}")
    found = tuple(
        extent - start if size == -1 else size
        for size, start, extent in zip(sizes, starts, shape, strict=True)
    )
    for axis, (start, size, extent) in enumerate(zip(starts, found, shape, strict=True)):
        if start < 0 or size < 0 or start + size > extent:
            raise OperationError(
                op, f"takes {size} elements from {start} of dimension {axis} of extent {extent}"
            )
    return found


@impl("tosa.tile")
def _tile(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    multiples, shape = numbers(operands[1]), np.shape(operands[0])
    if len(multiples) != len(shape) or min(multiples, default=0) < 0:
        raise OperationError(op, f"cannot repeat {shape_text(shape)} by {list(multiples)}")
    check_countable(op, tuple(n * times for n, times in zip(shape, multiples, strict=True)))
    return (np.tile(operands[0], multiples),)


@impl("tosa.transpose")
def _transpose(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    order, rank = integers(op, "perms"), np.ndim(operands[0])
    if sorted(order) != list(range(rank)):
        raise OperationError(op, f"cannot permute {rank} dimensions by {list(order)}")
    return (np.transpose(operands[0], order),)


@impl("tosa.gather")
def _gather(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    values, indices = np.asarray(operands[0]), np.asarray(operands[1]).astype(np.int64)
    check_indices(op, [indices], (values.shape[1],))
    return (np.take_along_axis(values, indices[:, :, None], axis=1),)


@impl("tosa.scatter")
def _scatter(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    values, indices, source = operands
    positions = np.asarray(indices).astype(np.int64)
    result = np.array(values)
    check_indices(op, [positions], (result.shape[1],))
    for row in positions:
        if len(set(row.tolist())) < len(row):
            raise OperationError(op, "writes a row twice")
    result[np.arange(result.shape[0])[:, None], positions] = source
    return (result,)


# --------------------------------------------------------------------------------------------
# Shapes


_SHAPE_BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "add_shape": np.add,
    "div_ceil_shape": lambda left, right: -(-left // right),
    "div_floor_shape": np.floor_divide,
    "max_shape": np.maximum,
    "min_shape": np.minimum,
    "mod_shape": np.remainder,
    "mul_shape": np.multiply,
    "sub_shape": np.subtract,
}


@impl(*(f"tosa.{name}" for name in _SHAPE_BINARY))
def _shape_binary(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name = operation_name(op).removeprefix("tosa.")
    left, right = (np.asarray(operand, np.int64) for operand in operands)
    if ("div" in name or "mod" in name) and np.any(right <= 0):
        raise OperationError(op, f"divides by {right.tolist()}")
    return (np.asarray(_SHAPE_BINARY[name](left, right)),)


@impl("tosa.exp2_shape", "tosa.log2_ceil_shape", "tosa.log2_floor_shape")
def _shape_power(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name = operation_name(op)
    shape = numbers(operands[0])
    if name == "tosa.exp2_shape":
        results = [1 << size for size in shape]
    elif min(shape, default=1) <= 0:
        raise OperationError(op, f"takes the logarithm of {shape}")
    elif name == "tosa.log2_ceil_shape":
        results = [(size - 1).bit_length() for size in shape]
    else:
        results = [size.bit_length() - 1 for size in shape]
    return (np.asarray(results, np.int64),)


@impl("tosa.concat_shape")
def _concat_shape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.concatenate([np.asarray(operand, np.int64) for operand in operands]),)


@impl("tosa.slice_shape")
def _slice_shape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    shape, start, size = operands
    first, count = int(np.asarray(start).reshape(())), int(np.asarray(size).reshape(()))
    if first < 0 or count < 0 or first + count > len(shape):
        raise OperationError(op, f"takes {count} numbers from number {first} of {len(shape)}")
    return (np.asarray(shape)[first : first + count],)


@impl("tosa.dim")
def _dim(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.asarray([np.shape(operands[0])[integer(op, "axis")]], np.int64),)
