"""Lower globals: to constants, or to words of the virtual machine if a function stores to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute, Operation

from ...interpreter.storage import Resource
from ...runtime.abi.arrays import Array, Value, dynamic_sizes, is_number
from ...runtime.host.entry import word_of
from ...runtime.host.program import Constant, Register
from .function_lowering import FunctionLowering, lowers
from .stream_steps import resident
from .values import (
    HostObject,
    HostTensor,
    HostValue,
    NotLowered,
    flatten,
    is_resource,
    register_count,
    type_shape,
    unflatten,
)

BLOCK = 1
"""The index of the block among the words of a tensor or resource."""


@lowers("util.global.load")
def _load(lowering: FunctionLowering, op: Operation) -> None:
    result, builder = op.results[0], lowering.builder
    first = _place(lowering, op, result.type)
    if first is None:
        lowering.bind(result, _constant(lowering, op, lowering.program.global_value(op)))
        return
    words = [
        builder.compute("load_i64", address)
        for address in _addresses(lowering, first, register_count(result.type, op))
    ]
    if _has_block(result.type, op):
        builder.emit("retain", words[BLOCK])
    lowering.bind(result, unflatten(words, result.type, op))


@lowers("util.global.store")
def _store(lowering: FunctionLowering, op: Operation) -> None:
    builder, kind = lowering.builder, op.operands[0].type
    first = _place(lowering, op, kind)
    if first is None:
        raise NotLowered(op, "stores to a global without storage")
    words = flatten(lowering.acquire(op.operands[0]), kind, op)
    addresses = _addresses(lowering, first, len(words))
    if _has_block(kind, op):
        builder.emit("release", builder.compute("load_i64", addresses[BLOCK]))
    for address, word in zip(addresses, words, strict=True):
        builder.emit("store_64", address, builder.hold(word))


def _place(lowering: FunctionLowering, op: Operation, kind: Attribute) -> int | None:
    program = lowering.program

    def initial() -> Sequence[Constant]:
        words = _words(lowering, op, program.global_value(op), kind)
        if _has_block(kind, op):
            program.program.global_blocks.append(len(program.program.globals) + BLOCK)
        return words

    return program.place_global(op, initial)


def _addresses(lowering: FunctionLowering, first: int, count: int) -> list[Register]:
    builder = lowering.builder
    base = builder.compute("globals")
    return [builder.hold(builder.add(base, 8 * (first + each))) for each in range(count)]


def _has_block(kind: Attribute, op: Operation) -> bool:
    return is_resource(kind) or type_shape(kind, op) is not None


def _constant(lowering: FunctionLowering, op: Operation, value: Value) -> HostValue:
    """Return the value of a global that no function stores to."""
    if isinstance(value, Resource):
        return resident(lowering, op, value)
    if not is_number(value):
        return HostObject(value)
    array: Array = np.asarray(value)
    if type_shape(op.results[0].type, op) is None:
        return word_of(array)
    address = lowering.builder.constant(lowering.program.keep(array))
    return HostTensor(address, None, array.shape, array.dtype)


def _words(
    lowering: FunctionLowering, op: Operation, value: Value, kind: Attribute
) -> list[Constant]:
    """Return the words of a global at the start of a run."""
    program = lowering.program
    if isinstance(value, Resource):
        found = resident(lowering, op, value)
        address = lowering.builder.function.constants[found.address]
        return [address, 0, value.size, program.device_named(value.owner)]
    if not is_number(value):
        raise NotLowered(op, f"stores to a global of type {kind}, which has no host code")
    array: Array = np.asarray(value)
    static = type_shape(kind, op)
    if static is None:
        return [word_of(array)]
    return [program.keep(array), 0, *dynamic_sizes(array.shape, static)]
