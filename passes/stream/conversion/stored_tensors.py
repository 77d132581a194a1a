"""Tensors of a host program as resources: which bytes, how many, and the dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
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

INDEX = IndexType()
UNKNOWN = ResourceType(StringAttr("*"))
CONSTANT = ResourceType(StringAttr("constant"))
EXTERNAL = ResourceType(StringAttr("external"))
STAGING = ResourceType(StringAttr("staging"))
TRANSIENT = ResourceType(StringAttr("transient"))
VARIABLE = ResourceType(StringAttr("variable"))


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor behind a resource."""

    resource: SSAValue
    size: SSAValue
    """In bytes."""
    dims: tuple[SSAValue, ...]
    """The sizes of the dimensions that its type leaves open; none where nobody asks for them."""

    def values(self, *, with_dims: bool) -> tuple[SSAValue, ...]:
        """All that a loop has to carry of the tensor."""
        return (self.resource, self.size, *(self.dims if with_dims else ()))


def carried_types(tensor: Tensor, *, with_dims: bool) -> tuple[Attribute, ...]:
    """The types of `StoredTensor.values`."""
    open_sizes = tensor.get_shape().count(DYNAMIC_INDEX) if with_dims else 0
    return (UNKNOWN, INDEX, *(INDEX,) * open_sizes)


def stored_from(values: Sequence[SSAValue]) -> StoredTensor:
    """The inverse of `StoredTensor.values`."""
    return StoredTensor(values[0], values[1], tuple(values[2:]))


@dataclass(frozen=True, slots=True)
class Site:
    """Where operations are made: at a builder's point, to run on a device if one is known."""

    builder: Builder
    place: Attribute | None

    def add(
        self,
        made: type[IRDLOperation],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        results: Sequence[Attribute | Sequence[Attribute]] = (UNKNOWN,),
        **properties: Attribute | None,
    ) -> Operation:
        """A new operation that runs here."""
        return self.builder.insert(
            made.build(
                operands=operands,
                result_types=results,
                properties={**properties, "affinity": self.place},
            )
        )

    def make(
        self,
        made: type[IRDLOperation],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        type_: Attribute = UNKNOWN,
        **properties: Attribute | None,
    ) -> SSAValue:
        """The result of a new operation that runs here."""
        return self.add(made, operands, [type_], **properties).results[0]

    def size_of(self, tensor: Tensor, dims: Sequence[SSAValue]) -> SSAValue:
        """The bytes of a tensor on the device."""
        return self.make(TensorSizeOfOp, [dims], INDEX, encoding=tensor)

    def constant(
        self,
        value: Attribute,
        tensor: Tensor,
        dims: Sequence[SSAValue] = (),
        type_: ResourceType = CONSTANT,
    ) -> StoredTensor:
        """Constant contents as a resource."""
        if value.name == "flow.parameter.named" and isinstance(value, NamedParameter):
            value = NamedParameterAttr.new(value.parameters)
        resource = self.make(TensorConstantOp, [dims], type_, value=value, result_encoding=tensor)
        size = ResourceSizeOp.create(operands=[resource], result_types=[INDEX])
        return StoredTensor(resource, self.builder.insert(size).results[0], tuple(dims))


def zero_of(element: Attribute, builder: Builder) -> SSAValue:
    """The zero of an element type."""
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
    """The same bytes on another device: their layout goes with them."""
    operation = AsyncTransferOp.build(
        operands=[stored.resource, stored.size, stored.size],
        result_types=[type_],
        properties={"source_affinity": source, "target_affinity": target},
    )
    return replace(stored, resource=builder.insert(operation).result)
