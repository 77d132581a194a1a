"""Compute the result shapes of operations from their operands' shapes.

A rule returns the shape of a result, and raises the errors that the interpreter raises. The shapes
are compared with the result types. After that every tensor has the shape of its type, so that
kernels may rely on types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...interpreter.dialects import tensor
from ...interpreter.dialects.linalg import Packing, packing_groups
from ...interpreter.frames import check_equal_shapes, check_result, result_check
from ...interpreter.nests.loops import check_indices
from ...interpreter.shapes import check_countable, filled_shape, kept_axes, read_slice, slice_of
from ...ir.attribute_access import integer, mixed, operand_groups
from ...ir.diagnostics import OperationError
from ...ir.host_programs import LOOPS
from ...ir.value_flow import initial_values
from ...runtime.abi.arrays import Value
from ...tiling.packed_arrays import packed_extents
from ..kernels.elements.bounds import check_accesses
from ..kernels.elements.scalar_operations import is_scalar_operation
from ..kernels.elements.static_values import shape_of
from ..kernels.linear_algebra.factorizations import FACTORIZATIONS
from ..kernels.linear_algebra.fourier import FOURIER

Shape = tuple[int, ...]
Slice = tuple[Shape, Shape, Shape]
"""Offsets, sizes and strides."""


class ShapeResolver:
    """The shapes of the values of one operation.

    - `known`: the shapes of operands; results are added;
    - `value`: returns the content of an index or of a list of sizes.
    """

    def __init__(self, known: dict[SSAValue, Shape], value: Callable[[SSAValue], Value]) -> None:
        self._known = known
        self.value = value

    def shape(self, value: SSAValue) -> Shape:
        """Return the shape of a tensor, `()` for a scalar."""
        found = self._known.get(value)
        return shape_of(value) if found is None else found

    def shapes(self, values: Sequence[SSAValue]) -> list[Shape]:
        """Return the shapes of several tensors."""
        return [self.shape(value) for value in values]

    def number(self, value: SSAValue) -> int:
        """Return the value of an index."""
        return int(self.value(value))

    def infer(self, operation: Operation) -> None:
        """Record the shapes of an operation's results. Raises OperationError if they are wrong."""
        for index, (result, shape) in enumerate(
            zip(operation.results, self.result_shapes(operation), strict=True)
        ):
            check_countable(operation, shape)
            check = result_check(result.type)
            if check is not None:
                check_result(operation, index, check, shape, check.dtype)
            self._known[result] = shape

    def result_shapes(self, operation: Operation) -> Sequence[Shape]:
        """Return the result shapes as they follow from the operands, ignoring the result types.

        Raises OperationError if the operands do not fit together.
        """
        name = operation.name
        rule = _RULES.get(name)
        if rule is not None:
            return (rule(self, operation),)
        if name in LOOPS:
            return self.shapes(initial_values(operation))
        if name in FACTORIZATIONS or name == FOURIER:
            # Their kernels are for known sizes.
            return [shape_of(each) for each in operation.results]
        view = structured_view(operation)
        if view is not None:
            shapes = self.shapes((*view.inputs, *view.outputs))
            check_accesses(view, shapes)
            return shapes[len(view.inputs) :]
        if is_scalar_operation(name):
            tensors = [each for each in operation.operands if isinstance(each.type, TensorType)]
            shapes = self.shapes(tensors) or [()]
            check_equal_shapes(operation, shapes)
            return [shapes[0]] * len(operation.results)
        raise OperationError(operation, "has a result whose shape the native backend cannot infer")

    def numbers(self, values: Sequence[SSAValue]) -> list[int]:
        """Return the values of indices."""
        return [self.number(value) for value in values]

    def slice(self, operation: Operation, whole: Shape, first_group: int) -> Slice:
        """Return the slice of a tensor that an operation reads or writes.

        `first_group` is the group of operands that holds its offsets. Raises OperationError if the
        slice is out of bounds.
        """
        groups = operand_groups(operation, operation.operands)[first_group:]
        found = read_slice(operation, whole, [self.numbers(each) for each in groups])
        slice_of(operation, whole, *found)
        return found


Rule = Callable[[ShapeResolver, Operation], Shape]


