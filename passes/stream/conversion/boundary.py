"""Where tensors come from and go to: buffers and buffer views of callers, and their fences."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, StringAttr, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream import async_ops, regions
from ....dialects.stream import tensor_ops as stream
from ....dialects.stream.types import ResourceType, TimepointType
from ....ir.index import constant_index
from ....ir.syntax.assembly_format import values
from ....ir.tensor_types import require_ranked
from .host import Host, conversion, operands_of
from .stored_tensors import (
    EXTERNAL,
    INDEX,
    TRANSIENT,
    UNKNOWN,
    StoredTensor,
    at,
    cast_resource,
    size_of,
    transfer,
)

TIMEPOINT = TimepointType()

BUFFER_VIEW = "hal.buffer_view"


@conversion("hal.tensor.import")
def _import(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    source, dims = operation.operands[0], operands_of(operation, "target_dims")
    given = require_ranked(operation, operation.properties["target_encoding"])
    if source.type.name == BUFFER_VIEW:
        name = operation.properties.get("name", StringAttr("tensor"))
        _assert_view(host, (source, given, dims), name, builder)
    tensor = require_ranked(operation, operation.results[0].type)
    size = size_of(tensor, dims, place, builder)
    consume = operation.properties.get("consume")
    resource = _imported(source, (given, dims, size), place, builder, consume)
    for fence in values(operation, "wait_fence"):
        resource = _awaited(resource, size, fence, place, builder)
    held = cast_resource(resource, size, UNKNOWN, place, builder)
    host.store(operation.results[0], StoredTensor(held, size, dims))


def _assert_view(
    host: Host,
    passed: tuple[SSAValue, Tensor, Sequence[SSAValue]],
    name: Attribute,
    builder: Builder,
) -> None:
    """Fail unless a caller has passed what the program takes."""
    view, tensor, dims = passed
    element = host.made("hal.element_type").create(
        result_types=[i32], properties={"type": tensor.element_type}
    )
    order = host.made("hal.encoding_type").create(result_types=[i32])
    numbers = [builder.insert(each).results[0] for each in (element, order)]
    open_sizes = iter(dims)
    sizes = [
        next(open_sizes) if size < 0 else constant_index(size, builder)
        for size in tensor.get_shape()
    ]
    check = host.made("hal.buffer_view.assert").build(
        operands=[view, *numbers, sizes], properties={"message": name}
    )
    builder.insert(check)


def _imported(
    source: SSAValue,
    what: tuple[Attribute, Sequence[SSAValue], SSAValue],
    place: Attribute | None,
    builder: Builder,
    consume: Attribute | None = None,
    lifetime: ResourceType = EXTERNAL,
) -> SSAValue:
    """What a caller has passed as a resource: of which tensor, sizes and bytes."""
    tensor, dims, size = what
    imported = stream.TensorImportOp.build(
        operands=[source, dims, size],
        result_types=[lifetime],
        properties={
            "result_encoding": tensor,
            **at(place),
            **({} if consume is None else {"consume": consume}),
        },
    )
    return builder.insert(imported).result


@conversion("hal.tensor.export")
def _export(host: Host, operation: Operation, builder: Builder) -> None:
    source = operation.operands[0]
    stored, held_at = host.stored(source, operation), host.held_at(source)
    place = operation.properties.get("affinity") or held_at
    if held_at is not None and place is not None and held_at != place:
        stored = transfer(stored, held_at, place, builder)
    resource = cast_resource(stored.resource, stored.size, EXTERNAL, place, builder)
    exported = stream.TensorExportOp.build(
        operands=[resource, operands_of(operation, "source_dims"), stored.size],
        result_types=[operation.results[0].type],
        properties={"source_encoding": operation.properties["source_encoding"], **at(place)},
    )
    result = builder.insert(exported).result
    operation.results[0].replace_all_uses_with(result)


@conversion("hal.tensor.alias")
def _alias(host: Host, operation: Operation, builder: Builder) -> None:
    """The tensor is copied to the start of the caller's storage, and goes on from there."""
    place = host.placement.runs_on(operation)
    source, dims = operation.operands[0], operands_of(operation, "source_dims")
    stored = host.brought(source, operation, place, builder)
    size = size_of(require_ranked(operation, source.type), dims, place, builder)
    (storage,) = values(operation, "storage")
    resource = _imported(storage, (source.type, dims, size), place, builder, UnitAttr())
    for fence in values(operation, "wait_fence"):
        resource = _awaited(resource, size, fence, place, builder)
    start = constant_index(0, builder)
    update = async_ops.AsyncUpdateOp.create(
        operands=[resource, size, start, stored.size, stored.resource, stored.size],
        result_types=[EXTERNAL],
        properties=at(place),
    )
    part = async_ops.AsyncSliceOp.create(
        operands=[builder.insert(update).results[0], size, start, stored.size, stored.size],
        result_types=[EXTERNAL],
        properties=at(place),
    )
    written = StoredTensor(builder.insert(part).results[0], stored.size, stored.dims)
    host.store(operation.results[0], transfer(written, place, place, builder))


