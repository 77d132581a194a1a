"""Storage sizes as arithmetic on index values, walked off the formula that also gives numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.dialects.arith import (
    AddiOp,
    CeilDivSIOp,
    CeilDivUIOp,
    ConstantOp,
    IntegerOverflowAttr,
    IntegerOverflowFlag,
    MaxUIOp,
    MuliOp,
)
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import SSAValue

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
