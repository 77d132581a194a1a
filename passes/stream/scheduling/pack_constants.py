"""Keep the constants of a region in one buffer of the host, and bring them to the device.

`stream.resource.constants` becomes parts of one resource. Where the device can read the buffer of
the host, that is the buffer itself, `stream.resource.try_map`; else it is allocated, and the buffer
is read into it like a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
    VectorType,
    i1,
    i8,
    i64,
)
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.stream.regions import TimepointImmediateOp
from ....dialects.stream.resources import (
    FileConstantOp,
    FileReadOp,
    ResourceAllocOp,
    ResourceSubviewOp,
    ResourceTryMapOp,
)
from ....dialects.stream.types import FileType, TimepointType
from ....dialects.util.dialect import BufferConstantOp, CompositeAttr
from ....dialects.util.types import BufferType
from ....ir.diagnostics import OperationError
from ....ir.host_programs import host_operations
from ....ir.index import constant_index, known
from ....ir.locations import builder_before, located_builder
from ....ir.slice_packing import ALIGNMENT, aligned
from ....ir.tensor_types import element_named

INDEX, TIMEPOINT = IndexType(), TimepointType()


@dataclass(frozen=True)
class PackConstantResourcesPass(ModulePass):
    """Pack constants into buffers of the host, and bring them to their devices."""

    name = "iree-stream-pack-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for operation in tuple(host_operations(op)):
            if operation.name == "stream.resource.constants":
                _replace(operation)


def _replace(operation: Operation) -> None:
    contents = cast("ArrayAttr[Attribute]", operation.properties["values"]).data
    sizes = [_known_size(operation, size) for size in operation.operands]
    builder = builder_before(operation)
    total = constant_index(sum(aligned(size) for size in sizes), builder)
    value = _composite(operation, contents, sizes)
    buffer = builder.insert(
        BufferConstantOp.build(
            result_types=[BufferType()],
            properties={"value": value, "alignment": IntegerAttr(ALIGNMENT, INDEX)},
        )
    ).result
    *resources, done = operation.results
    resource, ready = _bring(operation, buffer, total, builder)
    offset = 0
    for result, size, length in zip(resources, operation.operands, sizes, strict=True):
        part = ResourceSubviewOp.build(
            operands=[resource, total, constant_index(offset, builder), size],
            result_types=[result.type],
        )
        result.replace_all_uses_with(builder.insert(part).result)
        offset += aligned(length)
    done.replace_all_uses_with(ready)
    Rewriter.erase_op(operation)


def _known_size(operation: Operation, size: SSAValue) -> int:
    number = known(size)
    if not isinstance(number, int):
        raise OperationError(operation, "keeps a constant in a resource of unknown size")
    return number


def _composite(
    operation: Operation, contents: Sequence[Attribute], sizes: Sequence[int]
) -> CompositeAttr:
    """Constants one after another, each with zeros behind it up to the next."""
    parts: list[Attribute] = []
    for value, size in zip(contents, sizes, strict=True):
        parts.append(value)
        stored = _stored_bytes(operation, value)
        if stored > size:
            raise OperationError(
                operation, f"keeps a constant of {stored} bytes in a resource of {size}"
            )
        if padding := aligned(size) - stored:
            type_ = VectorType(i8, [padding])
            parts.append(DenseIntOrFPElementsAttr.from_list(type_, [0]))
    total = sum(aligned(size) for size in sizes)
    return CompositeAttr(VectorType(i8, [total]), ArrayAttr(parts))


def _stored_bytes(operation: Operation, value: Attribute) -> int:
    """The bytes that constant contents take."""
    type_ = getattr(value, "type", None)
    if not isinstance(type_, TensorType | VectorType) or not hasattr(value, "data"):
        raise OperationError(operation, f"keeps {value}: only constants of the program are packed")
    tensor = cast("TensorType[Attribute]", type_)
    bits = element_named(tensor.element_type).storage_bits
    count = 1
    for extent in tensor.get_shape():
        count *= extent
    return -(-count * bits // 8)


def _bring(
    operation: Operation, buffer: SSAValue, total: SSAValue, builder: Builder
) -> tuple[SSAValue, SSAValue]:
    """A resource with the contents of a buffer, and when it has them."""
    place = operation.properties.get("affinity")
    properties = {} if place is None else {"affinity": place}
    type_ = operation.results[0].type
    start = constant_index(0, builder)
    ready = builder.insert(TimepointImmediateOp.build(result_types=[TIMEPOINT])).result_timepoint
    mapped = builder.insert(
        ResourceTryMapOp.build(
            operands=[buffer, start, total], result_types=[i1, type_], properties=properties
        )
    )
    there, read = Block([YieldOp(ready, mapped.result)]), Block()
    inner = located_builder(InsertPoint.at_end(read), operation)
    alloc = ResourceAllocOp.build(
        operands=[total],
        result_types=[type_],
        properties={**properties, "uninitialized": UnitAttr()},
    )
    resource = inner.insert(alloc).result
    file = FileConstantOp.build(
        operands=[buffer, total, start, total], result_types=[FileType()], properties=properties
    )
    first = inner.insert(ConstantOp(IntegerAttr(0, i64))).result
    copied = FileReadOp.build(
        operands=[inner.insert(file).result, first, resource, total, start, total, [ready]],
        result_types=[TIMEPOINT],
        properties=properties,
    )
    inner.insert(YieldOp(inner.insert(copied).result_timepoint, resource))
    chosen = IfOp(mapped.did_map, [TIMEPOINT, type_], [there], [read])
    when, found = builder.insert(chosen).results
    return found, when
