"""Tensors from outside that a body reads along its loops, as if they were operands.

A body that reads `tensor.extract %table[%row, %j]` with `%j = linalg.index 1` reads dimension 1 of
the table along loop 1: a process that runs a part of the loop needs that part of the dimension.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....sharding.factors import Factor, FactorKind, FactorRule
from .builder import attribute, shape_of

Loops = tuple[int | None, ...]
"""For each dimension of a tensor the loop along which it is read, or `None`."""


def reads_along_loops(operation: Operation, rule: FactorRule) -> dict[SSAValue, Loops]:
    """The tensors that the body of a `linalg.generic` only reads at places, and along which loops.

    Those of which no dimension is read along a loop are left out.
    """
    if operation.name != "linalg.generic":
        return {}
    found: dict[SSAValue, Loops | None] = {}
    for inner in operation.regions[0].walk():
        for index, operand in enumerate(inner.operands):
            shape = shape_of(operand)
            if shape is None:
                continue
            if inner.name != "tensor.extract" or index:
                found[operand] = None
                continue
            loops = tuple(_loop_of(position, operation) for position in inner.operands[1:])
            loops = tuple(
                loop if loop is not None and rule.factors[loop].size == extent else None
                for loop, extent in zip(loops, shape, strict=True)
            )
            if found.setdefault(operand, loops) != loops:
                found[operand] = None
    return {
        tensor: loops
        for tensor, loops in found.items()
        if loops is not None and any(loop is not None for loop in loops)
    }


def _loop_of(index: SSAValue, operation: Operation) -> int | None:
    owner = index.owner
    if not isinstance(owner, Operation) or owner.name != "linalg.index":
        return None
    # Branches may ask for a loop's index too, but a nested operation has loops of its own.
    around = owner.parent_op()
    while around is not None and not around.name.startswith("linalg."):
        around = around.parent_op()
    if around is not operation:
        return None
    held = attribute(owner, "dim")
    return held.value.data if isinstance(held, IntegerAttr) else None


def read_rule(tensor: SSAValue, loops: Loops, rule: FactorRule) -> FactorRule:
    """What a tensor that is read along loops has in common with the operation's results."""
    factors = list(rule.factors)
    dimensions: list[tuple[int, ...]] = []
    for loop, extent in zip(loops, shape_of(tensor) or (), strict=True):
        if loop is None:
            dimensions.append((len(factors),))
            factors.append(Factor(extent, FactorKind.NEED_REPLICATION))
        else:
            dimensions.append((loop,))
    return FactorRule(tuple(factors), (tuple(dimensions),), rule.results)
