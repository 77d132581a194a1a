"""Index arithmetic on integers and SSA values: integers are folded, values produce ops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.arith import (
    AddiOp,
    CeilDivSIOp,
    CeilDivUIOp,
    CmpiOp,
    ConstantOp,
    DivUIOp,
    IntegerOverflowAttr,
    IntegerOverflowFlag,
    MaxSIOp,
    MaxUIOp,
    MinSIOp,
    MuliOp,
    RemUIOp,
    SelectOp,
    SubiOp,
)
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ..tiling.storage_sizes import MAX_VECTOR_SCALE, Extent, StorageFormula
from .attribute_access import constant_integer
from .index_folding import SizeFolding
from .index_lists import INDEX

NO_SIGNED_WRAP = IntegerOverflowAttr([IntegerOverflowFlag.NSW])

IndexOrInt: TypeAlias = int | SSAValue
"""An integer known at compile time, or an SSA value of index type."""

IndexList: TypeAlias = Sequence[IndexOrInt]
"""Sizes, offsets or indices, each known or not."""


def constant_index(value: int, builder: Builder) -> SSAValue:
    """Create an `arith.constant` of index type."""
    return builder.insert(ConstantOp(IntegerAttr(value, INDEX))).result


def emit_size(
    formula: StorageFormula,
    dynamic_sizes: Sequence[SSAValue],
    builder: Builder,
    *,
    has_layout: bool = True,
) -> SSAValue:
    """Emit the computation of a storage size in bytes from the dynamic dimension sizes, in order.

    Static factors, with the bytes of an element, are one constant: the second factor, or the last.
    Products have the `nsw` flag if the tensor has a layout. The order and the flags are IREE's.
    """
    if formula.is_static:
        return constant_index(formula.evaluate(), builder)
    rest = iter(dynamic_sizes)
    indices = _SizeIndices(builder) if has_layout else BuilderIndices(builder)
    bits = formula.element_bits
    known = max(1, bits // 8)
    dynamic: dict[int, SSAValue] = {}
    for position, extent in enumerate(formula.extents):
        if extent.size is None:
            dynamic[position] = next(rest)
        else:
            known *= extent.stored(extent.size, MAX_VECTOR_SCALE)
    sizes: dict[int, IndexOrInt] = dict(dynamic)
    for position in dict.fromkeys((*formula.rounding_order, *dynamic)):
        if position in dynamic:
            extent = formula.extents[position]
            sizes[position] = _stored_size(extent, dynamic[position], indices)
    factors = list(sizes.values())
    factors.insert(len(factors) if formula.is_constant_last else 1, known)
    size, *others = factors
    for factor in others:
        size = indices.multiply(size, factor)
    if bits < 8:
        size = indices.binary(CeilDivUIOp, size, 8 // bits)
    return indices.index(size)


def _stored_size(extent: Extent, size: SSAValue, indices: IndexArithmetic) -> IndexOrInt:
    """Return the number of elements stored along a dynamic extent."""
    if extent.padding:
        size = indices.binary(_add_without_wrap, size, extent.padding)
    multiple = extent.multiple * (MAX_VECTOR_SCALE if extent.scalable else 1)
    if multiple == 1:
        return size
    return indices.multiply(indices.binary(CeilDivSIOp, size, multiple), multiple)


def _add_without_wrap(left: SSAValue, right: SSAValue) -> Operation:
    operation = AddiOp(left, right)
    operation.overflow_flags = NO_SIGNED_WRAP
    return operation


def emit_largest(values: Sequence[SSAValue], builder: Builder) -> SSAValue:
    """Emit the maximum of non-negative index values."""
    largest, *rest = values
    for value in rest:
        largest = builder.insert(MaxUIOp(largest, value)).result
    return largest


def known(value: SSAValue) -> IndexOrInt:
    """Return the integer that an `arith.constant` defines; otherwise the value itself."""
    number = constant_integer(value)
    return value if number is None else number


_OPERATIONS = {"addi_i64": AddiOp, "subi_i64": SubiOp, "minsi_i64": MinSIOp}
"""The op class for each index instruction."""


class IndexArithmetic(SizeFolding[SSAValue], ABC):
    """Emits index arithmetic and folds it where the result is known."""

    OVERFLOW: ClassVar[IntegerOverflowAttr | None] = None
    """The overflow flags of products, if any."""

    @abstractmethod
    def insert(self, operation: Operation) -> SSAValue:
        """Insert an operation and return its first result."""

    def index(self, number: IndexOrInt) -> SSAValue:
        """Return an integer or index value as an SSA value."""
        if isinstance(number, SSAValue):
            return number
        return self.insert(ConstantOp(IntegerAttr(number, INDEX)))

    def index_instruction(self, name: str, left: IndexOrInt, right: IndexOrInt) -> SSAValue:
        if name == "muli_i64":
            return self.binary(self._product, left, right)
        return self.binary(_OPERATIONS[name], left, right)

    def sum(self, left: SSAValue, right: IndexOrInt) -> SSAValue:
        """Return `left + right`. Constants are folded, and adding 0 returns the other operand."""
        one, other = known(left), known(right) if isinstance(right, SSAValue) else right
        if other == 0:
            return left
        if one == 0 and isinstance(right, SSAValue):
            return right
        if isinstance(one, int) and isinstance(other, int):
            return self.index(one + other)
        return self.binary(AddiOp, left, right)

    def divide(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        if isinstance(left, int) and isinstance(right, int):
            return left // right
        return left if right == 1 else self.binary(DivUIOp, left, right)

    def broadcast_instruction(self, left: SSAValue, right: SSAValue) -> SSAValue:
        is_one = self.insert(CmpiOp(left, self.index(1), "eq"))
        return self.insert(SelectOp(is_one, right, left))

    def remainder(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        """Return `left mod right` for non-negative operands."""
        if isinstance(left, int) and isinstance(right, int):
            return left % right
        return 0 if right == 1 else self.binary(RemUIOp, left, right)

    def maximum(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        """Return the signed maximum."""
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        return self.binary(MaxSIOp, left, right)

    def binary(
        self, make: Callable[[SSAValue, SSAValue], Operation], left: IndexOrInt, right: IndexOrInt
    ) -> SSAValue:
        """Emit a binary op. At least one operand is not known."""
        return self.insert(make(self.index(left), self.index(right)))

    def _product(self, left: SSAValue, right: SSAValue) -> Operation:
        operation = MuliOp(left, right)
        if self.OVERFLOW is not None:
            operation.overflow_flags = self.OVERFLOW
        return operation


class BuilderIndices(IndexArithmetic):
    """Emits index arithmetic at a builder's insertion point.

    `constants` are the numbers that the block defines there already. They are used again, and new
    ones are added.
    """

    def __init__(self, builder: Builder, constants: dict[int, SSAValue] | None = None) -> None:
        self._builder = builder
        self._constants = constants

    def index(self, number: IndexOrInt) -> SSAValue:
        if isinstance(number, SSAValue) or self._constants is None:
            return super().index(number)
        if number not in self._constants:
            self._constants[number] = super().index(number)
        return self._constants[number]

    def insert(self, operation: Operation) -> SSAValue:
        return self._builder.insert(operation).results[0]

    def bytes_of(self, elements: IndexOrInt, bits: int, *, round_up: bool) -> IndexOrInt:
        """Return the size in bytes of a number of elements; sub-byte elements are packed."""
        if bits >= 8:
            return self.multiply(elements, bits // 8)
        in_byte = 8 // bits
        if isinstance(elements, int):
            return -(-elements // in_byte) if round_up else elements // in_byte
        return (
            self.binary(CeilDivUIOp, elements, in_byte)
            if round_up
            else self.divide(elements, in_byte)
        )


class _SizeIndices(BuilderIndices):
    """Arithmetic on sizes in memory: products have the `nsw` flag."""

    OVERFLOW = NO_SIGNED_WRAP


def is_contiguous(lengths: IndexList, sizes: IndexList) -> bool:
    """Return whether a slice of these lengths is provably contiguous in a row-major tensor.

    It is contiguous if every dimension after the first one with a length other than 1 is complete.
    """
    several = False
    for length, size in zip(lengths, sizes, strict=True):
        if several and length != size:
            return False
        several = several or length != 1
    return True


def reaches_end(starts: IndexList, lengths: IndexList, sizes: IndexList) -> bool:
    """Return whether a slice provably includes the last element of the tensor."""
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


def is_multiple(
    indices: IndexList, sizes: IndexList, unit: int, divisor: Callable[[IndexOrInt], int]
) -> bool:
    """Return whether `IndexFolding.linear` is provably a multiple of `unit`.

    `divisor` returns a number that divides an index; 0 if the index is 0.
    """
    stride, is_exact, position = 1, True, 0
    for index, size in zip(reversed(indices), reversed(sizes), strict=True):
        if isinstance(index, int) and is_exact:
            position += index * stride
        elif stride * divisor(index) % unit:
            return False
        stride *= divisor(size)
        is_exact = is_exact and isinstance(size, int)
    return position % unit == 0
