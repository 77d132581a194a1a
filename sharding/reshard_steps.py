"""The steps of a reshard, and the bytes that each sends.

Each step has the row of its collective, and the grid axes along which its groups lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .collective_rows import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_SLICE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    SEND,
    UPDATE_HALO,
    CollectiveRow,
)
from .cost import group_size, local_fraction
from .sharding import Axes, ReductionKind, Sharding


@dataclass(frozen=True, slots=True)
class AllSlice:
    """Each process keeps its block of the data that its group holds; nothing is sent.

    `axes` are appended to the axes of the dimension.
    """

    ROW: ClassVar[CollectiveRow] = ALL_SLICE
    dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class AllGather:
    """Each process gathers the blocks of its group; `axes`, the dimension's last, are removed."""

    ROW: ClassVar[CollectiveRow] = ALL_GATHER
    dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class AllToAll:
    """The last `axes` of `concat_dimension` are moved to the end of `split_dimension`."""

    ROW: ClassVar[CollectiveRow] = ALL_TO_ALL
    split_dimension: int
    concat_dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class Permute:
    """Each process sends its whole shard to one other; the shards keep their shape."""

    ROW: ClassVar[CollectiveRow] = SEND
    axes: ClassVar[Axes] = ()


@dataclass(frozen=True, slots=True)
class AllReduce:
    """The pending reduction over `axes` is finished, and each process holds the result."""

    ROW: ClassVar[CollectiveRow] = ALL_REDUCE
    kind: ReductionKind
    axes: Axes


@dataclass(frozen=True, slots=True)
class ReduceScatter:
    """The pending reduction over `axes` is finished; `axes` are appended to `dimension`."""

    ROW: ClassVar[CollectiveRow] = REDUCE_SCATTER
    kind: ReductionKind
    dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class TrimHalo:
    """Each process drops its halo."""

    ROW: ClassVar[CollectiveRow] = ALL_SLICE
    axes: ClassVar[Axes] = ()


@dataclass(frozen=True, slots=True)
class ExchangeHalo:
    """Each process fetches a halo from its neighbours, as wide as `after.halos` says."""

    ROW: ClassVar[CollectiveRow] = UPDATE_HALO
    axes: ClassVar[Axes] = ()


Step = (
    AllSlice | AllGather | AllToAll | Permute | AllReduce | ReduceScatter | TrimHalo | ExchangeHalo
)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with the shardings before and after it."""

    step: Step
    before: Sharding
    after: Sharding


def sent_fraction(planned: PlannedStep) -> float:
    """Return the bytes that each process sends in a step, as a fraction of the whole tensor.

    Halo exchanges count as 0, since their bytes depend on sizes.
    """
    before, step = planned.before, planned.step
    return local_fraction(before) * step.ROW.sent(group_size(before.grid, step.axes))
