"""What shardings hold and what leads from one to another costs, in bytes of each process.

What one collective sends is in its row (`collectives.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from .collectives import ALL_GATHER, ALL_TO_ALL, SEND, CollectiveRow
from .grid import Grid
from .sharding import Axes, DimensionAxes, Sharding, extends

UNKNOWN_EXTENT = 2
"""What an extent that is known only at run time is taken for where costs are compared."""

BYTES_PER_POINT = 0.2
"""What the work at one point of an operation's factors counts as, in bytes sent.

A process is taken to compute ten operations in the time in which it sends one byte, and a point
to be two operations."""


CollectivePrice = Callable[[CollectiveRow, float, Axes], float]
"""What a collective along axes costs to which each process brings so many bytes."""


def known_extents(shape: Sequence[int | None]) -> tuple[int, ...]:
    """Extents of a grid or a tensor, with a guess in the place of unknown ones."""
    return tuple(UNKNOWN_EXTENT if extent is None else extent for extent in shape)


def group_size(grid: Grid, axes: Axes) -> int:
    """The number of processes along `axes`."""
    return prod(known_extents([grid.shape[axis] for axis in axes]))


def local_fraction(sharding: Sharding) -> float:
    """The part of the whole tensor that one process holds, without halos."""
    return local_size(1.0, sharding.dimension_axes, known_extents(sharding.grid.shape))


def local_size(size: float, axes: DimensionAxes, extents: Sequence[int]) -> float:
    """The bytes on one process of a tensor of `size` bytes that is split along `axes`."""
    return size / max(1, prod(extents[axis] for split in axes for axis in split))


def sent_bytes(extents: Sequence[int]) -> CollectivePrice:
    """The bytes that a process sends in collectives on a grid of such extents."""

    def price(row: CollectiveRow, brought: float, axes: Axes) -> float:
        return brought * row.sent(prod(extents[axis] for axis in axes))

    return price


def reshard_bytes(
    source: DimensionAxes, target: DimensionAxes, size: float, extents: Sequence[int]
) -> float:
    """An estimate of the bytes that each process sends to change how a tensor is split."""
    if source == target:
        return 0.0
    return reshard_price(source, target, size, extents, sent_bytes(extents))


def _aside(dimensions: Iterable[Axes], moved: frozenset[int]) -> set[int]:
    """The axes that are behind one that leaves a dimension or comes to it."""
    found: set[int] = set()
    for axes in dimensions:
        first = next((place for place, axis in enumerate(axes) if axis in moved), len(axes))
        found.update(axes[first:])
    return found - moved


def reshard_price(
    source: DimensionAxes,
    target: DimensionAxes,
    size: float,
    extents: Sequence[int],
    price: CollectivePrice,
) -> float:
    """An estimate of what it costs to change how a tensor is split.

    Slices what is new, exchanges what moves from one dimension to another, and gathers the rest.
    Only the last axes of a dimension can move; those behind them are moved aside: from
    `[[0, 1], []]` to `[[1], [0]]` axes 0 and 1 move to the other dimension, and axis 1 moves back.
    `size` is of the whole tensor in bytes, `extents` are of the grid.
    """
    held = local_size(size, source, extents)
    place = {axis: dimension for dimension, axes in enumerate(source) for axis in axes}
    wanted = {axis: dimension for dimension, axes in enumerate(target) for axis in axes}
    total, collectives = 0.0, 0
    for axis in wanted:
        if axis not in place:
            held /= extents[axis]
    moved = [axis for axis in wanted if place.get(axis, wanted[axis]) != wanted[axis]]
    for axis in (*moved, *sorted(_aside((*source, *target), frozenset(moved)))):
        total += price(ALL_TO_ALL, held, (axis,))
        collectives += extents[axis] > 1
    for axis in place:
        if axis not in wanted:
            total += price(ALL_GATHER, held, (axis,))
            held *= extents[axis]
            collectives += extents[axis] > 1
    if not collectives and not extends(target, source):
        total += price(SEND, held, tuple(place))
    return total
