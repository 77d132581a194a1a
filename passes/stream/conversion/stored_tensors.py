"""Represent tensors of a host program as resources with their sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
)
from xdsl.dialects.complex import ConstantOp as ComplexConstantOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream.async_ops import AsyncTransferOp
from ....dialects.stream.resources import ResourceSizeOp
from ....dialects.stream.tensor_ops import TensorConstantOp, TensorSizeOfOp
from ....dialects.stream.types import NamedParameter, NamedParameterAttr, ResourceType
from ....ir.index import IndexOrInt, constant_index
from ....ir.index_lists import INDEX
from ....ir.syntax.resource_directives import dynamic_dimensions

UNKNOWN = ResourceType(StringAttr("*"))
CONSTANT = ResourceType(StringAttr("constant"))
EXTERNAL = ResourceType(StringAttr("external"))
TRANSIENT = ResourceType(StringAttr("transient"))
VARIABLE = ResourceType(StringAttr("variable"))


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor that is stored in a resource."""

    resource: SSAValue
    size: SSAValue
    """The size in bytes."""
    dims: tuple[SSAValue, ...]
    """The sizes of the dynamic dimensions; empty where nothing needs them."""

    def values(self, *, with_dims: bool) -> tuple[SSAValue, ...]:
        """Return the values that control flow carries for the tensor."""
        return (self.resource, self.size, *(self.dims if with_dims else ()))


def carried_types(tensor: Tensor, *, with_dims: bool) -> tuple[Attribute, ...]:
    """Return the types of `StoredTensor.values`."""
    return (UNKNOWN, INDEX, *(INDEX,) * (dynamic_dimensions(tensor) if with_dims else 0))


def stored_from(values: Sequence[SSAValue]) -> StoredTensor:
    """Return the tensor of carried values: the inverse of `StoredTensor.values`."""
    return StoredTensor(values[0], values[1], tuple(values[2:]))


@dataclass(frozen=True, slots=True)
class PlacedBuilder:
    """A builder of operations, and the device that they run on if it is known."""

    builder: Builder
    affinity: Attribute | None
    known: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    """The values that were emitted earlier in the block, which are used again."""

    def on(self, affinity: Attribute | None) -> PlacedBuilder:
        """Return the same builder for another device."""
        return replace(self, affinity=affinity)

    def once(self, key: object, make: Callable[[], SSAValue]) -> SSAValue:
        """Return the value that the block has for a key; make it at first."""
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = make()
        return found

    def index(self, number: IndexOrInt) -> SSAValue:
        """Return a number as an SSA value."""
        if isinstance(number, SSAValue):
            return number
        return self.once(number, lambda: constant_index(number, self.builder))

    def add(
        self,
        op_class: type[IRDLOperation],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        results: Sequence[Attribute | Sequence[Attribute]] = (UNKNOWN,),
        **properties: Attribute | None,
    ) -> Operation:
        """Insert an operation that runs on the device."""
        return self.builder.insert(
            op_class.build(
                operands=operands,
                result_types=results,
                properties={**properties, "affinity": self.affinity},
            )
        )

    def make(
        self,
        op_class: type[IRDLOperation],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        type_: Attribute = UNKNOWN,
        **properties: Attribute | None,
    ) -> SSAValue:
        """Insert an operation that runs on the device; return its result."""
        return self.add(op_class, operands, [type_], **properties).results[0]

    def size_of(self, tensor: Tensor, dims: Sequence[SSAValue]) -> SSAValue:
        """Emit the size in bytes of a tensor on the device, once in a block."""
        return self.once(
            (tensor, *dims, self.affinity),
            lambda: self.make(TensorSizeOfOp, [dims], INDEX, encoding=tensor),
        )

    def tensor(
        self,
        op_class: type[IRDLOperation],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        tensor: Tensor,
        dims: Sequence[SSAValue],
        type_: ResourceType = UNKNOWN,
        **properties: Attribute | None,
    ) -> StoredTensor:
        """Insert an operation that makes a tensor, whose sizes are its last operands."""
        size = self.size_of(tensor, dims)
        operands = [*operands, dims, size]
        made = self.make(op_class, operands, type_, **properties, result_encoding=tensor)
        return StoredTensor(made, size, tuple(dims))

    def constant(
        self,
        value: Attribute,
        tensor: Tensor,
        dims: Sequence[SSAValue] = (),
        type_: ResourceType = CONSTANT,
    ) -> StoredTensor:
        """Emit constant contents as a resource."""
        if value.name == "flow.parameter.named" and isinstance(value, NamedParameter):
            value = NamedParameterAttr.new(value.parameters)
        resource = self.make(TensorConstantOp, [dims], type_, value=value, result_encoding=tensor)
        size = ResourceSizeOp.create(operands=[resource], result_types=[INDEX])
        return StoredTensor(resource, self.builder.insert(size).results[0], tuple(dims))


def zero_of(element: Attribute, builder: Builder) -> SSAValue:
    """Emit the zero of an element type."""
    if isinstance(element, ComplexType):
        part = cast(AnyFloat, element.parameters[0])
        parts = ArrayAttr([FloatAttr(0.0, part), FloatAttr(0.0, part)])
        return builder.insert(ComplexConstantOp(parts, cast(ComplexType, element))).results[0]
    if isinstance(element, IntegerType | IndexType):
        integer = cast(IntegerType[int] | IndexType, element)
        return builder.insert(ConstantOp(IntegerAttr(0, integer))).result
    return builder.insert(ConstantOp(FloatAttr(0.0, cast(AnyFloat, element)))).result


def transfer(
    stored: StoredTensor,
    source: Attribute | None,
    target: Attribute | None,
    builder: Builder,
    type_: ResourceType = UNKNOWN,
) -> StoredTensor:
    """Emit a transfer to another device. The layout of the bytes does not change."""
    resource = transferred(stored.resource, stored.size, source, target, builder, type_)
    return replace(stored, resource=resource)


def transferred(
    resource: SSAValue,
    size: SSAValue,
    source: Attribute | None,
    target: Attribute | None,
    builder: Builder,
    type_: Attribute,
) -> SSAValue:
    """Emit a transfer of a resource of `size` bytes; return the result, of type `type_`."""
    transfer = AsyncTransferOp.build(
        operands=[resource, size, size],
        result_types=[type_],
        properties={"source_affinity": source, "target_affinity": target},
    )
    return builder.insert(transfer).result
