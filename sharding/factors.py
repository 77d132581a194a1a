"""Factor rules: what the dimensions of an operation's operands and results have in common.

A rule is an einsum over *factors*. Each dimension of each operand and result is a list of
factors, major to minor: `matmul` is `([i, k], [k, j]) -> ([i, j])`, and a reshape of 8 to 2x4 is
`([ij]) -> ([i], [j])`. The idea is Shardy's (openxla/shardy, docs/propagation.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .sharding import ReductionKind


class FactorKind(Enum):
    """What an operation does along a factor, and so what splitting it costs."""

    PASS_THROUGH = auto()
    """Shards are computed each on its own."""
    REDUCTION = auto()
    """In operands only: each shard's result is partial until the shards are combined."""
    PERMUTATION = auto()
    """Results need elements of other shards (windows, slices, pads, joined tensors)."""
    SELECTION = auto()
    """In operands only: one element is taken, and whoever has it gives it to all."""
    NEED_REPLICATION = auto()
    """The operation needs the whole extent on each device."""


class Shards(Enum):
    """What the shards of a factor must be for the factor to be split."""

    ANY = auto()
    """Of any size, or empty."""
    FILLED = auto()
    """Of one element at least: the reduction of nothing, say, has no value."""
    EVEN = auto()
    """Of one size."""


@dataclass(frozen=True, slots=True)
class Window:
    """What is read of one dimension of an operand along a permutation factor.

    For element `i` of the factor those from `i * stride + first` on, `length` of them, as far as
    they lie within the dimension's `extent`. The stride of what is read backward is negative.
    """

    operand: int
    dimension: int
    extent: int
    stride: int = 1
    first: int = 0
    length: int = 1

    def span(self, start: int, end: int) -> tuple[int, int]:
        """What [start, end) of the factor asks for, as [first, end), outside of the extent too.

        (0, 0) if nothing.
        """
        if start >= end:
            return 0, 0
        one, other = (i * self.stride + self.first for i in (start, end - 1))
        return min(one, other), max(one, other) + self.length

    def read(self, start: int, end: int) -> tuple[int, int]:
        """What of that lies within the extent; (0, 0) if nothing."""
        low, high = self.span(start, end)
        low, high = max(low, 0), min(high, self.extent)
        return (low, high) if low < high else (0, 0)

    def beyond(self, start: int, end: int) -> tuple[int, int]:
        """How many of the elements asked for lie before and behind the extent."""
        low, high = self.span(start, end)
        size = high - low
        return min(max(-low, 0), size), min(max(high - self.extent, 0), size)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its extent (`None` if dynamic), kind, reductions, and how it may be split.

    `reductions[r]` combines result `r`'s partial values, or is `None` where result `r` cannot be
    combined by one collective (then the factor must not stay split for that operation).
    """

    size: int | None
    kind: FactorKind = FactorKind.PASS_THROUGH
    reductions: tuple[ReductionKind | None, ...] = ()
    shards: Shards = Shards.ANY


DimensionFactors = tuple[int, ...]
"""The factors of one dimension as indices into `FactorRule.factors`, major to minor.

Empty for a dimension that takes part in nothing (extent 1, or read at a constant)."""

TensorFactors = tuple[DimensionFactors, ...]


@dataclass(frozen=True, slots=True)
class FactorRule:
    """Factors of an operation and how each operand and result is made of them.

    `operands` and `results` have one entry per SSA operand and result; a value that is not a
    ranked tensor has the empty tuple. `windows` tells for dimensions of operands along permutation
    factors what is read of them, as far as that is known.

    Raises ValueError for a factor that is not listed.
    """

    factors: tuple[Factor, ...]
    operands: tuple[TensorFactors, ...]
    results: tuple[TensorFactors, ...]
    windows: tuple[Window, ...] = ()

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
