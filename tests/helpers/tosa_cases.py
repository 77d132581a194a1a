"""Cases of TOSA: an operation with its operands, and their elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
DTYPES: dict[str, Any] = {**FLOATS, **INTEGERS, "i1": np.bool_}
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -127.5, -128.5, 32767.5, 3e9, -1e19)


def numbers(element: str, shape: tuple[int, ...]) -> Array:
    """Numbers with special ones among them."""
    generator = np.random.default_rng(1)
    dtype = DTYPES[element]
    if element in FLOATS:
        found = np.asarray(generator.standard_normal(shape) * 3)
        found.flat[: len(SPECIAL)] = SPECIAL[: found.size]
        with np.errstate(over="ignore"):
            return found.astype(dtype)
    if element == "i1":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    found = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    found.flat[:4] = (limits.min, limits.max, 0, -1)[: found.size]
    return found


def small(element: str, shape: tuple[int, ...]) -> Array:
    """Small whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(2).integers(-9, 10, shape).astype(DTYPES[element])


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


@dataclass
class Case:
    """An operation on arguments of the function, and on constants behind them."""

    op: str
    operands: list[tuple[tuple[int, ...], str]]
    result: tuple[tuple[int, ...], str]
    attributes: str = ""
    constants: tuple[tuple[str, str], ...] = ()
    """Contents and types of constants."""

    def text(self) -> str:
        given = [f"%a{i}: {tensor(*each)}" for i, each in enumerate(self.operands)]
        names = [f"%a{i}" for i in range(len(given))] + [
            f"%c{i}" for i in range(len(self.constants))
        ]
        types = [tensor(*each) for each in self.operands] + [each for _, each in self.constants]
        lines = [
            f'  %c{i} = "tosa.const"() {{values = dense<{value}> : {kind}}} : () -> {kind}'
            for i, (value, kind) in enumerate(self.constants)
        ]
        result, attributes = tensor(*self.result), f" {{{self.attributes}}}" * bool(self.attributes)
        lines.append(
            f"  %r = tosa.{self.op} {', '.join(names)}{attributes} : ({', '.join(types)})"
            f" -> {result}"
        )
        return "\n".join(
            [
                f"func.func @main({', '.join(given)}) -> {result} {{",
                *lines,
                f"  return %r : {result}",
                "}",
            ]
        )


def zeros(element: str, *values: int) -> tuple[tuple[str, str], ...]:
    return tuple(
        (str(each) if element[0] == "i" else f"{each}.0", f"tensor<1x{element}>") for each in values
    )


SUMS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i8": "i32"}
"""The elements of sums of products, by the elements of factors."""
