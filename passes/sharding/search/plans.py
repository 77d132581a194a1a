"""Define plans: which tensors and operands are annotated, and find sufficient annotations.

Propagation makes most annotations of a plan redundant. These are found without IR, on the table of
tensors and operations: tensors are pinned in program order where propagation has not produced the
planned sharding, and then those are dropped that later ones imply. For a product of `x` and `w`
with a plan for all three tensors, `x [[0], []]` may be sufficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from ....sharding.propagation import OperationNode, Propagation, TensorNode
from ....sharding.sharding import DimensionAxes
from .candidates import Annotation, OperandAnnotation, ProducerAnnotation
from .problem_of import SearchedProgram


@dataclass(frozen=True, order=True, slots=True)
class Key:
    """The subject of an annotation: tensor `number`, or operand `slot` of operation `number`.

    Numbers are those of the search problem, whose tensors and operations may represent several of
    the program.
    """

    number: int
    slot: int = -1


Plan = dict[Key, DimensionAxes]
"""The shardings of tensors, and the shardings in which operands are wanted."""


def annotations_of(program: SearchedProgram, plan: Plan) -> Iterator[Annotation]:
    """Yield a plan as annotations of producers and of operands."""
    for node, tensor in enumerate(program.tensors):
        axes = plan.get(Key(tensor))
        if axes is not None and _can_annotate(program, node):
            yield ProducerAnnotation(program.values[node], axes)
    wanted = {key.number for key in plan if key.slot >= 0}
    for relation, number in zip(program.relations, program.operations, strict=True):
        if number in wanted and len(relation.node.operands) == len(relation.origin.operands):
            for slot in range(len(relation.node.operands)):
                axes = plan.get(Key(number, slot))
                if axes is not None and relation.node.operands[slot] is not None:
                    yield OperandAnnotation(relation.origin, slot, axes)


def _can_annotate(program: SearchedProgram, node: int) -> bool:
    """Return whether a node is an operation's result or a function's argument."""
    is_result = isinstance(program.values[node].owner, Operation)
    return is_result or program.problem.tensors[program.tensors[node]].is_argument


def keys_of(program: SearchedProgram, key: Key) -> Sequence[int]:
    """Return the nodes or relations of a program that a key represents."""
    numbers = program.tensors if key.slot < 0 else program.operations
    return [index for index, number in enumerate(numbers) if number == key.number]


def enough_of(program: SearchedProgram, plan: Plan, extents: Sequence[int]) -> Plan:
    """Return annotations of tensors from which propagation derives all those of a plan."""

    def propagated(chosen: Plan) -> list[DimensionAxes]:
        return _propagated(program, chosen, extents)

    wanted = propagated(plan)
    chosen: Plan = {}
    while (node := _first_difference(program, propagated(chosen), wanted, plan)) is not None:
        chosen[Key(program.tensors[node])] = wanted[node]
    for key in list(chosen):
        fewer = {other: axes for other, axes in chosen.items() if other != key}
        if _first_difference(program, propagated(fewer), wanted, plan) is None:
            chosen = fewer
    return chosen


def _first_difference(
    program: SearchedProgram,
    found: Sequence[DimensionAxes],
    wanted: Sequence[DimensionAxes],
    plan: Plan,
) -> int | None:
    """Return the first node in the plan whose sharding is not the wanted one, or `None`."""
    for node, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one != other and Key(program.tensors[node]) in plan and _can_annotate(program, node):
            return node
    return None


def _propagated(
    program: SearchedProgram, plan: Plan, extents: Sequence[int]
) -> list[DimensionAxes]:
    """Return how the nodes of a program are split after propagation from a plan's tensors."""
    tensors: list[TensorNode] = []
    for node, known in enumerate(program.graph.tensors):
        axes = plan.get(Key(program.tensors[node]))
        if axes is None or not _can_annotate(program, node):
            tensors.append(replace(known, origins=[]))
        else:
            tensors.append(TensorNode(axes, (False,) * len(axes)))
    operations: Sequence[OperationNode] = program.graph.operations
    Propagation(tensors, operations, extents).run()
    return [each.axes for each in tensors]
