"""How to compute one element of a result, for each operation that is computed element by element.

A rule gets the writer, the operation, the number of the result and the indices of the element. It
returns the variable that holds the element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import product
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....ir.attribute_access import integer, integers, operand_groups
from ....ir.diagnostics import OperationError
from ....ir.index_lists import SLICE_LISTS
from ..code.ast_builder import Term
from .concatenations import in_range, write_concatenation
from .kernel_text import Bound
from .scalar_operations import is_scalar_operation, write_scalar_operation
from .static_values import dimensions_of_part, shape_of
from .tilings import tiling_of
from .writer import Indices, KernelWriter, LinearIndices

Rule = Callable[[KernelWriter, Operation, int, Indices], Term]


class Access(IntEnum):
    """How often an operation reads each element of an operand, from best to worst."""

    EACH = 0
    """Once, to compute the result element at the same indices."""
    SAME = 1
    """At most once, and at the result's indices."""
    ONCE = 2
    """At most once."""
    MANY = 3
    """Several times."""


def write_element(writer: KernelWriter, value: SSAValue, indices: Indices) -> Term:
    """Return the code of an element of an operation's result.

    Raises OperationError for a block argument, and for an operation that has no rule.
    """
    operation = value.owner
    if not isinstance(operation, Operation):
        raise OperationError(writer.operation, "computes an element of a block argument")
    number = _number(value)
    rule = RULES.get(operation.name)
    if rule is not None:
        return rule(writer, operation, number, indices)
    if is_scalar_operation(operation.name):
        return _write_elementwise(writer, operation, number, indices)
    view = structured_view(operation)
    if view is None:
        raise OperationError(operation, "is an operation that the native backend does not compile")
    return _write_structured(writer, view, number, indices)


def writer_of_stored(operation: Operation, *results: Bound) -> KernelWriter:
    """Return the writer of a kernel into which nothing is fused: its operands are all stored."""
    return KernelWriter(operation, results, lambda value: False, write_element)


def _number(value: SSAValue) -> int:
    return cast(int, getattr(value, "index", 0))


# Structured operations without reductions -----------------------------------------------------


def loop_positions(output_map: AffineMap) -> tuple[int, ...] | None:
    """Return, for each loop, the position of the map's result that is this loop.

    Returns `None` if some loop is not a result.
    """
    positions: dict[int, int] = {}
    for position, expression in enumerate(output_map.results):
        if isinstance(expression, AffineDimExpr):
            positions[expression.position] = position
    if len(positions) != output_map.num_dims:
        return None
    return tuple(positions[loop] for loop in range(output_map.num_dims))


def written_loops(view: StructuredView) -> tuple[int, ...] | None:
    """Return the loops that enumerate the elements of every result, each once, in ascending order.

    Returns `None` unless each result's map consists of the same distinct loops, and of zeros in
    dimensions of size 1. Elements could otherwise be written several times or never.
    """
    loops: set[frozenset[int]] = set()
    for output, output_map in zip(view.outputs, view.output_maps, strict=True):
        own: list[int] = []
        for size, expression in zip(shape_of(output), output_map.results, strict=True):
            if isinstance(expression, AffineDimExpr):
                own.append(expression.position)
            elif size != 1 or expression != AffineExpr.constant(0):
                return None
        if len(set(own)) != len(own):
            return None
        loops.add(frozenset(own))
    return tuple(sorted(loops.pop())) if len(loops) == 1 else None


def _write_structured(
    writer: KernelWriter, view: StructuredView, number: int, indices: Indices
) -> Term:
    key = (view.operation, indices)
    found = writer.code.recall(key)
    if not isinstance(found, tuple):
        if view.reduction_loops:
            found = _reduced(writer, view, indices)
        else:
            found = _structured_results(writer, view, number, indices)
        writer.code.remember(key, found)
    return cast(tuple[Term, ...], found)[number]


def _structured_results(
    writer: KernelWriter, view: StructuredView, number: int, indices: Indices
) -> tuple[Term, ...]:
    output_map = view.output_maps[number]
    if isinstance(indices, LinearIndices):
        loops: Indices = indices
    else:
        positions = loop_positions(output_map)
        if positions is None:
            raise OperationError(view.operation, "has a loop that does not index its results")
        loops = tuple(indices[position] for position in positions)
    operands = (*view.inputs, *view.outputs)
    used = [argument.first_use is not None for argument in view.body.args]
    elements: list[Term] = []
    for operand, affine_map, is_used in zip(operands, view.maps, used, strict=False):
        if not is_used:
            elements.append(0)
        elif isinstance(indices, LinearIndices) and affine_map.results:
            elements.append(writer.element(operand, _flat_indices(indices, shape_of(operand))))
        else:
            elements.append(writer.element(operand, writer.apply_map(affine_map, loops)))
    return writer.body(view.body, elements, loops)


