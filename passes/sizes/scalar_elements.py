"""Find the elements of small integer tensors, in which programs compute shapes, as scalars.

    %n = tensor.from_elements %size : tensor<1xi32>
    %shape = tensor.concat dim(0) %four, %n : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>

Element 1 of `%shape` is `%size`, which can be used without computing the tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp, IndexCastOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...dialects.result_sizes import ELEMENTWISE
from ...ir.attribute_access import attribute, constant_integer, element_type, integer, is_splat
from ...ir.index_lists import INDEX
from ...ir.locations import made_by, rebuilt
from ...ir.rules import Rules
from ...ir.tensor_types import part_at, ranked, static_shape
from .dimension_sizes import DimensionSizes, Size, program_size_rule

Indices = tuple[int, ...]
Rule = Callable[["ScalarElements", OpResult, Indices], SSAValue | None]

element_rule = Rules[Rule]()
"""Rules that return an element of an op's result as a scalar, `None` if it is not known as one."""

CASTS = ("arith.index_cast", "arith.index_castui")
"""Ops that convert between indices and integers."""

SIZE_BITS = 32
"""The least width in bits of integers that are assumed to hold any size.

StableHLO's `get_dimension_size` returns an i32.
"""


class ScalarElements:
    """Elements of tensors as scalars. Each is emitted once, right after the value it depends on."""

    def __init__(self, sizes: DimensionSizes) -> None:
        self.sizes = sizes
        self._elements: dict[tuple[SSAValue, Indices], SSAValue | None] = {}

    def element(self, tensor: SSAValue, indices: Indices) -> SSAValue | None:
        """Return an element of an integer tensor as a scalar, `None` if it is not known as one.

        An index out of bounds gives `None`, so that the read is kept and can be diagnosed.
        """
        if not _is_small(tensor) or not _is_inside(indices, static_shape(tensor)):
            return None
        key = tensor, indices
        if key not in self._elements:
            self._elements[key] = self._find(tensor, indices)
        return self._elements[key]

    def element_or_read(self, tensor: SSAValue, indices: Indices) -> SSAValue:
        """Return an element as a scalar; emit a `tensor.extract` if it is not known as one."""
        found = self.element(tensor, indices)
        if found is None:
            positions = [self.sizes.constant(index, tensor) for index in indices]
            builder = self.sizes.builder_after(tensor)
            read = ExtractOp(tensor, positions, element_type(tensor.type))
            found = builder.insert(read).result
            self._elements[tensor, indices] = found
        return found

    def index(self, tensor: SSAValue, indices: Indices) -> SSAValue:
        """Return an element as an index."""
        return self.as_index(self.element_or_read(tensor, indices))

    def as_index(self, value: SSAValue) -> SSAValue:
        """Return an integer as an index; an integer that was cast from a size gives that size."""
        if isinstance(value.type, IndexType):
            return value
        size = cast_size(value)
        if size is not None:
            return size
        return self.sizes.builder_after(value).insert(IndexCastOp(value, INDEX)).result

    def _find(self, tensor: SSAValue, indices: Indices) -> SSAValue | None:
        if not isinstance(tensor, OpResult):
            return None
        rule = element_rule.get(tensor.op.name)
        if rule is not None:
            return rule(self, tensor, indices)
        if tensor.op.name.startswith(ELEMENTWISE):
            return _elementwise(self, tensor, indices)
        view = structured_view(tensor.op)
        return None if view is None else _of_loops(self, view, tensor, indices)


def cast_size(value: SSAValue) -> SSAValue | None:
    """Return the `tensor.dim` that an integer was cast from, `None` for other integers."""
    cast_, kind = made_by(value, *CASTS), value.type
    if cast_ is None or made_by(cast_.operands[0], "tensor.dim") is None:
        return None
    is_wide = isinstance(kind, IntegerType) and kind.bitwidth >= SIZE_BITS
    return cast_.operands[0] if is_wide else None


def _is_small(tensor: SSAValue) -> bool:
    """Return whether a tensor has a static shape and elements of integer or index type."""
    found = ranked(tensor)
    if found is None or min(found.get_shape(), default=0) < 0:
        return False
    return isinstance(found.get_element_type(), IntegerType | IndexType)


def _is_inside(indices: Indices, shape: Sequence[int]) -> bool:
    return all(0 <= index < size for index, size in zip(indices, shape, strict=True))


def _linearize(indices: Sequence[int], shape: Sequence[int]) -> int:
    number = 0
    for index, size in zip(indices, shape, strict=True):
        number = number * size + index
    return number


def _delinearize(number: int, shape: Sequence[int]) -> Indices:
    indices: list[int] = []
    for size in reversed(shape):
        number, index = divmod(number, size)
        indices.append(index)
    return tuple(reversed(indices))


