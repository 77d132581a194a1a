"""Execute the `linalg` dialect: structured loop nests, packing and softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ..dialects.linalg.named_ops import NAMED_OPS
from ..dialects.linalg.structured_view import structured_view
from ..ir.attribute_access import integer, integers, mixed, operand_groups
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array, Value, arithmetic_dtype, shape_text
from ..tiling.packed_arrays import pack, unpack
from ..tiling.packed_layouts import PackedLayout
from .frames import Frame, check_equal_shapes
from .memref import check_memory, delivered
from .registry import Results, Routine, impl, impl_with_regions, terminates
from .structured import run_structured
from .tensor import check_countable

terminates("linalg.yield")

_LOOP_NESTS = (
    *NAMED_OPS,
    "linalg.broadcast",
    "linalg.contract",
    "linalg.elementwise",
    "linalg.generic",
    "linalg.map",
    "linalg.reduce",
    "linalg.transpose",
)


@impl_with_regions(*_LOOP_NESTS)
def _loop_nest(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    nest = structured_view(op)
    if nest is None:
        raise OperationError(op, "has indexing maps, types or a body that do not fit together")
    check_memory(op, operands, frame)
    results: list[Array] = yield run_structured(nest, operands, frame)
    return delivered(op, nest.outputs, operands[len(nest.inputs) :], results)


@impl("linalg.index")
def _index(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    dimension = integer(op, "dim")
    if not frame.points or dimension >= len(frame.points[-1]):
        raise OperationError(op, f"queries the index of loop {dimension} outside of such a loop")
    return (np.int64(frame.points[-1][dimension]),)


@impl("linalg.softmax")
def _softmax(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    check_memory(op, operands, frame)
    source = np.asarray(operands[0])
    dimension = integer(op, "dimension")
    check_equal_shapes(op, [source.shape, np.shape(operands[1])])
    wide = source.astype(arithmetic_dtype(source.dtype), copy=False)
    if wide.shape[dimension] == 0:
        return (np.array(operands[1]),)
    powers = np.exp(wide - wide.max(axis=dimension, keepdims=True))
    result = (powers / powers.sum(axis=dimension, keepdims=True)).astype(source.dtype)
    return delivered(op, op.operands[1:], operands[1:], (result,))


# --------------------------------------------------------------------------------------------
# Packed layouts


@impl("linalg.pack")
def _pack(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), (target,), padding, dynamic = packing_groups(op, operands)
    array = np.asarray(source)
    inner, outer = integers(op, "inner_dims_pos"), integers(op, "outer_dims_perm")
    tiles = tile_sizes(op, dynamic)
    full = _full_shape(op, array.shape, np.shape(target), tiles, is_padded=bool(padding))
    padded = np.full(full, padding[0] if padding else 0, array.dtype)
    padded[tuple(slice(extent) for extent in array.shape)] = array
    return (pack(padded, PackedLayout(inner, tiles, outer)),)


def packed_shape(
    op: Operation,
    shape: tuple[int, ...],
    target: tuple[int, ...],
    tiles: tuple[int, ...],
    *,
    is_padded: bool,
) -> tuple[int, ...]:
    """Return the shape of the result of a `pack` into a tensor of shape `target`.

    Raises OperationError if the tiles have no room for the source, or padding is missing.
    """
    counts = list(_full_shape(op, shape, target, tiles, is_padded=is_padded))
    for axis, tile in zip(integers(op, "inner_dims_pos"), tiles, strict=True):
        counts[axis] //= tile
    order = integers(op, "outer_dims_perm") or range(len(shape))
    return (*(counts[axis] for axis in order), *tiles)


def _full_shape(
    op: Operation,
    shape: tuple[int, ...],
    target: tuple[int, ...],
    tiles: tuple[int, ...],
    *,
    is_padded: bool,
) -> tuple[int, ...]:
    """Return the shape of the padded source of a `pack`: whole tiles along each dimension."""
    full = list(shape)
    counts = _outer_counts(target[: len(shape)], integers(op, "outer_dims_perm"))
    for axis, tile in zip(integers(op, "inner_dims_pos"), tiles, strict=True):
        full[axis] = counts[axis] * tile
    if any(extent > room for extent, room in zip(shape, full, strict=True)):
        raise OperationError(
            op, f"packs {shape_text(shape)} into {shape_text(tuple(full))}, which is too small"
        )
    if tuple(full) != shape and not is_padded:
        raise OperationError(
            op, f"packs {shape_text(shape)} into {shape_text(tuple(full))} without a padding value"
        )
    check_countable(op, tuple(full))
    return tuple(full)


@impl("linalg.unpack")
def _unpack(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), (target,), dynamic = packing_groups(op, operands)
    array = np.asarray(source)
    inner, outer = integers(op, "inner_dims_pos"), integers(op, "outer_dims_perm")
    tiles = tile_sizes(op, dynamic)
    shape = unpacked_shape(op, array.shape, np.shape(target), tiles)
    whole = _outer_counts(array.shape[: len(shape)], outer)
    for axis, tile in zip(inner, tiles, strict=True):
        whole[axis] *= tile
    unpacked = unpack(array, PackedLayout(inner, tiles, outer), whole)
    return (unpacked[tuple(slice(extent) for extent in shape)],)


def unpacked_shape(
    op: Operation, shape: tuple[int, ...], target: tuple[int, ...], tiles: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the shape of the result of an `unpack`.

    Raises OperationError if `target` does not fit.
    """
    if shape[len(target) :] != tiles:
        raise OperationError(
            op, f"unpacks tiles of {shape_text(shape[len(target) :])}, expected {shape_text(tiles)}"
        )
    whole = _outer_counts(shape[: len(target)], integers(op, "outer_dims_perm"))
    for axis, tile in zip(integers(op, "inner_dims_pos"), tiles, strict=True):
        whole[axis] *= tile
    if any(extent > room for extent, room in zip(target, whole, strict=True)):
        raise OperationError(
            op, f"unpacks {shape_text(tuple(whole))} into the larger {shape_text(target)}"
        )
    return target


def tile_sizes(op: Operation, dynamic: Sequence[Value]) -> tuple[int, ...]:
    """Return the tile sizes of a `pack` or `unpack`.

    Raises OperationError if one is not positive.
    """
    tiles = mixed(op, "static_inner_tiles", dynamic)
    wrong = next((tile for tile in tiles if tile <= 0), None)
    if wrong is not None:
        raise OperationError(op, f"has tiles of {wrong} elements, expected a positive number")
    return tiles


def packing_groups(op: Operation, operands: Sequence[Value]) -> list[Sequence[Value]]:
    """Return source, destination, padding value (`pack` only, if any) and dynamic tile sizes."""
    if integers(op, "operandSegmentSizes"):
        return operand_groups(op, operands)
    # Unpack has one variadic group, so it needs no segment sizes.
    return [operands[:1], operands[1:2], operands[2:]]


def _outer_counts(shape: Sequence[int], outer: Sequence[int]) -> list[int]:
    """Return the number of tiles along each dimension of the unpacked tensor."""
    counts = list(shape)
    for position, axis in enumerate(outer):
        counts[axis] = shape[position]
    return counts
