"""What programs have to do with others: channels, collectives, functions and parameters outside."""

from __future__ import annotations

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

from ....dialects.stream.functions import AsyncFuncOp
from ....dialects.stream.types import COLLECTIVE_ELEMENTS, COLLECTIVE_REDUCTIONS, CollectiveAttr
from ....ir.attribute_access import integer
from ....ir.index import constant_index
from ....ir.locations import replace_by
from ....ir.syntax.assembly_format import values
from ....ir.syntax.resource_directives import UNTIED, ties_of
from ....ir.tensor_types import ranked, require_ranked
from .host import CHANNEL, Host, conversion, operands_of
from .stored_tensors import UNKNOWN, StoredTensor, at, size_of

LOW_HALF, HALF = 0xFFFF, 16
"""Two numbers of 16 bits in one of 32."""


@conversion("flow.channel.default")
def _channel(host: Host, operation: Operation, builder: Builder) -> None:
    group = operation.properties.get("group")
    create = host.made("stream.channel.create").build(
        operands=[(), (), ()],
        result_types=[CHANNEL],
        properties={} if group is None else {"group": group},
    )
    _replace(operation, builder.insert(create))


@conversion("flow.channel.count", "flow.channel.rank", "flow.channel.split")
def _of_channel(host: Host, operation: Operation, builder: Builder) -> None:
    """The same of a channel of `stream`."""
    types = [CHANNEL] if operation.name.endswith("split") else operation.result_types
    made = host.made(operation.name.replace("flow.", "stream.", 1))
    _replace(
        operation,
        builder.insert(made.create(operands=operation.operands, result_types=types)),
    )


def _replace(operation: Operation, made: Operation) -> None:
    operation.results[0].replace_all_uses_with(made.results[0])


@conversion(
    "flow.collective.all_gather",
    "flow.collective.all_reduce",
    "flow.collective.all_to_all",
    "flow.collective.reduce_scatter",
    "flow.collective.send_recv",
)
def _collective(host: Host, operation: Operation, builder: Builder) -> None:
    """All bytes of both tensors, in the place of the target."""
    place = host.placement.runs_on(operation)
    (target,), (source,) = (values(operation, name) for name in ("target", "source"))
    into, what = (host.brought(value, operation, place, builder) for value in (target, source))
    start = constant_index(0, builder)
    count = _count(operation, target, builder)
    partner: tuple[SSAValue, ...] = ()
    if operation.name.endswith("send_recv"):
        (send,), (receive,) = (values(operation, name) for name in ("send", "recv"))
        partner = (_pair(send, receive, builder),)
    made = host.made("stream.async.collective").build(
        operands=[
            into.resource,
            *(into.size, start, into.size, into.size),
            what.resource,
            *(what.size, start, what.size, what.size),
            count,
            *values(operation, "channel"),
            partner,
        ],
        result_types=[UNKNOWN],
        properties={"op": _kind(operation), **at(place)},
    )
    result = builder.insert(made).results[0]
    dims = operands_of(operation, "target_dims")
    host.store(operation.results[0], StoredTensor(result, into.size, dims))


def _kind(operation: Operation) -> CollectiveAttr:
    reduction = integer(operation, "reduction_op", 0)
    how = StringAttr(COLLECTIVE_REDUCTIONS[reduction - 1]) if reduction else NoneAttr()
    element = StringAttr(COLLECTIVE_ELEMENTS[integer(operation, "element_type")])
    return CollectiveAttr(StringAttr(operation.name.rpartition(".")[2]), how, element)


def _count(operation: Operation, target: SSAValue, builder: Builder) -> SSAValue:
    """The elements of the target."""
    shape = require_ranked(operation, target.type).get_shape()
    count = constant_index(prod(size for size in shape if size >= 0), builder)
    for size in operands_of(operation, "target_dims"):
        count = builder.insert(MuliOp(count, size)).result
    return count


