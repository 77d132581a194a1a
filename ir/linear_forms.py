"""Affine expressions that neither divide nor multiply loop indices: `3 * d0 + d2 + 5`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)


@dataclass(frozen=True, slots=True)
class Linear:
    """The number `constant + sum(coefficient * loop)`; no coefficient is 0."""

    coefficients: Mapping[int, int]
    constant: int

    def bounds(self, extents: Sequence[int] | Mapping[int, int]) -> tuple[int, int]:
        """Return the least and greatest value over loops with these extents, none of which is 0."""
        low = high = self.constant
        for loop, coefficient in self.coefficients.items():
            reach = coefficient * (extents[loop] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    @property
    def plain_loop(self) -> int | None:
        """The loop, if the expression is exactly one loop index; otherwise `None`."""
        if self.constant == 0 and len(self.coefficients) == 1:
            ((loop, coefficient),) = self.coefficients.items()
            if coefficient == 1:
                return loop
        return None


def linear(expression: AffineExpr) -> Linear | None:
    """Return an expression in linear form.

    Returns `None` if it divides, multiplies loop indices, or has symbols.
    """
    if isinstance(expression, AffineConstantExpr):
        return Linear({}, expression.value)
    if isinstance(expression, AffineDimExpr):
        return Linear({expression.position: 1}, 0)
    if not isinstance(expression, AffineBinaryOpExpr):
        return None
    left, right = linear(expression.lhs), linear(expression.rhs)
    if left is None or right is None:
        return None
    if expression.kind is AffineBinaryOpKind.Add:
        return _combine(left, right, 1)
    if expression.kind is AffineBinaryOpKind.Mul:
        if right.coefficients:
            left, right = right, left
        return None if right.coefficients else _combine(Linear({}, 0), left, right.constant)
    return None


def _combine(left: Linear, right: Linear, factor: int) -> Linear:
    coefficients = dict(left.coefficients)
    for loop, coefficient in right.coefficients.items():
        coefficients[loop] = coefficients.get(loop, 0) + factor * coefficient
    kept = {loop: number for loop, number in coefficients.items() if number}
    return Linear(kept, left.constant + factor * right.constant)


def loops_of(map_: AffineMap) -> list[int]:
    """Return the loops that a map selects; results that are no loops are skipped."""
    return [one.position for one in map_.results if isinstance(one, AffineDimExpr)]
