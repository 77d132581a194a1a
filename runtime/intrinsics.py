"""Intrinsics of the runtime's native functions: memory, atomics, locks, and calls by address.

Addresses are 64-bit integers throughout.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .abi.native_code import Intrinsic, call_symbol, source_of

SOURCE = source_of(__file__)

_I64 = ir.IntType(64)
_MADV_HUGEPAGE = 14
"""Linux's number of this advice to `madvise`."""

LARGE_BLOCK = 4 << 20
"""Bytes from which on a block is allocated with huge pages. Reading it from another process, page
by page, takes half the time; reading it in another order than its own up to a third less.
"""

LARGE_PAGE = 2 << 20
"""Bytes of a huge page, at a multiple of which it begins."""

_I8, _I16, _I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)


# Typed as Any, since native functions call intrinsics as if they were Python functions.
intrinsic: Any = Intrinsic


def _pointer(builder: Any, address: Any, pointee: Any = _I64) -> Any:
    return builder.inttoptr(address, pointee.as_pointer())


def _field(builder: Any, record: Any, field: Any) -> Any:
    return _pointer(builder, builder.add(record, builder.mul(field, _I64(8))))


@intrinsic
def load_word(builder: Any, address: Any) -> Any:
    """Load the 64-bit word at an address."""
    return builder.load(_pointer(builder, address))


@intrinsic
def store_word(builder: Any, address: Any, value: Any) -> None:
    """Store a 64-bit word at an address."""
    builder.store(value, _pointer(builder, address))


@intrinsic
def load_field(builder: Any, record: Any, field: Any) -> Any:
    """Load the word with a number of a record of words."""
    return builder.load(_field(builder, record, field))


@intrinsic
def store_field(builder: Any, record: Any, field: Any, value: Any) -> None:
    """Store the word with a number of a record of words."""
    builder.store(value, _field(builder, record, field))


@intrinsic
def atomic_load(builder: Any, address: Any) -> Any:
    """Load a word with acquire ordering."""
    return builder.load_atomic(_pointer(builder, address), "acquire", 8)


@intrinsic
def atomic_store(builder: Any, address: Any, value: Any) -> None:
    """Store a word with release ordering."""
    builder.store_atomic(value, _pointer(builder, address), "release", 8)


@intrinsic
def atomic_add(builder: Any, address: Any, value: Any) -> Any:
    """Add to a word atomically and return its old value."""
    return builder.atomic_rmw("add", _pointer(builder, address), value, "acq_rel")


@intrinsic
def atomic_exchange_if(builder: Any, address: Any, expected: Any, value: Any) -> Any:
    """Compare and exchange a word atomically; return 1 if it had the expected value, else 0."""
    place = _pointer(builder, address)
    outcome = builder.cmpxchg(place, expected, value, "acq_rel", "acquire")
    return builder.zext(builder.extract_value(outcome, 1), _I64)


@intrinsic
def copy_bytes(builder: Any, target: Any, source: Any, count: Any) -> None:
    """Copy bytes between regions that do not overlap."""
    pointer = ir.PointerType(_I8)
    kinds = [pointer, pointer, _I64, ir.IntType(1)]
    function = builder.module.declare_intrinsic(
        "llvm.memcpy", [pointer, pointer, _I64], ir.FunctionType(ir.VoidType(), kinds)
    )
    arguments = [_pointer(builder, target, _I8), _pointer(builder, source, _I8), count]
    builder.call(function, [*arguments, ir.Constant(ir.IntType(1), 0)])


@intrinsic
def clear_bytes(builder: Any, target: Any, count: Any) -> None:
    """Set bytes to zero."""
    pointer = ir.PointerType(_I8)
    flag = ir.IntType(1)
    function = builder.module.declare_intrinsic(
        "llvm.memset",
        [pointer, _I64],
        ir.FunctionType(ir.VoidType(), [pointer, _I8, _I64, flag]),
    )
    zero = ir.Constant(_I8, 0)
    builder.call(function, [_pointer(builder, target, _I8), zero, count, ir.Constant(flag, 0)])


@intrinsic
def call_kernel(
    builder: Any, address: Any, bindings: Any, constants: Any, first: Any, last: Any
) -> Any:
    """Call a kernel by its address and return its status."""
    words = _I64.as_pointer()
    kind = ir.FunctionType(_I64, [words, words, _I64, _I64])
    function = builder.inttoptr(address, kind.as_pointer())
    arguments = [_pointer(builder, bindings), _pointer(builder, constants), first, last]
    return builder.call(function, arguments)


@intrinsic
def call_function(builder: Any, address: Any, argument: Any) -> Any:
    """Call a native function of one word by its address."""
    function = builder.inttoptr(address, ir.FunctionType(_I64, [_I64]).as_pointer())
    return builder.call(function, [argument])


@intrinsic
def acquire_lock(builder: Any, lock: Any, microseconds: Any) -> Any:
    """Acquire a CPython thread lock without the GIL; a negative time waits for ever.

    Returns 1 if it was acquired, 0 after that time, 2 at a signal.
    """
    arguments = lock, microseconds, ir.Constant(_I32, 1)
    acquired = call_symbol(builder, "PyThread_acquire_lock_timed", _I32, *arguments)
    return builder.zext(acquired, _I64)


