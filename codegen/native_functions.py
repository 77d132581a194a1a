"""Compile Python functions over 64-bit integers to native code. The runtime is written in them.

Parameters and results are annotated. `int` is a 64-bit word and `Sequence[int]` the address of
words; a result may also be `bool`, `None` or two words. The text of a function is read from the
string `SOURCE` of its module. Its global names are looked up in that module: integers, primitives,
and other such functions, which are compiled into the same object. `//` and `%` round as in Python;
other arithmetic is modulo 2**64.
"""

from __future__ import annotations

import ast
from functools import cache, partial
from types import FunctionType
from typing import Any

import llvmlite.binding
from llvmlite import ir

from ..runtime.abi.native_code import Intrinsic, is_rare
from .kernels.code.llvm_lowering import FunctionLowering
from .scalar_ops.primitives import Primitive, primitive

_WORD = ir.IntType(64)

_TYPES: dict[str, Any] = {
    "int": _WORD,
    "bool": ir.IntType(1),
    "None": ir.VoidType(),
    "Sequence[int]": _WORD.as_pointer(),
    "tuple[int, int]": ir.LiteralStructType([_WORD, _WORD]),
}
"""The LLVM types of parameters and results, by their annotation."""

_BUILTINS = {"min": "minsi_i64", "max": "maxsi_i64"}


def function_module(function: FunctionType, name: str) -> ir.Module:
    """Return an LLVM module that defines a function as `name`, and all its callees as internal."""
    module: Any = ir.Module(name)
    llvm: Any = llvmlite.binding
    module.triple = llvm.get_process_triple()
    _Functions(module).add(function, name)
    return module


class _Functions:
    """The functions that are added to an LLVM module."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._added: dict[FunctionType, ir.Function] = {}

    def add(self, function: FunctionType, name: str) -> ir.Function:
        """Add a function and its callees to the module."""
        definition = _definitions(_source(function))[function.__name__]
        arguments = [_type(each.annotation) for each in definition.args.args]
        kind = ir.FunctionType(_type(definition.returns), arguments)
        target: Any = ir.Function(self._module, kind, name)
        target.attributes.add("nounwind")
        self._added[function] = target
        FunctionLowering(definition, target, partial(self._meaning, function)).lower()
        return target

    def _meaning(self, function: FunctionType, name: str) -> Primitive | ir.Function | int:
        """Return what a global name means in a function's module. Raises TypeError if nothing."""
        found = function.__globals__.get(name)
        if isinstance(found, Intrinsic):
            return Primitive((_WORD,) * found.argument_count, found.emit_values)
        if isinstance(found, Primitive | int):
            return found
        if isinstance(found, FunctionType):
            return self._added.get(found) or self._private(found)
        if found is None and name in _BUILTINS:
            return primitive(_BUILTINS[name])
        raise TypeError(f"native code does not define {name}")

    def _private(self, function: FunctionType) -> ir.Function:
        target: Any = self.add(function, f"{function.__module__}.{function.__name__}")
        target.linkage = "internal"
        if is_rare(function):
            target.attributes.add("cold")
            target.attributes.add("noinline")
        return target


def _source(function: FunctionType) -> str:
    return function.__globals__["SOURCE"]


@cache
def _definitions(source: str) -> dict[str, ast.FunctionDef]:
    """Return the function definitions in the text of a module."""
    body = ast.parse(source).body
    return {each.name: each for each in body if isinstance(each, ast.FunctionDef)}


def _type(annotation: ast.expr | None) -> Any:
    return _TYPES["None" if annotation is None else ast.unparse(annotation)]
