"""Estimate memory and resharding costs of shardings, in bytes per process.

What one collective sends, such as `ALL_TO_ALL`, is in its row (`collective_rows.py`), and the time
that it takes in `time_model.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile
from math import prod

from .collective_rows import ALL_GATHER, ALL_TO_ALL, SEND, CollectiveRow
from .grid import Grid
from .sharding import Axes, DimensionAxes, Sharding, dimension_of_axis, is_finer_split

UNKNOWN_EXTENT = 2
"""Stand-in for an extent that is known only at run time, where costs are compared."""

BYTES_PER_POINT = 0.2
"""Cost of one point of an operation's iteration space, as an equivalent number of bytes sent.

A process is assumed to compute ten operations in the time in which it sends one byte, and a point
to take two operations.
"""


CollectivePrice = Callable[[CollectiveRow, float, Axes], float]
"""Price of a collective: (row, operand bytes per process, grid axes) -> price."""


def known_extents(shape: Sequence[int | None]) -> tuple[int, ...]:
    """Return extents of a grid or a tensor with unknown ones replaced by `UNKNOWN_EXTENT`."""
    return tuple(UNKNOWN_EXTENT if extent is None else extent for extent in shape)


def group_size(grid: Grid, axes: Axes) -> int:
    """Return the number of processes along `axes`, with unknown extents estimated."""
    return prod(known_extents([grid.shape[axis] for axis in axes]))


def local_fraction(sharding: Sharding) -> float:
    """Return the fraction of the tensor that one process holds, without halos."""
    return local_bytes(1.0, sharding.dimension_axes, known_extents(sharding.grid.shape))


def local_bytes(size: float, axes: DimensionAxes, extents: Sequence[int]) -> float:
    """Return the bytes on one process of a tensor of `size` bytes that is split along `axes`."""
    return size / max(1, prod(extents[axis] for split in axes for axis in split))


def sent_bytes(extents: Sequence[int]) -> CollectivePrice:
    """Return a price function that counts the bytes each process sends on a grid."""

    def price(row: CollectiveRow, brought: float, axes: Axes) -> float:
        return brought * row.sent(prod(extents[axis] for axis in axes))

    return price


def reshard_bytes(
    source: DimensionAxes, target: DimensionAxes, size: float, extents: Sequence[int]
) -> float:
    """Estimate the bytes that each process sends to reshard a tensor of `size` bytes."""
    if source == target:
        return 0.0
    return reshard_price(source, target, size, extents, sent_bytes(extents))


def _displaced(dimensions: Iterable[Axes], moved: frozenset[int]) -> set[int]:
    """Return axes that follow a moved axis in a dimension, and so must be moved temporarily."""
    found: set[int] = set()
    for axes in dimensions:
        found.update(dropwhile(lambda axis: axis not in moved, axes))
    return found - moved


def reshard_price(
    source: DimensionAxes,
    target: DimensionAxes,
    size: float,
    extents: Sequence[int],
    price: CollectivePrice,
) -> float:
    """Estimate the price of resharding a tensor.

    New axes are sliced, axes that change dimension are exchanged (all-to-all), and axes that are
    dropped are gathered. Only the last axes of a dimension can move. Axes behind a moving one are
    moved aside first: `[[0, 1], []] -> [[], [0, 1]] -> [[1], [0]]`.

    `plan_reshard` (`reshard.py`) searches for the steps that are run. This estimate does not: it is
    made for every candidate of every operation, and needs neither shapes nor offsets.

    `size` is that of the whole tensor in bytes; `extents` are those of the grid.
    """
    held = local_bytes(size, source, extents)
    present = dimension_of_axis(source)
    wanted = dimension_of_axis(target)
    total, collectives = 0.0, 0
    for axis in wanted:
        if axis not in present:
            held /= extents[axis]
    moved = [axis for axis in wanted if present.get(axis, wanted[axis]) != wanted[axis]]
    for axis in (*moved, *sorted(_displaced((*source, *target), frozenset(moved)))):
        total += price(ALL_TO_ALL, held, (axis,))
        collectives += extents[axis] > 1
    for axis in present:
        if axis not in wanted:
            total += price(ALL_GATHER, held, (axis,))
            held *= extents[axis]
            collectives += extents[axis] > 1
    if not collectives and not is_finer_split(target, source):
        total += price(SEND, held, tuple(present))
    return total
