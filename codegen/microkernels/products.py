"""The inner tile of a matrix product as LLVM vector IR, with all accumulators in registers.

A tile multiplies `rows x depth` by `depth x columns`, both packed so that a step of the depth reads
`rows` and `columns` contiguous elements (as `linalg.mmt4d` with an inner depth of one). Its size
follows from the vector registers of the CPU: 12 x 32 floats fill 24 of AVX-512's 32 registers and
leave the others for operands.

Integer sums are computed in pairs: a step multiplies two adjacent 16-bit terms and adds both
products, so that products of narrow integers are exact. If the CPU has instructions for two `bf16`
or four 8-bit terms in a 32-bit word, words hold the terms as they are stored. Matrix registers
multiply many such words at once (`amx.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from llvmlite import ir

from ...ir.index_folding import FoldingIndices, V
from ...runtime.abi.elements import BF16, F32, Element, integer_element
from ..scalar_ops.llvm_values import register_type
from . import amx
from .vectors import (
    accumulate,
    cpu_has,
    dot,
    dot_bytes,
    dot_floats,
    multiply_add,
    splat,
    vector_bits,
    word,
)

TOP_BITS = 0x80808080
"""The top bits of a word of four bytes.

Flipping them adds 128 to a signed byte that is then read as unsigned, and subtracts 128 from an
unsigned byte that is then read as signed.
"""


@dataclass(frozen=True, slots=True)
class Tile:
    """The size of a tile, and how its panels are packed.

    - `lanes`: the elements of one vector register;
    - `terms`: the terms of a sum that one word of a panel holds;
    - `step`: the words of depth that are multiplied at once. If it is more than 1, left panels are
      stored row by row;
    - `is_as_stored`: whether words hold terms as they are stored, not widened;
    - `flips`: the bits of the left operand's words that packing flips in that case (`dot_bytes`).
    """

    rows: int
    columns: int
    lanes: int
    terms: int = 1
    step: int = 1
    is_as_stored: bool = False
    flips: int = 0

    def steps(self, indices: FoldingIndices[V], depth: int | V) -> int | V:
        """Return the number of steps for a depth; the last step is padded with zeros."""
        return indices.ceiling_divide(depth, self.terms * self.step)

    def words(self, indices: FoldingIndices[V], depth: int | V) -> int | V:
        """Return the words of depth of a panel."""
        return indices.multiply(self.steps(indices, depth), self.step)


def tile_of(element: Element) -> Tile:
    """Return this CPU's tile for sums in `f32` or `f64`, or in `i32` of paired terms."""
    bits = vector_bits()
    lanes = bits // element.width
    rows = 12 if bits == 512 else 6
    return Tile(rows, 2 * lanes, lanes, terms=1 if element.is_float else 2)


def tile_of_product(left: Element, right: Element, total: Element) -> Tile:
    """Return this CPU's tile for products of two element types."""
    plain, has_wide_vectors = tile_of(total), vector_bits() == 512
    matrix = Tile(2 * amx.SIDE, 2 * amx.SIDE, amx.SIDE, step=amx.SIDE, is_as_stored=True)
    if left == right == BF16 and total == F32:
        if cpu_has("amx-bf16"):
            return replace(matrix, terms=2)
        if has_wide_vectors and cpu_has("avx512bf16"):
            return replace(plain, terms=2, is_as_stored=True)
    are_bytes = all(not each.is_float and each.width == 8 for each in (left, right))
    if are_bytes and total == integer_element(32):
        if cpu_has("amx-int8"):
            return replace(matrix, terms=4)
        if cpu_has("avx512vnni" if has_wide_vectors else "avxvnni"):
            flips = TOP_BITS if is_flipped(left, right) else 0
            return replace(plain, terms=4, is_as_stored=True, flips=flips)
    return plain


def is_flipped(left: Element, right: Element) -> bool:
    """Return whether bytes of the left operand need the other signedness for `vpdpbusd`."""
    return not left.is_float and left.is_unsigned == right.is_unsigned


def emit_tile(
    total: Element, rows: int, columns: int, stored: tuple[Element, Element] | None = None
) -> Any:
    """Return an emitter of `tile(left, right, result, depth)` on addresses.

    `left` is `depth x rows`, `right` is `depth x columns`, and `result` is set to `rows x columns`,
    all packed. `right` and `result` must be aligned to a vector. `depth` counts words, which hold
    numbers of type `total`, pairs of 16-bit integers, or terms of the `stored` element types.
    """
    lanes = tile_of(total).lanes
    vector = ir.VectorType(register_type(total), lanes)
    held: Any = vector if stored is None else ir.VectorType(ir.IntType(32), lanes)
    combine = _combination(total, stored)
    is_corrected = stored is not None and is_flipped(*stored)
    alignment = lanes * total.width // 8
    parts = columns // lanes

    def emit(builder: Any, values: Sequence[Any]) -> Any:
        left, right, result, depth = values
        lefts = builder.inttoptr(left, held.element.as_pointer())
        rights = builder.inttoptr(right, held.as_pointer())

        def load(base: Any, step: Any, count: int, align: int | None) -> list[Any]:
            first = builder.mul(step, word(count))
            places = [builder.gep(base, [builder.add(first, word(i))]) for i in range(count)]
            return [builder.load(place, align=align) for place in places]

        def add(step: Any, sums: list[Any]) -> list[Any]:
            loaded = load(rights, step, parts, alignment)
            factors = [splat(builder, each, lanes) for each in load(lefts, step, rows, None)]
            if is_corrected:
                factors.append(ir.Constant(held, [TOP_BITS] * lanes))
            pairs = product(factors, loaded)
            return [combine(builder, *pair, each) for pair, each in zip(pairs, sums, strict=True)]

        totals = accumulate(builder, depth, vector, (rows + is_corrected) * parts, add)
        corrections = totals[rows * parts :]
        target = builder.inttoptr(result, vector.as_pointer())
        for number, found in enumerate(totals[: rows * parts]):
            value = builder.sub(found, corrections[number % parts]) if corrections else found
            builder.store(value, builder.gep(target, [word(number)]), alignment)
        return ir.Constant(ir.IntType(1), 0)

    return emit


def _combination(
    total: Element, stored: tuple[Element, Element] | None
) -> Callable[[Any, Any, Any, Any], Any]:
    """Return `(builder, left, right, total)`, which adds the products of a step to sums."""
    if stored is None:
        return multiply_add if total.is_float else dot
    if total.is_float:
        return dot_floats
    if stored[1].is_unsigned:
        return lambda builder, left, right, total: dot_bytes(builder, right, left, total)
    return dot_bytes
