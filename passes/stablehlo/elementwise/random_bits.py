"""Convert `rng_bit_generator`, bit for bit with the algorithms of XLA, and `rng`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from zlib import crc32

from xdsl.dialects.builtin import IntegerType, f32, f64, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import InsertOp
from xdsl.ir import Operation, SSAValue

from ....ir.diagnostics import OperationError
from ....ir.index import IndexList, IndexOrInt
from ....ir.regions import enclosing, walk
from ....ir.syntax.keyword_attributes import word
from ..data_movement.shapes import index_values, result_sizes
from ..lowering.element_types import Kind, kind, result_kind
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering, Scalars, Tensors, tensor_rule
from .float_expressions import FloatExpr

Pair = tuple[SSAValue, SSAValue]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


@tensor_rule("stablehlo.rng_bit_generator")
def _rng_bit_generator(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    sizes = shape(op.results[1])
    if min(sizes, default=0) < 0:
        raise OperationError(op, "expects a static shape of its random bits")
    return random_bits(lowering, op, operands[0], sizes)


def random_bits(lowering: Lowering, op: Operation, state: SSAValue, sizes: IndexList) -> Tensors:
    """Emit a random bit generator; return its new state and the bits, a tensor of `sizes`.

    The state is a key and a counter of 64 bits each; Philox may have a counter of 128 bits. Bits
    are reinterpreted as floats if the second result's elements are floats. Raises OperationError
    for other states and elements.
    """
    e = lowering.emit
    threefry = word(op, "rng_algorithm") == "THREE_FRY"
    words = (2,) if threefry else (2, 3)
    if shape(state) not in [(count,) for count in words] or kind(state.type).width != 64:
        expected = " or ".join(f"tensor<{count}xui64>" for count in words)
        raise OperationError(op, f"has a state of type {op.operand_types[0]}, expected {expected}")
    element = kind(op.result_types[1])
    if element.name == "complex" or element.width not in (8, 16, 32, 64):
        expected = "integers or floats of 8, 16, 32 or 64 bits"
        raise OperationError(op, f"returns bits of type {element.type}, expected {expected}")
    key, low, *high = (e.element(state, [index]) for index in range(shape(state)[0]))
    split = _split_dimension(e, sizes) if threefry and element.width < 64 else [0] * len(sizes)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        if threefry:
            bits = _threefry_element(inner, key, low, sizes, split, element.width)
        else:
            counter = (low, high[0] if high else key)
            bits = _philox_element(inner, key, counter, sizes, element.width)
        return [bits if element.is_integer else inner.op("arith.bitcast", bits, to=element.type)]

    bits = e.loops([], [], [e.empty(sizes, element.type)], None, body)[0]
    count = reduce(e.multiply, _without_halves(e, sizes, split), 1)
    if not threefry:
        in_block = 2 if element.width == 64 else 4
        count = e.divide(e.add(count, in_block - 1), in_block)
    moved = _moved(e, (low, *high), e.from_index(e.index(count), i64))
    for index, counter in enumerate(moved, start=1):
        state = e.insert(InsertOp(counter, state, [e.index(index)]))
    return [state, bits]


def _moved(e: Emitter, counter: Sequence[SSAValue], distance: SSAValue) -> list[SSAValue]:
    """Return a counter advanced by `distance`; of two words, the lower one is first."""
    low = e.op("arith.addi", counter[0], distance)
    carry = e.op("arith.extui", e.compare_integers("ult", low, counter[0]), to=i64)
    return [low, *(e.op("arith.addi", high, carry) for high in counter[1:])]


def _split_dimension(e: Emitter, sizes: IndexList) -> list[IndexOrInt]:
    """Return 1 for the dimension to split: the first even one, else the first largest; else 0."""
    even = [e.subtract(1, e.remainder(size, 2)) for size in sizes]
    largest = reduce(e.maximum, sizes, 0)
    below = [e.minimum(1, e.subtract(largest, size)) for size in sizes]
    is_any_even = reduce(e.maximum, even, 0)
    wanted = [
        e.maximum(is_even, e.subtract(e.subtract(1, is_any_even), is_below))
        for is_even, is_below in zip(even, below, strict=True)
    ]
    split: list[IndexOrInt] = []
    left: IndexOrInt = 1
    for is_wanted in wanted:
        split.append(e.multiply(left, is_wanted))
        left = e.subtract(left, split[-1])
    return split


def _without_halves(e: Emitter, sizes: IndexList, split: IndexList) -> list[IndexOrInt]:
    """Return the sizes, with that of the split dimension replaced by its larger half."""
    pairs = zip(sizes, split, strict=True)
    return [e.subtract(size, e.multiply(here, e.divide(size, 2))) for size, here in pairs]


def _halves(e: Emitter, value: SSAValue) -> Pair:
    """Return the lower and the upper 32 bits."""
    high = e.op("arith.shrui", value, e.constant(32, i64))
    return e.op("arith.trunci", value, to=i32), e.op("arith.trunci", high, to=i32)


def _joined(e: Emitter, low: SSAValue, high: SSAValue) -> SSAValue:
    upper = e.op("arith.shli", e.op("arith.extui", high, to=i64), e.constant(32, i64))
    return e.op("arith.ori", e.op("arith.extui", low, to=i64), upper)


def _linear(e: Emitter, indices: Sequence[SSAValue], sizes: IndexList) -> SSAValue:
    """Return the row-major position as an i64."""
    total = e.constant(0, i64)
    for index, size in zip(indices, sizes, strict=True):
        scaled = e.op("arith.muli", total, e.from_index(e.index(size), i64))
        total = e.op("arith.addi", scaled, e.from_index(index, i64))
    return total


def _narrowed(e: Emitter, value: SSAValue, width: int) -> SSAValue:
    return value if width == 32 else e.op("arith.trunci", value, to=IntegerType(width))


# Threefry ----------------------------------------------------------------------------------------


def _threefry_element(
    e: Emitter, key: SSAValue, counter: SSAValue, sizes: IndexList, split: IndexList, width: int
) -> SSAValue:
    """Emit the bits of an element. Both words of a block are adjacent along the split dimension."""
    indices = [e.loop_index(dimension) for dimension in range(len(sizes))]
    parity: IndexOrInt = 0
    for index, here in zip(indices, split, strict=True):
        parity = e.add(parity, e.multiply(here, e.remainder(index, 2)))
    pairs = zip(indices, split, strict=True)
    blocks = [e.index(e.divide(index, e.add(here, 1))) for index, here in pairs]
    number = e.op("arith.addi", counter, _linear(e, blocks, _without_halves(e, sizes, split)))
    first, second = threefry(e, _halves(e, key), _halves(e, number))
    if width == 64:
        return _joined(e, first, second)
    is_first = e.compare_integers("eq", e.index(parity), e.index(0))
    return _narrowed(e, e.select(is_first, first, second), width)


def threefry(e: Emitter, key: Pair, block: Pair) -> Pair:
    """Emit Threefry-2x32 with 20 rounds."""
    third = e.op("arith.xori", e.op("arith.xori", *key), e.constant(_PARITY, i32))
    keys = (*key, third)
    x, y = (e.op("arith.addi", one, other) for one, other in zip(block, key, strict=True))
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = e.op("arith.addi", x, y)
            left = e.op("arith.shli", y, e.constant(rotation, i32))
            right = e.op("arith.shrui", y, e.constant(32 - rotation, i32))
            y = e.op("arith.xori", e.op("arith.ori", left, right), x)
        x = e.op("arith.addi", x, keys[(group + 1) % 3])
        y = e.op("arith.addi", y, keys[(group + 2) % 3])
        y = e.op("arith.addi", y, e.constant(group + 1, i32))
    return x, y


# Philox ------------------------------------------------------------------------------------------


def _philox_element(
    e: Emitter, key: SSAValue, counter: Pair, sizes: IndexList, width: int
) -> SSAValue:
    """Emit the bits of an element. XLA uses the key as the upper half of a counter of 64 bits."""
    indices = [e.loop_index(dimension) for dimension in range(len(sizes))]
    position = _linear(e, indices, sizes)
    in_block = 2 if width == 64 else 4
    block = e.op("arith.divui", position, e.constant(in_block, i64))
    lane = e.op("arith.remui", position, e.constant(in_block, i64))
    low, high = _moved(e, counter, block)
    words = philox(e, _halves(e, key), (*_halves(e, low), *_halves(e, high)))
    if width == 64:
        is_first = e.compare_integers("eq", lane, e.constant(0, i64))
        first, second = _joined(e, *words[:2]), _joined(e, *words[2:])
        return e.select(is_first, first, second)
    found = words[3]
    for number in (2, 1, 0):
        is_it = e.compare_integers("eq", lane, e.constant(number, i64))
        found = e.select(is_it, words[number], found)
    return _narrowed(e, found, width)


def philox(e: Emitter, key: Pair, block: Sequence[SSAValue]) -> list[SSAValue]:
    """Emit Philox-4x32 with 10 rounds."""
    a, b, c, d = block
    first, second = key
    for number in range(10):
        if number:
            first = e.op("arith.addi", first, e.constant(0x9E3779B9, i32))
            second = e.op("arith.addi", second, e.constant(0xBB67AE85, i32))
        low_a, high_a = _product(e, a, 0xD2511F53)
        low_c, high_c = _product(e, c, 0xCD9E8D57)
        a = e.op("arith.xori", e.op("arith.xori", high_c, b), first)
        c = e.op("arith.xori", e.op("arith.xori", high_a, d), second)
        b, d = low_c, low_a
    return [a, b, c, d]


def _product(e: Emitter, value: SSAValue, factor: int) -> Pair:
    wide = e.op("arith.extui", value, to=i64)
    return _halves(e, e.op("arith.muli", wide, e.constant(factor, i64)))


# Distributions ------------------------------------------------------------------------------------


@tensor_rule("stablehlo.rng")
def _rng(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert `rng` to Philox with a counter that starts at 0 in each op; any numbers conform.

    Each op has a key of its own, so that two of them do not give the same numbers. The first two
    operands are the bounds of a uniform distribution, or the mean and the standard deviation of a
    normal one.
    """
    e = lowering.emit
    element = result_kind(op)
    normal = word(op, "rng_distribution") == "NORMAL"
    if element.name != "float" and (normal or element.name == "complex"):
        raise OperationError(op, f"returns numbers of type {element.type}, expected floats")
    sizes: list[IndexOrInt] = list(result_sizes(op))
    if min(result_sizes(op), default=0) < 0:
        sizes = list(index_values(e, operands[2], len(sizes)))
    first, second = (e.element(value) for value in operands[:2])
    key, none = e.constant(_key_of(op), i64), e.constant(0, i64)

    width = 64 if normal or element.width == 64 else 32

    def body(inner: Emitter, args: Scalars) -> Scalars:
        bits = _philox_element(inner, key, (none, key), sizes, width)
        if normal:
            return [_normal(inner, bits, first, second)]
        if element.is_integer:
            return [_uniform_integer(inner, bits, first, second, element)]
        return [_uniform_float(inner, bits, first, second, element)]

    return [e.loops([], [], [e.empty(sizes, element.type)], None, body)[0]]


