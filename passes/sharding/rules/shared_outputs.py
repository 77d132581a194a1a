"""Relate the shared outputs of an `scf.forall` to the slices that its iterations insert.

A dimension that every inserted slice covers completely is split like that of the slices. Along the
others an iteration may write anywhere, so they are replicated while the loop runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.cost import known_extents
from ....sharding.factors import Factor, FactorKind, FactorRule
from ....sharding.projection import operand_axes
from ....sharding.sharding import Sharding
from .tensor import inserted_dimensions

IN_PARALLEL = "scf.forall.in_parallel"
INSERTION = "tensor.parallel_insert_slice"


@dataclass(frozen=True, slots=True)
class SharedOutput:
    """One output of a loop.

    - `argument`: the block argument of the output inside the loop;
    - `covered`: for each dimension whether every insertion covers it;
    - `insertions`: the `tensor.parallel_insert_slice` operations into it.
    """

    argument: SSAValue
    covered: tuple[bool, ...]
    insertions: tuple[Operation, ...]

    def rule(self) -> FactorRule:
        """Return the rule that relates the initial tensor and the result."""
        shape = tensor_shape(self.argument) or ()
        return _rule(shape, shape, tuple(range(len(shape))), self.covered)

    def insertion_rule(self, insertion: Operation) -> FactorRule:
        """Return the rule that relates the source of an insertion and the result."""
        source, shape = tensor_shape(insertion.operands[0]) or (), tensor_shape(self.argument) or ()
        dimensions = inserted_dimensions(insertion)
        positions = [each.position for each in dimensions or ()] or [None] * len(shape)
        return _rule(source, shape, positions, self.covered)


def shared_outputs(loop: Operation) -> list[SharedOutput]:
    """Return the outputs of an `scf.forall`, in the order of its results."""
    block = loop.regions[0].blocks[0]
    terminator = block.last_op
    inserted: dict[SSAValue, list[Operation]] = {}
    if terminator is not None and terminator.name == IN_PARALLEL:
        for operation in terminator.regions[0].walk():
            inserted.setdefault(operation.operands[1], []).append(operation)
    found: list[SharedOutput] = []
    for argument in block.args[len(block.args) - len(loop.results) :]:
        shape = tensor_shape(argument) or ()
        insertions = inserted.get(argument, [])
        masks = [_covered(insertion, shape) for insertion in insertions]
        covered = tuple(all(mask[dimension] for mask in masks) for dimension in range(len(shape)))
        found.append(SharedOutput(argument, covered, tuple(insertions)))
    return found


def operand_sharding(rule: FactorRule, target: Sharding) -> Sharding:
    """Return the sharding of a rule's operand that corresponds to a sharding of its result."""
    extents = known_extents(target.grid.shape)
    return Sharding(target.grid, operand_axes(rule, target.dimension_axes, extents)[0])


def _covered(insertion: Operation, shape: Shape) -> list[bool]:
    """Return which dimensions of an output an insertion covers, and its source has as well."""
    dimensions = inserted_dimensions(insertion)
    if dimensions is None:
        return [False] * len(shape)
    return [each.is_covered and each.position is not None for each in dimensions]


def _rule(
    source: Shape, target: Shape, positions: Sequence[int | None], covered: Sequence[bool]
) -> FactorRule:
    """Return a rule of one operand and one result.

    `positions[d]` is the operand's dimension that corresponds to dimension `d` of the result.
    """
    factors: list[Factor] = []
    operand: list[tuple[int, ...]] = [()] * len(source)
    result: list[tuple[int, ...]] = []
    for dimension, (extent, position) in enumerate(zip(target, positions, strict=True)):
        shared = covered[dimension] and position is not None
        kind = FactorKind.PASS_THROUGH if shared else FactorKind.NEED_REPLICATION
        result.append((len(factors),))
        factors.append(Factor(extent, kind))
        if position is None:
            continue
        if not shared:
            factors.append(Factor(source[position], kind))
        operand[position] = (len(factors) - 1,)
    return FactorRule(tuple(factors), (tuple(operand),), (tuple(result),))
