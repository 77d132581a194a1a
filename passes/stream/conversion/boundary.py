"""Convert imports and exports of tensors: buffers and buffer views of callers, and their fences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, StringAttr, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream import regions
from ....dialects.stream import tensor_ops as stream
from ....dialects.stream.async_ops import AsyncCastOp, AsyncSliceOp, AsyncUpdateOp
from ....dialects.stream.resources import ResourceSubviewOp
from ....dialects.stream.types import TIMEPOINT, ResourceType
from ....ir.index_lists import INDEX, mixed_list
from ....ir.syntax.assembly_format import values
from ....ir.tensor_types import require_ranked
from .host import Host, conversion
from .stored_tensors import EXTERNAL, TRANSIENT, UNKNOWN, PlacedBuilder, StoredTensor, transfer

BUFFER_VIEW = "hal.buffer_view"


@conversion("hal.tensor.import")
def _import(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source, dims = operation.operands[0], values(operation, "target_dims")
    tensor = require_ranked(operation, operation.properties["target_encoding"])
    if source.type.name == BUFFER_VIEW:
        name = operation.properties.get("name", StringAttr("tensor"))
        _assert_view(host, source, tensor, dims, name, here)
    size = here.size_of(require_ranked(operation, operation.results[0].type), dims)
    consume = operation.properties.get("consume")
    offsets = values(operation, "byte_offset")
    whole = here.builder.insert(AddiOp(offsets[0], size)).result if offsets else size
    resource = _import_buffer(source, tensor, dims, whole, here, consume=consume)
    for fence in values(operation, "wait_fence"):
        resource = _awaited(resource, whole, fence, here)
    for offset in offsets:
        part = [resource, whole, offset, size]
        resource = here.builder.insert(
            ResourceSubviewOp.build(operands=part, result_types=[EXTERNAL])
        ).results[0]
    resource = here.make(AsyncCastOp, [resource, size, size])
    host.store(operation.results[0], StoredTensor(resource, size, dims))


def _assert_view(
    host: Host,
    view: SSAValue,
    tensor: Tensor,
    dims: Sequence[SSAValue],
    name: Attribute,
    here: PlacedBuilder,
) -> None:
    """Emit a check that a caller's buffer view has the expected shape and element type."""

    def query(name: str, **properties: Attribute) -> SSAValue:
        made = host.op_class(name).create(result_types=[i32], properties=properties)
        return here.builder.insert(made).results[0]

    element = tensor.element_type
    types = (
        here.once(element, lambda: query("hal.element_type", type=element)),
        here.once("order", lambda: query("hal.encoding_type")),
    )
    sizes = [here.index(size) for size in mixed_list(tensor.get_shape(), dims)]
    check = host.op_class("hal.buffer_view.assert").build(
        operands=[view, *types, sizes], properties={"message": name}
    )
    here.builder.insert(check)


def _import_buffer(
    source: SSAValue,
    tensor: Attribute,
    dims: Sequence[SSAValue],
    size: SSAValue,
    here: PlacedBuilder,
    *,
    consume: Attribute | None = None,
    lifetime: ResourceType = EXTERNAL,
) -> SSAValue:
    """Import a caller's buffer as a resource that holds a tensor of `size` bytes."""
    operands = [source, dims, size]
    return here.make(
        stream.TensorImportOp, operands, lifetime, result_encoding=tensor, consume=consume
    )


@conversion("hal.tensor.export")
def _export(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source = operation.operands[0]
    stored, affinity = host.stored(source, operation), host.affinity_of(source)
    here = here.on(operation.properties.get("affinity") or affinity)
    if affinity is not None and affinity != here.affinity:
        stored = transfer(stored, affinity, here.affinity, here.builder)
    resource = here.make(AsyncCastOp, [stored.resource, stored.size, stored.size], EXTERNAL)
    result = here.make(
        stream.TensorExportOp,
        [resource, values(operation, "source_dims"), stored.size],
        operation.results[0].type,
        source_encoding=operation.properties["source_encoding"],
    )
    operation.results[0].replace_all_uses_with(result)


@conversion("hal.tensor.alias")
def _alias(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Copy a tensor to the start of the caller's storage, which holds it from then on."""
    source, dims = operation.operands[0], values(operation, "source_dims")
    stored = host.transferred(source, operation, here)
    size = here.size_of(require_ranked(operation, source.type), dims)
    (storage,) = values(operation, "storage")
    resource = _import_buffer(storage, source.type, dims, size, here, consume=UnitAttr())
    for fence in values(operation, "wait_fence"):
        resource = _awaited(resource, size, fence, here)
    start = here.index(0)
    updated = here.make(
        AsyncUpdateOp,
        [resource, size, start, stored.size, stored.resource, stored.size],
        EXTERNAL,
    )
    part = here.make(AsyncSliceOp, [updated, size, start, stored.size, stored.size], EXTERNAL)
    written = replace(stored, resource=part)
    host.store(operation.results[0], transfer(written, here.affinity, here.affinity, here.builder))


@conversion("hal.tensor.transients")
def _transients(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Place all transient allocations for a tensor in the caller's storage."""
    stored = host.transferred(operation.operands[0], operation, here)
    (storage,) = values(operation, "storage")
    resource, reached = _reached(stored, here)
    length = host.op_class("hal.buffer.length").create(operands=[storage], result_types=[INDEX])
    size = here.builder.insert(length).results[0]
    bytes_ = TensorType(IntegerType(8), [DYNAMIC_INDEX])
    transients = _import_buffer(storage, bytes_, (size,), size, here, lifetime=TRANSIENT)
    resource, reached = here.add(
        host.op_class("stream.resource.transients"),
        [resource, stored.size, transients, size, (reached,)],
        [UNKNOWN, TIMEPOINT],
    ).results
    resource = regions.awaited(resource, stored.size, reached, here.builder)
    host.store(operation.results[0], replace(stored, resource=resource))


@conversion("hal.tensor.barrier")
def _barrier(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Signal a fence when all tensors are ready."""
    *sources, fence = operation.operands
    reached: list[SSAValue] = []
    for source, result in zip(sources, operation.results, strict=True):
        here = here.on(host.affinity_of(source))
        stored = host.stored(source, operation)
        resource, timepoint = _reached(stored, here)
        reached.append(timepoint)
        host.store(result, replace(stored, resource=resource))
    here.add(regions.TimepointChainExternalOp, [regions.joined(reached, here.builder), [fence]], ())


def _reached(stored: StoredTensor, here: PlacedBuilder) -> Sequence[SSAValue]:
    """Return the resource of a tensor and the timepoint at which it is ready."""
    types = [stored.resource.type, TIMEPOINT]
    return here.add(regions.TimepointBarrierOp, [stored.resource, stored.size], types).results


def _awaited(resource: SSAValue, size: SSAValue, fence: SSAValue, here: PlacedBuilder) -> SSAValue:
    """Return a resource that is available once a fence is signaled."""
    timepoint = here.make(regions.TimepointImportOp, [[fence]], TIMEPOINT)
    return regions.awaited(resource, size, timepoint, here.builder)
