"""Load and store single elements in the bytes of a tensor.

An element of at least a byte is loaded and stored at its own offset. Smaller elements share bytes:
the byte is loaded, and the element is shifted out of it or merged into it.

    %x = stream.tensor.load %r[%i] : tensor<?xi4> -> i4
    ->
    %byte = stream.async.load %r[%i / 2] -> i8
    %low = arith.shrui %byte, (%i mod 2) * 4 : i8
    %x = arith.trunci %low : i8 to i4
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.arith import (
    AndIOp,
    BitcastOp,
    ConstantOp,
    ExtUIOp,
    IndexCastOp,
    OrIOp,
    ShLIOp,
    ShRUIOp,
    TruncIOp,
    XOrIOp,
)
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i8,
    i64,
)
from xdsl.dialects.complex import BitcastOp as ComplexBitcastOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.iree_encoding.interfaces import Tensor
from ...dialects.stream.async_ops import AsyncLoadOp, AsyncStoreOp
from ...dialects.stream.tensor_ops import TensorLoadOp, TensorStoreOp
from ...ir.diagnostics import OperationError
from ...ir.index import BuilderIndices, IndexOrInt
from ...ir.tensor_types import element_named, element_of
from ...tiling.element_types import ElementKind

MAX_PATTERN = 64
"""Width in bits of the widest pattern that a device can fill with."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A resource of some size in bytes."""

    resource: SSAValue
    size: SSAValue
    builder: Builder

    def load(self, offset: SSAValue, type_: Attribute) -> SSAValue:
        """Emit the load of a value of whole bytes."""
        operands = [self.resource, self.size, offset]
        load = AsyncLoadOp.create(operands=operands, result_types=[type_])
        return self.builder.insert(load).results[0]

    def store(self, offset: SSAValue, value: SSAValue) -> SSAValue:
        """Emit the store of a value of whole bytes; return the written resource."""
        operands = [self.resource, self.size, offset, value]
        store = AsyncStoreOp.create(operands=operands, result_types=[self.resource.type])
        return self.builder.insert(store).results[0]


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a row-major tensor: their type, and the distance between them in bits."""

    type: Attribute
    stored_bits: int

    def load(self, op: TensorLoadOp, index: IndexOrInt, builder: Builder) -> SSAValue:
        """Emit the load of the element at linear index `index` of the source.

        Raises OperationError for a signed or unsigned integer type of less than a byte.
        """
        bytes_ = _Bytes(op.source, op.source_size, builder)
        if self.stored_bits >= 8:
            return bytes_.load(self._byte_offset(index, builder), self.type)
        bits = self._bits_type(op)
        offset, shift = self._byte_and_shift(index, builder)
        low = builder.insert(ShRUIOp(bytes_.load(offset, i8), shift)).result
        value = builder.insert(TruncIOp(low, bits)).result
        return value if self.type == bits else builder.insert(BitcastOp(value, self.type)).result

    def store(self, op: TensorStoreOp, index: IndexOrInt, builder: Builder) -> SSAValue:
        """Emit the store at linear index `index` of the target; return the written resource.

        Raises OperationError for a signed or unsigned integer type of less than a byte.
        """
        value, bytes_ = op.value, _Bytes(op.target, op.target_size, builder)
        if self.stored_bits >= 8:
            return bytes_.store(self._byte_offset(index, builder), value)
        bits = self._bits_type(op)
        offset, shift = self._byte_and_shift(index, builder)
        if self.type != bits:
            value = builder.insert(BitcastOp(value, bits)).result
        wide = builder.insert(ExtUIOp(value, i8)).result
        placed = builder.insert(ShLIOp(wide, shift)).result
        field = builder.insert(ShLIOp(_byte((1 << self.stored_bits) - 1, builder), shift)).result
        others = builder.insert(XOrIOp(field, _byte(-1, builder))).result
        kept = builder.insert(AndIOp(bytes_.load(offset, i8), others)).result
        return bytes_.store(offset, builder.insert(OrIOp(kept, placed)).result)

    def _byte_offset(self, index: IndexOrInt, builder: Builder) -> SSAValue:
        """Return the byte offset of an element of whole bytes."""
        indices = BuilderIndices(builder)
        return indices.index(indices.bytes_of(index, self.stored_bits, round_up=False))

    def _bits_type(self, operation: Operation) -> IntegerType:
        """Return the integer type with which an element of less than a byte is shifted."""
        _require_signless(self.type, operation, "accesses one of several {} elements in a byte")
        return IntegerType(self.stored_bits)

    def _byte_and_shift(self, index: IndexOrInt, builder: Builder) -> tuple[SSAValue, SSAValue]:
        """Return the byte offset of an element, and its first bit in that byte."""
        in_byte, indices = 8 // self.stored_bits, BuilderIndices(builder)
        offset = indices.index(indices.divide(index, in_byte))
        shift = indices.multiply(indices.remainder(index, in_byte), self.stored_bits)
        if isinstance(shift, int):
            return offset, _byte(shift, builder)
        return offset, builder.insert(IndexCastOp(shift, i8)).result


def _require_signless(type_: Attribute, operation: Operation, use: str) -> None:
    """Raise OperationError if an element is a signed or unsigned integer; `use` names its use."""
    element = element_named(type_)
    if element.kind in (ElementKind.SIGNED, ElementKind.UNSIGNED):
        raise OperationError(
            operation,
            f"{use.format(element)}: only signless integers can be shifted, so use i{element.bits}",
        )


def pattern(value: SSAValue, stored_bits: int, operation: Operation, builder: Builder) -> SSAValue:
    """Emit the fill pattern of an element: its stored bits as an integer of 8, 16, 32 or 64 bits.

    Elements that share a byte are repeated to fill it. Raises OperationError if the pattern is
    wider than `MAX_PATTERN`, or of a signed or unsigned integer type.
    """
    if stored_bits > MAX_PATTERN:
        raise OperationError(
            operation,
            f"has unsupported pattern type {value.type}: only patterns of at most "
            f"{MAX_PATTERN} bits can be repeated; a new builtin is required",
        )
    _require_signless(value.type, operation, "repeats {} elements")
    element = element_named(value.type)
    if element.kind is ElementKind.COMPLEX:
        cast = ComplexBitcastOp.create(operands=[value], result_types=[IntegerType(stored_bits)])
        return builder.insert(cast).results[0]
    if isinstance(value.type, IndexType):
        return builder.insert(IndexCastOp(value, i64)).result
    if element.is_float:
        value = builder.insert(BitcastOp(value, IntegerType(element.bits))).result
    stored = IntegerType(max(stored_bits, 8))
    if value.type != stored:
        value = builder.insert(ExtUIOp(value, stored)).result
    repeated = value
    for _ in range(8 // stored_bits - 1):
        higher = builder.insert(ShLIOp(repeated, _byte(stored_bits, builder))).result
        repeated = builder.insert(OrIOp(higher, value)).result
    return repeated


def _byte(value: int, builder: Builder) -> SSAValue:
    return builder.insert(ConstantOp(IntegerAttr(value, i8))).result


# Constants


def packed_constant(operation: Operation, value: Attribute, tensor: Tensor) -> Attribute:
    """Return constant contents without gaps between elements, the first in the lowest bits."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise OperationError(operation, f"packs {value}, expected dense elements")
    bits = element_of(tensor).bits
    numbers = _unsigned(cast(DenseIntOrFPElementsAttr, value), bits)
    packed: list[int] = []
    for first in range(0, len(numbers), 8 // bits):
        in_byte = numbers[first : first + 8 // bits]
        packed.append(sum(number << position * bits for position, number in enumerate(in_byte)))
    return DenseIntOrFPElementsAttr.from_list(TensorType(i8, [len(packed)]), packed)


def stored_constant(value: Attribute) -> Attribute:
    """Return constant contents as they are stored: integers of odd width take whole bytes."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return value
    constant = cast(DenseIntOrFPElementsAttr, value)
    type_ = cast(Tensor, constant.type)
    bits, stored = element_of(type_).bits, element_of(type_).storage_bits
    if not isinstance(type_.element_type, IntegerType) or stored <= bits:
        return constant
    # Bits beyond the element are zero, as in what kernels store.
    type_ = TensorType(IntegerType(stored), type_.shape)
    return DenseIntOrFPElementsAttr.from_list(type_, _unsigned(constant, bits))


def _unsigned(constant: DenseIntOrFPElementsAttr[Any], bits: int) -> list[int]:
    """Return the elements of a constant as unsigned numbers."""
    return [number & ((1 << bits) - 1) for number in constant.get_values()]
