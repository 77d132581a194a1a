"""Vectors in LLVM IR: widening loads, and operations on all lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import BF16, Element
from ...runtime.abi.native_code import call_symbol, cpu_features
from ..scalar_ops.llvm_narrow_floats import narrow_to_float
from ..scalar_ops.llvm_values import register_type

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def cpu_has(feature: str) -> bool:
    """Return whether this CPU has a feature, by LLVM's name."""
    return cpu_features().get(feature, False)


@cache
def vector_bits() -> int:
    """Return the width of this CPU's widest vector registers in bits."""
    if cpu_has("avx512f"):
        return 512
    return 256 if cpu_has("avx2") else 128


def stored_type(element: Element) -> Any:
    """Return the LLVM type of an element in memory."""
    if element.is_float and not element.is_narrow_float:
        return register_type(element)
    return ir.IntType(element.storage_bytes * 8)


def vector_address(builder: Any, base: Any, index: Any, element: Element, count: int) -> Any:
    """Return the address of `count` elements from an index on, as a vector pointer."""
    return vector_pointer(builder, base, index, stored_type(element), count)


def vector_pointer(builder: Any, base: Any, index: Any, kind: ir.Type, count: int) -> Any:
    """Return the same for elements of an LLVM type."""
    first = builder.gep(builder.inttoptr(base, kind.as_pointer()), [index])
    return builder.bitcast(first, ir.VectorType(kind, count).as_pointer())


def load_vector(
    builder: Any, base: Any, index: Any, element: Element, total: Element, count: int
) -> Any:
    """Load `count` elements from an index on, widened to the element type `total`."""
    place = vector_address(builder, base, index, element, count)
    return widened(builder, builder.load(place, align=element.storage_bytes), element, total)


def widened(builder: Any, value: Any, element: Element, total: Element) -> Any:
    """Widen a vector of stored elements; integers are extended according to their signedness."""
    count = value.type.count
    wanted = ir.VectorType(register_type(total), count)
    if not element.is_float:
        extend = builder.zext if element.is_unsigned else builder.sext
        return extend(value, wanted) if element.width < total.width else value
    if element.is_narrow_float:
        if element == BF16:
            words = builder.zext(value, ir.VectorType(_I32, count))
            return float_of_words(builder, words, total)
        value = narrow_to_float(builder, value, element)
    is_narrower = element.width < 64 and total.width == 64
    return builder.fpext(value, wanted) if is_narrower else value


def float_of_words(builder: Any, words: Any, total: Element) -> Any:
    """Return floats of the type `total` whose upper halves are the lower halves of words."""
    count = words.type.count
    bits = builder.shl(words, ir.Constant(words.type, [16] * count))
    value = builder.bitcast(bits, ir.VectorType(ir.FloatType(), count))
    is_double = total.width == 64
    return builder.fpext(value, ir.VectorType(register_type(total), count)) if is_double else value


def splat(builder: Any, value: Any, lanes: int) -> Any:
    """Return a vector with one value in all lanes."""
    nothing: Any = ir.Constant(ir.VectorType(value.type, lanes), None)
    first = builder.insert_element(nothing, value, ir.Constant(_I32, 0))
    everywhere = ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes)
    return builder.shuffle_vector(first, first, everywhere)


def multiply_add(builder: Any, left: Any, right: Any, total: Any) -> Any:
    """Return `left * right + total`; floats are rounded once."""
    vector = total.type
    if isinstance(vector.element, ir.IntType):
        return builder.add(total, builder.mul(left, right))
    name = f"llvm.fma.v{vector.count}{vector.element.intrinsic_name}"
    return call_symbol(builder, name, vector, left, right, total)


def accumulate(
    builder: Any, steps: Any, vector: Any, count: int, add: Callable[[Any, list[Any]], list[Any]]
) -> list[Any]:
    """Emit a loop over `steps`, which may be 0; return `count` sums that begin with zero.

    `add(step, sums)` returns the sums after one more step.
    """
    zero, start, one = ir.Constant(vector, None), ir.Constant(_I64, 0), ir.Constant(_I64, 1)
    before = builder.block
    loop, after = builder.append_basic_block("tile"), builder.append_basic_block("tile.end")
    builder.cbranch(builder.icmp_signed(">", steps, start), loop, after)

    builder.position_at_end(loop)
    step = builder.phi(_I64)
    sums = [builder.phi(vector) for _ in range(count)]
    for each, first in zip((step, *sums), (start, *[zero] * count), strict=True):
        each.add_incoming(first, before)
    added = add(step, sums)
    last = builder.block
    next_step = builder.add(step, one, flags=("nsw",))
    for each, following in zip((step, *sums), (next_step, *added), strict=True):
        each.add_incoming(following, last)
    again = builder.cbranch(builder.icmp_signed("<", next_step, steps), loop, after)
    again.set_metadata("llvm.loop", _once(builder.module))

    builder.position_at_end(after)
    totals = [builder.phi(vector) for _ in range(count)]
    for total, following in zip(totals, added, strict=True):
        total.add_incoming(zero, before)
        total.add_incoming(following, last)
    return totals


