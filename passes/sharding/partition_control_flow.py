"""Control flow: regions are entered, and values cross their borders in one placement each."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.diagnostics import OperationError
from ...ir.tensor_types import ranked
from ...sharding.sharding import Sharding
from .local_types import local_type
from .partition_by_rule import copy_with
from .partition_registry import partitions
from .partitioner import Partitioner, normal


def carried(
    partitioner: Partitioner, initial: Sequence[SSAValue], inner: Sequence[SSAValue]
) -> list[Sharding | None]:
    """How values that go round a loop are placed: as annotated inside, else as they come in."""
    shardings: list[Sharding | None] = []
    for value, argument in zip(initial, inner, strict=True):
        sharding = None
        if ranked(argument) is not None:
            sharding = partitioner.wanted(argument) or partitioner.sharding_of(value)
        shardings.append(normal(None if sharding is None else sharding.without_partials()))
    return shardings


def local_of(value: SSAValue, sharding: Sharding | None) -> Attribute:
    """The type of a value on one device."""
    value_type = ranked(value)
    return value.type if value_type is None else local_type(value_type, sharding)


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
        types = [
            local_of(argument, sharding)
            for argument, sharding in zip(source.args, arguments, strict=True)
        ]
        for old, local, sharding in zip(source.args, types, arguments, strict=True):
            new = block.insert_arg(local, len(block.args))
            partitioner.set_value(old, new, sharding)
        *operations, terminator = list(source.ops)
        for operation in operations:
            partitioner.partition(operation)
        emitter.location = terminator.location
        # The condition of scf.condition comes before the values.
        extra = 1 if terminator.name == "scf.condition" else 0
        values = terminator.operands[extra:]
        if yielded is None:
            yielded = [partitioner.finished(value) for value in values]
        operands = [
            *(partitioner.value(value) for value in terminator.operands[:extra]),
            *(
                partitioner.value(value, sharding)
                for value, sharding in zip(values, yielded, strict=True)
            ),
        ]
        end = copy_with(partitioner, terminator, operands, ())
        emitter.add(end)
        emitter.end = end
    return block, list(yielded)


def finish(
    partitioner: Partitioner,
    operation: Operation,
    operands: Sequence[SSAValue],
    regions: Sequence[Region],
    results: Sequence[Sharding | None],
) -> None:
    """Emit an operation with new regions, and record its results."""
    made = type(operation).create(
        operands=operands,
        result_types=[
            local_of(result, sharding)
            for result, sharding in zip(operation.results, results, strict=True)
        ],
        properties=operation.properties,
        attributes=operation.attributes,
        location=operation.location,
        regions=regions,
    )
    partitioner.emitter.add(made)
    for old, new, sharding in zip(operation.results, made.results, results, strict=True):
        partitioner.set_value(old, new, sharding)


@partitions("scf.for")
def for_(partitioner: Partitioner, operation: Operation) -> None:
    """Values that go round the loop keep one placement."""
    bounds, initial = operation.operands[:3], operation.operands[3:]
    source = operation.regions[0].blocks[0]
    shardings = carried(partitioner, initial, source.args[1:])
    operands = [
        *(partitioner.scalar(bound) for bound in bounds),
        *(
            partitioner.value(value, sharding)
            for value, sharding in zip(initial, shardings, strict=True)
        ),
    ]
    block, _ = body(partitioner, source, [None, *shardings], shardings)
    finish(partitioner, operation, operands, [Region(block)], shardings)


@partitions("scf.while")
def while_(partitioner: Partitioner, operation: Operation) -> None:
    """What the condition hands on is placed as its own block leaves it."""
    before, after = (region.blocks[0] for region in operation.regions)
    shardings = carried(partitioner, operation.operands, before.args)
    operands = [
        partitioner.value(value, sharding)
        for value, sharding in zip(operation.operands, shardings, strict=True)
    ]
    first, handed = body(partitioner, before, shardings, None)
    second, _ = body(partitioner, after, handed, shardings)
    finish(partitioner, operation, operands, [Region(first), Region(second)], handed)


@partitions("scf.if", "scf.index_switch", "scf.execute_region")
def branches(partitioner: Partitioner, operation: Operation) -> None:
    """Every branch yields its values in the placement that is wanted, or that the first has."""
    if any(len(region.blocks) > 1 for region in operation.regions):
        raise OperationError(operation, "has a region of several blocks, which is not supported")
    wanted = [
        normal(sharding.without_partials())
        if ranked(result) is not None and (sharding := partitioner.wanted(result)) is not None
        else None
        for result in operation.results
    ]
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


@partitions("cf.br", "cf.cond_br", "cf.switch")
def jump(partitioner: Partitioner, operation: Operation) -> None:
    """Values go to another block as its arguments are placed."""
    targets = [argument for block in operation.successors for argument in block.args]
    scalars = len(operation.operands) - len(targets)
    operands = [partitioner.scalar(operand) for operand in operation.operands[:scalars]]
    for value, argument in zip(operation.operands[scalars:], targets, strict=True):
        sharding = None if ranked(argument) is None else partitioner.sharding_of(argument)
        operands.append(partitioner.value(value, sharding))
    end = copy_with(partitioner, operation, operands, ())
    partitioner.emitter.add(end)
    partitioner.emitter.end = end
