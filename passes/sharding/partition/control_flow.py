"""Partition annotations, calls, returns and regions, where values change their sharding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....ir.diagnostics import OperationError
from ....ir.host_programs import callee_of
from ....ir.index import IndexOrInt
from ....ir.locations import rebuilt
from ....ir.tensor_types import ranked
from ....sharding.collective_rows import COLLECTIVES, PURE_COLLECTIVES
from ....sharding.sharding import Sharding, without_new_partials
from ..annotations.access import GET_SHARDING, MANUAL_ATTRIBUTE, SHARD, SHARDING
from ..rules.shared_outputs import SharedOutput, operand_sharding, shared_outputs
from .by_rule import append, copy_local, copy_with, emit_by_rule, run_replicated
from .local_types import local_type_of
from .partitioner import Partitioner, finished, normal
from .registry import partition
from .signatures import Shardings
from .slice_operands import slice_with


@partition(SHARDING, GET_SHARDING)
def sharding(partitioner: Partitioner, operation: Operation) -> None:
    """Skip the operation: a sharding is emitted only if the program computes with it."""


@partition(SHARD)
def shard(partitioner: Partitioner, operation: Operation) -> None:
    """Reshard a value to the annotated sharding."""
    source, result = operation.operands[0], operation.results[0]
    target, _ = partitioner.annotations.of(operation)
    partitioner.rename(result, source)
    rematerializable = partitioner.rematerializable_of(source)
    if rematerializable is not None:
        hint = normal(target.without_partials())
        partitioner.set_rematerializable(result, replace(rematerializable, sharding=hint))
        return
    held = partitioner.sharding_of(source)
    if held == target or (held is not None and held == partitioner.destination(source)):
        return
    if held is None or held.grid != target.grid:
        target = target.without_partials()
    else:
        target = without_new_partials(held, target)
    partitioner.move(result, target)


@partition(*COLLECTIVES, "shard.process_linear_index", "shard.process_multi_index")
def manual_collective(partitioner: Partitioner, operation: Operation) -> None:
    """Keep a collective that is marked as manual. Raises OperationError for others.

    Operations of the SPMD program have no meaning before partitioning unless they are marked. Free
    axes may split the dimensions that a collective leaves alone.
    """
    if MANUAL_ATTRIBUTE not in operation.attributes:
        raise OperationError(
            operation,
            "belongs to the program of one device, but the enclosing function still has"
            " annotations",
        )
    emit_by_rule(partitioner, operation, copy_local)


@partition("func.call")
def call(partitioner: Partitioner, operation: Operation) -> None:
    """Reshard operands to the callee's arguments, and record results as the callee returns them."""
    callee = callee_of(operation)
    if not isinstance(callee, FuncOp):
        run_replicated(partitioner, operation)
        return
    arguments = partitioner.signatures.of(callee).arguments
    results = partitioner.signatures.results_of(callee)
    operands = partitioner.values(operation.operands, arguments)
    types = local_types(operation.results, results)
    made = copy_with(partitioner, operation, operands, types)
    append(partitioner, operation, made, results)


@partition("func.return")
def return_(partitioner: Partitioner, operation: Operation) -> None:
    """Return values as the signature says; the first return determines it if it is open."""
    signature = partitioner.signature
    assert signature is not None
    if signature.results is None:
        signature.results = tuple(partitioner.finished(operand) for operand in operation.operands)
    operands = partitioner.values(operation.operands, signature.results)
    partitioner.emitter.close(copy_with(partitioner, operation, operands, ()))


def loop_carried_shardings(
    partitioner: Partitioner, initial: Sequence[SSAValue], inner: Sequence[SSAValue]
) -> list[Sharding | None]:
    """Return the shardings of loop-carried values: as annotated inside, else as initialised."""
    pairs = zip(initial, inner, strict=True)
    return [
        finished(partitioner.annotations.wanted(argument) or partitioner.sharding_of(value))
        for value, argument in pairs
    ]


def local_types(values: Sequence[SSAValue], shardings: Shardings) -> list[Attribute]:
    """Return the local types of several values."""
    pairs = zip(values, shardings, strict=True)
    return [local_type_of(value.type, sharding) for value, sharding in pairs]


def body(
    partitioner: Partitioner,
    source: Block,
    arguments: Shardings,
    yielded: Shardings | None,
) -> tuple[Block, list[Sharding | None]]:
    """Return the local block of a block that ends in a yield, and the shardings of yielded values.

    `yielded` prescribes these shardings; with `None` the values keep theirs.
    """
    block = Block()
    with partitioner.inside(block) as emitter:
        terminator = _enter(partitioner, source, block, arguments)
        # The condition is the first operand of scf.condition.
        extra = 1 if terminator.name == "scf.condition" else 0
        if yielded is None:
            yielded = [partitioner.finished(value) for value in terminator.operands[extra:]]
        operands = partitioner.values(terminator.operands, [*[None] * extra, *yielded])
        emitter.close(copy_with(partitioner, terminator, operands, ()))
    return block, list(yielded)


def _enter(
    partitioner: Partitioner,
    source: Block,
    block: Block,
    arguments: Shardings,
) -> Operation:
    """Partition all operations of a block except for the terminator, which is returned."""
    types = local_types(source.args, arguments)
    for old, local, sharding in zip(source.args, types, arguments, strict=True):
        partitioner.set_value(old, block.insert_arg(local, len(block.args)), sharding)
    *operations, terminator = source.ops
    for operation in operations:
        partitioner.partition(operation)
    partitioner.emitter.location = terminator.location
    return terminator


