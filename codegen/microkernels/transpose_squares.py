"""Transpose squares of elements in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .vectors import vector_bits, vector_pointer

_WORD = ir.IntType(64)
_I32 = ir.IntType(32)


CACHE_LINE = 64
"""The size of a cache line in bytes."""


def square_of(storage_bytes: int) -> int:
    """Return the side of a square of elements: a vector of them, but at most 16."""
    return min(16, vector_bits() // (8 * storage_bytes))


def emit_transpose(storage_bytes: int, side: int = 0, height: int = 0) -> Any:
    """Return an emitter of `transpose(to, at, step, start, from, pitch)`.

    `to` and `start` are addresses, the other operands count elements. It reads a square at `start +
    from`, whose rows are `pitch` elements apart, and writes it transposed at `to + at`, with rows
    `step` elements apart. The side of the square is a power of two, by default that of `square_of`.
    With `height`, only so many rows of the square are read.
    """
    count = side or square_of(storage_bytes)
    height = height or count
    vector = ir.VectorType(ir.IntType(8 * storage_bytes), count)
    first = ir.Constant(ir.VectorType(_I32, height), list(range(height)))

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, at, step, start, taken, pitch = values
        rows = _rows_at(builder, storage_bytes, count, start, taken, pitch, height)
        rows += [ir.Constant(vector, None)] * (count - height)
        for number, each in enumerate(transposed(builder, rows)):
            value = each if height == count else builder.shuffle_vector(each, each, first)
            index = builder.add(at, builder.mul(step, ir.Constant(_WORD, number)))
            place = _vector_at(builder, storage_bytes, height, base, index)
            builder.store(value, place, storage_bytes)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def emit_stream_transpose(storage_bytes: int, side: int) -> Any:
    """Return an emitter of the same with streaming stores, for the squares below each other.

    There are as many as fill a cache line of the result. Streaming stores bypass the caches; they
    write whole aligned cache lines, one after the other, and a fence must follow.
    """
    line = CACHE_LINE // storage_bytes

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, at, step, start, taken, pitch = values
        rows = _rows_at(builder, storage_bytes, side, start, taken, pitch, line)
        squares = [
            transposed(builder, rows[first : first + side]) for first in range(0, line, side)
        ]
        for number, parts in enumerate(zip(*squares, strict=True)):
            index = builder.add(at, builder.mul(step, ir.Constant(_WORD, number)))
            for part, each in enumerate(parts):
                behind = builder.add(index, ir.Constant(_WORD, part * side))
                place = _vector_at(builder, storage_bytes, side, base, behind)
                _stream(builder, each, place, side * storage_bytes)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def emit_line(storage_bytes: int) -> Any:
    """Return an emitter of `line(to, at, start, from)`, which copies a cache line of elements."""
    return _emit_copy(storage_bytes, CACHE_LINE // storage_bytes, is_streamed=False)


def emit_stream_part(storage_bytes: int, count: int) -> Any:
    """Return an emitter of the same for `count` elements with a streaming store.

    They are aligned to their size in the result.
    """
    return _emit_copy(storage_bytes, count, is_streamed=True)


def _emit_copy(storage_bytes: int, count: int, *, is_streamed: bool) -> Any:
    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, at, start, taken = values
        source = _vector_at(builder, storage_bytes, count, start, taken)
        place = _vector_at(builder, storage_bytes, count, base, at)
        value = builder.load(source, align=storage_bytes)
        if is_streamed:
            _stream(builder, value, place, count * storage_bytes)
        else:
            builder.store(value, place, storage_bytes)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def _stream(builder: Any, value: Any, place: Any, size: int) -> None:
    """Write a vector of `size` bytes, aligned to its size, past the caches."""
    hint = builder.module.add_metadata([ir.Constant(_I32, 1)])
    builder.store(value, place, size).set_metadata("nontemporal", hint)


def _rows_at(
    builder: Any, storage_bytes: int, count: int, start: Any, first: Any, pitch: Any, rows: int
) -> list[Any]:
    """Load the first `count` elements of some rows."""
    found: list[Any] = []
    for number in range(rows):
        index = builder.add(first, builder.mul(pitch, ir.Constant(_WORD, number)))
        place = _vector_at(builder, storage_bytes, count, start, index)
        found.append(builder.load(place, align=storage_bytes))
    return found


def emit_zip(storage_bytes: int, width: int) -> Any:
    """Return an emitter of `zip(to, at, start, from, pitch)`.

    It reads vectors from `width` rows at `start + from` that are `pitch` elements apart, and writes
    them at `to + at`, the first elements of all rows, then the second ones, and so on.
    """
    count = square_of(storage_bytes)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, at, start, taken, pitch = values
        rows = _rows_at(builder, storage_bytes, count, start, taken, pitch, width)
        joined = _joined(builder, rows)
        order = [row * count + lane for lane in range(count) for row in range(width)]
        place = _vector_at(builder, storage_bytes, count * width, base, at)
        mask = ir.Constant(ir.VectorType(_I32, len(order)), order)
        builder.store(builder.shuffle_vector(joined, joined, mask), place, storage_bytes)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def emit_unzip(storage_bytes: int, width: int) -> Any:
    """Return an emitter of `unzip(to, at, step, start, from)`, which reverses `zip`."""
    count = square_of(storage_bytes)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        base, at, step, start, taken = values
        place = _vector_at(builder, storage_bytes, count * width, start, taken)
        joined = builder.load(place, align=storage_bytes)
        for number in range(width):
            order = [lane * width + number for lane in range(count)]
            mask = ir.Constant(ir.VectorType(_I32, count), order)
            index = builder.add(at, builder.mul(step, ir.Constant(_WORD, number)))
            place = _vector_at(builder, storage_bytes, count, base, index)
            builder.store(builder.shuffle_vector(joined, joined, mask), place, storage_bytes)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def _vector_at(builder: Any, storage_bytes: int, count: int, address: Any, index: Any) -> Any:
    """Return a pointer to a vector of elements that begins at an index."""
    return vector_pointer(builder, address, index, ir.IntType(8 * storage_bytes), count)


def _joined(builder: Any, rows: Sequence[Any]) -> Any:
    """Return a vector of the elements of two or three vectors, one after the other."""
    count = rows[0].type.count
    lanes = list(range(count * len(rows)))
    first = builder.shuffle_vector(
        rows[0], rows[1], ir.Constant(ir.VectorType(_I32, 2 * count), lanes[: 2 * count])
    )
    if len(rows) == 2:
        return first
    wide = ir.Constant(ir.VectorType(_I32, 2 * count), [lane % count for lane in range(2 * count)])
    second = builder.shuffle_vector(rows[2], rows[2], wide)
    return builder.shuffle_vector(
        first, second, ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
    )


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
