"""The grid that an operation of the `shard` dialect names, and the group that a process is in.

The interpreter and host code share this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ..dialects.shard.checks import grid_value
from ..ir.attribute_access import flag, integer, integer_lists, integers, mixed, symbol
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Value
from ..runtime.collectives import Group, group_of
from ..sharding.grid import Grid, extents_text
from ..sharding.sharding import Axes
from .frames import Process, Program

NO_GRID = "needs the devices of a grid, but the program runs on a single device"


def declared_grid(op: Operation, program: Program) -> Grid | None:
    """Return the grid that an operation names; `None` if there is none of that name.

    Raises OperationError if its definition is malformed.
    """
    found = program.lookup(op, symbol(op, "grid"))
    try:
        return None if found is None else grid_value(found)
    except VerifyException as error:
        raise OperationError(op, f"names @{symbol(op, 'grid')}: {error}") from error


def resolve_grid(op: Operation, process: Process) -> Grid:
    """Return the grid of an operation, with dynamic extents taken from the running grid.

    Raises OperationError if the grid is not defined or does not fit the running grid.
    """
    grid, running = declared_grid(op, process.program), process.grid
    if grid is None:
        raise OperationError(op, f"names the grid @{symbol(op, 'grid')}, which is not defined")
    if running is None:
        return grid
    if grid.is_static:
        if grid.device_count() != running.device_count():
            raise OperationError(
                op,
                f"is on grid @{grid.name} of {grid.device_count()} devices, but"
                f" {running.device_count()} run",
            )
        return grid
    if not grid.fits(running.shape):
        raise OperationError(
            op,
            f"is on grid @{grid.name} of shape {extents_text(grid.shape)}, which does not match the"
            f" running grid of shape {running.shape}",
        )
    return Grid(grid.name, running.shape)


def running_grid(op: Operation, process: Process) -> Grid:
    """Return the grid of an operation that needs devices. Raises OperationError without them."""
    if process.grid is None:
        raise OperationError(op, NO_GRID)
    return resolve_grid(op, process)


def axes_on(op: Operation, grid: Grid, name: str) -> Axes:
    """Return the grid axes that attribute `name` lists. Raises OperationError for invalid axes."""
    axes = integers(op, name)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < grid.rank for axis in axes):
        raise OperationError(op, f"has {name} {list(axes)} on a grid of rank {grid.rank}")
    return axes


@dataclass(frozen=True, slots=True)
class GridGroup:
    """The processes that an operation lets meet along `axes` of a grid, as one of them sees it.

    A position in the group is row-major over the axes, as they are listed.
    """

    op: Operation
    grid: Grid
    axes: Axes
    members: Group

    @staticmethod
    def of(op: Operation, process: Process, axes: Axes | None = None) -> GridGroup:
        """Return the group of a process, along `grid_axes` if no axes are given.

        Raises OperationError if the process has no grid, or for invalid axes.
        """
        grid = running_grid(op, process)
        axes = axes_on(op, grid, "grid_axes") if axes is None else axes
        return GridGroup(op, grid, axes, group_of(grid, process.index, axes))

    @property
    def processes(self) -> tuple[int, ...]:
        """The number of the process at each position."""
        return self.members.processes

    @property
    def _extents(self) -> list[int]:
        return [self.grid.shape[axis] or 0 for axis in self.axes]

    def position(self, name: str, dynamic: Sequence[Value]) -> int:
        """Return the position that attribute `name` refers to.

        Raises OperationError if it is not in the group.
        """
        index, extents = mixed(self.op, name, dynamic), self._extents
        inside = len(index) == len(extents) and all(
            0 <= coordinate < extent for coordinate, extent in zip(index, extents, strict=True)
        )
        if not inside:
            raise OperationError(
                self.op, f"has {name} {list(index)}, which is not in a group of shape {extents}"
            )
        return int(np.ravel_multi_index(index, extents)) if index else 0

    def shifted(self, position: int, distance: int) -> int | None:
        """Return the position that is `distance` further along the axis of a shift.

        Returns `None` if there is no process. Raises OperationError if the shift is along none of
        the group's axes.
        """
        axis, extents = integer(self.op, "shift_axis"), self._extents
        if axis not in self.axes:
            raise OperationError(
                self.op, f"shifts along axis {axis}, expected one of {list(self.axes)}"
            )
        along = self.axes.index(axis)
        there = list(self.grid.coordinates_along(self.axes, position))
        there[along] += distance
        if flag(self.op, "rotate"):
            there[along] %= extents[along]
        if not 0 <= there[along] < extents[along]:
            return None
        return int(np.ravel_multi_index(there, extents))


@dataclass(frozen=True, slots=True)
class HaloExchange:
    """The exchange of halos along one dimension of a tensor, which grid axes split."""

    dimension: int
    axes: Axes
    low: int
    high: int


def halo_exchanges(op: Operation, dynamic: Sequence[Value]) -> list[HaloExchange]:
    """Return the exchanges that update the halos of all dimensions, later dimensions first.

    An exchange includes the halos that earlier exchanges have filled, so that corners reach the
    diagonal neighbours. Raises OperationError if there are not two sizes per split dimension.
    """
    sizes = mixed(op, "static_halo_sizes", dynamic)
    split = [(d, axes) for d, axes in enumerate(integer_lists(op, "split_axes")) if axes]
    if len(sizes) != 2 * len(split):
        raise OperationError(
            op,
            f"expects {2 * len(split)} halo sizes for {len(split)} split dimensions, found "
            f"{len(sizes)}",
        )
    rows = zip(split, sizes[::2], sizes[1::2], strict=True)
    return [HaloExchange(*each, low, high) for each, low, high in rows][::-1]
