"""Carry pending reductions through operations that commute with them: f(a0) + f(a1) = f(a0 + a1).

The reduction is then finished where that is cheapest.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ....sharding.sharding import Partial, ReductionKind, Sharding

MOVES = frozenset(
    {
        "linalg.transpose",
        "tensor.cast",
        "tensor.collapse_shape",
        "tensor.expand_shape",
        "tensor.extract_slice",
        "tosa.identity",
        "tosa.reshape",
        "tosa.reverse",
        "tosa.slice",
        "tosa.transpose",
    }
)
"""Operations that only move elements of their first operand: any reduction commutes with them."""

NEGATIONS = frozenset({"arith.negf"})

SUMS = frozenset(
    {
        "arith.addf",
        "arith.addi",
        "arith.subf",
        "arith.subi",
        "linalg.add",
        "linalg.sub",
        "tosa.add",
        "tosa.sub",
    }
)
"""Sums and differences: linear if both operands are partial in the same way."""

PRODUCTS = frozenset({"arith.mulf", "arith.muli", "linalg.mul"})
"""Products: linear if exactly one of the first two operands is partial."""

QUOTIENTS = frozenset({"arith.divf", "linalg.div"})
"""Quotients: linear if only the dividend is partial."""


def inheritable_partials(
    operation: Operation, held: Sequence[Sharding | None]
) -> tuple[tuple[Partial, ...], tuple[int, ...]]:
    """Return the pending reductions that results can inherit, and the operands that have them.

    `held` are the shardings of the operands. Both results are empty if reductions must be done
    first.
    """
    partials = [sharding.partials if sharding is not None else () for sharding in held]
    if not any(partials):
        return (), ()
    name, first = operation.name, partials[0]
    if name in MOVES:
        return (first, (0,)) if first else ((), ())
    if not all(p.kind is ReductionKind.SUM for own in partials for p in own):
        return (), ()
    if name in NEGATIONS:
        return first, (0,)
    if len(partials) < 2:
        return (), ()
    second = partials[1]
    if name in SUMS and first == second:
        return first, (0, 1)
    if name in PRODUCTS and bool(first) != bool(second):
        return (first, (0,)) if first else (second, (1,))
    if name in QUOTIENTS and first and not second:
        return first, (0,)
    return (), ()
