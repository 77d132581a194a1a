"""The shapes of tensors and of their slices, with extents that operands give."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute, Operation

from ..ir.attribute_access import integers, kept_dimensions, mixed
from ..ir.diagnostics import OperationError
from ..ir.index_lists import SLICE_LISTS
from ..runtime.abi.arrays import Value, shape_text
from ..runtime.abi.values import static_shape

MAX_ELEMENTS = 1 << 58
"""Maximal number of elements. With up to 16 bytes each, their bytes can be counted in 63 bits."""


def filled_shape(op: Operation, value_type: Attribute, sizes: Sequence[Value]) -> tuple[int, ...]:
    """Return the shape of a type, with dynamic extents from operands. Raises OperationError."""
    rest = iter(sizes)
    shape: list[int] = []
    for extent in static_shape(value_type) or ():
        if extent >= 0:
            shape.append(extent)
            continue
        size = next(rest, None)
        if size is None:
            raise OperationError(op, f"expects a size for each ? of {value_type}")
        # Only here is a size fetched that is a tensor on a device.
        number = int(size)
        if number < 0:
            raise OperationError(op, f"has the negative size {number}")
        shape.append(number)
    check_countable(op, tuple(shape))
    return tuple(shape)


def check_countable(op: Operation, shape: tuple[int, ...]) -> None:
    """Raise OperationError if a shape has more elements than can be addressed.

    Extents of 0 are ignored, as in NumPy: parts of such a shape are computed with, too.
    """
    if prod(extent for extent in shape if extent) > MAX_ELEMENTS:
        raise OperationError(
            op, f"has a result of shape {shape_text(shape)}, which is too large for memory"
        )


def slice_of(
    op: Operation,
    shape: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> tuple[slice, ...]:
    """Return the slices for offsets, sizes and strides. Raises OperationError if out of bounds."""
    parts: list[slice] = []
    for axis, (extent, offset, size, stride) in enumerate(
        zip(shape, offsets, sizes, strides, strict=True)
    ):
        last = offset + (size - 1) * stride if size else offset
        low, high = min(offset, last), max(offset, last)
        inside = low >= 0 and (high < extent if size else offset <= extent)
        if size < 0 or not inside:
            raise OperationError(
                op,
                f"takes {size} elements from {offset} with stride {stride} of dimension {axis},"
                f" which has extent {extent}",
            )
        if stride == 0 or size == 0:
            parts.append(slice(offset, offset + min(size, 1)))
            continue
        stop = last + (1 if stride > 0 else -1)
        parts.append(slice(offset, stop if stop >= 0 else None, stride))
    return tuple(parts)


def read_slice(
    op: Operation, shape: Sequence[int], groups: Sequence[Sequence[Value]]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the offsets, sizes and strides of a slice; `groups` are the dynamic ones.

    Raises OperationError if their number differs from the rank of `shape`.
    """
    offsets, sizes, strides = (
        mixed(op, name, dynamic) for name, dynamic in zip(SLICE_LISTS, groups, strict=True)
    )
    if not len(shape) == len(offsets) == len(sizes) == len(strides):
        raise OperationError(op, f"slices {len(offsets)} dimensions of {shape_text(tuple(shape))}")
    return offsets, sizes, strides


def sliced(
    op: Operation, shape: Sequence[int], groups: Sequence[Sequence[Value]]
) -> tuple[slice, ...]:
    """Return the slices that an operation names; `groups` are the dynamic bounds.

    Raises OperationError if they are out of bounds or of another rank.
    """
    return slice_of(op, shape, *read_slice(op, shape, groups))


def part_of(
    op: Operation, shape: Sequence[int], starts: Sequence[Value], sizes: Sequence[Value]
) -> tuple[slice, ...]:
    """Return the slices of so many elements from some starts on.

    Raises OperationError if they are out of bounds or of another rank.
    """
    if not len(shape) == len(starts) == len(sizes):
        raise OperationError(
            op,
            f"has {len(starts)} start indices and {len(sizes)} lengths in a tensor of shape"
            f" {shape_text(tuple(shape))}",
        )
    return slice_of(op, shape, [*map(int, starts)], [*map(int, sizes)], (1,) * len(shape))


def kept_axes(op: Operation) -> tuple[int, ...]:
    """Return the dimensions of a slice that its result keeps: its type may drop unit dimensions.

    Raises OperationError if the result's shape is not such a reduction.
    """
    sizes, expected = integers(op, "static_sizes"), static_shape(op.results[0].type) or ()
    kept = kept_dimensions(sizes, expected)
    if kept is None:
        raise OperationError(
            op,
            f"has a slice of shape {shape_text(sizes)}, which does not reduce to"
            f" {shape_text(expected)}",
        )
    return kept
