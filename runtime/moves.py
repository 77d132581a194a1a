"""Which bytes of one device's operand go where in another device's result in a collective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..sharding.collective_rows import SHIFT, UPDATE_HALO
from .collectives import Collective, Shape, shard_range


@dataclass(frozen=True, slots=True)
class ByteSection:
    """A strided section of a row-major array, in bytes: pieces of `size` bytes in two loops.

    - `outer`, `inner`: the trip counts;
    - `outer_pitch`, `inner_pitch`: the strides.
    """

    start: int
    size: int
    outer: int = 1
    outer_pitch: int = 0
    inner: int = 1
    inner_pitch: int = 0

    @property
    def bytes(self) -> int:
        """The number of bytes in the section."""
        return self.size * self.outer * self.inner

    @property
    def is_contiguous(self) -> bool:
        """Whether the section is one contiguous range."""
        inner = self.inner == 1 or self.inner_pitch == self.size
        outer = self.outer == 1 or self.outer_pitch == self.size * self.inner
        return inner and outer

    def packed(self) -> ByteSection:
        """Return the section of the same pieces stored without gaps."""
        return ByteSection(0, self.size, self.outer, self.size * self.inner, self.inner, self.size)


def piece_words(to: ByteSection, origin: ByteSection) -> tuple[int, ...]:
    """Return the constants by which native code copies the pieces of one section to another.

    They are as `copy_pieces` of `threads/shared_memory_collectives.py` describes.
    """
    if to.is_contiguous and origin.is_contiguous:
        return (to.bytes, 1, 0, 0, 1, 0, 0)
    if to.inner == 1:
        # One loop, the inner one, takes less time per piece.
        return (to.size, 1, 0, 0, to.outer, to.outer_pitch, origin.outer_pitch)
    outer = (to.outer, to.outer_pitch, origin.outer_pitch)
    return (to.size, *outer, to.inner, to.inner_pitch, origin.inner_pitch)


Move = tuple[ByteSection, ByteSection]
"""A section of a source, and the section of a result with the same pieces."""


def byte_section(
    shape: Shape, item: int, low: tuple[int, int, int], high: tuple[int, int, int]
) -> ByteSection:
    """Return the section of an array that is bounded along up to two dimensions.

    `low` and `high` are each (dimension, start, length); for one dimension they are the same.
    `item` is the size of an element in bytes.
    """
    (first, start, length), (second, start_2, length_2) = sorted((low, high))
    outer, inner = prod(shape[:first]), prod(shape[second + 1 :]) * item
    if first == second:
        row = shape[first] * inner
        return ByteSection(start * inner, length * inner, outer, row)
    middle, row = prod(shape[first + 1 : second]), shape[second] * inner
    return ByteSection(
        start * middle * row + start_2 * inner,
        length_2 * inner,
        outer,
        shape[first] * middle * row,
        length * middle,
        row,
    )


def moves(collective: Collective, sender: int, receiver: int) -> Sequence[Move]:
    """Return the moves from one group member's source to another's result.

    `sender` and `receiver` are indices in the group. Raises ValueError for collectives that reduce.
    """
    shapes, item = collective.group_shapes, collective.source.storage_bytes
    axis, count, root = collective.axis, collective.group.size, collective.root
    shape = shapes[sender]
    whole = ByteSection(0, prod(shape) * item)
    if collective.row is UPDATE_HALO:
        return _halo_moves(collective, sender, receiver)
    if collective.row.reduces:
        raise ValueError(f"{collective.kind} reduces data, expected only moves")
    if root is not None and root != (receiver if collective.row.joins else sender):
        return ()
    if collective.row is SHIFT:
        meets = (sender, receiver) == (collective.sender, collective.group.index)
        return ((whole, whole),) if meets else ()
    if collective.row.divides and collective.row.joins:
        return (_transposed(collective, sender, receiver),)
    if collective.row.divides:
        piece = (axis, *shard_range(shape[axis], count, receiver))
        origin = byte_section(shape, item, piece, piece)
        return ((origin, origin.packed()),)
    if collective.row.joins:
        joined = sum(each[axis] for each in shapes)
        start = sum(each[axis] for each in shapes[:sender])
        target = (*shape[:axis], joined, *shape[axis + 1 :])
        piece, own = (axis, start, shape[axis]), (axis, 0, shape[axis])
        return ((byte_section(shape, item, own, own), byte_section(target, item, piece, piece)),)
    return ((whole, whole),)


def _transposed(collective: Collective, sender: int, receiver: int) -> Move:
    """Return the move from one member to another in an all-to-all."""
    shapes, item = collective.group_shapes, collective.source.storage_bytes
    split, joined, count = collective.axis, collective.concat_axis, collective.group.size
    shape = shapes[sender]
    start, length = shard_range(shape[split], count, receiver)
    target = list(shapes[receiver])
    if split == joined:
        parts = [shard_range(each[split], count, receiver)[1] for each in shapes]
        target[split] = sum(parts)
        origin, to = (split, start, length), (split, sum(parts[:sender]), length)
        return byte_section(shape, item, origin, origin), byte_section(tuple(target), item, to, to)
    target[split] = length
    target[joined] = sum(each[joined] for each in shapes)
    place = sum(each[joined] for each in shapes[:sender])
    along, across = (split, start, length), (joined, 0, shape[joined])
    to = (joined, place, shape[joined])
    return byte_section(shape, item, along, across), byte_section(
        tuple(target), item, (split, 0, length), to
    )


def _halo_moves(collective: Collective, sender: int, receiver: int) -> Sequence[Move]:
    """Return the move between neighbours: from the sender's own rows to the receiver's halo."""
    shapes, item, axis = collective.group_shapes, collective.source.storage_bytes, collective.axis
    low, high = collective.low, collective.high
    here, there = shapes[sender], shapes[receiver]
    if receiver == sender + 1:
        origin, to = (axis, here[axis] - high - low, low), (axis, 0, low)
    elif receiver == sender - 1:
        origin, to = (axis, low, high), (axis, there[axis] - high, high)
    else:
        return ()
    return ((byte_section(here, item, origin, origin), byte_section(there, item, to, to)),)


def halo_is_too_wide(collective: Collective) -> bool:
    """Whether a member's own part is narrower than the halo of a neighbour."""
    low, high = collective.low, collective.high
    own = [shape[collective.axis] - low - high for shape in collective.group_shapes]
    # A member sends `low` to the neighbour after it, and `high` to the one before it.
    return min(own[:-1], default=low) < low or min(own[1:], default=high) < high


def reduced_section(collective: Collective, member: int) -> ByteSection:
    """Return the section of a source that a member reduces for all."""
    shape, count = collective.group_shapes[member], collective.group.size
    item = collective.source.storage_bytes
    if collective.row.divides:
        piece = (collective.axis, *shard_range(shape[collective.axis], count, member))
        return byte_section(shape, item, piece, piece)
    if collective.root is not None:
        return ByteSection(0, prod(shape) * item if member == collective.root else 0)
    start, length = shard_range(prod(shape), count, member)
    return ByteSection(start * item, length * item)
