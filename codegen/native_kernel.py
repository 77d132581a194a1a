"""From a kernel's text to its native code."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..runtime.abi.native_code import Native
from .cache import Module, compile_modules
from .kernels.kernel_text import KernelText
from .kernels.llvm_lowering import kernel_module


def compile_kernel(kernel: KernelText) -> Native:
    """The native code of a kernel; two kernels of one text share it."""
    return compile_kernels([kernel])[0]


def compile_kernels(kernels: Sequence[KernelText]) -> list[Native]:
    """The native code of kernels, which are compiled side by side."""
    return compile_modules([_module(each.function) for each in kernels])


def _module(function: ast.FunctionDef) -> Module:
    return Module(ast.dump(function), lambda name: str(kernel_module(function, name)))
