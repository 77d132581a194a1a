"""The inner tile of a product in matrix registers, Intel's AMX, of `bf16` or 8-bit integers.

A matrix register has 16 rows of 64 bytes. One instruction multiplies 16 rows of the left operand by
16 columns of the right operand, both with 16 words of depth, and adds the products to a 16 x 16
block of sums. A word holds two `bf16` terms or four 8-bit terms. Four registers hold the sums of 32
rows and 32 columns, the others the operands:

            right: 6 7
    left: 4        0 1
          5        2 3

Instructions and the layout of their operands: Intel 64 and IA-32 Architectures Software Developer's
Manual, volume 1, chapter 18, and volume 2, `LDTILECFG`, `TDPBF16PS`, `TDPBSSD`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import BF16, Element
from ...runtime.abi.native_code import call_symbol
from .vectors import repeat, word

SIDE = 16
"""The rows of a register, and the words in each row."""

ROW_BYTES = 64

_BYTE = ir.IntType(8)
_POINTER = _BYTE.as_pointer()

_REGISTERS = 8
_CONFIGURATION = "amx.configuration"


def emit_matrix_tile(left: Element, right: Element) -> Any:
    """Return an emitter of `tile(left, right, result, steps)` on addresses.

    A step has 16 words of depth. `left` is `32 x (16 * steps)` words, `right` is `(16 * steps) x
    32`. `result` is set to the 32 x 32 sums.
    """
    multiply = _multiplication(left, right)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        left, right, result, steps = values
        _call(builder, "ldtilecfg", _configuration(builder.module))
        for total in range(4):
            _call(builder, "tilezero", _register(total))
        _over_steps(builder, multiply, left, right, steps)
        pitch = 2 * ROW_BYTES
        for total in range(4):
            row, column = divmod(total, 2)
            place = _at(builder, result, word(row * SIDE * pitch + column * ROW_BYTES))
            _call(builder, "tilestored64", _register(total), place, word(pitch))
        _call(builder, "tilerelease")
        return ir.Constant(ir.IntType(1), 0)

    return emit


def _multiplication(left: Element, right: Element) -> str:
    """Return the name of the instruction that multiplies two element types."""
    if left == right == BF16:
        return "tdpbf16ps"
    signs = "".join("u" if each.is_unsigned else "s" for each in (left, right))
    return f"tdpb{signs}d"


def _over_steps(builder: Any, multiply: str, left: Any, right: Any, steps: Any) -> None:
    """Emit the loop over the depth, which may be empty."""
    pitch = builder.mul(steps, word(ROW_BYTES))

    def add(step: Any) -> None:
        rows = builder.add(left, builder.mul(step, word(ROW_BYTES)))
        columns = builder.add(right, builder.mul(step, word(2 * ROW_BYTES * SIDE)))
        for number in range(2):
            place = _at(builder, columns, word(number * ROW_BYTES))
            _call(builder, "tileloadd64", _register(6 + number), place, word(2 * ROW_BYTES))
        for number in range(2):
            place = _at(builder, rows, builder.mul(pitch, word(number * SIDE)))
            _call(builder, "tileloadd64", _register(4 + number), place, pitch)
            for column in range(2):
                factors = (_register(4 + number), _register(6 + column))
                _call(builder, multiply, _register(2 * number + column), *factors)

    repeat(builder, steps, add)


def _configuration(module: Any) -> Any:
    """Return the address of a constant with the 64 bytes that configure full-size registers."""
    found: Any = module.globals.get(_CONFIGURATION)
    if found is None:
        data = bytearray(64)
        data[0] = 1
        for number in range(_REGISTERS):
            data[16 + 2 * number] = ROW_BYTES
            data[48 + number] = SIDE
        kind = ir.ArrayType(_BYTE, len(data))
        found = ir.GlobalVariable(module, kind, _CONFIGURATION)
        found.linkage, found.global_constant, found.align = "internal", True, 64
        found.initializer = ir.Constant(kind, data)
    return found.bitcast(_POINTER)


def _call(builder: Any, name: str, *operands: Any) -> None:
    call_symbol(builder, f"llvm.x86.{name}", ir.VoidType(), *operands)


def _at(builder: Any, base: Any, offset: Any) -> Any:
    return builder.inttoptr(builder.add(base, offset), _POINTER)


def _register(number: int) -> Any:
    return ir.Constant(_BYTE, number)
