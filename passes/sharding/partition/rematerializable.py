"""Tensors that are made where they are needed: constants, empty and filled tensors.

Rather than make the whole and slice it, each process makes its shard. A tensor that two users
want in two shardings is made twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, cast

from xdsl.dialects import arith, complex, tensor
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.attribute_access import is_splat
from ....ir.index import IndexOrInt
from ....ir.locations import rebuilt
from ....sharding.local_shape import halo
from ....sharding.sharding import Sharding
from .emit_reshard import emit_reshard
from .emitter import Emitter
from .local_types import local_type, tensor_type_of


class LocalValues(Protocol):
    """What a creation asks of the function that is being partitioned."""

    def scalar(self, original: SSAValue) -> SSAValue:
        """A scalar of the original program in the local one."""
        ...

    def local_size(
        self,
        original: SSAValue,
        dimension: int,
        sharding: Sharding | None,
        emitter: Emitter | None = None,
    ) -> IndexOrInt:
        """The size of a dimension of the local shard."""
        ...

    def global_size(self, original: SSAValue, dimension: int) -> IndexOrInt:
        """The size of a dimension of the whole tensor."""
        ...


@dataclass(frozen=True, slots=True)
class Creation:
    """A tensor that an operation makes of nothing (or of a scalar), and where it is annotated."""

    result: SSAValue
    operation: Operation
    emitter: Emitter
    sharding: Sharding | None = None

    def annotated(self, sharding: Sharding | None) -> Creation:
        """The same, said to be placed."""
        return Creation(self.result, self.operation, self.emitter, sharding)


def emit_creation(local: LocalValues, creation: Creation, target: Sharding | None) -> SSAValue:
    """The shard of a creation under a sharding; made once in the block of the creation."""
    if target is not None:
        target = target.without_partials()
    emitter = creation.emitter
    return emitter.once(
        ("creation", creation.result, target), lambda: _make(local, creation, target)
    )


def _make(local: LocalValues, creation: Creation, target: Sharding | None) -> SSAValue:
    emitter, operation = creation.emitter, creation.operation
    whole = tensor_type_of(creation.result)
    found = local_type(whole, target)
    match operation.name:
        case "tensor.empty":
            sizes = _sizes(local, creation, target)
            return emitter.empty(found, sizes)
        case "bufferization.alloc_tensor":
            sizes = emitter.dynamic_sizes(found, _sizes(local, creation, target))
            return _again(emitter, operation, sizes, found)
        case "linalg.fill":
            scalar = local.scalar(operation.operands[0])
            empty = emitter.empty(found, _sizes(local, creation, target))
            return _again(emitter, operation, [scalar, empty], found)
        case "tensor.splat":
            scalar = local.scalar(operation.operands[0])
            sizes = emitter.dynamic_sizes(found, _sizes(local, creation, target))
            return _again(emitter, operation, [scalar, *sizes], found)
        case _:
            return _constant(local, creation, target, found)


def _again(
    emitter: Emitter,
    operation: Operation,
    operands: list[SSAValue],
    result_type: TensorType[Attribute],
) -> SSAValue:
    """The operation with other operands and another type."""
    made = rebuilt(operation, operands, [result_type])
    made.location = operation.location
    made.results[0].name_hint = operation.results[0].name_hint
    return emitter.insert(made)


def _sizes(local: LocalValues, creation: Creation, target: Sharding | None) -> list[IndexOrInt]:
    """The local sizes of a creation, with halos."""
    emitter = creation.emitter
    whole = tensor_type_of(creation.result)
    sizes: list[IndexOrInt] = []
    for dimension in range(whole.get_num_dims()):
        size = local.local_size(creation.result, dimension, target, emitter)
        width = 0 if target is None else sum(halo(target, dimension))
        sizes.append(emitter.add(size, width))
    return sizes


_VALUE_NAMES = {"arith.constant": "value", "tosa.const": "values"}


def splat_of(operation: Operation) -> DenseIntOrFPElementsAttr[AnyDenseElement] | None:
    """The attribute of a constant all of whose elements are equal."""
    name = _VALUE_NAMES.get(operation.name)
    if name is None:
        return None
    value = operation.get_attr_or_prop(name)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    elements = cast(DenseIntOrFPElementsAttr[AnyDenseElement], value)
    return elements if is_splat(elements) else None


def _element_of_splat(splat: DenseIntOrFPElementsAttr[AnyDenseElement]) -> Operation:
    """The element that a constant is full of, as a constant of its own."""
    element = splat.get_element_type()
    if not isinstance(element, ComplexType):
        return arith.ConstantOp(splat.get_attrs()[0])
    parts = cast("tuple[float, float]", splat.get_values()[0])
    part = cast("AnyFloat", cast("ComplexType[Any]", element).element_type)
    return complex.ConstantOp(ArrayAttr([FloatAttr(each, part) for each in parts]), element)


def _constant(
    local: LocalValues,
    creation: Creation,
    target: Sharding | None,
    found: TensorType[Attribute],
) -> SSAValue:
    emitter, operation = creation.emitter, creation.operation
    whole = tensor_type_of(creation.result)
    splat = splat_of(operation)
    if target is not None and splat is not None and found.has_static_shape():
        name = _VALUE_NAMES[operation.name]
        smaller = cast("TensorType[IntegerType]", found)
        bytes_of_one = splat.data.data[: len(splat.data.data) // prod(whole.get_shape())]
        data = BytesAttr(bytes_of_one * prod(found.get_shape()))
        small = DenseIntOrFPElementsAttr(smaller, data)
        properties = {**operation.properties, name: small}
        made = type(operation).create(
            result_types=[found], properties=properties, location=operation.location
        )
        made.results[0].name_hint = operation.results[0].name_hint
        return emitter.insert(made)
    if target is not None and splat is not None:
        scalar = emitter.insert(_element_of_splat(splat))
        sizes = emitter.dynamic_sizes(found, _sizes(local, creation, target))
        return emitter.insert(tensor.SplatOp(scalar, sizes, found))
    if target is None:
        made = emitter.insert(operation.clone())
        return made
    value = emit_creation(local, creation, None)
    return emit_reshard(
        emitter,
        value,
        whole,
        lambda dimension: local.global_size(creation.result, dimension),
        Sharding.replicated(target.grid, target.rank),
        target,
    )
