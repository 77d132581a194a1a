"""Make constants, empty and filled tensors where they are needed.

Each process makes its shard directly, without slicing the whole. A tensor that two users want in
different shardings is made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects import arith, complex, tensor
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
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

ScalarOf = Callable[[SSAValue], SSAValue]
"""Return the local value of a scalar of the source program."""

ExtentOf = Callable[[SSAValue, int, Sharding | None, Emitter], IndexOrInt]
"""Return the size of a dimension of the local shard of a tensor, without halos."""


@dataclass(frozen=True, slots=True)
class Rematerializable:
    """A tensor that an operation makes from nothing or a scalar, with its annotated sharding."""

    result: SSAValue
    operation: Operation
    emitter: Emitter
    scalar_of: ScalarOf
    extent_of: ExtentOf
    sharding: Sharding | None = None

    def shard(self, target: Sharding | None) -> SSAValue:
        """Return the shard under a sharding, emitted once in the block of the operation."""
        if target is not None:
            target = target.without_partials()
        return self.emitter.once(
            ("rematerialized", self.result, target), lambda: self._make(target)
        )

    def _make(self, target: Sharding | None) -> SSAValue:
        emitter, operation = self.emitter, self.operation
        found = local_type(tensor_type_of(self.result), target)
        if operation.name in _VALUE_NAMES:
            return self._constant(target, found)
        scalars = [self.scalar_of(operation.operands[0])] if operation.name in _FROM_SCALAR else []
        sizes = self._sizes(target)
        if operation.name == "tensor.empty":
            return emitter.empty(found, sizes)
        if operation.name == "linalg.fill":
            rest = [emitter.empty(found, sizes)]
        else:
            rest = emitter.dynamic_sizes(found, sizes)
        return self._insert(rebuilt(operation, [*scalars, *rest], [found]))

    def _insert(self, made: Operation) -> SSAValue:
        """Insert another form of the operation, which keeps the name of the result."""
        made.results[0].name_hint = self.result.name_hint
        return self.emitter.insert(made)

    def _sizes(self, target: Sharding | None) -> list[IndexOrInt]:
        """Return the local sizes, with halos."""
        emitter = self.emitter
        sizes: list[IndexOrInt] = []
        for dimension in range(tensor_type_of(self.result).get_num_dims()):
            size = self.extent_of(self.result, dimension, target, emitter)
            width = 0 if target is None else sum(halo(target, dimension))
            sizes.append(emitter.add(size, width))
        return sizes

    def _constant(self, target: Sharding | None, found: TensorType[Attribute]) -> SSAValue:
        emitter, operation = self.emitter, self.operation
        if target is None:
            return emitter.insert(operation.clone())
        whole, splat = tensor_type_of(self.result), splat_of(operation)
        if splat is not None and found.has_static_shape():
            name = _VALUE_NAMES[operation.name]
            smaller = cast("TensorType[IntegerType]", found)
            bytes_of_one = splat.data.data[: len(splat.data.data) // prod(whole.get_shape())]
            data = BytesAttr(bytes_of_one * prod(found.get_shape()))
            small = DenseIntOrFPElementsAttr(smaller, data)
            properties = {**operation.properties, name: small}
            return self._insert(type(operation).create(result_types=[found], properties=properties))
        if splat is not None:
            scalar = emitter.insert(_element_of_splat(splat))
            sizes = emitter.dynamic_sizes(found, self._sizes(target))
            return self._insert(tensor.SplatOp(scalar, sizes, found))
        return emit_reshard(
            emitter,
            self.shard(None),
            whole,
            lambda dimension: self.extent_of(self.result, dimension, None, emitter),
            Sharding.replicated(target.grid, target.rank),
            target,
        )


_VALUE_NAMES = {"arith.constant": "value", "tosa.const": "values"}
"""The attributes that hold the elements of constants."""

_FROM_SCALAR = frozenset({"linalg.fill", "tensor.splat"})
"""Operations whose first operand is the element of which all others are copies."""


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


def splat_parts(
    splat: DenseIntOrFPElementsAttr[AnyDenseElement],
) -> Sequence[IntegerAttr | FloatAttr]:
    """Return the element of a splat, or both parts of a complex one."""
    element = splat.get_element_type()
    if not isinstance(element, ComplexType):
        return splat.get_attrs()[:1]
    part = cast("AnyFloat", cast("ComplexType[Any]", element).element_type)
    first = cast("tuple[float, float]", splat.get_values()[0])
    return [FloatAttr(each, part) for each in first]


def _element_of_splat(splat: DenseIntOrFPElementsAttr[AnyDenseElement]) -> Operation:
    """Return the element of a splat as a scalar constant."""
    element, parts = splat.get_element_type(), splat_parts(splat)
    if isinstance(element, ComplexType):
        return complex.ConstantOp(ArrayAttr(cast("list[FloatAttr]", parts)), element)
    return arith.ConstantOp(parts[0])
