"""Shapes while a program is recorded: those that types leave open follow from the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ..dialects.diagnostics import OperationError
from ..dialects.index_lists import mixed_list
from ..dialects.structured import structured_view
from ..interpreter.attributes import integer, integers, operand_groups
from .expressions import RESHAPES
from .known_values import dimensions_of_part, shape_of
from .scalars import is_scalar_operation
from .tosa_expressions import ELEMENTWISE, is_read
from .tosa_kernels import TOSA_KERNELS

Shape = tuple[int, ...]


class ShapeResolver:
    """The shapes of one activation of a function.

    `known` gives the shape of a value that exists, `number` the value of an index.
    """

    def __init__(
        self,
        known: Callable[[SSAValue], Shape | None],
        number: Callable[[SSAValue], int],
    ) -> None:
        self._known = known
        self._number = number

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a tensor, whether it is stored or computed on the way."""
        found = self._known(value)
        if found is not None:
            return found
        static = shape_of(value)
        if all(size >= 0 for size in static):
            return static
        operation = value.owner
        if not isinstance(operation, Operation):
            raise OperationError(
                value.owner.parent_op() or _first_user(value), "has an argument of unknown shape"
            )
        return self.result_shape(operation, value)

    def result_shape(self, operation: Operation, result: SSAValue) -> Shape:
        """The shape of an operation's result from those of its operands."""
        static = shape_of(result)
        if all(size >= 0 for size in static):
            return static
        shape = self._computed_shape(operation, result, static)
        negative = [size for size in shape if size < 0]
        if negative:
            raise OperationError(operation, f"has the negative size {negative[0]}")
        return shape

    def _computed_shape(
        self, operation: Operation, result: SSAValue, static: Sequence[int]
    ) -> Shape:
        name = operation.name
        if name in ("tensor.empty", "tensor.generate"):
            return self._fill(static, operation.operands)
        if name == "tensor.splat":
            return self._fill(static, operation.operands[1:])
        if name == "tensor.extract_slice":
            sizes = self._mixed(
                operation, "static_sizes", operand_groups(operation, operation.operands)[2]
            )
            kept = dimensions_of_part(operation, result)
            return tuple(sizes[dimension] for dimension in kept)
        if name == "tensor.pad":
            return self._padded(operation)
        if name == "tensor.concat":
            axis = integer(operation, "dim")
            shapes = [self.shape(operand) for operand in operation.operands]
            total = sum(shape[axis] for shape in shapes)
            return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])
        if name in ("tensor.insert_slice", "tensor.insert", "linalg.pack", "linalg.unpack"):
            return self.shape(operation.operands[1])
        if name in ELEMENTWISE:
            shapes = [self.shape(each) for each in operation.operands if is_read(operation, each)]
            return tuple(max(sizes) for sizes in zip(*shapes, strict=True))
        if name in TOSA_KERNELS:
            return self._combined(operation)
        if name in RESHAPES:
            return self._reshaped(operation, static)
        view = structured_view(operation)
        if view is not None:
            return self.shape(
                view.outputs[next(i for i, each in enumerate(operation.results) if each is result)]
            )
        if is_scalar_operation(name) or name in ("tensor.cast", "tensor.bitcast", "linalg.softmax"):
            tensors = [each for each in operation.operands if isinstance(each.type, TensorType)]
            return self.shape(tensors[0])
        raise OperationError(operation, "has a result whose shape the numba backend cannot tell")

    def _fill(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> Shape:
        return mixed_list(static, map(self._number, dynamic))

    def _mixed(self, operation: Operation, name: str, dynamic: Sequence[SSAValue]) -> Shape:
        return mixed_list(integers(operation, name), map(self._number, dynamic))

    def _combined(self, operation: Operation) -> Shape:
        first = self.shape(operation.operands[0])
        if operation.name == "tosa.matmul":
            return (*first[:2], self.shape(operation.operands[1])[2])
        axis = integer(operation, "axis")
        return (*first[:axis], 1, *first[axis + 1 :])

    def _padded(self, operation: Operation) -> Shape:
        source, low, high = operand_groups(operation, operation.operands)
        lows = self._mixed(operation, "static_low", low)
        highs = self._mixed(operation, "static_high", high)
        return tuple(
            before + size + after
            for before, size, after in zip(lows, self.shape(source[0]), highs, strict=True)
        )

    def _reshaped(self, operation: Operation, static: Sequence[int]) -> Shape:
        source = self.shape(operation.operands[0])
        if operation.name == "tensor.collapse_shape":
            groups = reassociation(operation)
            return tuple(prod(source[dimension] for dimension in group) for group in groups)
        if operation.name == "tensor.expand_shape":
            dynamic = operation.operands[1:]
            if sum(size < 0 for size in static) == len(dynamic):
                return self._fill(static, dynamic)
        unknown = [dimension for dimension, size in enumerate(static) if size < 0]
        if len(unknown) != 1:
            raise OperationError(operation, "has more than one size that follows from no operand")
        rest = prod(size for size in static if size >= 0)
        size = prod(source) // rest if rest else 0
        return tuple(size if each < 0 else each for each in static)


def reassociation(operation: Operation) -> list[tuple[int, ...]]:
    """Which dimensions of the larger rank make up each of the smaller."""
    groups: list[tuple[int, ...]] = []
    attribute = operation.get_attr_or_prop("reassociation")
    for group in getattr(attribute, "data", ()):
        groups.append(tuple(entry.value.data for entry in group.data))
    return groups


def _first_user(value: SSAValue) -> Operation:
    use = value.first_use
    if use is None:
        raise ValueError("a value without a user was asked for its shape")
    return use.operation
