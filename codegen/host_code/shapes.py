"""Compute the shapes of tensors while a function is lowered; dynamic sizes are in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...ir.attribute_access import integer, integer_lists, integers, operand_groups
from ...ir.index_lists import mixed_list
from ...runtime.host.builder import Builder, IndexOrInt
from ..kernels.static_values import dimensions_of_part, shape_of
from ..kernels.tosa_expressions import ELEMENTWISE, is_read
from ..kernels.tosa_kernels import TOSA_KERNELS
from ..scalar_ops.scalars import is_scalar_operation
from .values import Shape


class HostShapes:
    """The shapes of the tensors of a function.

    - `known`: returns the shape of a value that has been computed;
    - `number`: returns an index;
    - `ask`: returns the shapes of an operation's results if no instructions compute them.
    """

    def __init__(
        self,
        builder: Builder,
        known: Callable[[SSAValue], Shape | None],
        number: Callable[[SSAValue], IndexOrInt],
        ask: Callable[[Operation], Sequence[Shape]],
    ) -> None:
        self.builder = builder
        self._known = known
        self._number = number
        self._ask = ask

    def shape(self, value: SSAValue) -> Shape:
        """Return the shape of a tensor, which may be fused into a kernel and have no memory.

        Raises ValueError for a block argument whose shape is not known.
        """
        found = self._known(value)
        if found is not None:
            return found
        static = shape_of(value)
        if all(size >= 0 for size in static):
            return static
        operation = value.owner
        if not isinstance(operation, Operation):
            raise ValueError("an argument has no shape yet")
        return self.result_shape(operation, value)

    def result_shape(self, operation: Operation, result: SSAValue) -> Shape:
        """Return the shape of a result: static sizes from its type, others from the operands."""
        static = shape_of(result)
        if all(size >= 0 for size in static):
            return static
        computed = _RULES.get(operation.name, _shape)(self, operation, result)
        return tuple(
            known if known >= 0 else size for known, size in zip(static, computed, strict=True)
        )

    def mixed(self, operation: Operation, name: str, dynamic: Sequence[SSAValue]) -> Shape:
        """Return a list of static and dynamic indices, such as `[1, %v]`."""
        return self.filled(integers(operation, name), dynamic)

    def filled(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> Shape:
        """Return sizes in which `DYNAMIC_INDEX` marks those that are operands."""
        return mixed_list(static, map(self._number, dynamic))

    def asked(self, operation: Operation, result: SSAValue) -> Shape:
        """Return the shape of a result as `ask` tells it."""
        shapes = zip(operation.results, self._ask(operation), strict=True)
        return next(shape for each, shape in shapes if each is result)


Rule = Callable[[HostShapes, Operation, SSAValue], Shape]
"""Returns the shape of a result as it follows from the operands."""


def _shape(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    """Return the shape of a result of an operation that has no rule by its name."""
    view = structured_view(operation)
    if view is not None:
        position = next(i for i, each in enumerate(operation.results) if each is result)
        return shapes.shape(view.outputs[position])
    if is_scalar_operation(operation.name):
        return _first_tensor(shapes, operation, result)
    return shapes.asked(operation, result)


def _first_tensor(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    tensors = [each for each in operation.operands if isinstance(each.type, TensorType)]
    return shapes.shape(tensors[0])


def _destination(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    return shapes.shape(operation.operands[1])


def _filled(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    return shapes.filled(shape_of(result), operation.operands)


def _splat(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    return shapes.filled(shape_of(result), operation.operands[1:])


def _slice(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    """Return the shape of a slice. Raises OperationError if its type does not fit."""
    groups = operand_groups(operation, operation.operands)
    sizes = shapes.mixed(operation, "static_sizes", groups[2])
    return tuple(sizes[dimension] for dimension in dimensions_of_part(operation, result))


def _collapsed(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    source = shapes.shape(operation.operands[0])
    groups = integer_lists(operation, "reassociation")
    return tuple(shapes.builder.size([source[each] for each in group]) for group in groups)


def _concatenated(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    axis = integer(operation, "dim")
    first, *rest = (shapes.shape(operand) for operand in operation.operands)
    total = reduce(shapes.builder.add, (shape[axis] for shape in rest), first[axis])
    return (*first[:axis], total, *first[axis + 1 :])


def _padded(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    source, low, high = operand_groups(operation, operation.operands)
    lows = shapes.mixed(operation, "static_low", low)
    highs = shapes.mixed(operation, "static_high", high)
    add = shapes.builder.add
    return tuple(
        add(add(before, size), after)
        for before, size, after in zip(lows, shapes.shape(source[0]), highs, strict=True)
    )


def _broadcast(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    read = [shapes.shape(each) for each in operation.operands if is_read(operation, each)]
    # Zero points, such as those of tosa.negate, are not broadcast.
    alike = [shape for shape in read if len(shape) == len(read[0])]
    return tuple(reduce(shapes.builder.broadcast, sizes) for sizes in zip(*alike, strict=True))


def _reduced(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    source, axis = shapes.shape(operation.operands[0]), integer(operation, "axis")
    return (*source[:axis], 1, *source[axis + 1 :])


def _multiplied(shapes: HostShapes, operation: Operation, result: SSAValue) -> Shape:
    left, right = (shapes.shape(each) for each in operation.operands[:2])
    return (*left[:2], right[2])


_RULES: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, _broadcast),
    **dict.fromkeys(TOSA_KERNELS, _reduced),
    "linalg.pack": _destination,
    "linalg.softmax": _first_tensor,
    "linalg.unpack": _destination,
    "tensor.bitcast": _first_tensor,
    "tensor.cast": _first_tensor,
    "tensor.collapse_shape": _collapsed,
    "tensor.concat": _concatenated,
    "tensor.empty": _filled,
    "tensor.extract_slice": _slice,
    "tensor.generate": _filled,
    "tensor.insert": _destination,
    "tensor.insert_slice": _destination,
    "tensor.pad": _padded,
    "tensor.splat": _splat,
    "tosa.matmul": _multiplied,
}
"""The shape of an operation's result; elementwise and structured operations need no rule."""
