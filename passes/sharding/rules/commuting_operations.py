"""The operations that commute with reductions, as in f(a0) + f(a1) = f(a0 + a1).

Pending reductions are carried through them, and then finished where that is cheapest.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation

from ....ir.attribute_access import element_type
from ....ir.combiners import COMBINERS
from ....sharding.sharding import Partial, ReductionKind, Sharding

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

_QUOTIENTS = ("arith.divf", "linalg.div")

_LINEAR: dict[str, tuple[tuple[int, ...], ...]] = {
    **dict.fromkeys(_MOVES, ((0,),)),
    "arith.negf": ((0,),),
    # Sums and differences are linear in both operands together, products in either one.
    **dict.fromkeys(
        ["linalg.add", "linalg.sub"]
        + [name for name, kind in COMBINATIONS.items() if kind is ReductionKind.SUM],
        ((0, 1),),
    ),
    **dict.fromkeys(("arith.mulf", "arith.muli", "linalg.mul"), ((0,), (1,))),
    **dict.fromkeys(_QUOTIENTS, ((0,),)),
}
"""The operands of an operation in which it is linear, one of the listed sets of them at a time."""


def inheritable_partials(
    operation: Operation, held: Sequence[Sharding | None]
) -> tuple[tuple[Partial, ...], tuple[int, ...]]:
    """Return the pending reductions that results can inherit, and the operands that have them.

    `held` are the shardings of the operands. Both results are empty if reductions must be done
    first.
    """
    name = operation.name
    partials = [() if sharding is None else sharding.partials for sharding in held]
    inputs = partials[: 1 if name in _MOVES else 2]  # Destinations of linalg operations follow.
    carriers = tuple(index for index, own in enumerate(inputs) if own)
    if carriers not in _LINEAR.get(name, ()):
        return (), ()
    found = partials[carriers[0]]
    if any(partials[index] != found for index in carriers):
        return (), ()
    kinds = {partial.kind for own in partials for partial in own}
    if name not in _MOVES and kinds != {ReductionKind.SUM}:
        return (), ()
    is_integer = isinstance(element_type(operation.operands[0].type), IntegerType | IndexType)
    if name in _QUOTIENTS and is_integer:
        # Quotients of integers are rounded: 3 / 2 + 3 / 2 is not 6 / 2.
        return (), ()
    return found, carriers
