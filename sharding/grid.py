"""The grid of devices: a named array of processes with an extent along each axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod


def extents_text(extents: Iterable[int | None]) -> str:
    """Return extents as text, `2x?x4`; `None` is one that is known only at run time."""
    return "x".join("?" if extent is None else str(extent) for extent in extents)


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of `shape[0] x shape[1] x ...` processes; `None` is an extent known only at run time.

    Processes are numbered row-major: the last axis varies fastest. Raises ValueError if there are
    no axes or an extent is negative.
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
        """Whether every extent is known at compile time."""
        return None not in self.shape

    def fits(self, extents: Sequence[int | None]) -> bool:
        """Return whether the grid may have these extents: its own, where it knows them."""
        return len(extents) == self.rank and all(
            own in (None, given) for own, given in zip(self.shape, extents, strict=True)
        )

    def size(self, axes: Iterable[int]) -> int | None:
        """Return the number of processes along `axes` (1 for none); `None` if unknown."""
        extents = [self.shape[axis] for axis in axes]
        known = [extent for extent in extents if extent is not None]
        return prod(known) if len(known) == len(extents) else None

    def device_count(self) -> int:
        """Return the number of processes. Raises ValueError if an extent is unknown."""
        count = self.size(range(self.rank))
        if count is None:
            raise ValueError(f"grid @{self.name} has an extent that is known only at run time")
        return count

    def coordinates(self, process: int) -> tuple[int, ...]:
        """Return the multi-index of a process. Raises ValueError if an extent is unknown."""
        return self.coordinates_along(range(self.rank), process)

    def coordinates_along(self, axes: Sequence[int], position: int) -> tuple[int, ...]:
        """Return the coordinates along `axes` of the process at linear index `position` among them.

        This is the inverse of `linear_index`. Raises ValueError if an extent along `axes` is
        unknown.
        """
        found: list[int] = []
        for axis in reversed(axes):
            extent = self.shape[axis]
            if extent is None:
                raise ValueError(f"grid @{self.name} has an extent known only at run time")
            position, coordinate = divmod(position, extent)
            found.append(coordinate)
        return tuple(reversed(found))

    def linear_index(self, coordinates: Sequence[int], axes: Sequence[int]) -> int:
        """Return the row-major linear index along `axes`, the first listed axis slowest.

        `coordinates` has an entry for every axis of the grid. Raises ValueError if an extent along
        `axes` is unknown.
        """
        index = 0
        for axis in axes:
            extent = self.shape[axis]
            if extent is None:
                raise ValueError(f"grid @{self.name} has an extent known only at run time")
            index = index * extent + coordinates[axis]
        return index
