"""The inner tile of a matrix product as LLVM vector IR: all accumulators stay in registers.

A tile multiplies `rows x depth` by `depth x columns`, both packed so that one step of the depth
reads `rows` and `columns` elements in a row (as `linalg.mmt4d` with an inner depth of one). Its
size follows from the vector registers of the CPU: 12 x 32 floats fill 24 of AVX-512's 32
registers and leave the rest for operands.

Sums of integers are of pairs: a step multiplies two terms of 16 bits each, which lie next to each
other, and adds them up. Products of narrow integers are exact so. Where the CPU has matrix
registers, they multiply `bf16` and 8-bit integers (`amx.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...ir.index_folding import FoldingIndices, V
from ...runtime.abi.elements import BF16, F32, Element, integer_element
from ..scalar_ops.llvm_values import register_type
from . import amx
from .vectors import accumulate, cpu_has, dot, multiply_add, splat, vector_bits


@dataclass(frozen=True, slots=True)
class Tile:
    """The size of a tile, and how its panels are packed.

    - `lanes`: the elements of one vector register;
    - `terms`: those of a sum that one word of a panel holds;
    - `step`: the words of depth that are multiplied at once. If there are several, left panels
      lie row by row.
    """

    rows: int
    columns: int
    lanes: int
    terms: int = 1
    step: int = 1

    def steps(self, indices: FoldingIndices[V], depth: int | V) -> int | V:
        """How many steps a depth takes, the last one filled up with zeros."""
        return indices.ceiling_divide(depth, self.terms * self.step)

    def words(self, indices: FoldingIndices[V], depth: int | V) -> int | V:
        """The words of depth of a panel."""
        return indices.multiply(self.steps(indices, depth), self.step)


def tile_of(element: Element) -> Tile:
    """The tile for sums in `f32`, `f64` or `i32` of terms as wide, or of pairs, on this CPU."""
    bits = vector_bits()
    lanes = bits // element.width
    rows = 12 if bits == 512 else 6
    return Tile(rows, 2 * lanes, lanes, terms=1 if element.is_float else 2)


def tile_of_product(left: Element, right: Element, total: Element) -> Tile:
    """The tile for products of elements of two kinds."""
    both = (left, right)
    if left == right == BF16 and total == F32 and cpu_has("amx-bf16"):
        return Tile(2 * amx.SIDE, 2 * amx.SIDE, amx.SIDE, terms=2, step=amx.SIDE)
    is_narrow = all(not each.is_float and each.width == 8 for each in both)
    if is_narrow and total == integer_element(32) and cpu_has("amx-int8"):
        return Tile(2 * amx.SIDE, 2 * amx.SIDE, amx.SIDE, terms=4, step=amx.SIDE)
    return tile_of(total)


def emit_tile(element: Element, rows: int, columns: int) -> Any:
    """An emitter of `tile(left, right, result, depth)` on addresses.

    `left` is `depth x rows`, `right` is `depth x columns` and `result` gets `rows x columns`, all
    packed; `right` and `result` begin at a multiple of a vector. For integers `depth` counts pairs.
    """
    lanes = tile_of(element).lanes
    vector = ir.VectorType(register_type(element), lanes)
    word = ir.IntType(64)
    alignment = lanes * element.width // 8
    parts = columns // lanes

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        left, right, result, depth = values

        def add(step: Any, sums: list[Any]) -> list[Any]:
            return _one_step(builder, (left, right, step), sums, (rows, parts), vector)

        totals = accumulate(builder, depth, vector, rows * parts, add)
        target = builder.inttoptr(result, vector.as_pointer())
        for number, total in enumerate(totals):
            builder.store(total, builder.gep(target, [ir.Constant(word, number)]), alignment)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def _one_step(
    builder: Any,
    operands: tuple[Any, Any, Any],
    sums: Sequence[Any],
    size: tuple[int, int],
    vector: Any,
) -> list[Any]:
    """The accumulators after one more step of the depth."""
    left, right, step = operands
    rows, parts = size
    word = ir.IntType(64)
    lanes = vector.count
    alignment = lanes * (8 if isinstance(vector.element, ir.DoubleType) else 4)
    combine = dot if isinstance(vector.element, ir.IntType) else multiply_add
    lefts = builder.inttoptr(left, vector.element.as_pointer())
    rights = builder.inttoptr(right, vector.as_pointer())
    first_right = builder.mul(step, ir.Constant(word, parts))
    first_left = builder.mul(step, ir.Constant(word, rows))
    columns: list[Any] = []
    for part in range(parts):
        place = builder.gep(rights, [builder.add(first_right, ir.Constant(word, part))])
        columns.append(builder.load(place, align=alignment))
    result: list[Any] = []
    for row in range(rows):
        place = builder.gep(lefts, [builder.add(first_left, ir.Constant(word, row))])
        value = splat(builder, builder.load(place), lanes)
        for part in range(parts):
            total = sums[row * parts + part]
            result.append(combine(builder, value, columns[part], total))
    return result
