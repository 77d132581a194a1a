"""Index arithmetic on numbers and SSA values: numbers stay numbers, values become operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.dialects.arith import (
    AddiOp,
    CeilDivSIOp,
    CeilDivUIOp,
    ConstantOp,
    DivUIOp,
    IntegerOverflowAttr,
    IntegerOverflowFlag,
    MaxUIOp,
    MuliOp,
    RemUIOp,
)
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import OpResult, SSAValue

from ..tiling.storage_sizes import LARGEST_VECTOR_SCALE, Extent, StorageFormula

INDEX = IndexType()
NO_SIGNED_WRAP = IntegerOverflowAttr([IntegerOverflowFlag.NSW])


def constant_index(value: int, builder: Builder) -> SSAValue:
    """An index constant."""
    return builder.insert(ConstantOp(IntegerAttr(value, INDEX))).result


def emit_size(
    formula: StorageFormula, dynamic_sizes: Sequence[SSAValue], builder: Builder
) -> SSAValue:
    """The bytes of a formula, given the sizes of its dynamic dimensions in order.

    Static factors are folded into one constant, which comes last.
    """
    if formula.is_static:
        return constant_index(formula.evaluate(), builder)
    rest: Iterator[SSAValue] = iter(dynamic_sizes)
    known = 1
    product: SSAValue | None = None
    for extent in formula.extents:
        if extent.size is not None:
            known *= extent.stored(extent.size, LARGEST_VECTOR_SCALE)
            continue
        multiple, count = _tiles(extent, next(rest), builder)
        known *= multiple
        product = count if product is None else _multiply(product, count, builder)
    bits = formula.element_bits
    factor = known * bits // 8 if bits >= 8 else known * bits
    size = product if product is not None else constant_index(1, builder)
    if factor != 1:
        size = _multiply(size, constant_index(factor, builder), builder)
    if bits < 8:
        size = builder.insert(CeilDivUIOp(size, constant_index(8, builder))).result
    return size


def _tiles(extent: Extent, size: SSAValue, builder: Builder) -> tuple[int, SSAValue]:
    """A dynamic extent as a number times a value: the tile's size and how many there are."""
    if extent.padding:
        size = builder.insert(AddiOp(size, constant_index(extent.padding, builder))).result
    multiple = extent.multiple * (LARGEST_VECTOR_SCALE if extent.scalable else 1)
    if multiple == 1:
        return 1, size
    tiles = builder.insert(CeilDivSIOp(size, constant_index(multiple, builder))).result
    return multiple, tiles


def _multiply(left: SSAValue, right: SSAValue, builder: Builder) -> SSAValue:
    operation = MuliOp(left, right)
    operation.overflow_flags = NO_SIGNED_WRAP
    return builder.insert(operation).result


def emit_largest(values: Sequence[SSAValue], builder: Builder) -> SSAValue:
    """The largest of some index values that are not negative."""
    largest, *rest = values
    for value in rest:
        largest = builder.insert(MaxUIOp(largest, value)).result
    return largest


Amount = int | SSAValue
"""A number that is known now, or a value of type index."""


def known(value: SSAValue) -> Amount:
    """The number that a value is, if it is an arith constant; else the value."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
        attribute = value.op.value
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return value


def as_value(amount: Amount, builder: Builder) -> SSAValue:
    """The amount as a value."""
    return constant_index(amount, builder) if isinstance(amount, int) else amount


def add(left: Amount, right: Amount, builder: Builder) -> Amount:
    """The sum; operations only where it is not known."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    if right == 0:
        return left
    return builder.insert(AddiOp(as_value(left, builder), as_value(right, builder))).result


def multiply(left: Amount, right: Amount, builder: Builder) -> Amount:
    """The product, which does not wrap; operations only where it is not known."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if left == 1:
        return right
    if right == 1:
        return left
    operation = MuliOp(as_value(left, builder), as_value(right, builder))
    operation.overflow_flags = NO_SIGNED_WRAP
    return builder.insert(operation).result


def divide(amount: Amount, by: int, builder: Builder) -> Amount:
    """The quotient of an amount that is not negative, rounded down."""
    if isinstance(amount, int):
        return amount // by
    return builder.insert(DivUIOp(amount, constant_index(by, builder))).result


def remainder(amount: Amount, by: int, builder: Builder) -> Amount:
    """What is left of an amount that is not negative behind a division."""
    if isinstance(amount, int):
        return amount % by
    return builder.insert(RemUIOp(amount, constant_index(by, builder))).result


def bytes_of(elements: Amount, bits: int, builder: Builder, *, round_up: bool) -> Amount:
    """The bytes of some elements; elements of less than a byte are packed."""
    if bits >= 8:
        return multiply(elements, bits // 8, builder)
    total = multiply(elements, bits, builder)
    if isinstance(total, int):
        return -(-total // 8) if round_up else total // 8
    if not round_up:
        return divide(total, 8, builder)
    return builder.insert(CeilDivUIOp(total, constant_index(8, builder))).result


def is_contiguous(lengths: Sequence[Amount], sizes: Sequence[Amount]) -> bool:
    """Whether a part of these lengths is one run of a row-major tensor, as far as is known.

    It is if every dimension after the first with a length other than one is taken whole.
    """
    several = False
    for length, size in zip(lengths, sizes, strict=True):
        if several and length != size:
            return False
        several = several or length != 1
    return True


def reaches_end(
    starts: Sequence[Amount], lengths: Sequence[Amount], sizes: Sequence[Amount]
) -> bool:
    """Whether the last element of a part is the last one of all, as far as is known."""
    return all(
        (start == 0 and length == size)
        or (
            isinstance(start, int)
            and isinstance(length, int)
            and isinstance(size, int)
            and start + length == size
        )
        for start, length, size in zip(starts, lengths, sizes, strict=True)
    )


def is_multiple(indices: Sequence[Amount], sizes: Sequence[Amount], unit: int) -> bool:
    """Whether `row_major_position` is a multiple of `unit`, as far as is known."""
    stride, is_exact, position = 1, True, 0
    for index, size in zip(reversed(indices), reversed(sizes), strict=True):
        if isinstance(index, int) and is_exact:
            position += index * stride
        elif stride * (index if isinstance(index, int) else 1) % unit:
            return False
        if isinstance(size, int):
            stride *= size
        else:
            is_exact = False
    return position % unit == 0


def row_major_position(
    indices: Sequence[Amount], sizes: Sequence[Amount], builder: Builder
) -> Amount:
    """How many elements come before the one at `indices` of a tensor of `sizes`."""
    position: Amount = 0
    for index, size in zip(indices, sizes, strict=True):
        position = add(multiply(position, size, builder), index, builder)
    return position
