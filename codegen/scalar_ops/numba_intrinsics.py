"""Primitives in functions that Numba compiles: those of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import extending, types

from .primitives import primitive as llvm_primitive


def primitive(name: str) -> Any:
    """A primitive on one 64-bit integer as a Numba intrinsic. Raises KeyError if there is none."""
    found = llvm_primitive(name)
    if found.arguments != (ir.IntType(64),) or found.result != ir.IntType(64):
        raise KeyError(name)

    def unary(typingctx: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            return found.emit(builder, list(values))

        return types.int64(types.int64), generate

    make: Any = extending.intrinsic
    return make(unary)
