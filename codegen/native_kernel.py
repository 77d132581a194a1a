"""From a kernel's text to its native code."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any, cast

from numba import types

from .cache import Native, compile_native
from .kernels.ast_builder import FLOAT_NAMES
from .kernels.kernel_text import KernelText
from .scalar_ops.numba_intrinsics import primitive

_ARGUMENTS = (
    types.CPointer(types.int64),
    types.CPointer(types.int64),
    types.int64,
    types.int64,
)
"""Addresses of the bindings, the constants, the first tile and the one after the last."""


def compile_kernel(kernel: KernelText) -> Native:
    """The native code of a kernel; two kernels of one text share it."""

    def make(name: str) -> FunctionType:
        function = ast.FunctionDef(
            name=name,
            args=kernel.function.args,
            body=kernel.function.body,
            decorator_list=[],
        )
        module = ast.fix_missing_locations(ast.Module([function], []))
        namespace: dict[str, Any] = {each: primitive(each) for each in kernel.primitives}
        namespace |= FLOAT_NAMES
        exec(compile(module, "<kernel>", "exec"), namespace)
        return cast(FunctionType, namespace[name])

    return compile_native(ast.dump(kernel.function), make, _ARGUMENTS, types.int64)