def _first(shapes: ShapeResolver, op: Operation) -> Shape:
    return shapes.shape(op.operands[0])


# The tensor dialect ---------------------------------------------------------------------------


def _filled(shapes: ShapeResolver, op: Operation) -> Shape:
    sizes = op.operands[1:] if op.name == "tensor.splat" else op.operands
    dynamic = () if op.name == "tensor.from_elements" else sizes
    return filled_shape(op, op.results[0].type, shapes.numbers(dynamic))


def _cast(shapes: ShapeResolver, op: Operation) -> Shape:
    shape = shapes.shape(op.operands[0])
    tensor.check_cast(op, shape)
    return shape


def _extracted(shapes: ShapeResolver, op: Operation) -> Shape:
    _, sizes, _ = shapes.slice(op, shapes.shape(op.operands[0]), 1)
    return tuple(sizes[axis] for axis in kept_axes(op))


def _inserted_slice(shapes: ShapeResolver, op: Operation) -> Shape:
    source, target = shapes.shapes(op.operands[:2])
    _, sizes, _ = shapes.slice(op, target, 2)
    tensor.check_insertion(op, source, sizes)
    return target


def _inserted(shapes: ShapeResolver, op: Operation) -> Shape:
    _, target, *indices = op.operands
    check_indices(op, shapes.numbers(indices), shapes.shape(target))
    return shapes.shape(target)


def _padded(shapes: ShapeResolver, op: Operation) -> Shape:
    (source,), low, high = operand_groups(op, op.operands)
    before = mixed(op, "static_low", shapes.numbers(low))
    after = mixed(op, "static_high", shapes.numbers(high))
    return tensor.padded_shape(op, shapes.shape(source), before, after)


def _joined(shapes: ShapeResolver, op: Operation) -> Shape:
    return tensor.concatenated_shape(op, integer(op, "dim"), shapes.shapes(op.operands))


def _collapsed(shapes: ShapeResolver, op: Operation) -> Shape:
    return tensor.collapsed_shape(op, shapes.shape(op.operands[0]))


def _expanded(shapes: ShapeResolver, op: Operation) -> Shape:
    source, *sizes = op.operands
    return tensor.expanded_shape(op, shapes.shape(source), shapes.numbers(sizes))


def _reshaped(shapes: ShapeResolver, op: Operation) -> Shape:
    return tensor.reshaped(op, shapes.shape(op.operands[0]), shapes.value(op.operands[1]))


# The linalg dialect ---------------------------------------------------------------------------


def _packed(shapes: ShapeResolver, op: Operation) -> Shape:
    (source,), (target,), padding, dynamic = packing_groups(op, op.operands)
    packing, given = Packing.of(op, shapes.numbers(dynamic)), shapes.shape(source)
    full = packing.padded_shape(given, shapes.shape(target), is_padded=bool(padding))
    return packed_extents(full, packing.layout)


def _unpacked(shapes: ShapeResolver, op: Operation) -> Shape:
    (source,), (target,), dynamic = packing_groups(op, op.operands)
    shape = shapes.shape(target)
    Packing.of(op, shapes.numbers(dynamic)).whole_shape(shapes.shape(source), shape)
    return shape


def _softmax(shapes: ShapeResolver, op: Operation) -> Shape:
    given = shapes.shapes(op.operands)
    check_equal_shapes(op, given)
    return given[0]


_RULES: dict[str, Rule] = {
    "linalg.pack": _packed,
    "linalg.softmax": _softmax,
    "linalg.unpack": _unpacked,
    "tensor.bitcast": _first,
    "tensor.cast": _cast,
    "tensor.collapse_shape": _collapsed,
    "tensor.concat": _joined,
    "tensor.empty": _filled,
    "tensor.expand_shape": _expanded,
    "tensor.extract_slice": _extracted,
    "tensor.from_elements": _filled,
    "tensor.generate": _filled,
    "tensor.insert": _inserted,
    "tensor.insert_slice": _inserted_slice,
    "tensor.parallel_insert_slice": _inserted_slice,
    "tensor.pad": _padded,
    "tensor.reshape": _reshaped,
    "tensor.splat": _filled,
}
"""The shape of an operation's result; elementwise and structured operations need no rule."""
