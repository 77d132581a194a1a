"""Execute the `linalg` dialect: structured loop nests, packing and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation

from ...dialects.linalg.named_ops import NAMED_OPS
from ...dialects.linalg.structured_view import structured_view
from ...ir.attribute_access import integer, integers, mixed, operand_groups
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value, arithmetic_dtype, shape_text
from ...tiling.packed_arrays import pack, unpack
from ...tiling.packed_layouts import PackedLayout
from ..frames import Frame, check_equal_shapes
from ..nests.structured import run_structured
from ..registry import Results, Routine, impl, impl_with_regions, terminates
from ..shapes import check_countable
from .memref import delivered

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


@dataclass(frozen=True, slots=True)
class Packing:
    """The tiles of a `pack` or `unpack`."""

    op: Operation
    layout: PackedLayout

    @staticmethod
    def of(op: Operation, dynamic: Sequence[Value]) -> Packing:
        """Return the tiles of an operation with these dynamic tile sizes.

        Raises OperationError if one is not positive.
        """
        tiles = mixed(op, "static_inner_tiles", dynamic)
        wrong = next((tile for tile in tiles if tile <= 0), None)
        if wrong is not None:
            raise OperationError(op, f"has tiles of {wrong} elements, expected a positive number")
        inner, outer = integers(op, "inner_dims_pos"), integers(op, "outer_dims_perm")
        return Packing(op, PackedLayout(inner, tiles, outer))

    def _outer_counts(self, packed: Sequence[int], rank: int) -> list[int]:
        """Return the number of tiles along each dimension of the unpacked tensor."""
        counts = list(packed[:rank])
        for position, axis in enumerate(self.layout.outer_permutation):
            counts[axis] = packed[position]
        return counts

    @property
    def _tiles(self) -> zip[tuple[int, int]]:
        """The tiled dimensions with their tile sizes."""
        return zip(self.layout.inner_positions, self.layout.inner_tiles, strict=True)

    def padded_shape(
        self, shape: tuple[int, ...], target: tuple[int, ...], *, is_padded: bool
    ) -> tuple[int, ...]:
        """Return the shape of the padded source of a `pack`: whole tiles along each dimension.

        `target` is the shape of the destination. Raises OperationError if its tiles have no room
        for the source, or padding is missing.
        """
        full, counts = list(shape), self._outer_counts(target, len(shape))
        for axis, tile in self._tiles:
            full[axis] = counts[axis] * tile
        packs = f"packs {shape_text(shape)} into {shape_text(tuple(full))}"
        if any(extent > room for extent, room in zip(shape, full, strict=True)):
            raise OperationError(self.op, f"{packs}, which is too small")
        if tuple(full) != shape and not is_padded:
            raise OperationError(self.op, f"{packs} without a padding value")
        check_countable(self.op, tuple(full))
        return tuple(full)

    def whole_shape(self, packed: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of whole tiles that an `unpack` to a tensor of a shape reads.

        Raises OperationError if the packed tensor does not fit.
        """
        tiles, rank = self.layout.inner_tiles, len(shape)
        if packed[rank:] != tiles:
            raise OperationError(
                self.op,
                f"unpacks tiles of {shape_text(packed[rank:])}, expected {shape_text(tiles)}",
            )
        whole = self._outer_counts(packed, rank)
        for axis, tile in self._tiles:
            whole[axis] *= tile
        if any(extent > room for extent, room in zip(shape, whole, strict=True)):
            raise OperationError(
                self.op, f"unpacks {shape_text(tuple(whole))} into the larger {shape_text(shape)}"
            )
        return tuple(whole)


@impl("linalg.pack")
def _pack(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), (target,), padding, dynamic = packing_groups(op, operands)
    array, packing = np.asarray(source), Packing.of(op, dynamic)
    full = packing.padded_shape(array.shape, np.shape(target), is_padded=bool(padding))
    padded = np.full(full, padding[0] if padding else 0, array.dtype)
    padded[tuple(slice(extent) for extent in array.shape)] = array
    return (pack(padded, packing.layout),)


@impl("linalg.unpack")
def _unpack(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), (target,), dynamic = packing_groups(op, operands)
    array, packing, shape = np.asarray(source), Packing.of(op, dynamic), np.shape(target)
    unpacked = unpack(array, packing.layout, packing.whole_shape(array.shape, shape))
    return (unpacked[tuple(slice(extent) for extent in shape)],)


def packing_groups(op: Operation, operands: Sequence[Value]) -> list[Sequence[Value]]:
    """Return source, destination, padding value (`pack` only, if any) and dynamic tile sizes."""
    if integers(op, "operandSegmentSizes"):
        return operand_groups(op, operands)
    # Unpack has one variadic group, so it needs no segment sizes.
    return [operands[:1], operands[1:2], operands[2:]]
