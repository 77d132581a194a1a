"""Reductions whose results combine together: partial results are gathered and reduced once more."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects.linalg.bodies import YieldOp
from ....dialects.linalg.region_ops import ReduceOp
from ....dialects.linalg.structured_view import structured_view
from ....sharding.op_sharding import pending_reductions
from ..rules.combiners import JOINT
from ..rules.variadic_reductions import JointCombiner, joint_combiner
from .op_sharding import OpSharding
from .partitioner import Partitioner
from .reductions import gather_partials


def combines_jointly(spread: OpSharding) -> bool:
    """Whether a reduction is split whose results combine together."""
    return spread.reduces and JOINT in spread.combiners


def finish_jointly(
    partitioner: Partitioner, spread: OpSharding, made: Operation, outputs: Sequence[SSAValue]
) -> None:
    """Record the results of an operation that has reduced this process's part.

    `outputs`: its local initial values. They may take part again.
    """
    view = structured_view(spread.operation)
    combiner = None if view is None else joint_combiner(view)
    assert combiner is not None
    _, axes = pending_reductions(spread.rule, [axes for axes, _ in spread.assignment], 0)
    emitter = partitioner.emitter
    gathered = [gather_partials(emitter, value, spread.grid, axes) for value in made.results]
    reduced = ReduceOp(gathered, outputs, [0], Region(_body(combiner)))
    emitter.insert(reduced)
    for result, value, sharding in zip(
        spread.operation.results, reduced.results, spread.result_shardings, strict=True
    ):
        partitioner.place(result, value, sharding)


def _body(combiner: JointCombiner) -> Block:
    """The combination alone: partial results take the place of the candidates."""
    types = [value.type for value in combiner.accumulators]
    block = Block(arg_types=[*types, *types])
    originals = (*combiner.candidates, *combiner.accumulators)
    mapper: dict[SSAValue, SSAValue] = dict(zip(originals, block.args, strict=True))
    for operation in combiner.operations:
        block.add_op(operation.clone(mapper))
    block.add_op(YieldOp(*(mapper[result] for result in combiner.results)))
    return block
