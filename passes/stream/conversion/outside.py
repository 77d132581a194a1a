"""Convert channels, collectives, external functions and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.builder import Builder
from xdsl.dialects.arith import AndIOp, ConstantOp, IndexCastOp, MuliOp, OrIOp, ShLIOp
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.flow.collectives import COLLECTIVES
from ....dialects.stream.functions import AsyncFuncOp
from ....dialects.stream.types import COLLECTIVE_ELEMENTS, COLLECTIVE_REDUCTIONS, CollectiveAttr
from ....ir.attribute_access import integer
from ....ir.index import constant_index
from ....ir.locations import replace_by
from ....ir.syntax.assembly_format import values
from ....ir.syntax.resource_directives import UNTIED, dynamic_dimensions, ties_of
from ....ir.tensor_types import ranked, require_ranked
from .host import CHANNEL, Host, conversion, operands_of
from .stored_tensors import UNKNOWN, Site, StoredTensor

LOW_HALF, HALF = 0xFFFF, 16
"""Mask and shift that pack two 16-bit numbers into one of 32 bits."""


@conversion("flow.channel.default")
def _channel(host: Host, operation: Operation, site: Site) -> None:
    create = host.op_class("stream.channel.create").build(
        operands=[(), (), ()],
        result_types=[CHANNEL],
        properties={"group": operation.properties.get("group"), "affinity": site.affinity},
    )
    operation.results[0].replace_all_uses_with(site.builder.insert(create).results[0])


@conversion("flow.channel.count", "flow.channel.rank", "flow.channel.split")
def _of_channel(host: Host, operation: Operation, site: Site) -> None:
    """Convert an operation on a channel to the one of the same name in `stream`."""
    types = [CHANNEL] if operation.name.endswith("split") else operation.result_types
    converted = host.op_class(operation.name.replace("flow.", "stream.", 1)).create(
        operands=operation.operands, result_types=types
    )
    operation.results[0].replace_all_uses_with(site.builder.insert(converted).results[0])


@conversion(*COLLECTIVES)
def _collective(host: Host, operation: Operation, site: Site) -> None:
    """Emit a collective on all bytes of both tensors that writes to the target in place."""
    (target,), (source,) = (values(operation, name) for name in ("target", "source"))
    receiver, sender = (host.transferred(value, operation, site) for value in (target, source))
    start = site.index(0)
    count = _count(operation, target, site.builder)
    partner: tuple[SSAValue, ...] = ()
    if operation.name.endswith("send_recv"):
        (send,), (receive,) = (values(operation, name) for name in ("send", "recv"))
        partner = (_pair(send, receive, site.builder),)
    result = site.make(
        host.op_class("stream.async.collective"),
        [
            receiver.resource,
            *(receiver.size, start, receiver.size, receiver.size),
            sender.resource,
            *(sender.size, start, sender.size, sender.size),
            count,
            *values(operation, "channel"),
            partner,
        ],
        op=_kind(operation),
    )
    dims = operands_of(operation, "target_dims")
    host.store(operation.results[0], StoredTensor(result, receiver.size, dims))


def _kind(operation: Operation) -> CollectiveAttr:
    reduction = integer(operation, "reduction_op", 0)
    how = StringAttr(COLLECTIVE_REDUCTIONS[reduction - 1]) if reduction else NoneAttr()
    element = StringAttr(COLLECTIVE_ELEMENTS[integer(operation, "element_type")])
    return CollectiveAttr(StringAttr(operation.name.rpartition(".")[2]), how, element)


def _count(operation: Operation, target: SSAValue, builder: Builder) -> SSAValue:
    """Emit the number of elements of the target."""
    shape = require_ranked(operation, target.type).get_shape()
    count = constant_index(prod(size for size in shape if size >= 0), builder)
    for size in operands_of(operation, "target_dims"):
        count = builder.insert(MuliOp(count, size)).result
    return count


def _pair(send: SSAValue, receive: SSAValue, builder: Builder) -> SSAValue:
    """Pack the rank to send to into the low half, the one to receive from into the high half."""
    low = builder.insert(IndexCastOp(send, i32)).result
    mask = builder.insert(ConstantOp(IntegerAttr(LOW_HALF, i32))).result
    low = builder.insert(AndIOp(low, mask)).result
    high = builder.insert(IndexCastOp(receive, i32)).result
    shift = builder.insert(ConstantOp(IntegerAttr(HALF, i32))).result
    high = builder.insert(ShLIOp(high, shift)).result
    return builder.insert(OrIOp(high, low)).result


def convert_declarations(module: ModuleOp) -> None:
    """Convert the declarations of external functions to take and return resources."""
    for function in tuple(module.body.block.ops):
        if function.name == "flow.func":
            converted = AsyncFuncOp.create(
                properties=dict(function.properties),
                attributes=dict(function.attributes),
                regions=[function.detach_region(region) for region in tuple(function.regions)],
            )
            type_ = converted.function_type
            converted.properties["function_type"] = FunctionType.from_lists(
                list(map(_convert_type, type_.inputs)), list(map(_convert_type, type_.outputs))
            )
            replace_by(function, converted)


def _convert_type(type_: Attribute) -> Attribute:
    return UNKNOWN if isinstance(type_, TensorType) else type_


@conversion("flow.call")
def _call(host: Host, operation: Operation, site: Site) -> None:
    start = site.index(0)
    arguments: list[SSAValue] = []
    argument_sizes: list[SSAValue | None] = []
    for value in operands_of(operation, "arguments"):
        stored = host.transferred(value, operation, site) if ranked(value) else None
        arguments.append(value if stored is None else stored.resource)
        argument_sizes.append(None if stored is None else stored.size)
    sizes = [size for size in argument_sizes if size is not None]
    dims = list(operands_of(operation, "result_dims"))
    results: list[StoredTensor | None] = []
    ties = ties_of(operation, len(operation.results))
    for result, tie in zip(operation.results, ties, strict=True):
        if (tensor := ranked(result)) is None:
            results.append(None)
            continue
        own = tuple(dims.pop(0) for _ in range(dynamic_dimensions(tensor)))
        size = None if tie == UNTIED else argument_sizes[tie]
        size = site.size_of(tensor, own) if size is None else size
        results.append(StoredTensor(result, size, own))
    result_sizes = [one.size for one in results if one is not None]
    call = site.add(
        host.op_class("stream.async.call"),
        [arguments, sizes, [start] * len(sizes), sizes, sizes, result_sizes],
        [[_convert_type(type_) for type_ in operation.result_types]],
        **{k: v for k, v in operation.properties.items() if k != "operandSegmentSizes"},
    )
    for old, new, stored in zip(operation.results, call.results, results, strict=True):
        if stored is None:
            old.replace_all_uses_with(new)
        else:
            host.store(old, replace(stored, resource=new))


@conversion("flow.parameter.load")
def _load_parameter(host: Host, operation: Operation, site: Site) -> None:
    tensor = require_ranked(operation, operation.results[0].type)
    dims = operands_of(operation, "result_dims")
    size = site.size_of(tensor, dims)
    result = site.make(
        host.op_class("stream.tensor.parameter.load"),
        [*_parameter(operation, "source"), dims, size],
        result_encoding=tensor,
    )
    host.store(operation.results[0], StoredTensor(result, size, dims))


@conversion("flow.parameter.write")
def _write_parameter(host: Host, operation: Operation, site: Site) -> None:
    source = operation.operands[0]
    stored = host.transferred(source, operation, site)
    dims = operands_of(operation, "source_dims")
    result = site.make(
        host.op_class("stream.tensor.parameter.write"),
        [stored.resource, dims, stored.size, *_parameter(operation, "target")],
        source_encoding=source.type,
    )
    host.store(operation.results[0], StoredTensor(result, stored.size, dims))


def _parameter(operation: Operation, end: str) -> list[SSAValue | Sequence[SSAValue]]:
    """Return the scope (which may be absent), the key and the offset of a parameter."""
    scope, key, offset = (values(operation, f"{end}_{name}") for name in ("scope", "key", "offset"))
    return [scope, *key, *offset]