def _once(module: Any) -> Any:
    """Return the metadata of a loop that is not unrolled.

    Its first operand is itself, as LLVM requires.
    """
    hint = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    loop = module.add_metadata([hint, ir.Constant(_I64, len(module.metadata))])
    loop.operands = (loop, hint)
    return loop


def repeat(builder: Any, steps: Any, body: Callable[[Any], None]) -> None:
    """Emit a loop over `steps`, which may be 0."""

    def add(step: Any, sums: list[Any]) -> list[Any]:
        body(step)
        return sums

    accumulate(builder, steps, _I64, 0, add)


def word(value: int) -> Any:
    """Return a 64-bit constant."""
    return ir.Constant(_I64, value)


# Words of 32 bits hold two or four narrow terms each, the first in the lowest bits.


def words_of(builder: Any, terms: Sequence[Any]) -> Any:
    """Combine vectors of 32-bit integers, whose low bits are terms, to a vector of words."""
    kind, bits = terms[0].type, 32 // len(terms)

    def all_lanes(value: int) -> Any:
        return ir.Constant(kind, [value] * kind.count)

    mask = all_lanes((1 << bits) - 1)
    word, *others = [*(builder.and_(each, mask) for each in terms[:-1]), terms[-1]]
    for number, term in enumerate(others, 1):
        word = builder.or_(word, builder.shl(term, all_lanes(number * bits)))
    return word


def repeated_pair(builder: Any, stored: Any, element: Element, lanes: int) -> Any:
    """Repeat a vector of two narrow integers as a pair of 16-bit integers in all lanes."""
    order = ir.Constant(ir.VectorType(_I32, 2 * lanes), [0, 1] * lanes)
    halves = ir.VectorType(ir.IntType(16), 2 * lanes)
    value = builder.shuffle_vector(stored, stored, order)
    if element.width < 16:
        value = (builder.zext if element.is_unsigned else builder.sext)(value, halves)
    return builder.bitcast(value, ir.VectorType(_I32, lanes))


def dot_floats(builder: Any, left: Any, right: Any, total: Any) -> Any:
    """Return `total` plus two products of `bf16` in each word, by AVX512-BF16."""
    name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * total.type.count}"
    return call_symbol(builder, name, total.type, total, left, right)


def dot_bytes(builder: Any, unsigned: Any, signed: Any, total: Any) -> Any:
    """Return `total` plus four products of bytes in each word, wrapping, by VNNI."""
    name = f"llvm.x86.avx512.vpdpbusd.{32 * total.type.count}"
    return call_symbol(builder, name, total.type, total, unsigned, signed)


_PAIR_PRODUCTS = {
    4: ("sse2", "llvm.x86.sse2.pmadd.wd"),
    8: ("avx2", "llvm.x86.avx2.pmadd.wd"),
    16: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
}
"""By lanes: the CPU feature and the instruction that multiplies and adds pairs."""


def dot(builder: Any, left: Any, right: Any, total: Any) -> Any:
    """Return `total + left[0] * right[0] + left[1] * right[1]` for pairs, wrapping."""
    lanes, vector = total.type.count, total.type
    halves = ir.VectorType(ir.IntType(16), 2 * lanes)
    parts = [builder.bitcast(each, halves) for each in (left, right)]
    feature, name = _PAIR_PRODUCTS.get(lanes, ("", ""))
    if cpu_has(feature):
        return builder.add(total, call_symbol(builder, name, vector, *parts))
    for half in range(2):
        order = ir.Constant(ir.VectorType(_I32, lanes), list(range(half, 2 * lanes, 2)))
        terms = [builder.sext(builder.shuffle_vector(each, each, order), vector) for each in parts]
        total = builder.add(total, builder.mul(*terms))
    return total
