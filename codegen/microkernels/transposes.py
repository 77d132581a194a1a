"""Squares of elements, transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .vectors import vector_bits

_WORD = ir.IntType(64)
_I32 = ir.IntType(32)


CACHE_LINE = 64
"""Bytes."""


def square_of(storage_bytes: int) -> int:
    """The side of a square of elements of some bytes: a vector of at most 16 of them."""
    return min(16, vector_bits() // (8 * storage_bytes))


def emit_transpose(storage_bytes: int, height: int = 0, *, is_streamed: bool = False) -> Any:
    """An emitter of `transpose(to, at, step, start, from, pitch)`.

    It reads a square at `start + from`, whose rows are `pitch` elements apart, and writes it
    transposed at `to + at`, with rows `step` elements apart; or so many rows of one. What is
    streamed goes to memory past the caches, in whole lines that begin where lines do; a fence must
    follow.
    """
    count = square_of(storage_bytes)
    height = height or count
    kind = ir.IntType(8 * storage_bytes)
    vector = ir.VectorType(kind, count)
    first = ir.Constant(ir.VectorType(_I32, height), list(range(height)))

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, at, step, start, taken, pitch = values

        def row(address: Any, first: Any, stride: Any, number: int, length: int) -> Any:
            index = builder.add(first, builder.mul(stride, ir.Constant(_WORD, number)))
            place = builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])
            return builder.bitcast(place, ir.VectorType(kind, length).as_pointer())

        rows: list[Any] = [
            builder.load(row(start, taken, pitch, number, count), align=storage_bytes)
            for number in range(height)
        ]
        rows += [ir.Constant(vector, None)] * (count - height)
        for number, each in enumerate(transposed(builder, rows)):
            value = each if height == count else builder.shuffle_vector(each, each, first)
            place = row(base, at, step, number, height)
            if is_streamed:
                hint = builder.module.add_metadata([ir.Constant(_I32, 1)])
                builder.store(value, place, CACHE_LINE).set_metadata("nontemporal", hint)
            else:
                builder.store(value, place, storage_bytes)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of a square; blocks are exchanged across the diagonal, from large to small."""
    count = len(rows)
    mask = ir.VectorType(_I32, count)
    size = count // 2
    while size:
        lanes = range(count)
        # Of rows i and i + size: what stays, and what comes from the other side of the diagonal.
        upper = [lane if not lane & size else count + lane - size for lane in lanes]
        lower = [lane + size if not lane & size else count + lane for lane in lanes]
        for number in range(count):
            if not number & size:
                pair = rows[number], rows[number + size]
                rows[number] = builder.shuffle_vector(*pair, ir.Constant(mask, upper))
                rows[number + size] = builder.shuffle_vector(*pair, ir.Constant(mask, lower))
        size //= 2
    return rows
