"""Convert channels and collectives."""

from __future__ import annotations

from math import prod

from xdsl.builder import Builder
from xdsl.dialects.arith import AndIOp, ConstantOp, IndexCastOp, MuliOp, OrIOp, ShLIOp
from xdsl.dialects.builtin import IntegerAttr, NoneAttr, StringAttr, i32
from xdsl.ir import Operation, SSAValue

from ....dialects.flow.collectives import COLLECTIVES
from ....dialects.stream.types import COLLECTIVE_ELEMENTS, COLLECTIVE_REDUCTIONS, CollectiveAttr
from ....ir.attribute_access import integer
from ....ir.index import constant_index
from ....ir.syntax.assembly_format import values
from ....ir.tensor_types import require_ranked
from .host import CHANNEL, Host, conversion
from .stored_tensors import PlacedBuilder, StoredTensor

LOW_HALF, HALF = 0xFFFF, 16
"""Mask and shift that pack two 16-bit numbers into one of 32 bits."""


@conversion("flow.channel.default")
def _channel(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    create, group = host.op_class("stream.channel.create"), operation.properties.get("group")
    channel = here.make(create, [(), (), ()], CHANNEL, group=group)
    operation.results[0].replace_all_uses_with(channel)


@conversion("flow.channel.count", "flow.channel.rank", "flow.channel.split")
def _of_channel(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Convert an operation on a channel to the one of the same name in `stream`."""
    types = [CHANNEL] if operation.name.endswith("split") else operation.result_types
    converted = host.op_class(operation.name.replace("flow.", "stream.", 1)).create(
        operands=operation.operands, result_types=types
    )
    operation.results[0].replace_all_uses_with(here.builder.insert(converted).results[0])


@conversion(*COLLECTIVES)
def _collective(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Emit a collective on all bytes of both tensors that writes to the target in place."""
    (target,), (source,) = (values(operation, name) for name in ("target", "source"))
    receiver, sender = (host.transferred(value, operation, here) for value in (target, source))
    start = here.index(0)
    count = _count(operation, target, here.builder)
    partner: tuple[SSAValue, ...] = ()
    if operation.name.endswith("send_recv"):
        (send,), (receive,) = (values(operation, name) for name in ("send", "recv"))
        partner = (_pair(send, receive, here.builder),)
    result = here.make(
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
    dims = values(operation, "target_dims")
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
    for size in values(operation, "target_dims"):
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
