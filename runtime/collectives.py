"""Descriptions of collectives: participants, operands, and the shape of each result.

Groups and shards are those of MLIR's `shard` dialect. The processes of a group agree in their
coordinates outside the grid axes. They are ordered row-major over the axes as listed. If a size is
not divisible, the last `size mod parts` shards have one element more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from ..sharding.collective_matching import ANY_SIZE, CollectiveSignature
from ..sharding.collective_rows import ALL_GATHER, BY_NAME, CollectiveRow
from ..sharding.grid import Grid
from ..sharding.local_shape import interval
from ..sharding.sharding import ReductionKind
from .abi.elements import Element

Shape = tuple[int, ...]


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

    - `kind`: the name of a row of `sharding/collective_rows.py` that is not a message;
    - `source_shape`, `result_shape`: the shapes of this process's operand and result. Before a run
      provides dynamic sizes, `DYNAMIC_SIZE` stands for them and the result has no shape (see
      `of_sizes`);
    - `axis`: the tensor dimension that is gathered, scattered or split;
    - `concat_axis`: for `all_to_all`, the dimension along which the pieces are concatenated;
    - `root`: the index of the root in the group, for collectives that have one;
    - `sender`, `receiver`: for `shift`, the indices to receive from and to send to, or `None`;
    - `low`, `high`: for `update_halo`, which is one collective for each of its dimensions, how much
      of `axis` is the halo on either side;
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
            source=self.source.name,
            element=self.source.name,
            result=self.result.name,
            parameters=tuple(parameters.items()),
        )

    @property
    def row(self) -> CollectiveRow:
        """The row of the table of collectives."""
        return BY_NAME[self.kind]

    @property
    def joins_unequal(self) -> bool:
        """Whether operand sizes may differ between participants, which exchange them first."""
        return self.group.size > 1 and ANY_SIZE in self.signature.sizes

    def of_sizes(self, shape: Shape, shapes: tuple[Shape, ...] = ()) -> Collective:
        """Return the collective with actual sizes.

        `shape` is this process's operand shape; `shapes` are those of all participants if they
        differ. The result shape is computed from them.
        """
        group, all_shapes = self.group, shapes or (shape,) * self.group.size
        result = self.row.result_shape(all_shapes, group.index, self.axis, self.concat_axis)
        op_signature = None if self.op_signature is None else self.op_signature.of_sizes(shape)
        return replace(
            self, source_shape=shape, result_shape=result, shapes=shapes, op_signature=op_signature
        )

    @property
    def group_shapes(self) -> tuple[Shape, ...]:
        """The operand shapes of all participants, in order."""
        return self.shapes or (self.source_shape,) * self.group.size


def gather_of_vectors(group: Group, element: Element, lengths: Sequence[int]) -> Collective:
    """Return the collective that joins a vector of each participant, given their lengths."""
    shapes = tuple((length,) for length in lengths)
    own, joined = shapes[group.index], (sum(lengths),)
    return Collective(ALL_GATHER.name, group, own, element, joined, element, shapes=shapes)


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
