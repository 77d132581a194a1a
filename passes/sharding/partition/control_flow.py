"""Annotations, calls, returns and regions: where values cross from one sharding to another."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ....ir.locations import rebuilt
from ....ir.tensor_types import ranked
from ....sharding.collectives import COLLECTIVES, PURE_COLLECTIVES
from ....sharding.sharding import Sharding, without_new_partials
from ..annotations.access import GET_SHARDING, MANUAL_ATTRIBUTE, SHARD, SHARDING
from ..rules.shared_outputs import SharedOutput, seen_through, shared_outputs
from .by_rule import copy_with, run_whole
from .local_types import local_type
from .partitioner import Partitioner, normal
from .registry import partition
from .slice_numbers import slice_with


@partition(SHARDING, GET_SHARDING)
def sharding(partitioner: Partitioner, operation: Operation) -> None:
    """Nothing: a sharding is emitted only where the program computes with it."""


@partition(SHARD)
def shard(partitioner: Partitioner, operation: Operation) -> None:
    """The value as its producer is said to leave it, or as users are said to want it."""
    source, result = operation.operands[0], operation.results[0]
    target, _ = partitioner.annotations.of(operation)
    partitioner.rename(result, source)
    creation = partitioner.creation_of(source)
    if creation is not None:
        hint = normal(target.without_partials())
        partitioner.create(result, creation.annotated(hint))
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
def of_one_device(partitioner: Partitioner, operation: Operation) -> None:
    """What speaks of one device has no meaning in the program of all, but where it is marked so."""
    if MANUAL_ATTRIBUTE in operation.attributes:
        run_whole(partitioner, operation)
        made = partitioner.value(operation.results[0]).owner
        made.attributes.pop(MANUAL_ATTRIBUTE, None)  # pyright: ignore
        return
    raise OperationError(
        operation,
        "is for the program of one device, but the function around it still has annotations",
    )


@partition("func.call")
def call(partitioner: Partitioner, operation: Operation) -> None:
    """Operands go where the callee wants them, results come as it returns them."""
    callee = partitioner.signatures.callee(operation)
    if callee is None:
        run_whole(partitioner, operation)
        return
    arguments = partitioner.signatures.of(callee).arguments
    results = partitioner.signatures.results_of(callee)
    operands = partitioner.values(operation.operands, arguments)
    types = local_types(operation.results, results)
    _emit(partitioner, operation, copy_with(partitioner, operation, operands, types), results)


def _emit(
    partitioner: Partitioner,
    operation: Operation,
    made: Operation,
    results: Sequence[Sharding | None],
) -> None:
    """Emit what an operation is on one device, and record its results."""
    partitioner.emitter.append(made)
    for old, new, sharding in zip(operation.results, made.results, results, strict=True):
        partitioner.set_value(old, new, sharding)


@partition("func.return")
def return_(partitioner: Partitioner, operation: Operation) -> None:
    """The first return decides how results leave the function, if nothing did before."""
    signature = partitioner.signature
    assert signature is not None
    if signature.results is None:
        signature.results = tuple(partitioner.finished(operand) for operand in operation.operands)
    operands = partitioner.values(operation.operands, signature.results)
    partitioner.emitter.close(copy_with(partitioner, operation, operands, ()))


def carried(
    partitioner: Partitioner, initial: Sequence[SSAValue], inner: Sequence[SSAValue]
) -> list[Sharding | None]:
    """How values that go round a loop are placed: as annotated inside, else as they come in."""
    shardings: list[Sharding | None] = []
    for value, argument in zip(initial, inner, strict=True):
        sharding = None
        if ranked(argument) is not None:
            sharding = partitioner.annotations.wanted(argument) or partitioner.sharding_of(value)
        shardings.append(normal(None if sharding is None else sharding.without_partials()))
    return shardings


def local_of(value: SSAValue, sharding: Sharding | None) -> Attribute:
    """The type of a value on one device."""
    value_type = ranked(value)
    return value.type if value_type is None else local_type(value_type, sharding)


def local_types(
    values: Sequence[SSAValue], shardings: Sequence[Sharding | None]
) -> list[Attribute]:
    """The types of several values on one device."""
    return [local_of(*pair) for pair in zip(values, shardings, strict=True)]


def body(
    partitioner: Partitioner,
    source: Block,
    arguments: Sequence[Sharding | None],
    yielded: Sequence[Sharding | None] | None,
) -> tuple[Block, list[Sharding | None]]:
    """One device's part of a block that ends in a yield, and how what it yields is placed.

    `yielded` says how it must be; `None` leaves that to the block.
    """
    block = Block()
    with partitioner.inside(block) as emitter:
        terminator = _enter(partitioner, source, block, arguments)
        # The condition of scf.condition comes before the values.
        extra = 1 if terminator.name == "scf.condition" else 0
        values = terminator.operands[extra:]
        if yielded is None:
            yielded = [partitioner.finished(value) for value in values]
        operands = [
            *(partitioner.value(value) for value in terminator.operands[:extra]),
            *partitioner.values(values, yielded),
        ]
        emitter.close(copy_with(partitioner, terminator, operands, ()))
    return block, list(yielded)


def _enter(
    partitioner: Partitioner,
    source: Block,
    block: Block,
    arguments: Sequence[Sharding | None],
) -> Operation:
    """Emit the operations of a block of the source but the last, which is returned."""
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
    results: Sequence[Sharding | None],
) -> None:
    """Emit an operation with new regions, and record its results."""
    types = local_types(operation.results, results)
    made = rebuilt(operation, operands, types, regions=regions)
    made.location = operation.location
    _emit(partitioner, operation, made, results)


@partition("scf.for")
def for_(partitioner: Partitioner, operation: Operation) -> None:
    """Values that go round the loop keep one sharding."""
    bounds, initial = operation.operands[:3], operation.operands[3:]
    source = operation.regions[0].blocks[0]
    shardings = carried(partitioner, initial, source.args[1:])
    operands = [
        *(partitioner.scalar(bound) for bound in bounds),
        *partitioner.values(initial, shardings),
    ]
    block, _ = body(partitioner, source, [None, *shardings], shardings)
    finish(partitioner, operation, operands, [Region(block)], shardings)


@partition("scf.while")
def while_(partitioner: Partitioner, operation: Operation) -> None:
    """What the condition hands on is placed as its own block leaves it."""
    before, after = (region.blocks[0] for region in operation.regions)
    shardings = carried(partitioner, operation.operands, before.args)
    operands = partitioner.values(operation.operands, shardings)
    first, handed = body(partitioner, before, shardings, None)
    second, _ = body(partitioner, after, handed, shardings)
    finish(partitioner, operation, operands, [Region(first), Region(second)], handed)


@partition("scf.if", "scf.index_switch", "scf.execute_region")
def branches(partitioner: Partitioner, operation: Operation) -> None:
    """Every branch yields its values in the sharding that is wanted, or that the first has."""
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
    """Values go to another block as its arguments are placed."""
    targets = [argument for block in operation.successors for argument in block.args]
    scalars = len(operation.operands) - len(targets)
    operands = [partitioner.scalar(operand) for operand in operation.operands[:scalars]]
    for value, argument in zip(operation.operands[scalars:], targets, strict=True):
        sharding = None if ranked(argument) is None else partitioner.sharding_of(argument)
        operands.append(partitioner.value(value, sharding))
    partitioner.emitter.close(copy_with(partitioner, operation, operands, ()))


@partition("scf.forall")
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
        *partitioner.values(operation.operands[first:], shardings),
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
    wanted = partitioner.annotations.wanted(output.argument) or partitioner.sharding_of(initial)
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
    """One device's insertion. What it needs to know is computed before the loop's end."""
    destination = partitioner.value(output.argument, sharding)
    own: Sharding | None = None
    sizes: dict[int, IndexOrInt] = {}
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
