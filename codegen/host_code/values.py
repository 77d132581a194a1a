"""The values of a function while it is lowered: numbers in registers, and data in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ComplexType,
    FunctionType,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
    f64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...interpreter.function_signatures import BUFFER_VIEW, tensor_type_of
from ...interpreter.shapes import slice_of
from ...ir.diagnostics import OperationError
from ...ir.index_lists import mixed_list
from ...runtime.abi.arrays import UnsupportedType, dynamic_sizes
from ...runtime.abi.values import dtype_of, element_type, static_shape
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.entry import passing_registers
from ...runtime.host.program import Register

Shape = tuple[IndexOrInt, ...]


def dynamic_words(words: Iterable[IndexOrInt]) -> tuple[Register, ...]:
    """Return those words that are in registers."""
    return tuple(word for word in words if isinstance(word, Register))


def filled_words(words: Iterable[IndexOrInt], numbers: Iterable[int]) -> tuple[int, ...]:
    """Return words with their registers replaced by numbers, the values of `dynamic_words`."""
    rest = iter(numbers)
    return tuple(word if isinstance(word, int) else next(rest) for word in words)


class NotLowered(OperationError):
    """An operation that has no host code."""


class AlwaysFails(OperationError):
    """An operation that fails in every run that reaches it."""


@dataclass(frozen=True, slots=True)
class Part:
    """The offsets, sizes and strides of a slice of a tensor."""

    offsets: Shape
    sizes: Shape
    strides: Shape

    @property
    def words(self) -> Shape:
        """The numbers of all three lists."""
        return (*self.offsets, *self.sizes, *self.strides)

    @staticmethod
    def slices(op: Operation, whole: Sequence[int], words: Sequence[int]) -> tuple[slice, ...]:
        """Return the slices of an array of a shape, given the values of `words`.

        Raises OperationError if the slice is out of bounds.
        """
        rank = len(whole)
        lists = (words[first : first + rank] for first in (0, rank, 2 * rank))
        return slice_of(op, whole, *lists)


@dataclass(frozen=True, slots=True)
class HostTensor:
    """A row-major tensor: its address, and the reference-counted block that contains it.

    `block` is `None` for memory that is not counted. If `address` is the same register as `block`,
    the tensor begins where the block does.
    """

    address: Register
    block: Register | None
    shape: Shape
    dtype: np.dtype[Any]

    @property
    def is_whole(self) -> bool:
        """Whether the tensor is known to begin where its block does."""
        return self.block == self.address

    def bytes(self, builder: Builder) -> IndexOrInt:
        """Return the size of the tensor in bytes."""
        return builder.size((*self.shape, self.dtype.itemsize))


@dataclass(frozen=True, slots=True, eq=False)
class HostObject:
    """A value known at compile time that is not a number or tensor, such as a sharding."""

    value: object


@dataclass(frozen=True, slots=True)
class HostResource:
    """The bytes of a resource. `owner` is a device's index in the program's list, 0 for no device.

    If `address` is the same register as `block`, the resource begins where the block does.
    """

    address: Register
    block: Register | None
    size: IndexOrInt
    owner: IndexOrInt


@dataclass(frozen=True, slots=True, eq=False)
class HostView:
    """A buffer view: a tensor that a caller passes or receives, with its element type."""

    tensor: HostTensor
    element: Attribute

    @property
    def block(self) -> Register | None:
        """The block of the viewed tensor."""
        return self.tensor.block

    @property
    def address(self) -> Register:
        """The address of the viewed tensor."""
        return self.tensor.address


@dataclass(frozen=True, slots=True, eq=False)
class BoundTensor:
    """A tensor in the bytes of a kernel's binding."""

    contents: HostResource
    type: TensorType[Attribute]
    shape: Shape


Counted = HostTensor | HostResource | HostView
"""Values that may own a reference to a block."""

HostValue = IndexOrInt | HostTensor | HostResource | HostView | BoundTensor | HostObject

RESOURCE_WORDS = 4
"""The number of words of a resource when it is passed: address, block, size and owner."""


def is_resource(value_type: Attribute) -> bool:
    """Return whether values of a type are resources."""
    return value_type.name == "stream.resource"


