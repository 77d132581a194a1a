"""Tables of the roots of unity that Fourier transforms multiply with."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import Element
from ..scalar_ops.llvm_values import constant_table
from .vectors import stored_type

_WORD = ir.IntType(64)


def emit_roots(element: Element, length: int, radix: int) -> Any:
    """Return an emitter of `roots()`, the address of a table for a pass over a length.

    For each `k` from 1 to `radix - 1` it has the real parts of `exp(-2 pi i p k / length)` for all
    `p` less than `length / radix`, and then the imaginary parts.
    """
    kind = ir.ArrayType(stored_type(element), 2 * (radix - 1) * (length // radix))

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        name = f"roots_{element.name}_{length}_{radix}"
        table = constant_table(builder, name, kind, lambda: _roots(length, radix))
        return builder.ptrtoint(table, _WORD)

    return emit


def _roots(length: int, radix: int) -> list[float]:
    found: list[float] = []
    for k in range(1, radix):
        turns = [_turn(p * k, length) for p in range(length // radix)]
        found += [x for x, _ in turns]
        found += [-y for _, y in turns]
    return found


def _turn(step: int, length: int) -> tuple[float, float]:
    """Return the cosine and the sine of `2 pi step / length`, exact at quarters of a circle."""
    quarters, rest = divmod(4 * step, length)
    angle = pi * rest / (2 * length)
    x, y = cos(angle), sin(angle)
    return ((x, y), (-y, x), (-x, -y), (y, -x))[quarters % 4]
