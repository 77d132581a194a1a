"""Inline kernels that compute one element as instructions, which take less time than a call."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ...runtime.abi.elements import element_by_name
from ...runtime.host.builder import Builder
from ...runtime.host.entry import word_of
from ...runtime.host.instructions import SCALARS
from ...runtime.host.program import Register
from ..kernels.elements.kernel_text import KernelText

MAX_INSTRUCTIONS = 8
"""The most instructions of a kernel that is inlined."""

ELEMENTS = frozenset(("i1", "i8", "i16", "i32", "i64", "f32", "f64"))
"""Elements that have the same bits in registers and in memory."""


class _NotSmall(Exception):
    """The kernel does more than to compute one element."""


class _Steps:
    """The instructions of a kernel; operands are names of its variables."""

    def __init__(self, text: KernelText) -> None:
        self.known: dict[str, int] = {"first": 0, "last": 1}
        self.constants: dict[str, int] = {}
        self.bindings: dict[str, int] = {}
        self.steps: list[tuple[str, str, Sequence[str]]] = []
        """Result, instruction and operands; `load_f32` and `store_f32` are instructions here."""
        for statement in text.function.body[:-1]:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign([ast.Name(name)], value):
                self._assign(name, value)
            case ast.Expr(ast.Call(ast.Name(name), [ast.Name(base), place, value])):
                kind, element, _ = _parts(name, "store", 3)
                if self._number(place) != 0:
                    raise _NotSmall
                self._step("", f"{kind}_{element}", (base, self._variable(value)))
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [start, stop]), body):
                self.known[name] = self._number(start)
                if self._number(stop) - self._number(start) != 1:
                    raise _NotSmall
                for each in body:
                    self._statement(each)
            case _:
                raise _NotSmall

    def _assign(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Subscript(ast.Name("bindings"), ast.Constant(int(position))):
                self.bindings[name] = position
            case ast.Call(ast.Name("minsi_i64"), [left, right]):
                self.known[name] = min(self._number(left), self._number(right))
            case ast.Call(ast.Name(called), [ast.Constant(int() | float() as constant)]) if (
                called.startswith("as_")
            ):
                _, element = _parts(called, "as", 2)
                dtype = element_by_name(element).dtype
                self.constants[name] = word_of(np.array(constant).astype(dtype))
            case ast.Call(ast.Name(called), [ast.Name(base), place]) if called.startswith("load_"):
                kind, element, _ = _parts(called, "load", 3)
                if self._number(place) != 0:
                    raise _NotSmall
                self._step(name, f"{kind}_{element}", (base,))
            case ast.Call(ast.Name(called), operands) if called in SCALARS:
                self._step(name, called, [self._variable(each) for each in operands])
            case _:
                self.known[name] = self._number(value)

    def _step(self, result: str, name: str, operands: Sequence[str]) -> None:
        if len(self.steps) == MAX_INSTRUCTIONS:
            raise _NotSmall
        self.steps.append((result, name, operands))

    def _variable(self, expression: ast.expr) -> str:
        if not isinstance(expression, ast.Name) or expression.id in self.known:
            raise _NotSmall
        return expression.id

    def _number(self, expression: ast.expr) -> int:
        match expression:
            case ast.Constant(int(number)):
                return number
            case ast.Name(name) if name in self.known:
                return self.known[name]
            case ast.BinOp(left, ast.Add(), right):
                return self._number(left) + self._number(right)
            case ast.BinOp(left, ast.Mult(), right):
                return self._number(left) * self._number(right)
            case _:
                raise _NotSmall


def _parts(name: str, kind: str, count: int) -> list[str]:
    """Split the name of a primitive, whose second part is an element."""
    parts = name.split("_")
    if parts[0] != kind or len(parts) != count or parts[1] not in ELEMENTS:
        raise _NotSmall
    return parts


def write_small_kernel(builder: Builder, text: KernelText, bindings: Sequence[Register]) -> bool:
    """Inline a kernel on some addresses if it only computes one element; return whether it does."""
    if text.constants or text.failures or text.tiles.evaluate(builder, ()) != 1:
        return False
    try:
        found = _Steps(text)
    except _NotSmall:
        return False
    registers = {name: builder.constant(word) for name, word in found.constants.items()}
    registers |= {name: bindings[position] for name, position in found.bindings.items()}
    for result, name, operands in found.steps:
        values = [registers[each] for each in operands]
        kind, _, element = name.partition("_")
        if kind == "load":
            registers[result] = builder.load_element(values[0], element_by_name(element).dtype)
        elif kind == "store":
            builder.store_element(values[0], values[1], element_by_name(element).dtype)
        else:
            registers[result] = builder.compute(name, *values)
    return True
