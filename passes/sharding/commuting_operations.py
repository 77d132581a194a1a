"""The operations that commute with reductions, as in f(a0) + f(a1) = f(a0 + a1).

Pending reductions are carried through them, and then finished where that is cheapest.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation

from ...ir.attribute_access import element_type
from ...ir.combiners import COMBINERS
from ...sharding.sharding import Partial, ReductionKind, Sharding

COMBINATIONS: dict[str, ReductionKind] = {
    # The collectives for unsigned numbers are those for signed ones of other bits.
    **{
        f"arith.{name}": COMBINERS[f"arith.{name}"].kind
        for name in "addf addi mulf muli maximumf maxsi minimumf minsi andi ori xori".split()
    },
    "arith.subf": ReductionKind.SUM,
    "arith.subi": ReductionKind.SUM,
    "tosa.add": ReductionKind.SUM,
    "tosa.sub": ReductionKind.SUM,
    "tosa.maximum": ReductionKind.MAX,
    "tosa.minimum": ReductionKind.MIN,
    "tosa.bitwise_and": ReductionKind.BITWISE_AND,
    "tosa.bitwise_or": ReductionKind.BITWISE_OR,
    "tosa.bitwise_xor": ReductionKind.BITWISE_XOR,
}
"""Operations `f` with `f(reduce(x), reduce(y)) = reduce(f(x, y))`, by kind of reduction."""

_MOVES = frozenset(
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

_NEGATIONS = frozenset({"arith.negf"})

_SUMS = {"linalg.add", "linalg.sub"} | {
    name for name, kind in COMBINATIONS.items() if kind is ReductionKind.SUM
}
"""Sums and differences: linear if both operands are partial in the same way."""

_PRODUCTS = frozenset({"arith.mulf", "arith.muli", "linalg.mul"})
"""Products: linear if exactly one of the first two operands is partial."""

_QUOTIENTS = frozenset({"arith.divf", "linalg.div"})
"""Quotients: linear if only the dividend is partial, unless they are of integers."""


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
    if name in _MOVES:
        return (first, (0,)) if first else ((), ())
    if not all(p.kind is ReductionKind.SUM for own in partials for p in own):
        return (), ()
    if name in _NEGATIONS:
        return first, (0,)
    if len(partials) < 2:
        return (), ()
    second = partials[1]
    if name in _SUMS and first == second:
        return first, (0, 1)
    if name in _PRODUCTS and bool(first) != bool(second):
        return (first, (0,)) if first else (second, (1,))
    if name in _QUOTIENTS and first and not second:
        # Quotients of integers are rounded: 3 / 2 + 3 / 2 is not 6 / 2.
        is_integer = isinstance(element_type(operation.operands[0].type), IntegerType | IndexType)
        return ((), ()) if is_integer else (first, (0,))
    return (), ()