def _reduced(writer: KernelWriter, view: StructuredView, indices: Indices) -> tuple[Term, ...]:
    """Return elements of the results of a reduction of few elements, written term by term."""
    point: list[Term] = [0] * len(view.iterators)
    for expression, index in zip(view.output_maps[0].results, indices, strict=True):
        if isinstance(expression, AffineDimExpr):
            point[expression.position] = index
    found = tuple(writer.element(each, indices) for each in view.outputs)
    sizes = view.loop_sizes()
    for term in product(*(range(sizes[loop] or 0) for loop in view.reduction_loops)):
        for loop, index in zip(view.reduction_loops, term, strict=True):
            point[loop] = index
        elements = [
            writer.element(operand, writer.apply_map(affine_map, tuple(point)))
            for operand, affine_map in zip(view.inputs, view.input_maps, strict=True)
        ]
        found = writer.body(view.body, (*elements, *found), tuple(point))
    return found


def _flat_indices(indices: LinearIndices, shape: Sequence[int]) -> Indices:
    if all(size == 1 for size in shape):
        return (0,) * len(shape)
    return LinearIndices.at(indices.position, len(shape))


def _write_elementwise(
    writer: KernelWriter, operation: Operation, number: int, indices: Indices
) -> Term:
    operands = [
        writer.element(operand, indices)
        if isinstance(operand.type, TensorType)
        else writer.scalar(operand)
        for operand in operation.operands
    ]
    return write_scalar_operation(writer.code, operation, operands)[number]


# Rules of the tensor dialect ------------------------------------------------------------------


def _slice_geometry(
    writer: KernelWriter, operation: Operation, dynamic: Sequence[Sequence[SSAValue]]
) -> tuple[Indices, Indices, Indices]:
    """Return the offsets, sizes and strides of a slice."""
    lists = [integers(operation, name) for name in SLICE_LISTS]
    offsets, sizes, strides = (
        writer.mixed_numbers(static, values) for static, values in zip(lists, dynamic, strict=True)
    )
    return offsets, sizes, strides


def indices_in_whole(
    writer: KernelWriter, operation: Operation, part: SSAValue, indices: Indices
) -> Indices:
    """Return where an element of a slice lies in the tensor that the slice is a part of.

    Dimensions that the part drops have index 0 in the slice.
    """
    code = writer.code
    dynamic = operand_groups(operation, operation.operands)[-3:]
    offsets, _, strides = _slice_geometry(writer, operation, dynamic)
    within: list[Term] = [0] * len(offsets)
    for dimension, index in zip(dimensions_of_part(operation, part), indices, strict=True):
        within[dimension] = index
    return tuple(
        code.add(offset, code.multiply(index, stride))
        for offset, index, stride in zip(offsets, within, strides, strict=True)
    )


