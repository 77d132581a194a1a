"""`scf.forall`: every process runs all iterations on its part of what each iteration reads.

An output keeps one placement while the loop runs. It is split only along dimensions that each
insertion covers whole, so that a process finds what it inserts in its own part.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue

from ...sharding.sharding import Sharding
from .collectives import PURE_COLLECTIVES
from .emitter import Size
from .partition_by_rule import copy_with, run_whole
from .partition_control_flow import finish, local_of
from .partition_registry import partitions
from .partition_slices import slice_with
from .partitioner import Partitioner, normal
from .rules.shared_outputs import SharedOutput, seen_through, shared_outputs


@partitions("scf.forall")
def forall(partitioner: Partitioner, operation: Operation) -> None:
    """The bounds are those of the whole loop; the outputs are local.

    Iterations may run at the same time, when processes would not meet at the same collectives. A
    loop that needs some inside runs whole on each process.
    """
    outputs = shared_outputs(operation)
    first = len(operation.operands) - len(outputs)
    shardings = [
        _while_it_runs(partitioner, output, initial)
        for output, initial in zip(outputs, operation.operands[first:], strict=True)
    ]
    operands = [
        *(partitioner.scalar(bound) for bound in operation.operands[:first]),
        *(
            partitioner.value(value, sharding)
            for value, sharding in zip(operation.operands[first:], shardings, strict=True)
        ),
    ]
    block = _body(partitioner, operation, outputs, shardings)
    if any(inner.name in PURE_COLLECTIVES for inner in block.walk()):
        partitioner.emitter.discard(block)
        run_whole(partitioner, operation)
        return
    finish(partitioner, operation, operands, [Region(block)], shardings)


def _while_it_runs(
    partitioner: Partitioner, output: SharedOutput, initial: SSAValue
) -> Sharding | None:
    """How an output is placed: as annotated or as it comes in, where iterations write all of it."""
    wanted = partitioner.wanted(output.argument) or partitioner.sharding_of(initial)
    if wanted is None:
        return None
    axes = zip(wanted.dimension_axes, output.whole, strict=True)
    return normal(Sharding(wanted.grid, tuple(own if whole else () for own, whole in axes)))


def _body(
    partitioner: Partitioner,
    operation: Operation,
    outputs: list[SharedOutput],
    shardings: list[Sharding | None],
) -> Block:
    source = operation.regions[0].blocks[0]
    block = Block()
    with partitioner.inside(block) as emitter:
        placed = dict(zip((output.argument for output in outputs), shardings, strict=True))
        for old in source.args:
            sharding = placed.get(old)
            new = block.insert_arg(local_of(old, sharding), len(block.args))
            partitioner.set_value(old, new, sharding)
        *operations, terminator = source.ops
        for inner in operations:
            partitioner.partition(inner)
        emitter.location = terminator.location
        insertions = [
            _insertion(partitioner, insertion, output, placed[output.argument])
            for output in outputs
            for insertion in output.insertions
        ]
        end = type(terminator).create(
            attributes=terminator.attributes,
            regions=[Region(Block(insertions))],
            location=terminator.location,
        )
        emitter.add(end)
        emitter.end = end
    return block


def _insertion(
    partitioner: Partitioner, insertion: Operation, output: SharedOutput, sharding: Sharding | None
) -> Operation:
    """One device's insertion. What it needs to know is computed before the loop's end."""
    destination = partitioner.value(output.argument, sharding)
    own: Sharding | None = None
    sizes: dict[int, Size] = {}
    if sharding is not None:
        own = normal(seen_through(output.insertion_rule(insertion), sharding))
        sizes = {
            dimension: partitioner.emitter.dimension(destination, dimension)
            for dimension, axes in enumerate(sharding.dimension_axes)
            if axes
        }
    source = partitioner.value(insertion.operands[0], own)
    scalars = [partitioner.scalar(operand) for operand in insertion.operands[2:]]
    properties, dynamic = slice_with(insertion, scalars, 2, sizes)
    return copy_with(partitioner, insertion, [source, destination, *dynamic], (), properties)
