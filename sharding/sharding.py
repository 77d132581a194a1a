"""Define the sharding of one tensor on a grid, as an immutable, canonical value.

`Sharding` says, for each dimension, along which grid axes it is split (first axis slowest), and
over which axes the value is a pending partial result. Unevenly split dimensions carry explicit
shard offsets, and shards that overlap their neighbours carry halos. The semantics are those of
MLIR's `shard.sharding`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from .grid import Grid

Axes = tuple[int, ...]
"""Grid axes along which one dimension is split, slowest first."""

DimensionAxes = tuple[Axes, ...]
"""The split axes of every dimension of a tensor."""

Offsets = tuple[int, ...] | None
"""Explicit offsets of a dimension's shards, from 0 to its size; `None` for the default."""

Split = tuple[Axes, Offsets]
"""How one dimension is split: axes and offsets."""


def is_finer_split(fine: DimensionAxes, coarse: DimensionAxes) -> bool:
    """Return whether `fine` can be reached from `coarse` by slicing alone.

    This holds if every dimension of `fine` is split along the axes of `coarse` and possibly along
    further minor axes.
    """
    return all(a[: len(b)] == b for a, b in zip(fine, coarse, strict=True))


def dimension_of_axis(axes: DimensionAxes) -> dict[int, int]:
    """Return for each axis the dimension that it splits."""
    return {axis: dimension for dimension, split in enumerate(axes) for axis in split}


class ReductionKind(StrEnum):
    """How partial results combine; the values are those of the `shard` dialect's attribute."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PRODUCT = "product"
    AVERAGE = "average"
    BITWISE_AND = "bitwise_and"
    BITWISE_OR = "bitwise_or"
    BITWISE_XOR = "bitwise_xor"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class Partial:
    """A pending reduction: the full value is the combination of the partial values over `axes`.

    Raises ValueError if `axes` is empty.
    """

    kind: ReductionKind
    axes: Axes

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(sorted(self.axes)))
        if not self.axes:
            raise ValueError("a partial sharding needs at least one axis")


@dataclass(frozen=True, slots=True)
class Sharding:
    """The sharding of a tensor of rank `len(dimension_axes)` on a grid.

    - `dimension_axes[d]`: the axes that split dimension `d`, slowest first;
    - `partials`: pending reductions, at most one per kind, sorted by kind;
    - `halos[d]`: (low, high) numbers of elements of its neighbours that each shard of `d` holds
      (empty tuple: no halos);
    - `offsets[d]`: the `n + 1` offsets of the `n` shards of `d`, or `None` for the default split
      (empty tuple: default everywhere).

    Raises ValueError if an axis is out of range or used twice.
    """

    grid: Grid
    dimension_axes: tuple[Axes, ...]
    partials: tuple[Partial, ...] = ()
    halos: tuple[tuple[int, int], ...] = ()
    offsets: tuple[Offsets, ...] = ()

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for axes in (*self.dimension_axes, *(partial.axes for partial in self.partials)):
            for axis in axes:
                if not 0 <= axis < self.grid.rank:
                    raise ValueError(
                        f"axis {axis} is beyond grid @{self.grid.name} of rank {self.grid.rank}"
                    )
                if axis in seen:
                    raise ValueError(f"axis {axis} is used twice in {self.dimension_axes}")
                seen.add(axis)
        by_kind: dict[ReductionKind, Axes] = {}
        for partial in self.partials:
            by_kind[partial.kind] = (*by_kind.get(partial.kind, ()), *partial.axes)
        object.__setattr__(
            self, "partials", tuple(Partial(kind, by_kind[kind]) for kind in sorted(by_kind))
        )
        if not any(low or high for low, high in self.halos):
            object.__setattr__(self, "halos", ())
        if all(offsets is None for offsets in self.offsets):
            object.__setattr__(self, "offsets", ())

    @staticmethod
    def replicated(grid: Grid, rank: int) -> Sharding:
        """Return the sharding under which every process holds the whole tensor."""
        return Sharding(grid, ((),) * rank)

    @property
    def rank(self) -> int:
        """The rank of the tensor."""
        return len(self.dimension_axes)

    @property
    def is_replicated(self) -> bool:
        """Whether every process holds the whole tensor, with no reduction pending."""
        return not self.partials and not any(self.dimension_axes)

    @property
    def used_axes(self) -> frozenset[int]:
        """Axes that split a dimension or over which a reduction is pending."""
        return frozenset(
            axis
            for axes in (*self.dimension_axes, *(partial.axes for partial in self.partials))
            for axis in axes
        )

    def parts(self, dimension: int) -> int | None:
        """Return the number of shards along a dimension; `None` if it is known only at run time."""
        return self.grid.size(self.dimension_axes[dimension])

    def without_partials(self) -> Sharding:
        """Return the same sharding without pending reductions."""
        return replace(self, partials=()) if self.partials else self

    def __str__(self) -> str:
        text = "[" + ", ".join(str(list(axes)) for axes in self.dimension_axes) + "]"
        for partial in self.partials:
            text += f" partial={partial.kind}{list(partial.axes)}"
        if self.halos:
            text += f" halos={[list(pair) for pair in self.halos]}"
        if self.offsets:
            text += f" offsets={[None if b is None else list(b) for b in self.offsets]}"
        return f"@{self.grid.name} {text}"


def without_new_partials(source: Sharding, target: Sharding) -> Sharding:
    """Return `target` without those pending reductions that `source` does not have."""
    held = {(partial.kind, axis) for partial in source.partials for axis in partial.axes}
    kept = tuple(
        Partial(partial.kind, (axis,))
        for partial in target.partials
        for axis in partial.axes
        if (partial.kind, axis) in held
    )
    return replace(target, partials=kept)
