"""Descriptions of collectives: participants, operands, and the shape of each result.

Groups and shards are those of MLIR's `shard` dialect. The processes of a group agree in their
coordinates outside the grid axes. They are ordered row-major over the axes as listed. If a size is
not divisible, the last `size mod parts` shards have one element more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from ..sharding.collective_matching import ANY_SIZE, CollectiveSignature
from ..sharding.collective_rows import COLLECTIVES, CollectiveRow
from ..sharding.grid import Grid
from ..sharding.local_shape import interval
from ..sharding.sharding import ReductionKind
from .abi.elements import Element

Shape = tuple[int, ...]

HALO, PERMUTE = "halo", "permute"
"""Kinds without a row in the table of collectives: one dimension of `update_halo`, and `shift`."""


@dataclass(frozen=True, slots=True)
class Group:
    """The processes that take part in a collective, in order, and the index of this one."""

    processes: tuple[int, ...]
    index: int

    @property
    def size(self) -> int:
        """The number of participants."""
        return len(self.processes)


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of a group as one of its processes sees it.

    - `kind`: the name of a row of `sharding/collective_rows.py` that is not a message, `HALO` or
      `PERMUTE`;
    - `source_shape`, `result_shape`: the shapes of this process's operand and result. Before a run
      provides dynamic sizes, `DYNAMIC_SIZE` stands for them and the result has no shape (see
      `of_sizes`);
    - `axis`: the tensor dimension that is gathered, scattered or split;
    - `concat_axis`: for `all_to_all`, the dimension along which the pieces are concatenated;
    - `root`: the index of the root in the group, for collectives that have one;
    - `sender`, `receiver`: for `permute`, the indices to receive from and to send to, or `None`;
    - `low`, `high`: for `halo`, how much of `axis` is the halo on either side;
    - `shapes`: the operand shapes of all participants, in order; empty if all are equal;
    - `op_signature`: the signature of the op, if it has one.
    """

    kind: str
    group: Group
    source_shape: Shape
    source: Element
    result_shape: Shape
    result: Element
    axis: int = 0
    concat_axis: int = 0
    root: int | None = None
    sender: int | None = None
    receiver: int | None = None
    low: int = 0
    high: int = 0
    reduction: ReductionKind = ReductionKind.SUM
    shapes: tuple[Shape, ...] = ()
    op_signature: CollectiveSignature | None = None

    @property
    def signature(self) -> CollectiveSignature:
        """The signature that must be equal on all participants."""
        if self.op_signature is not None:
            return self.op_signature
        parameters = {
            "reduction": self.reduction,
            "axis": self.axis,
            "concat_axis": self.concat_axis,
            "root": self.root,
            "halo_sizes": (self.low, self.high),
        }
        return CollectiveSignature(
            self.kind,
            self.group.processes,
            self.source.name,
            self.source.name,
            self.result.name,
            parameters=tuple(parameters.items()),
        )

    @property
    def row(self) -> CollectiveRow | None:
        """The row of the table of collectives; `None` for `halo` and `permute`."""
        return COLLECTIVES.get(f"shard.{self.kind}")

    @property
    def is_local(self) -> bool:
        """Whether each process slices its own operand, and nothing is sent."""
        return self.row is not None and self.row.is_local

    @property
    def reduces(self) -> bool:
        """Whether the operands are reduced."""
        return self.row is not None and self.row.reduces

    @property
    def divides(self) -> bool:
        """Whether each process gets one piece along `axis`."""
        return self.row is not None and bool(self.row.divides)

    @property
    def joins(self) -> bool:
        """Whether pieces of several processes are concatenated."""
        return self.row is not None and bool(self.row.joins)

    @property
    def replicates(self) -> bool:
        """Whether all processes get the same result."""
        return self.row is not None and self.row.replicates

    @property
    def joins_unequal(self) -> bool:
        """Whether operand sizes may differ between participants, which exchange them first."""
        return self.group.size > 1 and ANY_SIZE in self.signature.sizes

    def of_sizes(self, shape: Shape, shapes: tuple[Shape, ...] = ()) -> Collective:
        """Return the collective with actual sizes.

        `shape` is this process's operand shape; `shapes` are those of all participants if they
        differ. The result shape is computed from them.
        """
        row, group = self.row, self.group
        result = shape
        if row is not None:
            all_shapes = shapes or (shape,) * group.size
            result = row.result_shape(all_shapes, group.index, self.axis, self.concat_axis)
        op_signature = None if self.op_signature is None else self.op_signature.of_sizes(shape)
        return replace(
            self, source_shape=shape, result_shape=result, shapes=shapes, op_signature=op_signature
        )

    @property
    def group_shapes(self) -> tuple[Shape, ...]:
        """The operand shapes of all participants, in order."""
        return self.shapes or (self.source_shape,) * self.group.size


def group_of(grid: Grid, process: int, axes: Sequence[int]) -> Group:
    """Return the group of a process along grid axes."""
    coordinates = list(grid.coordinates(process))
    members: list[int] = []
    for point in product(*(range(grid.shape[axis] or 0) for axis in axes)):
        for axis, coordinate in zip(axes, point, strict=True):
            coordinates[axis] = coordinate
        members.append(grid.linear_index(coordinates, range(grid.rank)))
    processes = tuple(members)
    return Group(processes, processes.index(process))


def shard_range(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return the start and the length of a shard."""
    start, end = interval(size, parts, index)
    return start, end - start


def around(shape: Shape, axis: int) -> tuple[int, int, int]:
    """Return (elements outside of a dimension, its extent, elements inside of it)."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