def finish(
    partitioner: Partitioner,
    operation: Operation,
    operands: Sequence[SSAValue],
    regions: Sequence[Region],
    results: Shardings,
) -> None:
    """Emit an operation with new regions, and record its results."""
    types = local_types(operation.results, results)
    made = rebuilt(operation, operands, types, regions=regions)
    append(partitioner, operation, made, results)


@partition("scf.for")
def for_(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a loop; each loop-carried value keeps one sharding."""
    source = operation.regions[0].blocks[0]
    shardings = loop_carried_shardings(partitioner, operation.operands[3:], source.args[1:])
    operands = partitioner.values(operation.operands, [None, None, None, *shardings])
    block, _ = body(partitioner, source, [None, *shardings], shardings)
    finish(partitioner, operation, operands, [Region(block)], shardings)


@partition("scf.while")
def while_(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a loop; values that the condition passes on keep the sharding they have there."""
    before, after = (region.blocks[0] for region in operation.regions)
    shardings = loop_carried_shardings(partitioner, operation.operands, before.args)
    operands = partitioner.values(operation.operands, shardings)
    first, handed = body(partitioner, before, shardings, None)
    second, _ = body(partitioner, after, handed, shardings)
    finish(partitioner, operation, operands, [Region(first), Region(second)], handed)


@partition("scf.if", "scf.index_switch", "scf.execute_region")
def branches(partitioner: Partitioner, operation: Operation) -> None:
    """Partition branches; all yield values in the wanted sharding, or in that of the first branch.

    Raises OperationError for regions of several blocks.
    """
    if any(len(region.blocks) > 1 for region in operation.regions):
        raise OperationError(operation, "has a region of several blocks, which is not supported")
    wanted = [partitioner.wanted(result) for result in operation.results]
    known = all(
        ranked(result) is None or sharding is not None
        for result, sharding in zip(operation.results, wanted, strict=True)
    )
    yielded = wanted if known else None
    operands = [partitioner.scalar(operand) for operand in operation.operands]
    regions: list[Region] = []
    for region in operation.regions:
        if not region.blocks:
            regions.append(Region())
            continue
        block, yielded = body(partitioner, region.blocks[0], [], yielded)
        regions.append(Region(block))
    finish(partitioner, operation, operands, regions, yielded or [])


@partition("cf.br", "cf.cond_br", "cf.switch")
def jump(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a branch between blocks; forwarded values get the shardings of block arguments."""
    targets = [argument for block in operation.successors for argument in block.args]
    scalars = len(operation.operands) - len(targets)
    shardings = [partitioner.sharding_of(argument) for argument in targets]
    operands = partitioner.values(operation.operands, [*[None] * scalars, *shardings])
    partitioner.emitter.close(copy_with(partitioner, operation, operands, ()))


@partition("scf.forall")
def forall(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a parallel loop: bounds stay those of the whole loop, outputs are local.

    Iterations may run concurrently, so processes might not meet at the same collective. A loop
    whose body needs collectives runs replicated.
    """
    outputs = shared_outputs(operation)
    first = len(operation.operands) - len(outputs)
    shardings = [
        _while_it_runs(partitioner, output, initial)
        for output, initial in zip(outputs, operation.operands[first:], strict=True)
    ]
    operands = partitioner.values(operation.operands, [*[None] * first, *shardings])
    block = _body(partitioner, operation, outputs, shardings)
    if any(inner.name in PURE_COLLECTIVES for inner in block.walk()):
        partitioner.emitter.discard(block)
        run_replicated(partitioner, operation)
        return
    finish(partitioner, operation, operands, [Region(block)], shardings)


def _while_it_runs(
    partitioner: Partitioner, output: SharedOutput, initial: SSAValue
) -> Sharding | None:
    """Return the sharding of an output inside the loop.

    It is the annotated sharding, or that of the initial value, along dimensions that every
    iteration writes completely; other dimensions are not split.
    """
    wanted = partitioner.annotations.wanted(output.argument) or partitioner.sharding_of(initial)
    if wanted is None:
        return None
    axes = zip(wanted.dimension_axes, output.covered, strict=True)
    return normal(Sharding(wanted.grid, tuple(own if covered else () for own, covered in axes)))


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
        terminator = _enter(partitioner, source, block, [placed.get(old) for old in source.args])
        insertions = [
            _insertion(partitioner, insertion, output, placed[output.argument])
            for output in outputs
            for insertion in output.insertions
        ]
        emitter.close(
            type(terminator).create(
                attributes=terminator.attributes,
                regions=[Region(Block(insertions))],
                location=terminator.location,
            )
        )
    return block


def _insertion(
    partitioner: Partitioner, insertion: Operation, output: SharedOutput, sharding: Sharding | None
) -> Operation:
    """Return the local insertion; values that it needs are computed before the terminator."""
    destination = partitioner.value(output.argument, sharding)
    own: Sharding | None = None
    sizes: dict[int, IndexOrInt] = {}
    if sharding is not None:
        own = normal(operand_sharding(output.insertion_rule(insertion), sharding))
        sizes = {
            dimension: partitioner.emitter.dimension(destination, dimension)
            for dimension, axes in enumerate(sharding.dimension_axes)
            if axes
        }
    source = partitioner.value(insertion.operands[0], own)
    scalars = [partitioner.scalar(operand) for operand in insertion.operands[2:]]
    properties, dynamic = slice_with(insertion, scalars, 2, sizes)
    return copy_with(partitioner, insertion, [source, destination, *dynamic], (), properties)
