"""Call functions by their addresses, and allocate memory of the C library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...runtime.abi.native_code import call_symbol

_WORD = ir.IntType(64)
_NOTHING = ir.Constant(ir.IntType(1), 0)


def emit_procedure(count: int) -> Callable[[Any, Sequence[Any]], Any]:
    """Return an emitter of `procedure(address, arguments)`, which calls a C function.

    It gets the `count` words that are stored at `arguments`. A function with fewer parameters
    ignores the rest.
    """

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        address, arguments = values
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * count)
        words = builder.inttoptr(arguments, _WORD.as_pointer())
        places = [builder.gep(words, [_WORD(number)]) for number in range(count)]
        function = builder.inttoptr(address, kind.as_pointer())
        builder.call(function, [builder.load(each) for each in places])
        return _NOTHING

    return emit


def emit_allocate(builder: Any, values: Sequence[Any]) -> Any:
    """Emit `allocate(bytes)`, which returns an aligned address, or 0 if there is no memory.

    The number of bytes is a multiple of 64.
    """
    (size,) = values
    return call_symbol(builder, "aligned_alloc", _WORD, _WORD(64), size)


def emit_free(builder: Any, values: Sequence[Any]) -> Any:
    """Emit `free(address)`."""
    call_symbol(builder, "free", ir.VoidType(), *values)
    return _NOTHING
