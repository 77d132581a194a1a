"""The collectives of which a change of placement is made, and what each costs.

The byte counts are those of bandwidth-optimal ring algorithms: what each process sends, for `n`
processes in a group and a local shard of `s` bytes before the step (Thakur, Rabenseifner and
Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

from .sharding import Axes, ReductionKind, Sharding


@dataclass(frozen=True, slots=True)
class AllSlice:
    """Each process keeps its block of what all of a group hold; nothing is sent.

    `axes` become the last axes of the dimension.
    """

    dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class AllGather:
    """Each process collects the blocks of its group; `axes`, the dimension's last, are freed."""

    dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class AllToAll:
    """The last `axes` of `concat_dimension` become the last of `split_dimension`."""

    split_dimension: int
    concat_dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class Permute:
    """Each process sends its whole shard to one other; the shards keep their shape."""


@dataclass(frozen=True, slots=True)
class AllReduce:
    """The pending reduction over `axes` is done, and each process holds the result."""

    kind: ReductionKind
    axes: Axes


@dataclass(frozen=True, slots=True)
class ReduceScatter:
    """The pending reduction over `axes` is done; `axes` become the last of `dimension`."""

    kind: ReductionKind
    dimension: int
    axes: Axes


@dataclass(frozen=True, slots=True)
class TrimHalo:
    """Each process drops what it holds of its neighbours."""


@dataclass(frozen=True, slots=True)
class ExchangeHalo:
    """Each process fetches borders of its neighbours, as wide as `after.halos` says."""


Step = (
    AllSlice | AllGather | AllToAll | Permute | AllReduce | ReduceScatter | TrimHalo | ExchangeHalo
)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with the placements before and after it."""

    step: Step
    before: Sharding
    after: Sharding


UNKNOWN_EXTENT = 4
"""What an extent known only at run time counts as in a comparison of costs."""


def group_size(sharding: Sharding, axes: Axes) -> int:
    """The number of processes along `axes`, with a stand-in for unknown extents."""
    size = 1
    for axis in axes:
        extent = sharding.grid.shape[axis]
        size *= UNKNOWN_EXTENT if extent is None else extent
    return size


def local_fraction(sharding: Sharding) -> float:
    """The part of the whole tensor that one process holds, without halos."""
    parts = 1
    for axes in sharding.dimension_axes:
        parts *= group_size(sharding, axes)
    return 1 / max(parts, 1)


def gather_fraction(group: int) -> float:
    """Sent in an all-gather, in units of the local shard before it: it is passed on n-1 times."""
    return float(group - 1)


def exchange_fraction(group: int) -> float:
    """Sent in an all-to-all or a reduce-scatter, in units of the local shard before it."""
    return (group - 1) / group


def all_reduce_fraction(group: int) -> float:
    """Sent in an all-reduce: a reduce-scatter and the all-gather of its result."""
    return 2 * (group - 1) / group


def sent_fraction(planned: PlannedStep, shape: tuple[int | None, ...] = ()) -> float:
    """The bytes that each process sends in a step, as a part of the whole tensor's bytes.

    `shape` is the whole tensor's, needed for the share of halos (which is 0 without it).
    """
    before, step = planned.before, planned.step
    local = local_fraction(before)
    match step:
        case AllGather():
            return local * gather_fraction(group_size(before, step.axes))
        case AllToAll() | ReduceScatter():
            return local * exchange_fraction(group_size(before, step.axes))
        case AllReduce():
            return local * all_reduce_fraction(group_size(before, step.axes))
        case Permute():
            return local
        case ExchangeHalo():
            return local * _halo_share(planned.after, shape)
        case AllSlice() | TrimHalo():
            return 0.0


def _halo_share(after: Sharding, shape: tuple[int | None, ...]) -> float:
    share = 0.0
    for dimension, (low, high) in enumerate(after.halos):
        size = shape[dimension] if dimension < len(shape) else None
        if size:
            share += (low + high) * group_size(after, after.dimension_axes[dimension]) / size
    return share
