"""Define the input of a sharding search: tensors and operations with factor rules. No IR.

Repeated layers are represented once: a tensor with `count` 32 stands for one in each of 32 layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..cost import known_extents
from ..factors import FactorRule
from ..sharding import DimensionAxes


@dataclass(frozen=True, slots=True)
class SearchTensor:
    """One tensor, or one in each of `count` repetitions.

    - `width`: bytes per element;
    - `pinned`: its sharding, if the program prescribes it;
    - `is_argument`: the caller holds it before and after, in the sharding that the search chooses.
    """

    shape: tuple[int | None, ...]
    width: int = 4
    pinned: DimensionAxes | None = None
    is_argument: bool = False
    count: int = 1

    @property
    def size(self) -> float:
        """The size of the whole tensor in bytes."""
        return float(self.width * prod(known_extents(self.shape)))


@dataclass(frozen=True, slots=True)
class SearchOperation:
    """One operation, or one in each of several repetitions, run `times` times in total.

    - `operands`, `results`: the tensors at each slot of the rule, usually one; none for scalars and
      for values that are rematerialised for each use;
    - `work`: scalar operations of the whole operation, on elements of type `element`;
    - `read`, `written`: the operand and result slots that are in memory;
    - `is_kernel`: it is launched by itself, not fused into another kernel.
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
        """The tensors at all slots."""
        return frozenset(each for slot in (*self.operands, *self.results) for each in slot)


@dataclass(frozen=True, slots=True)
class LivePoint:
    """An operation, and the tensors that are live when it runs, with their multiplicity."""

    operation: int
    tensors: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Tensors, operations in program order, and the live tensors at some operations."""

    tensors: tuple[SearchTensor, ...]
    operations: tuple[SearchOperation, ...]
    points: Sequence[LivePoint] = ()
