"""What communication costs: the bytes that each process sends.

Ring algorithms, with `n` processes in a group and `size` the bytes of the larger end on one
process (gathered, or not yet reduced). Sources of the formulas: Thakur, Rabenseifner, Gropp,
"Optimization of collective communication operations in MPICH" (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .sharding import Axes

UNKNOWN_EXTENT = 2
"""What an extent that is known only at run time is taken for where plans are compared."""

BYTES_PER_POINT = 0.2
"""What the work at one point of an operation's factors counts as, in bytes sent.

A process is taken to compute ten operations in the time in which it sends one byte, and a point
to be two operations."""

DimensionAxes = tuple[Axes, ...]


def all_gather_bytes(size: float, n: int) -> float:
    """`size`: the gathered tensor."""
    return size * (n - 1) / n


def reduce_scatter_bytes(size: float, n: int) -> float:
    """`size`: the partial result before it is scattered."""
    return size * (n - 1) / n


def all_reduce_bytes(size: float, n: int) -> float:
    """`size`: the partial result; a reduce-scatter and an all-gather."""
    return 2 * size * (n - 1) / n


def broadcast_bytes(size: float, n: int) -> float:
    """`size`: what the root has; a scatter and an all-gather."""
    return 2 * size * (n - 1) / n


def all_to_all_bytes(size: float, n: int) -> float:
    """`size`: what one process holds, before as after."""
    return size * (n - 1) / n


def permute_bytes(size: float) -> float:
    """`size`: what one process holds and sends to another."""
    return size


def known_extents(shape: Sequence[int | None]) -> tuple[int, ...]:
    """Extents of a grid or a tensor, with a guess in the place of unknown ones."""
    return tuple(UNKNOWN_EXTENT if extent is None else extent for extent in shape)


def local_size(size: float, axes: DimensionAxes, extents: Sequence[int]) -> float:
    """The bytes on one process of a tensor of `size` bytes that is split along `axes`."""
    return size / prod(extents[axis] for split in axes for axis in split)


def reshard_bytes(
    source: DimensionAxes, target: DimensionAxes, size: float, extents: Sequence[int]
) -> float:
    """An estimate of the bytes that each process sends to change how a tensor is split.

    Slices what is new, exchanges what moves from one dimension to another, and gathers the rest.
    `size` is of the whole tensor in bytes, `extents` are of the grid.
    """
    if source == target:
        return 0.0
    held = local_size(size, source, extents)
    place = {axis: dimension for dimension, axes in enumerate(source) for axis in axes}
    wanted = {axis: dimension for dimension, axes in enumerate(target) for axis in axes}
    sent = 0.0
    for axis in wanted:
        if axis not in place:
            held /= extents[axis]
    moved = [axis for axis in wanted if place.get(axis, wanted[axis]) != wanted[axis]]
    for axis in moved:
        sent += all_to_all_bytes(held, extents[axis])
    for axis in place:
        if axis not in wanted:
            held *= extents[axis]
            sent += all_gather_bytes(held, extents[axis])
    if not sent and not _only_slices(source, target):
        sent += permute_bytes(held)
    return sent


def _only_slices(source: DimensionAxes, target: DimensionAxes) -> bool:
    """Whether every dimension is only split further, along minor axes."""
    return all(after[: len(before)] == before for before, after in zip(source, target, strict=True))
