"""Analyse tensors from outside that a body reads along its loops, as if they were operands.

A body that reads `tensor.extract %table[%row, %j]` with `%j = linalg.index 1` reads dimension 1 of
the table along loop 1: a process that runs a part of the loop needs that part of the dimension. A
body that reads at `%j - 3`, as concatenations do, needs a shifted part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import attribute, constant_integer
from ....ir.locations import made_by
from ....ir.regions import enclosing
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import Factor, FactorKind, FactorRule


@dataclass(frozen=True, slots=True)
class AlongLoop:
    """A dimension that is only read at indices from `loop + low` to `loop + high`."""

    loop: int
    low: int = 0
    high: int = 0
    is_exact: bool = False
    """Whether it is read at the loop's index alone and has the loop's extent."""

    def joined(self, other: AlongLoop | None) -> AlongLoop | None:
        """Return the union of this read and another one; `None` if they follow different loops."""
        if other is None or other.loop != self.loop:
            return None
        return AlongLoop(self.loop, min(self.low, other.low), max(self.high, other.high))


Loops = tuple[AlongLoop | None, ...]
"""For each dimension of a tensor the loop along which it is read, or `None`."""


def reads_along_loops(operation: Operation, rule: FactorRule) -> dict[SSAValue, Loops]:
    """Return the tensors that the body of a `linalg.generic` reads along loops, with these loops.

    Tensors are left out if the body uses them in other ways than `tensor.extract`, or reads no
    dimension along a loop.
    """
    if operation.name != "linalg.generic":
        return {}
    found: dict[SSAValue, Loops] = {}
    others: set[SSAValue] = set()
    for inner in operation.regions[0].walk():
        for index, operand in enumerate(inner.operands):
            if tensor_shape(operand) is None:
                continue
            if inner.name != "tensor.extract" or index:
                others.add(operand)
                continue
            reads = tuple(_along_of(position, operation) for position in inner.operands[1:])
            known = found.get(operand, reads)
            found[operand] = tuple(
                None if along is None else along.joined(held)
                for along, held in zip(reads, known, strict=True)
            )
    checked = {
        tensor: _checked(loops, tensor_shape(tensor) or (), rule)
        for tensor, loops in found.items()
        if tensor not in others
    }
    return {tensor: loops for tensor, loops in checked.items() if any(loops)}


def _checked(loops: Loops, shape: Shape, rule: FactorRule) -> Loops:
    """Keep only dimensions that are worth splitting like the loop along which they are read.

    Of a diagonal, `%table[%i, %i]`, one dimension is kept: an axis splits a tensor only once.
    """
    result: list[AlongLoop | None] = []
    for along, extent in zip(loops, shape, strict=True):
        if along is None:
            result.append(None)
            continue
        size = rule.factors[along.loop].size
        if along.low == along.high == 0 and size == extent:
            result.append(replace(along, is_exact=True))
        elif size is not None and extent is not None and 2 * extent >= size:
            result.append(along)
        else:
            # A dimension much shorter than the loop is not worth splitting.
            result.append(None)
    return tuple(
        along if along is not None and _chosen(along.loop, result) == dimension else None
        for dimension, along in enumerate(result)
    )


def _chosen(loop: int, loops: Sequence[AlongLoop | None]) -> int:
    """Return the dimension to split like a loop: one of the loop's extent, or the first."""
    along = {d: each for d, each in enumerate(loops) if each is not None and each.loop == loop}
    return next((d for d, each in along.items() if each.is_exact), min(along))


def _along_of(index: SSAValue, operation: Operation) -> AlongLoop | None:
    """Return the loop and the constant distance from it at which an index reads, or `None`."""
    counter, distance = loop_index(index)
    owner = made_by(counter, "linalg.index")
    if owner is None:
        return None
    # Branches may use the index of an enclosing loop, but a nested operation has its own loops.
    scopes = enclosing(owner.parent_op())
    around = next((scope for scope in scopes if scope.name.startswith("linalg.")), None)
    held = attribute(owner, "dim")
    if around is not operation or not isinstance(held, IntegerAttr):
        return None
    return AlongLoop(held.value.data, distance, distance)


def loop_index(index: SSAValue) -> tuple[SSAValue, int]:
    """Decompose an index into a value and a constant: `%i + 1 - 3` into `%i` and -2."""
    distance = 0
    while (owner := made_by(index, "arith.addi", "arith.subi")) is not None:
        left, right = owner.operands
        number = constant_integer(right)
        if owner.name == "arith.subi":
            number = None if number is None else -number
        elif number is None:
            left, number = right, constant_integer(left)
        if number is None:
            break
        index, distance = left, distance + number
    return index, distance


def read_rule(tensor: SSAValue, loops: Loops, rule: FactorRule) -> FactorRule:
    """Return the rule that relates a tensor read along loops to the operation's results."""
    factors = list(rule.factors)
    dimensions: list[tuple[int, ...]] = []
    for along, extent in zip(loops, tensor_shape(tensor) or (), strict=True):
        if along is None:
            dimensions.append((len(factors),))
            factors.append(Factor(extent, FactorKind.NEED_REPLICATION))
        else:
            dimensions.append((along.loop,))
    return FactorRule(tuple(factors), (tuple(dimensions),), rule.results)