@element_rule("tensor.from_elements")
def _from_elements(elements: ScalarElements, tensor: OpResult, indices: Indices) -> SSAValue | None:
    return tensor.op.operands[_linearize(indices, static_shape(tensor))]


@element_rule("arith.constant")
def _constant(elements: ScalarElements, tensor: OpResult, indices: Indices) -> SSAValue | None:
    value = attribute(tensor.op, "value")
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    values = cast("DenseIntOrFPElementsAttr[Any]", value)
    number = 0 if is_splat(values) else _linearize(indices, static_shape(tensor))
    found = values.get_values()[number]
    element = cast("IndexType | IntegerType", values.get_element_type())
    constant = ConstantOp(IntegerAttr(found, element))
    return elements.sizes.builder_after(tensor).insert(constant).result


@element_rule("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.reshape")
def _same_order(elements: ScalarElements, tensor: OpResult, indices: Indices) -> SSAValue | None:
    source = tensor.op.operands[0]
    shape = static_shape(source) if _is_small(source) else None
    if shape is None or prod(shape) != prod(static_shape(tensor)):
        return None
    return elements.element_or_read(
        source, _delinearize(_linearize(indices, static_shape(tensor)), shape)
    )


@element_rule("tensor.concat")
def _concatenated(elements: ScalarElements, tensor: OpResult, indices: Indices) -> SSAValue | None:
    dimension = cast(IntegerAttr, attribute(tensor.op, "dim")).value.data
    found = part_at(tensor.op.operands, dimension, indices[dimension])
    if found is None or not _is_small(found[0]):
        return None
    part, index = found
    return elements.element_or_read(part, (*indices[:dimension], index, *indices[dimension + 1 :]))


def _elementwise(elements: ScalarElements, tensor: OpResult, indices: Indices) -> SSAValue | None:
    """Apply an elementwise op to the elements at one position."""
    operation = tensor.op
    operands = [
        value if ranked(value) is None else elements.element_or_read(value, indices)
        for value in operation.operands
        if ranked(value) is None or _is_small(value)
    ]
    if len(operands) != len(operation.operands) or operation.regions:
        return None
    element = cast("TensorType[Any]", tensor.type).get_element_type()
    return _on_scalars(operation, operands, elements.sizes.builder_after(tensor), element)


def _on_scalars(
    operation: Operation, operands: Sequence[SSAValue], builder: Builder, result: Any
) -> SSAValue:
    return builder.insert(rebuilt(operation, operands, [result])).results[0]


def _of_loops(
    elements: ScalarElements, view: StructuredView, tensor: OpResult, indices: Indices
) -> SSAValue | None:
    """Evaluate one point of a structured op whose body computes with integers only."""
    loop_of_dimension = [
        each.position
        for each in view.output_maps[tensor.index].results
        if isinstance(each, AffineDimExpr)
    ]
    loops = len(view.iterators)
    steps = list(view.body.ops)
    used = [argument for argument in view.body.args if argument.uses]
    if (
        sorted(loop_of_dimension) != list(range(loops))
        or any(argument.index >= len(view.inputs) for argument in used)
        or not all(_is_small_or_scalar(view.inputs[argument.index]) for argument in used)
        or not all(_is_scalar_step(each) for each in steps[:-1])
    ):
        return None
    point = [indices[loop_of_dimension.index(loop)] for loop in range(loops)]
    values: dict[SSAValue, SSAValue] = {}
    for argument in used:
        operand = view.inputs[argument.index]
        own = tuple(view.maps[argument.index].eval(point, []))
        is_tensor = ranked(operand) is not None
        values[argument] = elements.element_or_read(operand, own) if is_tensor else operand
    builder = elements.sizes.builder_after(tensor)
    for step in steps[:-1]:
        result = step.results[0]
        if step.name == "linalg.index":
            values[result] = elements.sizes.constant(point[integer(step, "dim")], tensor)
        else:
            own_operands = [values.get(operand, operand) for operand in step.operands]
            values[result] = _on_scalars(step, own_operands, builder, result.type)
    yielded = steps[-1].operands[tensor.index]
    return values.get(yielded, yielded)


def _is_small_or_scalar(value: SSAValue) -> bool:
    return _is_small(value) or isinstance(value.type, IntegerType | IndexType)


def _is_scalar_step(operation: Operation) -> bool:
    if operation.name == "linalg.index":
        return True
    return (
        operation.name.startswith("arith.")
        and len(operation.results) == 1
        and not operation.regions
        and isinstance(operation.results[0].type, IntegerType | IndexType)
    )


def listed_size(sizes: DimensionSizes, numbers: SSAValue, index: int) -> Size:
    """Return a size that is an element of a tensor of rank 1."""
    found = ScalarElements(sizes).index(numbers, (index,))
    number = constant_integer(found)
    return found if number is None else number


@program_size_rule("tensor.reshape")
def _reshape(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the element of the shape operand."""
    return listed_size(sizes, value.op.operands[1], index)