@intrinsic
def release_lock(builder: Any, lock: Any) -> None:
    """Release a CPython thread lock, from any thread."""
    call_symbol(builder, "PyThread_release_lock", ir.VoidType(), lock)


@intrinsic
def release_gil(builder: Any) -> Any:
    """Let other threads run Python; return what `acquire_gil` needs."""
    return call_symbol(builder, "PyEval_SaveThread", _I64)


@intrinsic
def acquire_gil(builder: Any, thread: Any) -> None:
    """Continue as the thread that `release_gil` has returned."""
    call_symbol(builder, "PyEval_RestoreThread", ir.VoidType(), thread)


@intrinsic
def call_library(
    builder: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any
) -> Any:
    """Call a C function of up to seven integers or pointers that returns an `int`.

    Narrower parameters are passed as words: the callee reads the low halves of the registers, and
    ignores the registers of arguments that it does not have.
    """
    kind = ir.FunctionType(_I32, [_I64] * 7)
    function = builder.inttoptr(address, kind.as_pointer())
    return builder.sext(builder.call(function, [a, b, c, d, e, f, g]), _I64)


@intrinsic
def pause(builder: Any) -> None:
    """Emit the CPU's spin-wait hint, if it has one."""
    if "x86" in builder.module.triple:
        function = builder.module.declare_intrinsic(
            "llvm.x86.sse2.pause", (), ir.FunctionType(ir.VoidType(), [])
        )
        builder.call(function, [])


@intrinsic
def sleep_shortly(builder: Any) -> None:
    """Sleep for some tens of microseconds: `usleep` of the C library."""
    call_symbol(builder, "usleep", _I32, ir.Constant(_I32, 20))


@intrinsic
def yield_processor(builder: Any) -> None:
    """Let another thread run: `sched_yield` of the C library."""
    call_symbol(builder, "sched_yield", _I32)


@intrinsic
def cycle_count(builder: Any) -> Any:
    """Read the cycle counter, whose frequency depends on the CPU."""
    kind = ir.FunctionType(_I64, [])
    function = builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind)
    return builder.call(function, [])


@intrinsic
def allocate_aligned(builder: Any, alignment: Any, size: Any) -> Any:
    """Allocate at least `size` bytes at a multiple of a power of two, or return 0."""
    # C wants a size that is a multiple of the alignment.
    last = builder.sub(alignment, ir.Constant(_I64, 1))
    whole = builder.and_(builder.add(size, last), builder.neg(alignment))
    return call_symbol(builder, "aligned_alloc", _I64, alignment, whole)


@intrinsic
def use_large_pages(builder: Any, address: Any, size: Any) -> None:
    """Ask Linux to use 2 MiB pages for newly allocated memory that is still untouched.

    Calls `madvise`, as NumPy does for arrays of 4 MiB and more.
    """
    if "linux" not in builder.module.triple:
        return
    page = ir.Constant(_I64, 4096)
    # Only whole pages can be advised, so partial pages at both ends are excluded.
    offset = builder.and_(builder.neg(address), builder.sub(page, ir.Constant(_I64, 1)))
    start, length = builder.add(address, offset), builder.sub(size, offset)
    advice = ir.Constant(_I32, _MADV_HUGEPAGE)
    call_symbol(builder, "madvise", _I32, start, length, advice)


@intrinsic
def free_memory(builder: Any, address: Any) -> None:
    """Free memory of the C library."""
    call_symbol(builder, "free", ir.VoidType(), address)


def _load(element: Any, is_signed: bool) -> Any:
    def load(builder: Any, address: Any) -> Any:
        value = builder.load(_pointer(builder, address, element), align=1)
        return (builder.sext if is_signed else builder.zext)(value, _I64)

    return intrinsic(load)


def _store(element: Any) -> Any:
    def store(builder: Any, address: Any, value: Any) -> None:
        builder.store(builder.trunc(value, element), _pointer(builder, address, element), align=1)

    return intrinsic(store)


load_i8, load_i16, load_i32 = (_load(each, True) for each in (_I8, _I16, _I32))
load_u8, load_u16, load_u32 = (_load(each, False) for each in (_I8, _I16, _I32))
store_8, store_16, store_32 = (_store(each) for each in (_I8, _I16, _I32))
"""Accesses to elements narrower than a word; loads extend by sign (`i`) or by zeros (`u`)."""


@intrinsic
def multiply_overflows(builder: Any, left: Any, right: Any) -> Any:
    """Whether a product of words overflows a signed word."""
    return builder.extract_value(builder.smul_with_overflow(left, right), 1)


@intrinsic
def add_overflows(builder: Any, left: Any, right: Any) -> Any:
    """Whether a sum of words overflows a signed word."""
    return builder.extract_value(builder.sadd_with_overflow(left, right), 1)


@intrinsic
def leading_zeros(builder: Any, value: Any) -> Any:
    """Count the leading zero bits of a word."""
    return builder.ctlz(value, ir.Constant(ir.IntType(1), 0))