def _extract_slice(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    place = indices_in_whole(writer, op, op.results[0], indices)
    return writer.element(op.operands[0], place)


def _insert_slice(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    code = writer.code
    source, destination, *dynamic = operand_groups(op, op.operands)
    offsets, sizes, strides = _slice_geometry(writer, op, dynamic)
    kept = dimensions_of_part(op, source[0])
    condition: Term = 1
    positions: list[Term] = []
    for index, offset, size, stride in zip(indices, offsets, sizes, strides, strict=True):
        distance = code.subtract(index, offset)
        condition = code.both(condition, in_range(writer, distance, code.multiply(size, stride)))
        condition = code.both(condition, code.compare("eq", code.modulo(distance, stride), 0))
        positions.append(code.floor_divide(distance, stride))
    return writer.code.choose(
        condition,
        lambda: writer.element(source[0], tuple(positions[dimension] for dimension in kept)),
        lambda: writer.element(destination[0], indices),
    )


def _pad(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    code = writer.code
    source, low, _ = operand_groups(op, op.operands)
    lows = writer.mixed_numbers(integers(op, "static_low"), low)
    sizes = writer.shape(source[0])
    positions = tuple(
        code.subtract(index, before) for index, before in zip(indices, lows, strict=True)
    )
    highs = integers(op, "static_high")
    condition: Term = 1
    for position, size, before, after in zip(positions, sizes, lows, highs, strict=True):
        if before != 0:
            condition = code.both(condition, code.compare("sge", position, 0))
        if after != 0:
            condition = code.both(condition, code.compare("slt", position, size))
    return writer.code.choose(
        condition,
        lambda: writer.element(source[0], positions),
        lambda: writer.body(op.regions[0].block, indices, indices)[0],
    )


def _concat(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    return write_concatenation(writer, op.operands, integer(op, "dim"), indices)


def _pass_on(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    return writer.element(op.operands[0], indices)


def _splat(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    return writer.scalar(op.operands[0])


def _empty(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    """Return any value, here zero: the contents of `tensor.empty` are undefined."""
    return writer.zero(op.results[0])


def _generate(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    return writer.body(op.regions[0].block, indices, indices)[0]


def _insert(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    value, destination, *position = op.operands
    condition: Term = 1
    for index, at in zip(indices, position, strict=True):
        condition = writer.code.both(condition, writer.code.compare("eq", index, writer.number(at)))
    return writer.code.choose(
        condition,
        lambda: writer.scalar(value),
        lambda: writer.element(destination, indices),
    )


def _from_elements(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    position = writer.code.linear(indices, writer.shape(op.results[0]))

    def pick(first: int) -> Term:
        if first == len(op.operands) - 1:
            return writer.scalar(op.operands[first])
        return writer.code.choose(
            writer.code.compare("eq", position, first),
            lambda: writer.scalar(op.operands[first]),
            lambda: pick(first + 1),
        )

    return pick(0)


def _bitcast(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    source, target = writer.element_of(op.operands[0]), writer.element_of(op.results[0])
    element = writer.element(op.operands[0], indices)
    return writer.code.call(f"bitcast_{source.name}_{target.name}", element)


# Packed layouts -------------------------------------------------------------------------------


def _pack(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    code, tiling = writer.code, tiling_of(writer, op)
    groups = operand_groups(op, op.operands)
    source, padding = groups[0][0], groups[2]
    rank = len(tiling.shape)
    numbers = dict(zip(tiling.permutation, indices[:rank], strict=True))
    within = dict(zip(tiling.inner, indices[rank:], strict=True))
    plain = tiling.plain(code, numbers, within)
    condition: Term = 1
    for each in tiling.inner:
        size, room = tiling.shape[each], code.multiply(tiling.outer[each], tiling.tile(each))
        if not (isinstance(size, int) and size == room):
            condition = code.both(condition, code.compare("slt", plain[each], size))
    return writer.code.choose(
        condition,
        lambda: writer.element(source, plain),
        lambda: writer.scalar(padding[0]) if padding else _empty(writer, op, 0, ()),
    )


def _unpack(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    code, tiling = writer.code, tiling_of(writer, op)
    numbers = dict(enumerate(indices))
    within: dict[int, Term] = {}
    for each in tiling.inner:
        numbers[each] = code.floor_divide(indices[each], tiling.tile(each))
        within[each] = code.modulo(indices[each], tiling.tile(each))
    return writer.element(op.operands[0], tiling.packed(numbers, within))


# Changes of shape -----------------------------------------------------------------------------


def unit_reshape(source: Sequence[int], target: Sequence[int]) -> tuple[int, ...] | None:
    """Return the target's dimensions of sizes other than 1, if the shapes differ only in ones.

    Returns `None` for other shapes.
    """
    kept = [(i, size) for i, size in enumerate(source) if size != 1]
    wanted = [(i, size) for i, size in enumerate(target) if size != 1]
    if [size for _, size in kept] != [size for _, size in wanted]:
        return None
    if sum(1 for _, size in kept if size < 0) > 1 and len(source) == len(target):
        return None
    return tuple(i for i, _ in wanted)


def _reshape(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    source = shape_of(op.operands[0])
    kept = unit_reshape(source, shape_of(op.results[0]))
    if kept is None:
        raise OperationError(op, "is fused although it changes the shape")
    remaining = iter(kept)
    positions: list[Term] = [0 if size == 1 else indices[next(remaining)] for size in source]
    return writer.element(op.operands[0], tuple(positions))


RESHAPES = frozenset(("tensor.collapse_shape", "tensor.expand_shape", "tensor.reshape"))
"""Operations whose result has the operand's elements in the same row-major order."""

RULES: dict[str, Rule] = {
    **dict.fromkeys(RESHAPES, _reshape),
    "linalg.pack": _pack,
    "linalg.unpack": _unpack,
    "tensor.bitcast": _bitcast,
    "tensor.cast": _pass_on,
    "tensor.concat": _concat,
    "tensor.empty": _empty,
    "tensor.extract_slice": _extract_slice,
    "tensor.from_elements": _from_elements,
    "tensor.generate": _generate,
    "tensor.insert": _insert,
    "tensor.insert_slice": _insert_slice,
    "tensor.pad": _pad,
    "tensor.splat": _splat,
}
"""The rule of each operation; elementwise and structured operations need none."""

DATA_MOVEMENT = frozenset(
    (
        *RESHAPES,
        *("tensor.cast", "tensor.concat", "tensor.empty", "tensor.extract_slice"),
        *("tensor.splat", "tensor.bitcast"),
    )
)
"""Operations that only select where an element comes from, and cost nothing to repeat."""
