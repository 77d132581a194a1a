"""Transpose squares of elements in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .vectors import vector_bits

_WORD = ir.IntType(64)
_I32 = ir.IntType(32)


CACHE_LINE = 64
"""The size of a cache line in bytes."""


def square_of(storage_bytes: int) -> int:
    """Return the side of a square of elements: a vector of them, but at most 16."""
    return min(16, vector_bits() // (8 * storage_bytes))


def emit_transpose(storage_bytes: int, height: int = 0, *, is_streamed: bool = False) -> Any:
    """Return an emitter of `transpose(to, at, step, start, from, pitch)`.

    `to` and `start` are addresses, the other operands count elements. It reads a square at `start +
    from`, whose rows are `pitch` elements apart, and writes it transposed at `to + at`, with rows
    `step` elements apart. With `height`, it reads only so many rows of the square. Streaming stores
    bypass the caches; they write whole aligned cache lines, and a fence must follow.
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
    """Return the columns of a square: swap blocks across the diagonal, from large to small."""
    count = len(rows)
    mask = ir.VectorType(_I32, count)
    size = count // 2
    while size:
        lanes = range(count)
        # For rows i and i + size: the lanes that stay, and those from the other side of the
        # diagonal.
        upper = [lane if not lane & size else count + lane - size for lane in lanes]
        lower = [lane + size if not lane & size else count + lane for lane in lanes]
        for number in range(count):
            if not number & size:
                pair = rows[number], rows[number + size]
                rows[number] = builder.shuffle_vector(*pair, ir.Constant(mask, upper))
                rows[number + size] = builder.shuffle_vector(*pair, ir.Constant(mask, lower))
        size //= 2
    return rows
