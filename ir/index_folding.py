"""Index arithmetic that folds: on numbers it is done at once, else an instruction does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

V = TypeVar("V")
"""A value that is known at run time only; it is no integer."""


class IndexFolding(ABC, Generic[V]):
    """Sums and products of 64-bit indices, each an integer or a value of type `V`."""

    @abstractmethod
    def index_instruction(self, name: str, left: int | V, right: int | V) -> V:
        """Write an instruction on indices, which has the name of a primitive (`addi_i64`)."""

    def add(self, left: int | V, right: int | V) -> int | V:
        """`left + right`."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0:
            return right
        return left if right == 0 else self.index_instruction("addi_i64", left, right)

    def subtract(self, left: int | V, right: int | V) -> int | V:
        """`left - right`."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        if left == right:
            return 0
        return left if right == 0 else self.index_instruction("subi_i64", left, right)

    def multiply(self, left: int | V, right: int | V) -> int | V:
        """`left * right`."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 0 or right == 0:
            return 0
        if left == 1:
            return right
        return left if right == 1 else self.index_instruction("muli_i64", left, right)

    def minimum(self, left: int | V, right: int | V) -> int | V:
        """The smaller one."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return left if left == right else self.index_instruction("minsi_i64", left, right)

    def product(self, factors: Sequence[int | V]) -> int | V:
        """The product of sizes; what is known is multiplied first."""
        result: int | V = 1
        for factor in known_first(factors):
            result = self.multiply(result, factor)
        return result

    def linear(self, indices: Sequence[int | V], sizes: Sequence[int | V]) -> int | V:
        """The row-major position of a multi-index."""
        position: int | V = 0
        for index, size in zip(indices, sizes, strict=True):
            position = self.add(self.multiply(position, size), index)
        return position


class FoldingIndices(IndexFolding[V]):
    """The same with quotients and comparisons."""

    def floor_divide(self, left: int | V, right: int | V) -> int | V:
        """`floor(left / right)` for a positive `right`; by 0 it gives anything."""
        if isinstance(left, int) and isinstance(right, int) and right:
            return left // right
        return left if right == 1 else self.index_instruction("floordivsi_i64", left, right)

    def ceiling_divide(self, left: int | V, right: int | V) -> int | V:
        """`ceil(left / right)` for a positive `right`; by 0 it gives anything."""
        if isinstance(left, int) and isinstance(right, int) and right:
            return -(-left // right)
        return left if right == 1 else self.index_instruction("ceildivsi_i64", left, right)

    def modulo(self, left: int | V, right: int | V) -> int | V:
        """`left - right * floor(left / right)` for a positive `right`; by 0 it gives anything."""
        if isinstance(left, int) and isinstance(right, int) and right:
            return left % right
        return 0 if right == 1 else self.index_instruction("floormodsi_i64", left, right)

    def compare(self, predicate: str, left: int | V, right: int | V) -> int | V:
        """A comparison (`slt`, `eq`, ...): 0 or 1 if it is known, else a condition."""
        if isinstance(left, int) and isinstance(right, int):
            return int(COMPARISONS[predicate](left, right))
        return self.index_instruction(f"cmpi{predicate}_i64", left, right)


def known_first(factors: Sequence[int | V]) -> list[int | V]:
    """Factors with the integers before the others."""
    return sorted(factors, key=lambda each: not isinstance(each, int))


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "slt": lambda left, right: left < right,
    "sle": lambda left, right: left <= right,
    "sgt": lambda left, right: left > right,
    "sge": lambda left, right: left >= right,
}
