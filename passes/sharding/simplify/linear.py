"""Which operations may work on partial results: `f(a0) + f(a1) = f(a0 + a1)`.

A pending reduction is carried through them, so that it is done where it costs least.
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
"""Operations that give elements of their first operand: reductions of any kind pass."""

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
"""Sums and differences of their first two operands, if both are partial in the same way."""

PRODUCTS = frozenset({"arith.mulf", "arith.muli", "linalg.mul"})
"""Products of their first two operands, if only one of them is partial."""

QUOTIENTS = frozenset({"arith.divf", "linalg.div"})
"""Quotients whose dividend alone is partial."""


def carried_partials(
    operation: Operation, held: Sequence[Sharding | None]
) -> tuple[tuple[Partial, ...], tuple[int, ...]]:
    """The pending reductions that an operation can carry on, and the operands that have them.

    `held` are the placements of the operands. Both are empty where reductions must be done first.
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
