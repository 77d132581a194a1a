"""Define factor rules: how the dimensions of an operation's operands and results correspond.

A rule is an einsum over *factors*. Each dimension of each operand and result is a list of factors,
major to minor: `matmul` is `([i, k], [k, j]) -> ([i, j])`, and a reshape of 8 to 2x4 is `([ij]) ->
([i], [j])`. The concept is Shardy's (openxla/shardy, docs/propagation.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .sharding import ReductionKind


class FactorKind(Enum):
    """The role of a factor in an operation, which determines the cost of splitting it."""

    PASS_THROUGH = auto()
    """Each shard is computed independently."""
    REDUCTION = auto()
    """In operands only: the result of each shard is partial until the shards are combined."""
    PERMUTATION = auto()
    """Results need elements of other shards (windows, slices, pads, concatenations)."""
    SELECTION = auto()
    """In operands only: one element is selected, and the process that owns it broadcasts it."""
    NEED_REPLICATION = auto()
    """Every device needs the whole extent, so the factor cannot be split."""


class ShardRequirement(Enum):
    """Requirement on the sizes of a factor's shards."""

    ANY = auto()
    """Shards may have any size and may be empty."""
    FILLED = auto()
    """Every shard has at least one element; a reduction of no elements may have no value."""
    EVEN = auto()
    """All shards have the same size."""


@dataclass(frozen=True, slots=True)
class Window:
    """The elements that are read from one dimension of an operand along a permutation factor.

    Element `i` of the factor reads `length` elements from `i * stride + first` on, clipped to the
    dimension's `extent`. A negative stride reads backward.
    """

    operand: int
    dimension: int
    extent: int
    stride: int = 1
    first: int = 0
    length: int = 1

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the operand interval [first, end) that the factor interval [start, end) reads.

        The interval is not clipped to the extent. It is (0, 0) if the factor interval is empty.
        """
        if start >= end:
            return 0, 0
        one, other = (i * self.stride + self.first for i in (start, end - 1))
        return min(one, other), max(one, other) + self.length

    def read(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of `span` that lies within the extent; (0, 0) if it is empty."""
        low, high = self.span(start, end)
        low, high = max(low, 0), min(high, self.extent)
        return (low, high) if low < high else (0, 0)

    def beyond(self, start: int, end: int) -> tuple[int, int]:
        """Return how many elements of `span` lie before the extent, and how many behind it."""
        low, high = self.span(start, end)
        size = high - low
        return min(max(-low, 0), size), min(max(high - self.extent, 0), size)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its extent (`None` if dynamic), kind, reductions, and requirement on its shards.

    `reductions[r]` is the reduction that combines the partial values of result `r`. It is `None` if
    no single collective can combine them; then the operation cannot be split along the factor.
    """

    size: int | None
    kind: FactorKind = FactorKind.PASS_THROUGH
    reductions: tuple[ReductionKind | None, ...] = ()
    shards: ShardRequirement = ShardRequirement.ANY


DimensionFactors = tuple[int, ...]
"""The factors of one dimension as indices into `FactorRule.factors`, major to minor.

Empty for a dimension that belongs to no factor (extent 1, or read at a constant index).
"""

TensorFactors = tuple[DimensionFactors, ...]
"""The factors of every dimension of a tensor."""


@dataclass(frozen=True, slots=True)
class FactorRule:
    """The factors of an operation, and the factors of each dimension of its operands and results.

    `operands` and `results` have one entry per SSA operand and result; the entry of a value that is
    not a ranked tensor is empty. `windows` describes the reads along permutation factors, as far as
    they are known. No factor is split along the `reserved` axes of the grid.

    Raises ValueError if a dimension refers to a factor that is not listed.
    """

    factors: tuple[Factor, ...]
    operands: tuple[TensorFactors, ...]
    results: tuple[TensorFactors, ...]
    windows: tuple[Window, ...] = ()
    reserved: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for tensor in (*self.operands, *self.results):
            for dimension in tensor:
                for factor in dimension:
                    if not 0 <= factor < len(self.factors):
                        raise ValueError(f"factor {factor} of {len(self.factors)} in {self}")

    def __str__(self) -> str:
        def tensor(factors: TensorFactors) -> str:
            inner = ("".join(f"f{f}" for f in dimension) or "1" for dimension in factors)
            return "[" + ", ".join(inner) + "]"

        left = ", ".join(map(tensor, self.operands))
        right = ", ".join(map(tensor, self.results))
        kinds = ", ".join(
            f"f{i}={factor.kind.name.lower()}"
            for i, factor in enumerate(self.factors)
            if factor.kind is not FactorKind.PASS_THROUGH
        )
        return f"({left}) -> ({right})" + (f" {{{kinds}}}" if kinds else "")
