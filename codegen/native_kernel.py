"""From a kernel's text to its native code."""

from __future__ import annotations

import ast

from ..runtime.abi.native_code import Native
from .cache import compile_module
from .kernels.kernel_text import KernelText
from .kernels.llvm_lowering import kernel_module


def compile_kernel(kernel: KernelText) -> Native:
    """The native code of a kernel; two kernels of one text share it."""
    return compile_module(
        ast.dump(kernel.function), lambda name: str(kernel_module(kernel.function, name))
    )
