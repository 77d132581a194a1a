"""What is searched: tensors, and the operations that relate their dimensions. No IR.

Repeated layers are in it once: a tensor with `count` 32 stands for one in each of 32 layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..cost import known_extents
from ..factors import FactorRule
from ..sharding import DimensionAxes


@dataclass(frozen=True, slots=True)
class SearchTensor:
    """One tensor, or one in each of `count` repetitions.

    - `width`: bytes per element;
    - `pinned`: how it is split, if the program says so;
    - `is_argument`: the caller has it before and after, split as the search decides.
    """

    shape: tuple[int | None, ...]
    width: int = 4
    pinned: DimensionAxes | None = None
    is_argument: bool = False
    count: int = 1

    @property
    def size(self) -> float:
        """The bytes of the whole tensor."""
        total = float(self.width)
        for extent in known_extents(self.shape):
            total *= extent
        return total


@dataclass(frozen=True, slots=True)
class SearchOperation:
    """One operation, or one in each of several repetitions, `times` times in all.

    - `operands`, `results`: for each slot of the rule the tensors there, usually one; none for
      scalars and for what is made anew for each use;
    - `work`: scalar operations of the whole, on elements of type `element`;
    - `read`, `written`: the slots of operands and results that are in memory;
    - `is_kernel`: it is launched, and not on the way inside another kernel.
    """

    rule: FactorRule
    operands: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]
    work: float = 0.0
    element: str = "f32"
    read: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    is_kernel: bool = True
    times: int = 1

    @property
    def tensors(self) -> frozenset[int]:
        """All tensors at its slots."""
        return frozenset(each for slot in (*self.operands, *self.results) for each in slot)


@dataclass(frozen=True, slots=True)
class LivePoint:
    """An operation, and the tensors that are in memory when it runs, each so many times."""

    operation: int
    tensors: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Tensors, operations in program order, and what is in memory at each of them."""

    tensors: tuple[SearchTensor, ...]
    operations: tuple[SearchOperation, ...]
    points: Sequence[LivePoint] = ()
