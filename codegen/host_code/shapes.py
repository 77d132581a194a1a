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
        self._builder = builder
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
        computed = self.computed_shape(operation, result)
        return tuple(
            known if known >= 0 else size for known, size in zip(static, computed, strict=True)
        )

    def computed_shape(self, operation: Operation, result: SSAValue) -> Shape:
        """Return the shape of a result as it follows from the operands.

        Raises OperationError for a slice whose type does not fit.
        """
        name = operation.name
        static = shape_of(result)
        if name in ("tensor.empty", "tensor.generate"):
            return self._fill(static, operation.operands)
        if name == "tensor.splat":
            return self._fill(static, operation.operands[1:])
        if name == "tensor.extract_slice":
            groups = operand_groups(operation, operation.operands)
            sizes = self.mixed(operation, "static_sizes", groups[2])
            return tuple(sizes[dimension] for dimension in dimensions_of_part(operation, result))
        if name == "tensor.pad":
            return self._padded(operation)
        if name == "tensor.concat":
            return self._joined(operation)
        if name in ("tensor.insert_slice", "tensor.insert", "linalg.pack", "linalg.unpack"):
            return self.shape(operation.operands[1])
        if name in ELEMENTWISE:
            return self._broadcast(operation)
        if name in TOSA_KERNELS:
            return self._combined(operation)
        if name == "tensor.collapse_shape":
            source = self.shape(operation.operands[0])
            groups = integer_lists(operation, "reassociation")
            return tuple(self._builder.size([source[each] for each in group]) for group in groups)
        view = structured_view(operation)
        if view is not None:
            position = next(i for i, each in enumerate(operation.results) if each is result)
            return self.shape(view.outputs[position])
        if is_scalar_operation(name) or name in ("tensor.cast", "tensor.bitcast", "linalg.softmax"):
            tensors = [each for each in operation.operands if isinstance(each.type, TensorType)]
            return self.shape(tensors[0])
        return self._asked(operation, result)

    def _asked(self, operation: Operation, result: SSAValue) -> Shape:
        shapes = zip(operation.results, self._ask(operation), strict=True)
        return next(shape for each, shape in shapes if each is result)

    def mixed(self, operation: Operation, name: str, dynamic: Sequence[SSAValue]) -> Shape:
        """Return a list of static and dynamic indices, such as `[1, %v]`."""
        return mixed_list(integers(operation, name), map(self._number, dynamic))

    def _fill(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> Shape:
        return mixed_list(static, map(self._number, dynamic))

    def _joined(self, operation: Operation) -> Shape:
        axis = integer(operation, "dim")
        shapes = [self.shape(operand) for operand in operation.operands]
        total: IndexOrInt = 0
        for shape in shapes:
            total = self._builder.add(total, shape[axis])
        return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])

    def _broadcast(self, operation: Operation) -> Shape:
        shapes = [self.shape(each) for each in operation.operands if is_read(operation, each)]
        # Zero points, such as those of tosa.negate, are not broadcast.
        alike = [shape for shape in shapes if len(shape) == len(shapes[0])]
        return tuple(reduce(self._builder.broadcast, sizes) for sizes in zip(*alike, strict=True))

    def _combined(self, operation: Operation) -> Shape:
        first = self.shape(operation.operands[0])
        if operation.name == "tosa.matmul":
            return (*first[:2], self.shape(operation.operands[1])[2])
        axis = integer(operation, "axis")
        return (*first[:axis], 1, *first[axis + 1 :])

    def _padded(self, operation: Operation) -> Shape:
        source, low, high = operand_groups(operation, operation.operands)
        lows = self.mixed(operation, "static_low", low)
        highs = self.mixed(operation, "static_high", high)
        add = self._builder.add
        return tuple(
            add(add(before, size), after)
            for before, size, after in zip(lows, self.shape(source[0]), highs, strict=True)
        )
