"""The grid of devices: a named array of processes with an extent along each axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of `shape[0] x shape[1] x ...` processes; `None` is an extent known at run time.

    Processes are numbered row-major: the last axis varies fastest.
    """

    name: str
    shape: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if not self.shape:
            raise ValueError(f"grid @{self.name} has no axes")
        for axis, extent in enumerate(self.shape):
            if extent is not None and extent < 0:
                raise ValueError(f"grid @{self.name} has extent {extent} on axis {axis}")

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every extent is known."""
        return None not in self.shape

    def size(self, axes: Iterable[int]) -> int | None:
        """The number of processes along `axes` together (1 for none), `None` if unknown."""
        extents = [self.shape[axis] for axis in axes]
        known = [extent for extent in extents if extent is not None]
        return prod(known) if len(known) == len(extents) else None

    def device_count(self) -> int:
        """The number of processes. Raises ValueError for a grid with an unknown extent."""
        count = self.size(range(self.rank))
        if count is None:
            raise ValueError(f"grid @{self.name} has an extent that is known only at run time")
        return count

    def coordinates(self, process: int) -> tuple[int, ...]:
        """The multi-index of a process number, row-major."""
        return self.coordinates_along(range(self.rank), process)

    def coordinates_along(self, axes: Sequence[int], position: int) -> tuple[int, ...]:
        """The coordinates along `axes` of the process at a position among those along them."""
        found: list[int] = []
        for axis in reversed(axes):
            extent = self.shape[axis]
            if extent is None:
                raise ValueError(f"grid @{self.name} has an extent known only at run time")
            position, coordinate = divmod(position, extent)
            found.append(coordinate)
        return tuple(reversed(found))

    def linear_index(self, coordinates: Sequence[int], axes: Sequence[int]) -> int:
        """The position among the processes along `axes`, the first listed axis slowest."""
        index = 0
        for axis in axes:
            extent = self.shape[axis]
            if extent is None:
                raise ValueError(f"grid @{self.name} has an extent known only at run time")
            index = index * extent + coordinates[axis]
        return index
