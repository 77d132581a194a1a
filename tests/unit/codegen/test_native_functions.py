"""Python functions over words become native code that computes the same."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import llvmlite.binding
import numpy as np
import pytest
from mesh_opt.codegen.cache import compile_functions
from mesh_opt.runtime.abi.native_code import (
    LIBRARIES_OF_LINKER,
    Native,
    load_object,
    source_of,
    target_machine,
)

SOURCE = source_of(__file__)

LIMIT, LEAST = 7, -7
WORDS = [-(2**63), -(2**40), -13, -7, -3, -1, 0, 1, 2, 3, 7, 8, 13, 64, 2**40, 2**63 - 1]


def limit() -> int:
    return LIMIT


def shifted_limit(left: int, right: int) -> int:
    return limit() + left + right


def divide(left: int, right: int) -> int:
    return left // right


def remainder(left: int, right: int) -> int:
    return left % right


def bits(left: int, right: int) -> int:
    shift = right & 31
    return (left & right | 5) + (left >> shift) - (3 << shift)


def compare(left: int, right: int) -> int:
    found = 0
    if LEAST <= left < right:
        found += 1
    if left in (1, LIMIT, right):
        found += 2
    if left not in (0, -1) and not left > right:
        found += 4
    if (left != 0 and right % left == 0) or right == LIMIT:
        found += 8
    return found + (16 if left <= right else 32)


def branch(left: int, right: int) -> int:
    is_small = False
    if left == 1:
        found = 10
    elif left == 2 and right > 2:
        return -1
    elif left >= LIMIT:
        found = min(left, right)
    else:
        is_small = True
        found = max(left, right)
    if is_small:
        found -= 1
    return found


def ordered(left: int, right: int) -> tuple[int, int]:
    if left < right:
        return left, right
    return right, left


def is_large(value: int) -> bool:
    return value > LIMIT


def greatest_divisor(left: int, right: int) -> int:
    small, large = ordered(left & 1023, right & 1023)
    while small > 0:
        small, large = large % small, small
    if is_large(large):
        large += 1
    return large


def sums(left: int, right: int) -> int:
    total = 0
    for number in range(left & 15):
        for other in range(number, right & 15, 3):
            total = 3 * total + other
    for _ in range(5, left & 7):
        total += 1
    return total


def overwritten(left: int, right: int) -> int:
    left += 1
    left, right = right, left
    while True:
        left -= 1
        if left & 3 == 0:
            return left ^ right


def words(source: Sequence[int], count: int) -> int:
    total = 0
    for number in range(count):
        total += source[number]
    return total


def nothing(left: int, right: int) -> None:
    if left == right:
        return
    divide(left, right)


def unknown(left: int, right: int) -> int:
    return left + missing  # noqa: F821  # pyright: ignore


def callable_of(native: Native, arguments: int = 2) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(*[ctypes.c_int64] * (arguments + 1))(native.address)


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


FUNCTIONS = [divide, remainder, bits, compare, branch, greatest_divisor, sums, overwritten]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_native_code_computes_what_python_does(function: FunctionType) -> None:
    (native,) = compile_functions([function])
    call = callable_of(native)
    for left, right in itertools.product(WORDS, WORDS):
        if function in (divide, remainder) and right == 0:
            # Undefined, but the process goes on.
            call(left, right)
        else:
            assert call(left, right) == wrapped(function(left, right)), (left, right)


def test_addresses_of_words_are_sequences() -> None:
    array = np.array([3, -5, 2**62], np.int64)
    (native,) = compile_functions([words])
    assert callable_of(native)(array.ctypes.data, 3) == 2**62 - 2


def test_another_value_of_a_number_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number may come from another module, so the function's own text does not say it."""
    assert callable_of(compile_functions([shifted_limit])[0])(1, 2) == 10
    monkeypatch.setitem(globals(), "LIMIT", 8)
    assert callable_of(compile_functions([shifted_limit])[0])(1, 2) == 11


def test_a_function_may_have_no_result() -> None:
    (native,) = compile_functions([nothing])
    callable_of(native)(1, 2)


def test_an_undefined_name_is_refused() -> None:
    unknown_function: Any = unknown
    with pytest.raises(TypeError, match="does not define missing"):
        compile_functions([unknown_function])


class MallocInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="asks glibc")
def test_dropped_code_gives_all_its_memory_back() -> None:
    """Also the 9 KiB that a JIT keeps of each library."""
    llvm: Any = llvmlite.binding
    module = llvm.parse_assembly("define i64 @f(i64 %x) { ret i64 %x }")
    image = target_machine().emit_object(module)
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = MallocInfo
    used: list[int] = []
    for _ in range(2):
        for _ in range(2 * LIBRARIES_OF_LINKER):
            load_object("f", image)
        gc.collect()
        used.append(mallinfo().uordblks)
    assert used[1] - used[0] < LIBRARIES_OF_LINKER << 10