def _key_of(op: Operation) -> int:
    """Return a number for the op's place: its function, and the `rng` ops before it there."""
    function = next(each for each in enclosing(op) if isinstance(each, FuncOp))
    others = [each for each in walk(function) if each.name == op.name]
    return crc32(f"{others.index(op)} {function.sym_name.data}".encode())


def _uniform_integer(
    e: Emitter, bits: SSAValue, low: SSAValue, high: SSAValue, element: Kind
) -> SSAValue:
    """Emit a number from `low` on, below `high`; their distance is unsigned."""
    span = e.op("arith.subi", high, low)
    if element.width == 64:
        return e.op("arith.addi", low, e.op("arith.remui", bits, span))
    room, wide = (e.op("arith.extui", each, to=i64) for each in (span, bits))
    rest = e.op("arith.trunci", e.op("arith.remui", wide, room), to=element.type)
    return e.op("arith.addi", low, rest)


_POWER_BITS = 8
"""The bits to draw for a type without a fraction, whose numbers are powers of 2."""


def _uniform_float(
    e: Emitter, bits: SSAValue, low: SSAValue, high: SSAValue, element: Kind
) -> SSAValue:
    """Emit a number from `low` on, below `high`: sums that are rounded up to it become `low`."""
    wide = f32 if element.width < 16 else element.type
    fraction = element.fraction_bits or _POWER_BITS
    width = kind(bits.type).width
    kept = e.op("arith.shrui", bits, e.constant(width - fraction, bits.type))
    part = FloatExpr(e, e.op("arith.uitofp", kept, to=wide)) * 2.0**-fraction
    first, last = (FloatExpr(e, each).as_type(wide) for each in (low, high))
    drawn = (first + part * (last - first)).as_type(element.type)
    return drawn.where(drawn.as_type(wide).compare("olt", last), FloatExpr(e, low)).value


def _normal(e: Emitter, bits: SSAValue, mean: SSAValue, deviation: SSAValue) -> SSAValue:
    """Emit the Box-Muller transform of two 32-bit numbers, in f64."""

    def fraction(part: SSAValue) -> FloatExpr:
        """Return a number strictly between 0 and 1."""
        return (FloatExpr(e, e.op("arith.uitofp", part, to=f64)) + 0.5) * 2.0**-32

    first, second = map(fraction, _halves(e, bits))
    radius = (-2.0 * first.apply("math.log")).apply("math.sqrt")
    drawn = radius * (2.0 * math.pi * second).apply("math.cos")
    moved = drawn * FloatExpr(e, deviation).as_type(f64) + FloatExpr(e, mean).as_type(f64)
    return moved.as_type(mean.type).value