def _pair(send: SSAValue, receive: SSAValue, builder: Builder) -> SSAValue:
    """The device to send to in the low half, the one to receive from in the high half."""
    low = builder.insert(IndexCastOp(send, i32)).result
    mask = builder.insert(ConstantOp(IntegerAttr(LOW_HALF, i32))).result
    low = builder.insert(AndIOp(low, mask)).result
    high = builder.insert(IndexCastOp(receive, i32)).result
    shift = builder.insert(ConstantOp(IntegerAttr(HALF, i32))).result
    high = builder.insert(ShLIOp(high, shift)).result
    return builder.insert(OrIOp(high, low)).result


def convert_declarations(module: ModuleOp) -> None:
    """Let functions outside of the program take and give resources."""
    for function in tuple(module.body.block.ops):
        if function.name == "flow.func":
            made = AsyncFuncOp.create(
                properties=dict(function.properties),
                attributes=dict(function.attributes),
                regions=[function.detach_region(region) for region in tuple(function.regions)],
            )
            inputs, outputs = made.function_type.inputs.data, made.function_type.outputs.data
            made.properties["function_type"] = FunctionType.from_lists(
                [_held(each) for each in inputs], [_held(each) for each in outputs]
            )
            replace_by(function, made)


def _held(type_: Attribute) -> Attribute:
    return UNKNOWN if isinstance(type_, TensorType) else type_


@conversion("flow.call")
def _call(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    start = constant_index(0, builder)
    arguments: list[SSAValue] = []
    sizes: list[SSAValue] = []
    held: list[SSAValue | None] = []
    for value in operands_of(operation, "arguments"):
        stored = host.brought(value, operation, place, builder) if ranked(value) else None
        arguments.append(value if stored is None else stored.resource)
        held.append(None if stored is None else stored.size)
        sizes += () if stored is None else (stored.size,)
    dims = list(operands_of(operation, "result_dims"))
    results: list[StoredTensor | None] = []
    for result, tie in zip(
        operation.results, ties_of(operation, len(operation.results)), strict=True
    ):
        if (tensor := ranked(result)) is None:
            results.append(None)
            continue
        own = tuple(dims.pop(0) for size in tensor.get_shape() if size < 0)
        size = None if tie == UNTIED else held[tie]
        size = size_of(tensor, own, place, builder) if size is None else size
        results.append(StoredTensor(result, size, own))
    made = host.made("stream.async.call").build(
        operands=[
            arguments,
            sizes,
            [start] * len(sizes),
            sizes,
            sizes,
            [one.size for one in results if one is not None],
        ],
        result_types=[[_held(type_) for type_ in operation.result_types]],
        properties={
            name: value
            for name, value in operation.properties.items()
            if name != "operandSegmentSizes"
        }
        | at(place),
    )
    for old, new, stored in zip(
        operation.results, builder.insert(made).results, results, strict=True
    ):
        if stored is None:
            old.replace_all_uses_with(new)
        else:
            host.store(old, StoredTensor(new, stored.size, stored.dims))


@conversion("flow.parameter.load")
def _load_parameter(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.results[0].type)
    dims = operands_of(operation, "result_dims")
    size = size_of(tensor, dims, place, builder)
    scope, key, offset = (
        values(operation, f"source_{name}") for name in ("scope", "key", "offset")
    )
    made = host.made("stream.tensor.parameter.load").build(
        operands=[scope, *key, *offset, dims, size],
        result_types=[UNKNOWN],
        properties={"result_encoding": tensor, **at(place)},
    )
    result = builder.insert(made).results[0]
    host.store(operation.results[0], StoredTensor(result, size, dims))


@conversion("flow.parameter.write")
def _write_parameter(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    source = operation.operands[0]
    stored = host.brought(source, operation, place, builder)
    dims = operands_of(operation, "source_dims")
    scope, key, offset = (
        values(operation, f"target_{name}") for name in ("scope", "key", "offset")
    )
    made = host.made("stream.tensor.parameter.write").build(
        operands=[stored.resource, dims, stored.size, scope, *key, *offset],
        result_types=[UNKNOWN],
        properties={"source_encoding": source.type, **at(place)},
    )
    result = builder.insert(made).results[0]
    host.store(operation.results[0], StoredTensor(result, stored.size, dims))
