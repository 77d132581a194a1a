"""Index arithmetic with constant folding: integers are computed, other values emit instructions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Generic, TypeVar

V = TypeVar("V")
"""A value that is known only at run time. It must not be an `int`."""


class IndexFolding(ABC, Generic[V]):
    """Sums and products of 64-bit indices, each an integer or a value of type `V`."""

    @abstractmethod
    def index_instruction(self, name: str, left: int | V, right: int | V) -> V:
        """Emit an instruction on indices, given the name of its primitive, such as `addi_i64`."""

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
        """Return the signed minimum."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return left if left == right else self.index_instruction("minsi_i64", left, right)

    def product(self, factors: Sequence[int | V]) -> int | V:
        """Return the product; integers are multiplied first."""
        result: int | V = 1
        for factor in known_first(factors):
            result = self.multiply(result, factor)
        return result

    def linear(self, indices: Sequence[int | V], sizes: Sequence[int | V]) -> int | V:
        """Return the row-major linear index of a multi-index."""
        position: int | V = 0
        for index, size in zip(indices, sizes, strict=True):
            position = self.add(self.multiply(position, size), index)
        return position


class SizeFolding(IndexFolding[V]):
    """Index arithmetic on sizes, which are not negative."""

    @abstractmethod
    def divide(self, left: int | V, right: int | V) -> int | V:
        """Return `left / right`, rounded down."""

    @abstractmethod
    def broadcast_instruction(self, left: V, right: V) -> V:
        """Emit the choice of `right` if `left` is 1, otherwise of `left`."""

    def broadcast(self, left: int | V, right: int | V) -> int | V:
        """Return the size of two that are equal, or of which one is 1 (1 and 0 give 0)."""
        if left == 1 or isinstance(right, int):
            return left if right == 1 else right
        if right == left or isinstance(left, int):
            return left
        return self.broadcast_instruction(left, right)


class FoldingIndices(IndexFolding[V]):
    """Index arithmetic with division, remainder and comparison as well."""

    def floor_divide(self, left: int | V, right: int | V) -> int | V:
        """Return `floor(left / right)` for a positive `right`; the result for 0 is unspecified."""
        if isinstance(left, int) and isinstance(right, int) and right:
            return left // right
        return left if right == 1 else self.index_instruction("floordivsi_i64", left, right)

    def ceiling_divide(self, left: int | V, right: int | V) -> int | V:
        """Return `ceil(left / right)` for a positive `right`; the result for 0 is unspecified."""
        if isinstance(left, int) and isinstance(right, int) and right:
            return -(-left // right)
        return left if right == 1 else self.index_instruction("ceildivsi_i64", left, right)

    def modulo(self, left: int | V, right: int | V) -> int | V:
        """Return `left - right * floor(left / right)` for a positive `right`; unspecified for 0."""
        if isinstance(left, int) and isinstance(right, int) and right:
            return left % right
        return 0 if right == 1 else self.index_instruction("floormodsi_i64", left, right)

    def compare(self, predicate: str, left: int | V, right: int | V) -> int | V:
        """Return a comparison (`slt`, `eq`, ...): 0 or 1 if it folds, otherwise a boolean value."""
        if isinstance(left, int) and isinstance(right, int):
            return int(COMPARISONS[predicate](left, right))
        return self.index_instruction(f"cmpi{predicate}_i64", left, right)


def known_first(factors: Sequence[int | V]) -> list[int | V]:
    """Return the factors with the integers first."""
    return sorted(factors, key=lambda each: not isinstance(each, int))


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": eq,
    "ne": ne,
    "slt": lt,
    "sle": le,
    "sgt": gt,
    "sge": ge,
}
