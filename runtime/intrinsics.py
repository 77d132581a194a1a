"""Memory, atomics and calls by address for the runtime's native functions.

Addresses are 64-bit integers throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import extending, types

from ..codegen.cache import source_of

intrinsic: Any = extending.intrinsic
"""Untyped: a declaration has the typing context as its first parameter, a call has not."""

SOURCE = source_of(__file__)

_I64 = ir.IntType(64)
_I8 = ir.IntType(8)


def _pointer(builder: Any, address: Any, pointee: Any = _I64) -> Any:
    return builder.inttoptr(address, pointee.as_pointer())


@intrinsic
def load_word(typingctx: Any, address: Any) -> Any:
    """The 64-bit word at an address."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return builder.load(_pointer(builder, values[0]))

    return types.int64(types.int64), generate


@intrinsic
def store_word(typingctx: Any, address: Any, value: Any) -> Any:
    """Set the 64-bit word at an address."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        builder.store(values[1], _pointer(builder, values[0]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def atomic_load(typingctx: Any, address: Any) -> Any:
    """Read a word; what others wrote before they released it is visible afterwards."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return builder.load_atomic(_pointer(builder, values[0]), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def atomic_store(typingctx: Any, address: Any, value: Any) -> Any:
    """Release a word: what was written before is visible to who acquires it."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        builder.store_atomic(values[1], _pointer(builder, values[0]), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def atomic_add(typingctx: Any, address: Any, value: Any) -> Any:
    """Add to a word and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return builder.atomic_rmw("add", _pointer(builder, values[0]), values[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def copy_bytes(typingctx: Any, target: Any, source: Any, count: Any) -> Any:
    """Copy bytes between places that do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        pointer = ir.PointerType(_I8)
        kinds = [pointer, pointer, _I64, ir.IntType(1)]
        function = builder.module.declare_intrinsic(
            "llvm.memcpy", [pointer, pointer, _I64], ir.FunctionType(ir.VoidType(), kinds)
        )
        target, source, count = values
        arguments = [_pointer(builder, target, _I8), _pointer(builder, source, _I8), count]
        builder.call(function, [*arguments, ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def clear_bytes(typingctx: Any, target: Any, count: Any) -> Any:
    """Set bytes to zero."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        pointer = ir.PointerType(_I8)
        flag = ir.IntType(1)
        function = builder.module.declare_intrinsic(
            "llvm.memset",
            [pointer, _I64],
            ir.FunctionType(ir.VoidType(), [pointer, _I8, _I64, flag]),
        )
        zero = ir.Constant(_I8, 0)
        arguments = [_pointer(builder, values[0], _I8), zero, values[1], ir.Constant(flag, 0)]
        builder.call(function, arguments)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def call_kernel(
    typingctx: Any, function: Any, bindings: Any, constants: Any, first: Any, last: Any
) -> Any:
    """Call a kernel by its address; returns its status."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        address, bindings, constants, first, last = values
        words = _I64.as_pointer()
        kind = ir.FunctionType(_I64, [words, words, _I64, _I64])
        function = builder.inttoptr(address, kind.as_pointer())
        arguments = [_pointer(builder, bindings), _pointer(builder, constants), first, last]
        return builder.call(function, arguments)

    return types.int64(*[types.int64] * 5), generate


@intrinsic
def pause(typingctx: Any) -> Any:
    """Tell the processor that this is a waiting loop, where it has a way to be told."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        if "x86" in builder.module.triple:
            function = builder.module.declare_intrinsic(
                "llvm.x86.sse2.pause", (), ir.FunctionType(ir.VoidType(), [])
            )
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def yield_processor(typingctx: Any) -> Any:
    """Let another thread run: `sched_yield` of the C library."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        function = builder.module.globals.get("sched_yield")
        if function is None:
            kind = ir.FunctionType(ir.IntType(32), [])
            function = ir.Function(builder.module, kind, "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def sleep_shortly(typingctx: Any) -> Any:
    """Let this thread sleep for some tens of microseconds: `usleep` of the C library."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        function = builder.module.globals.get("usleep")
        if function is None:
            kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)])
            function = ir.Function(builder.module, kind, "usleep")
        builder.call(function, [ir.Constant(ir.IntType(32), 20)])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def cycle_count(typingctx: Any) -> Any:
    """A clock that is quick to read; how fast it goes depends on the processor."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        kind = ir.FunctionType(_I64, [])
        function = builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind)
        return builder.call(function, [])

    return types.int64(), generate


@intrinsic
def allocate_aligned(typingctx: Any, size: Any) -> Any:
    """Memory of the C library at a multiple of 64 bytes, or 0; the size is such a multiple."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        function = builder.module.globals.get("aligned_alloc")
        if function is None:
            kind = ir.FunctionType(_I64, [_I64, _I64])
            function = ir.Function(builder.module, kind, "aligned_alloc")
        return builder.call(function, [ir.Constant(_I64, 64), values[0]])

    return types.int64(types.int64), generate


def _load(element: Any, is_signed: bool) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            value = builder.load(_pointer(builder, values[0], element), align=1)
            return (builder.sext if is_signed else builder.zext)(value, _I64)

        return types.int64(types.int64), generate

    return load


def _store(element: Any) -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            narrow = builder.trunc(values[1], element)
            builder.store(narrow, _pointer(builder, values[0], element), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


_I16, _I32 = ir.IntType(16), ir.IntType(32)
load_i8, load_i16, load_i32 = (_load(each, True) for each in (_I8, _I16, _I32))
load_u8, load_u16, load_u32 = (_load(each, False) for each in (_I8, _I16, _I32))
store_8, store_16, store_32 = (_store(each) for each in (_I8, _I16, _I32))
"""Elements of fewer bits than a word, extended by their sign or with zeros."""


@intrinsic
def multiply_overflows(typingctx: Any, left: Any, right: Any) -> Any:
    """Whether a product of words is beyond a word."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return builder.extract_value(builder.smul_with_overflow(values[0], values[1]), 1)

    return types.boolean(types.int64, types.int64), generate


@intrinsic
def add_overflows(typingctx: Any, left: Any, right: Any) -> Any:
    """Whether a sum of words is beyond a word."""

    def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return builder.extract_value(builder.sadd_with_overflow(values[0], values[1]), 1)

    return types.boolean(types.int64, types.int64), generate
