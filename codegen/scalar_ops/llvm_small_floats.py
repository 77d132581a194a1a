"""Floats of at most 8 bits in LLVM IR: tables of their values, and of how `bf16` rounds to them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from llvmlite import ir

from ...runtime.abi.elements import Element

_I8, _I16, _I32 = (ir.IntType(width) for width in (8, 16, 32))


def small_to_float(builder: Any, stored: Any, element: Element) -> Any:
    """Return the value of a stored element as `f32`."""
    values = np.arange(256, dtype=np.uint8).view(element.dtype).astype(np.float32)
    bits = _entry(builder, f"values_{element.name}", _I32, values.view(np.uint32), stored)
    return builder.bitcast(bits, ir.FloatType())


def float_to_small(builder: Any, value: Any, element: Element) -> Any:
    """Round an `f32` to the nearest element, ties to even; return it as it is stored.

    The `f32` is rounded to `bf16` "to odd" first: the last bit is set if bits were lost. `bf16` has
    so many more bits that both roundings together equal one.
    """
    numbers = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    with np.errstate(all="ignore"):
        rounded = numbers.astype(element.dtype).view(np.uint8)
    bits = builder.bitcast(value, _I32)
    is_cut = builder.icmp_unsigned("!=", builder.trunc(bits, _I16), ir.Constant(_I16, 0))
    high = builder.trunc(builder.lshr(bits, ir.Constant(_I32, 16)), _I16)
    number = builder.or_(high, builder.zext(is_cut, _I16))
    return _entry(builder, f"rounded_{element.name}", _I8, rounded, number)


def _entry(builder: Any, name: str, kind: ir.IntType, entries: Any, number: Any) -> Any:
    """Load the entry with a number from a table, which a module has once."""
    module = builder.module
    table: Any = module.globals.get(name)
    if table is None:
        array = ir.ArrayType(kind, entries.size)
        table = ir.GlobalVariable(module, array, name)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(array, entries.tolist())
    index = builder.zext(number, _I32)
    return builder.load(builder.gep(table, [ir.Constant(_I32, 0), index]))
