"""What a collective is: who takes part, what each brings, and what shape each gets.

Groups, their order and the rule for uneven shards are those of MLIR's `shard` dialect: the
processes of a group are equal outside the grid axes, ordered row-major over the axes as listed;
of `n = size mod parts` longer shards, the longer ones come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from ..sharding.collective_matching import ANY_SIZE, CollectiveSignature
from ..sharding.collectives import COLLECTIVES, CollectiveRow
from ..sharding.grid import Grid
from ..sharding.local_shape import interval
from ..sharding.sharding import ReductionKind
from .abi.elements import Element

Shape = tuple[int, ...]

HALO, PERMUTE = "halo", "permute"
"""Kinds that are no rows of the table: a dimension of `update_halo`, and `shift`."""


@dataclass(frozen=True, slots=True)
class Group:
    """Processes that meet, in order, and the place of the own one among them."""

    processes: tuple[int, ...]
    rank: int

    @property
    def size(self) -> int:
        """How many processes meet."""
        return len(self.processes)


@dataclass(frozen=True, slots=True)
class Collective:
    """One meeting of a group as one of its processes sees it.

    - `kind`: the name of a row of `sharding/collectives.py` that is no message, `HALO` or
      `PERMUTE`;
    - `source_shape`, `result_shape`: what this process brings and gets; before a run tells sizes,
      `OPEN_SIZE` stands for those, and there is no shape of the result (`of_sizes`);
    - `axis`: the tensor dimension that is gathered, scattered or split;
    - `concat_axis`: for `all_to_all`, where the pieces are joined;
    - `root`: the rank of the root, where there is one;
    - `sender`, `receiver`: for `permute`, the ranks to get from and to send to, `None` for nobody;
    - `low`, `high`: for `halo`, how much of `axis` belongs to the neighbours;
    - `shapes`: what each of the group brings, in order; nothing if all bring the same;
    - `meant`: the signature of the operation, if there is one.
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
    meant: CollectiveSignature | None = None

    @property
    def signature(self) -> CollectiveSignature:
        """What all of the group must have in common."""
        if self.meant is not None:
            return self.meant
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
        """What the table says of it; nothing of `halo` and `permute`."""
        return COLLECTIVES.get(f"shard.{self.kind}")

    @property
    def reduces(self) -> bool:
        """Whether what is brought is combined."""
        return self.row is not None and self.row.reduces

    @property
    def joins_unequal(self) -> bool:
        """Whether the group may bring different sizes, so that all must be told them."""
        return self.group.size > 1 and ANY_SIZE in self.signature.sizes

    def of_sizes(self, shape: Shape, shapes: tuple[Shape, ...] = ()) -> Collective:
        """The same where this process brings a shape, and the group `shapes` if not all bring the
        same; with the shape of the result."""
        row, group = self.row, self.group
        result = shape
        if row is not None:
            brought = shapes or (shape,) * group.size
            result = row.result_shape(brought, group.rank, self.axis, self.concat_axis)
        meant = None if self.meant is None else self.meant.of_sizes(shape)
        return replace(self, source_shape=shape, result_shape=result, shapes=shapes, meant=meant)

    @property
    def group_shapes(self) -> tuple[Shape, ...]:
        """What each of the group brings, in order."""
        return self.shapes or (self.source_shape,) * self.group.size


def group_of(grid: Grid, process: int, axes: Sequence[int]) -> Group:
    """The group of a process along grid axes."""
    coordinates = list(grid.coordinates(process))
    members: list[int] = []
    for point in product(*(range(grid.shape[axis] or 0) for axis in axes)):
        for axis, coordinate in zip(axes, point, strict=True):
            coordinates[axis] = coordinate
        members.append(grid.linear_index(coordinates, range(grid.rank)))
    processes = tuple(members)
    return Group(processes, processes.index(process))


def shard_range(size: int, parts: int, index: int) -> tuple[int, int]:
    """Where a shard begins and how long it is."""
    start, end = interval(size, parts, index)
    return start, end - start


def around(shape: Shape, axis: int) -> tuple[int, int, int]:
    """Elements outside of a dimension, the dimension, and elements inside of it."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