@conversion("hal.tensor.transients")
def _transients(host: Host, operation: Operation, builder: Builder) -> None:
    """What is needed on the way lies in the caller's storage, all of it."""
    place = host.placement.runs_on(operation)
    stored = host.brought(operation.operands[0], operation, place, builder)
    (storage,) = values(operation, "storage")
    resource, reached = _reached(stored, place, builder)
    length = host.made("hal.buffer.length").create(operands=[storage], result_types=[INDEX])
    size = builder.insert(length).results[0]
    given = TensorType(IntegerType(8), [DYNAMIC_INDEX])
    room = _imported(storage, (given, (size,), size), place, builder, lifetime=TRANSIENT)
    made = host.made("stream.resource.transients").build(
        operands=[resource, stored.size, room, size, (reached,)],
        result_types=[UNKNOWN, TIMEPOINT],
        properties=at(place),
    )
    resource, reached = builder.insert(made).results
    wait = regions.TimepointAwaitOp.build(
        operands=[[resource], [stored.size], reached], result_types=[[UNKNOWN]]
    )
    held = builder.insert(wait).results[0]
    host.store(operation.results[0], StoredTensor(held, stored.size, stored.dims))


@conversion("hal.tensor.barrier")
def _barrier(host: Host, operation: Operation, builder: Builder) -> None:
    """A fence is reached once all tensors are there."""
    *sources, fence = operation.operands
    reached: list[SSAValue] = []
    place: Attribute | None = None
    for source, result in zip(sources, operation.results, strict=True):
        place = host.held_at(source)
        stored = host.stored(source, operation)
        resource, timepoint = _reached(stored, place, builder)
        reached.append(timepoint)
        host.store(result, StoredTensor(resource, stored.size, stored.dims))
    if len(reached) != 1:
        join = regions.TimepointJoinOp.create(operands=reached, result_types=[TIMEPOINT])
        reached = [builder.insert(join).results[0]]
    chain = regions.TimepointChainExternalOp.build(
        operands=[reached[0], [fence]], properties=at(place)
    )
    builder.insert(chain)


def _reached(
    stored: StoredTensor, place: Attribute | None, builder: Builder
) -> tuple[SSAValue, SSAValue]:
    """The resource of a tensor, and the time when it is there."""
    barrier = regions.TimepointBarrierOp.create(
        operands=[stored.resource, stored.size],
        result_types=[stored.resource.type, TIMEPOINT],
        properties=at(place),
    )
    resource, timepoint = builder.insert(barrier).results
    return resource, timepoint


def _awaited(
    resource: SSAValue, size: SSAValue, fence: SSAValue, place: Attribute | None, builder: Builder
) -> SSAValue:
    """A resource once a fence is reached."""
    imported = regions.TimepointImportOp.create(
        operands=[fence], result_types=[TIMEPOINT], properties=at(place)
    )
    timepoint = builder.insert(imported).results[0]
    wait = regions.TimepointAwaitOp.build(
        operands=[[resource], [size], timepoint], result_types=[[resource.type]]
    )
    return builder.insert(wait).results[0]