def type_shape(value_type: Attribute, op: Operation) -> tuple[int, ...] | None:
    """Return the shape of a tensor type, negative where dynamic; `None` for a scalar.

    Raises NotLowered for other types.
    """
    if isinstance(value_type, TensorType):
        return tuple(cast("TensorType[Attribute]", value_type).get_shape())
    if static_shape(value_type) != () or isinstance(value_type, MemRefType | UnrankedMemRefType):
        raise NotLowered(op, f"has a value of type {value_type}, which has no host code")
    return None


def is_wide_number(value_type: Attribute) -> bool:
    """Return whether a type is that of numbers that are wider than a register."""
    return value_type == ComplexType(f64)


def element_dtype(value_type: Attribute, op: Operation) -> np.dtype[Any]:
    """Return the NumPy dtype of a value's elements.

    Raises NotLowered if the type is not supported, or a scalar is wider than a register.
    """
    try:
        dtype = dtype_of(value_type)
    except UnsupportedType as error:
        raise NotLowered(op, str(error)) from error
    if is_wide_number(value_type):
        raise NotLowered(op, f"has a number of type {value_type}, which does not fit in a register")
    return dtype


def passed_type(value: SSAValue, op: Operation) -> Attribute:
    """Return the type that a value is passed as: for a buffer view, the type of its tensor.

    Raises NotLowered for a buffer view of unknown type.
    """
    if value.type.name != BUFFER_VIEW:
        return value.type
    found = tensor_type_of(value)
    if found.name == BUFFER_VIEW:
        raise NotLowered(op, "passes a buffer view of an unknown tensor type")
    return found


def register_count(value_type: Attribute, op: Operation) -> int:
    """Return the number of registers in which a value of a type is passed.

    Raises NotLowered for unsupported types.
    """
    if is_resource(value_type):
        return RESOURCE_WORDS
    if isinstance(value_type, FunctionType):
        return 1
    shape = type_shape(value_type, op)
    element_dtype(value_type, op)
    return passing_registers(shape)


def flatten(value: HostValue, value_type: Attribute, op: Operation) -> list[IndexOrInt]:
    """Return the words in which a value is passed: of a tensor address, block, dynamic sizes.

    Raises NotLowered for a value that is not passed in registers.
    """
    if isinstance(value, HostView):
        value = value.tensor
        shape = type_shape(value_type, op) or ()
        pairs = zip(value.shape, shape, strict=True)
        if any(known >= 0 and known != size for size, known in pairs):
            raise NotLowered(op, f"passes a buffer view that may not have type {value_type}")
    if isinstance(value, int | Register):
        return [value]
    if isinstance(value, HostTensor):
        sizes = dynamic_sizes(value.shape, type_shape(value_type, op) or ())
    elif isinstance(value, HostResource):
        sizes = [value.size, value.owner]
    else:
        raise NotLowered(op, "passes a value that is not a number, which has no host code")
    return [value.address, 0 if value.block is None else value.block, *sizes]


def flatten_all(
    values: Iterable[HostValue], types: Iterable[Attribute], op: Operation
) -> list[IndexOrInt]:
    """Return the words in which several values are passed, one after the other.

    Raises NotLowered for a value that is not passed in registers.
    """
    pairs = zip(values, types, strict=True)
    return [word for value, each in pairs for word in flatten(value, each, op)]


def received(words: Sequence[Register], value: SSAValue, op: Operation) -> HostValue:
    """Return the value that was passed in registers for `value`.

    Raises NotLowered for unsupported types.
    """
    kind = passed_type(value, op)
    content = unflatten(words, kind, op)
    if kind != value.type and isinstance(content, HostTensor):
        return HostView(content, element_type(kind))
    return content


def unflatten(words: Sequence[Register], value_type: Attribute, op: Operation) -> HostValue:
    """Return the value of a type that is held by registers; the inverse of `flatten`.

    Raises NotLowered for unsupported types.
    """
    if is_resource(value_type):
        return HostResource(*words)
    if isinstance(value_type, FunctionType):
        return words[0]
    shape = type_shape(value_type, op)
    if shape is None:
        return words[0]
    address, block, *sizes = words
    return HostTensor(address, block, mixed_list(shape, sizes), element_dtype(value_type, op))
