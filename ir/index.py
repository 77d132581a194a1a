"""Index arithmetic on numbers and SSA values: numbers stay numbers, values become operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.arith import (
    AddiOp,
    CeilDivSIOp,
    CeilDivUIOp,
    ConstantOp,
    DivUIOp,
    IntegerOverflowAttr,
    IntegerOverflowFlag,
    MaxSIOp,
    MaxUIOp,
    MinSIOp,
    MuliOp,
    RemUIOp,
    SubiOp,
)
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, OpResult, SSAValue

from ..tiling.storage_sizes import LARGEST_VECTOR_SCALE, Extent, StorageFormula
from .index_folding import IndexFolding

INDEX = IndexType()
NO_SIGNED_WRAP = IntegerOverflowAttr([IntegerOverflowFlag.NSW])


def constant_index(value: int, builder: Builder) -> SSAValue:
    """An index constant."""
    return builder.insert(ConstantOp(IntegerAttr(value, INDEX))).result


def emit_size(
    formula: StorageFormula, dynamic_sizes: Sequence[SSAValue], builder: Builder
) -> SSAValue:
    """The bytes of a formula, given the sizes of its dynamic dimensions in order.

    Known factors are one constant behind the first dynamic size; bytes of an element come last
    where rows of several dynamic sizes are padded. Only products of sizes that are rounded up or
    padded are said not to wrap. The order and the flags are those of IREE.
    """
    if formula.is_static:
        return constant_index(formula.evaluate(), builder)
    rest: Iterator[SSAValue] = iter(dynamic_sizes)
    plain = all(extent.multiple == 1 and not extent.padding for extent in formula.extents)
    several = sum(extent.size is None for extent in formula.extents) > 1
    padded = several and any(extent.padding for extent in formula.extents)
    indices = BuilderIndices(builder) if plain else _SizeIndices(builder)
    bits = formula.element_bits
    element_bytes = max(1, bits // 8)
    known = 1 if padded else element_bytes
    sizes: list[IndexOrInt] = []
    for extent in formula.extents:
        if extent.size is None:
            sizes.append(_stored_size(extent, next(rest), indices))
        else:
            known *= extent.stored(extent.size, LARGEST_VECTOR_SCALE)
    first, *others = sizes
    size = indices.multiply(first, known)
    for factor in (*others, element_bytes if padded else 1):
        size = indices.multiply(size, factor)
    if bits < 8:
        size = indices.binary(CeilDivUIOp, size, 8 // bits)
    return indices.index(size)


def _stored_size(extent: Extent, size: SSAValue, indices: IndexArithmetic) -> IndexOrInt:
    """The elements that are stored along a dynamic extent."""
    if extent.padding:
        size = indices.binary(_add_without_wrap, size, extent.padding)
    multiple = extent.multiple * (LARGEST_VECTOR_SCALE if extent.scalable else 1)
    if multiple == 1:
        return size
    return indices.multiply(indices.binary(CeilDivSIOp, size, multiple), multiple)


def _add_without_wrap(left: SSAValue, right: SSAValue) -> Operation:
    operation = AddiOp(left, right)
    operation.overflow_flags = NO_SIGNED_WRAP
    return operation


def emit_largest(values: Sequence[SSAValue], builder: Builder) -> SSAValue:
    """The largest of some index values that are not negative."""
    largest, *rest = values
    for value in rest:
        largest = builder.insert(MaxUIOp(largest, value)).result
    return largest


IndexOrInt: TypeAlias = int | SSAValue
"""A number that is known now, or a value of type index."""


def known(value: SSAValue) -> IndexOrInt:
    """The number that a value is, if it is an arith constant; else the value."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
        attribute = value.op.value
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return value


_OPERATIONS = {"addi_i64": AddiOp, "subi_i64": SubiOp, "minsi_i64": MinSIOp}
"""The operations on indices by the names of instructions."""


class IndexArithmetic(IndexFolding[SSAValue], ABC):
    """Arithmetic on indices. Operations are made only where a result is not known."""

    OVERFLOW: ClassVar[IntegerOverflowAttr | None] = None
    """What is said of products."""

    @abstractmethod
    def insert(self, operation: Operation) -> SSAValue:
        """Put an operation in its place; returns its first result."""

    def index(self, number: IndexOrInt) -> SSAValue:
        """A number as a value."""
        if isinstance(number, SSAValue):
            return number
        return self.insert(ConstantOp(IntegerAttr(number, INDEX)))

    def index_instruction(self, name: str, left: IndexOrInt, right: IndexOrInt) -> SSAValue:
        if name == "muli_i64":
            return self.binary(self._product, left, right)
        return self.binary(_OPERATIONS[name], left, right)

    def sum(self, left: SSAValue, right: IndexOrInt) -> SSAValue:
        """`left + right`, either of which may be a constant; none is made anew for it."""
        one, other = known(left), known(right) if isinstance(right, SSAValue) else right
        if other == 0:
            return left
        if one == 0 and isinstance(right, SSAValue):
            return right
        if isinstance(one, int) and isinstance(other, int):
            return self.index(one + other)
        return self.binary(AddiOp, left, right)

    def divide(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        """left / right of numbers that are not negative, rounded down."""
        if isinstance(left, int) and isinstance(right, int):
            return left // right
        return left if right == 1 else self.binary(DivUIOp, left, right)

    def remainder(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        """left mod right of numbers that are not negative."""
        if isinstance(left, int) and isinstance(right, int):
            return left % right
        return 0 if right == 1 else self.binary(RemUIOp, left, right)

    def maximum(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        """The larger of two numbers with signs."""
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        return self.binary(MaxSIOp, left, right)

    def binary(
        self,
        make: Callable[[SSAValue, SSAValue], Operation],
        left: IndexOrInt,
        right: IndexOrInt,
    ) -> SSAValue:
        """What an operation makes of two numbers that are not both known."""
        return self.insert(make(self.index(left), self.index(right)))

    def _product(self, left: SSAValue, right: SSAValue) -> Operation:
        operation = MuliOp(left, right)
        if self.OVERFLOW is not None:
            operation.overflow_flags = self.OVERFLOW
        return operation


class BuilderIndices(IndexArithmetic):
    """Index arithmetic where a builder is."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def insert(self, operation: Operation) -> SSAValue:
        return self._builder.insert(operation).results[0]

    def bytes_of(self, elements: IndexOrInt, bits: int, *, round_up: bool) -> IndexOrInt:
        """The bytes of some elements; elements of less than a byte are packed."""
        if bits >= 8:
            return self.multiply(elements, bits // 8)
        total = self.multiply(elements, bits)
        if isinstance(total, int):
            return -(-total // 8) if round_up else total // 8
        return self.binary(CeilDivUIOp, total, 8) if round_up else self.divide(total, 8)


class _SizeIndices(BuilderIndices):
    """The same of sizes in memory, whose products do not wrap."""

    OVERFLOW = NO_SIGNED_WRAP


def is_contiguous(lengths: Sequence[IndexOrInt], sizes: Sequence[IndexOrInt]) -> bool:
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
    starts: Sequence[IndexOrInt], lengths: Sequence[IndexOrInt], sizes: Sequence[IndexOrInt]
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


def is_multiple(indices: Sequence[IndexOrInt], sizes: Sequence[IndexOrInt], unit: int) -> bool:
    """Whether `IndexFolding.linear` is a multiple of `unit`, as far as is known."""
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
