"""Make constants, empty and filled tensors where they are needed.

Each process makes its shard directly, without slicing the whole. A tensor that two users want in
different shardings is made twice.
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
    """The queries of a creation to the partitioner of its function."""

    def scalar(self, original: SSAValue) -> SSAValue:
        """Return the local value of a scalar of the source program."""
        ...

    def local_extent(
        self,
        original: SSAValue,
        dimension: int,
        sharding: Sharding | None,
        emitter: Emitter | None = None,
    ) -> IndexOrInt:
        """Return the size of a dimension of the local shard."""
        ...

    def global_size(self, original: SSAValue, dimension: int) -> IndexOrInt:
        """Return the size of a dimension of the whole tensor."""
        ...


@dataclass(frozen=True, slots=True)
class Creation:
    """A tensor that an operation makes from nothing or a scalar, with its annotated sharding."""

    result: SSAValue
    operation: Operation
    emitter: Emitter
    sharding: Sharding | None = None

    def annotated(self, sharding: Sharding | None) -> Creation:
        """Return the creation with another annotated sharding."""
        return Creation(self.result, self.operation, self.emitter, sharding)


def emit_creation(local: LocalValues, creation: Creation, target: Sharding | None) -> SSAValue:
    """Return the shard of a creation under a sharding, emitted once in the creation's block."""
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
    """Emit the operation with other operands and another type."""
    made = rebuilt(operation, operands, [result_type])
    made.location = operation.location
    made.results[0].name_hint = operation.results[0].name_hint
    return emitter.insert(made)


def _sizes(local: LocalValues, creation: Creation, target: Sharding | None) -> list[IndexOrInt]:
    """Return the local sizes of a creation, with halos."""
    emitter = creation.emitter
    whole = tensor_type_of(creation.result)
    sizes: list[IndexOrInt] = []
    for dimension in range(whole.get_num_dims()):
        size = local.local_extent(creation.result, dimension, target, emitter)
        width = 0 if target is None else sum(halo(target, dimension))
        sizes.append(emitter.add(size, width))
    return sizes


_VALUE_NAMES = {"arith.constant": "value", "tosa.const": "values"}


def splat_of(operation: Operation) -> DenseIntOrFPElementsAttr[AnyDenseElement] | None:
    """Return the attribute of a splat constant; `None` for other operations."""
    name = _VALUE_NAMES.get(operation.name)
    if name is None:
        return None
    value = operation.get_attr_or_prop(name)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    elements = cast(DenseIntOrFPElementsAttr[AnyDenseElement], value)
    return elements if is_splat(elements) else None


def _element_of_splat(splat: DenseIntOrFPElementsAttr[AnyDenseElement]) -> Operation:
    """Return the element of a splat as a scalar constant."""
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
