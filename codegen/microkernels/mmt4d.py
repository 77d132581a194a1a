"""The inner tile of `linalg.mmt4d` as LLVM vector IR, for any tile size and element types.

A tile multiplies `depth x M0 x K0` by `depth x N0 x K0`, in the memory layout of mmt4d's operands.
The pairs `(n, k0)` of a step are the lanes of vectors. Sums over `k0` therefore stay in separate
lanes until the end, and the caller adds up `K0` neighbours. Operands are widened when they are
loaded. Pairs of integers of at most 16 bits are multiplied and added by one instruction if the CPU
has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import F32, F64, Element, integer_element
from ..scalar_ops.llvm_values import register_type
from .vectors import accumulate, dot, load_vector, multiply_add, repeat, vector_bits, word

_I32 = ir.IntType(32)

INTEGERS = tuple(integer_element(width) for width in (8, 16, 32, 64))
"""Integers whose storage has no spare bits."""


@dataclass(frozen=True, slots=True)
class Mmt4dTile:
    """A tile of `rows x columns x depth` elements (mmt4d's M0, N0 and K0) and its element types."""

    left: Element
    right: Element
    total: Element
    rows: int
    columns: int
    depth: int

    @property
    def primitive(self) -> str:
        """The name of the primitive `tile(left, right, result, steps)` on addresses.

        The result is `rows x columns x parts`; the caller adds up the last dimension.
        """
        types = f"{self.left.name}_{self.right.name}_{self.total.name}"
        return f"tile_{types}_{self.rows}_{self.columns}_{self.depth}"

    @property
    def is_paired(self) -> bool:
        """Whether two terms of narrow integers are multiplied and added at once."""
        narrow = all(not each.is_float and each.width <= 16 for each in (self.left, self.right))
        return narrow and self.total == INTEGERS[2] and self.depth % 2 == 0

    @property
    def parts(self) -> int:
        """The partial sums of each element that the caller adds up."""
        return self.depth // 2 if self.is_paired else self.depth

    @property
    def lanes(self) -> int:
        """The sums in one vector: as many as fit a register and divide a row."""
        row = self.columns * self.parts
        return min(row & -row, vector_bits() // self.total.width)

    @property
    def fills_vectors(self) -> bool:
        """Whether sums fill this CPU's vectors, enough of them to hide the additions' latency."""
        vectors = self.columns * self.parts // self.lanes
        full = self.lanes * self.total.width == vector_bits()
        return full and self.rows * vectors >= MIN_SUMS

    @property
    def is_supported(self) -> bool:
        """Whether there is vector code for the tile."""
        parts = (self.left, self.right)
        power = self.depth > 0 and self.depth & (self.depth - 1) == 0
        if (
            not power
            or min(self.rows, self.columns) < 1
            or self.rows * self.lanes > MAX_COLUMN_LANES
        ):
            return False
        if self.total in (F32, F64):
            return all(each.is_float and each.width <= self.total.width for each in parts)
        if self.total not in INTEGERS:
            return False
        return all(each in INTEGERS and each.width <= self.total.width for each in parts)


MIN_SUMS = 8
"""The additions in flight on current CPUs: a latency of four cycles, two per cycle."""

MAX_UNROLLED_BLOCKS = 4
"""The most blocks of a tile that are unrolled; beyond that, a loop runs over them."""

MAX_COLUMN_LANES = 4096
"""The most lanes in one column of vectors, beyond which the code of a tile gets too long."""


def blocks(tile: Mmt4dTile) -> list[tuple[range, range]]:
    """Cut a tile into blocks of rows and vectors whose sums fit in registers.

    A step of a block loads `rows + vectors` operands for `rows * vectors` multiplications.
    """
    registers = 24 if vector_bits() == 512 else 12
    vectors = tile.columns * tile.parts // tile.lanes
    fitting = [
        (rows * count / (rows + count), rows, count)
        for rows in range(1, min(tile.rows, registers) + 1)
        for count in range(1, min(vectors, registers) + 1)
        if rows * count <= registers
    ]
    _, height, width = max(fitting)
    if tile.rows * vectors > MAX_UNROLLED_BLOCKS * registers:
        # A loop needs equal blocks; a remainder would be code of its own.
        even = [each for each in fitting if _is_even(tile, vectors, *each[1:])]
        if even:
            _, height, width = max(even)
    # Equal parts leave no small remainder.
    height = -(-tile.rows // -(-tile.rows // height))
    width = -(-vectors // -(-vectors // width))
    return [
        (range(row, min(row + height, tile.rows)), range(part, min(part + width, vectors)))
        for row, part in product(range(0, tile.rows, height), range(0, vectors, width))
    ]


def _is_even(tile: Mmt4dTile, vectors: int, rows: int, count: int) -> bool:
    """Return whether blocks of a size cover a tile, and begin at rows of the left operand."""
    begins = count * tile.lanes * tile.depth // tile.parts % tile.depth == 0
    return tile.rows % rows == 0 and vectors % count == 0 and begins


def emit_mmt4d_tile(tile: Mmt4dTile) -> Any:
    """Return an emitter of the tile's primitive."""
    scalar = register_type(tile.total)
    vector = ir.VectorType(scalar, tile.lanes)
    vectors = tile.columns * tile.parts // tile.lanes
    cut = blocks(tile)
    rows, parts = cut[0]
    is_even = _is_even(tile, vectors, len(rows), len(parts))

    def emit_block(builder: Any, values: Sequence[Any], rows: range, parts: range) -> None:
        left, right, result, steps = values
        sums = _emit_block(builder, tile, vector, (left, right, steps), rows, parts)
        target = builder.inttoptr(result, vector.as_pointer())
        for (row, part), total in zip(product(rows, parts), sums, strict=True):
            place = builder.gep(target, [word(row * vectors + part)])
            builder.store(total, place, tile.total.storage_bytes)

    def emit_numbered(builder: Any, values: Sequence[Any], number: Any) -> None:
        """Emit the block with a number known at run time; blocks differ in where they begin."""
        left, right, result, steps = values
        across = word(vectors // len(parts))
        row = builder.mul(builder.udiv(number, across), word(len(rows)))
        part = builder.mul(builder.urem(number, across), word(len(parts)))
        width = tile.lanes * tile.depth // tile.parts
        moved = (
            (left, row, tile.depth * tile.left.storage_bytes),
            (right, part, width * tile.right.storage_bytes),
            (result, row, vectors * tile.lanes * tile.total.storage_bytes),
        )
        left, right, result = (
            builder.add(base, builder.mul(index, word(size))) for base, index, size in moved
        )
        offset = builder.mul(part, word(tile.lanes * tile.total.storage_bytes))
        emit_block(builder, (left, right, builder.add(result, offset), steps), rows, parts)

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        if len(cut) <= MAX_UNROLLED_BLOCKS or not is_even:
            for each in cut:
                emit_block(builder, values, *each)
        else:
            repeat(builder, word(len(cut)), partial(emit_numbered, builder, values))
        return ir.Constant(ir.IntType(1), 0)

    return emit


def _emit_block(
    builder: Any,
    tile: Mmt4dTile,
    vector: Any,
    operands: tuple[Any, Any, Any],
    rows: range,
    parts: range,
) -> list[Any]:
    """Emit the loop over all steps; return the sums of each row and vector."""
    left, right, steps = operands
    held = INTEGERS[1] if tile.is_paired else tile.total
    combine = dot if tile.is_paired else multiply_add
    width = tile.lanes * tile.depth // tile.parts

    def load(base: Any, start: Any, offset: int, element: Element, count: int) -> Any:
        return load_vector(builder, base, builder.add(start, word(offset)), element, held, count)

    def add(step: Any, sums: list[Any]) -> list[Any]:
        left_start = builder.mul(step, word(tile.rows * tile.depth))
        right_start = builder.mul(step, word(tile.columns * tile.depth))
        columns = {
            part: load(right, right_start, part * width, tile.right, width) for part in parts
        }
        added: list[Any] = []
        remaining = iter(sums)
        for row in rows:
            factors: dict[int, Any] = {}
            for part in parts:
                chunk = part * width % tile.depth
                if chunk not in factors:
                    at = row * tile.depth + chunk
                    piece = load(left, left_start, at, tile.left, min(tile.depth, width))
                    factors[chunk] = _repeated(builder, piece, width)
                added.append(combine(builder, factors[chunk], columns[part], next(remaining)))
        return added

    return accumulate(builder, steps, vector, len(rows) * len(parts), add)


def _repeated(builder: Any, part: Any, lanes: int) -> Any:
    """Repeat the part of a left row that is multiplied with a vector of the right operand."""
    count = part.type.count
    if count == lanes:
        return part
    order = [lane % count for lane in range(lanes)]
    return builder.shuffle_vector(part, part, ir.Constant(ir.VectorType(_I32, lanes), order))
