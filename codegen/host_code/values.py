"""Values of a function while it is lowered: numbers in registers, and tensors in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, MemRefType, TensorType, UnrankedMemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...interpreter.entry_points import BUFFER_VIEW, shown_type
from ...ir.diagnostics import OperationError
from ...runtime.abi.values import UnsupportedType, dtype_of, element_type, static_shape
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.program import Register

Shape = tuple[IndexOrInt, ...]


class NotLowered(OperationError):
    """An operation that has no host code."""


class AlwaysRefused(OperationError):
    """An operation that ends each run which reaches it."""


@dataclass(frozen=True, slots=True)
class HostTensor:
    """A row-major tensor: its address, and the block that it is in, if that is counted.

    A tensor whose address is its block's register is all of the block.
    """

    address: Register
    block: Register | None
    shape: Shape
    dtype: np.dtype[Any]

    @property
    def is_whole(self) -> bool:
        """Whether the tensor surely begins where its block does."""
        return self.block == self.address

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known."""
        return all(isinstance(size, int) for size in self.shape)

    def bytes(self, builder: Builder) -> IndexOrInt:
        """The size of the elements."""
        return builder.size((*self.shape, self.dtype.itemsize))


@dataclass(frozen=True, slots=True, eq=False)
class HostObject:
    """What the program only passes around, such as a sharding, and is known."""

    value: object


@dataclass(frozen=True, slots=True)
class HostResource:
    """Bytes of a device: its number in the program's list of devices, 0 for nobody's.

    A resource whose address is its block's register is all of the block.
    """

    address: Register
    block: Register | None
    size: IndexOrInt
    owner: IndexOrInt


@dataclass(frozen=True, slots=True, eq=False)
class HostView:
    """A buffer view: the tensor that a caller passes or receives, and what its elements are."""

    tensor: HostTensor
    element: Attribute

    @property
    def block(self) -> Register | None:
        """The block of the tensor."""
        return self.tensor.block

    @property
    def address(self) -> Register:
        """The address of the tensor."""
        return self.tensor.address


@dataclass(frozen=True, slots=True, eq=False)
class BoundTensor:
    """A tensor of some shape in the bytes of a kernel's binding."""

    contents: HostResource
    type: TensorType[Attribute]
    shape: Shape


Counted = HostTensor | HostResource | HostView
"""What may lie in a block that is counted."""

HostValue = IndexOrInt | HostTensor | HostResource | HostView | BoundTensor | HostObject

RESOURCE_WORDS = 4
"""A resource as it is passed: its address, block, size and owner."""


def is_resource(value_type: Attribute) -> bool:
    """Whether values of a type are bytes of a device."""
    return value_type.name == "stream.resource"


def type_shape(value_type: Attribute, op: Operation) -> tuple[int, ...] | None:
    """The shape of a tensor type, negative where it is open; `None` for a scalar."""
    if isinstance(value_type, TensorType):
        return tuple(cast("TensorType[Attribute]", value_type).get_shape())
    if static_shape(value_type) != () or isinstance(value_type, MemRefType | UnrankedMemRefType):
        raise NotLowered(op, f"has a value of type {value_type}, which has no host code")
    return None


def element_dtype(value_type: Attribute, op: Operation) -> np.dtype[Any]:
    """The NumPy type of a value's elements."""
    try:
        dtype = dtype_of(value_type)
    except UnsupportedType as error:
        raise NotLowered(op, str(error)) from error
    if not isinstance(value_type, TensorType) and dtype.itemsize > 8:
        raise NotLowered(op, f"has a number of type {value_type}, which fits no register")
    return dtype


def passed_type(value: SSAValue, op: Operation) -> Attribute:
    """The type as of which a value is passed: of a buffer view that of the tensor it shows."""
    if value.type.name != BUFFER_VIEW:
        return value.type
    found = shown_type(value)
    if found.name == BUFFER_VIEW:
        raise NotLowered(op, "passes a buffer view, of which it is not known what tensor it shows")
    return found


def register_count(value_type: Attribute, op: Operation) -> int:
    """How many registers a value of a type takes when it is passed."""
    if is_resource(value_type):
        return RESOURCE_WORDS
    if isinstance(value_type, FunctionType):
        return 1
    shape = type_shape(value_type, op)
    element_dtype(value_type, op)
    return 1 if shape is None else 2 + sum(size < 0 for size in shape)


def flatten(value: HostValue, value_type: Attribute, op: Operation) -> list[IndexOrInt]:
    """The words of a value as it is passed: of a tensor its address, block and open sizes."""
    if isinstance(value, HostView):
        value = value.tensor
        shape = type_shape(value_type, op) or ()
        pairs = zip(value.shape, shape, strict=True)
        if any(known >= 0 and known != size for size, known in pairs):
            raise NotLowered(op, f"passes a buffer view that may show no {value_type}")
    if isinstance(value, HostTensor):
        shape = type_shape(value_type, op) or ()
        sizes = [size for size, known in zip(value.shape, shape, strict=True) if known < 0]
        return [value.address, 0 if value.block is None else value.block, *sizes]
    if isinstance(value, HostResource):
        return [value.address, 0 if value.block is None else value.block, value.size, value.owner]
    if isinstance(value, int | Register):
        return [value]
    raise NotLowered(op, "passes a value that is no number, which has no host code")


def received(words: Sequence[Register], value: SSAValue, op: Operation) -> HostValue:
    """What is passed in registers as a value."""
    kind = passed_type(value, op)
    content = unflatten(words, kind, op)
    if kind != value.type and isinstance(content, HostTensor):
        return HostView(content, element_type(kind))
    return content


def unflatten(words: Sequence[Register], value_type: Attribute, op: Operation) -> HostValue:
    """The value that lies in registers."""
    if is_resource(value_type):
        return HostResource(*words)
    if isinstance(value_type, FunctionType):
        return words[0]
    shape = type_shape(value_type, op)
    if shape is None:
        return words[0]
    rest = iter(words[2:])
    sizes = tuple(size if size >= 0 else next(rest) for size in shape)
    return HostTensor(words[0], words[1], sizes, element_dtype(value_type, op))
