"""Execute the `tensor` dialect. Tensors are values: an insertion returns a new array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import Operation

from ...ir.attribute_access import (
    flag,
    integer,
    integer_lists,
    integers,
    kept_dimensions,
    mixed,
    operand_groups,
    operation_name,
)
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value, shape_fits, shape_text
from ...runtime.abi.values import dtype_of, static_shape, undefined
from ..frames import Exit, Frame
from ..nests.loops import check_indices, element, is_pointwise, loop_index, run_body, with_element
from ..registry import Results, Routine, impl, impl_with_regions, terminates
from ..shapes import check_countable, filled_shape, kept_axes, read_slice, slice_of

terminates("tensor.yield")


@impl("flow.tensor.alloca", "flow.tensor.empty", "tensor.empty")
def _empty(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    result_type = op.results[0].type
    return (undefined(filled_shape(op, result_type, operands), result_type),)


@impl("flow.tensor.splat", "tensor.splat")
def _splat(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    result_type = op.results[0].type
    shape = filled_shape(op, result_type, operands[1:])
    return (np.full(shape, operands[0], dtype_of(result_type)),)


@impl("tensor.from_elements")
def _from_elements(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    result_type = op.results[0].type
    flat = np.array([np.asarray(operand) for operand in operands], dtype_of(result_type))
    return (flat.reshape(filled_shape(op, result_type, ())),)


@impl("tensor.dim", "memref.dim", pointwise=True)
def _dim(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    shape = np.shape(operands[0])
    check_indices(op, operands[1:], (len(shape),))
    return (np.asarray(shape, np.int64)[operands[1]],)


@impl("tensor.rank")
def _rank(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.int64(np.ndim(operands[0])),)


@impl("tensor.cast")
def _cast(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    check_cast(op, np.shape(operands[0]))
    return (operands[0],)


def check_cast(op: Operation, shape: tuple[int, ...]) -> None:
    """Raise OperationError if a tensor of this shape cannot be cast to the result's type."""
    expected = static_shape(op.results[0].type)
    if expected is not None and not shape_fits(shape, expected):
        raise OperationError(
            op, f"casts a tensor of shape {shape_text(shape)} to {op.results[0].type}"
        )


@impl("tensor.extract", pointwise=True)
def _extract(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, *indices = operands
    return (element(op, source, indices),)


@impl("tensor.insert")
def _insert(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    scalar, target, *indices = operands
    return (with_element(op, target, indices, scalar),)


# --------------------------------------------------------------------------------------------
# Slices


@impl("tensor.extract_slice")
def _extract_slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), *groups = operand_groups(op, operands)
    array = np.asarray(source)
    offsets, sizes, strides = read_slice(op, array.shape, groups)
    parts = slice_of(op, array.shape, offsets, sizes, strides)
    taken = np.broadcast_to(array[parts], sizes)
    return (taken.reshape([sizes[axis] for axis in kept_axes(op)]),)


@impl("tensor.insert_slice", "tensor.parallel_insert_slice")
def _insert_slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), (target,), *groups = operand_groups(op, operands)
    return (insert_slice(op, source, target, groups),)


def insert_slice(
    op: Operation, source: Value, target: Value, groups: Sequence[Sequence[Value]]
) -> Array:
    """Return a copy of a tensor with a slice overwritten; `groups` are the dynamic bounds.

    Raises OperationError if the slice is out of bounds or has another shape.
    """
    result = np.array(target)
    value = np.asarray(source)
    offsets, sizes, strides = read_slice(op, result.shape, groups)
    parts = slice_of(op, result.shape, offsets, sizes, strides)
    check_insertion(op, value.shape, sizes)
    result[parts] = value.reshape(sizes)
    return result


def check_insertion(op: Operation, shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """Raise OperationError if a tensor of this shape does not fill a slice of these sizes."""
    kept = kept_dimensions(integers(op, "static_sizes"), static_shape(op.operands[0].type) or ())
    if kept is None or shape != tuple(sizes[axis] for axis in kept):
        raise OperationError(
            op, f"inserts a tensor of shape {shape_text(shape)} into a slice of {shape_text(sizes)}"
        )


# --------------------------------------------------------------------------------------------
# Shapes


@impl("tensor.collapse_shape")
def _collapse(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    array = np.asarray(operands[0])
    return (array.reshape(collapsed_shape(op, array.shape)),)


def collapsed_shape(op: Operation, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a `tensor.collapse_shape`."""
    groups = integer_lists(op, "reassociation")
    return tuple(prod(shape[axis] for axis in group) for group in groups)


@impl("tensor.expand_shape")
def _expand(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    array = np.asarray(operands[0])
    return (array.reshape(expanded_shape(op, array.shape, operands[1:])),)


def expanded_shape(
    op: Operation, shape: tuple[int, ...], sizes: Sequence[Value]
) -> tuple[int, ...]:
    """Return the shape of a `tensor.expand_shape`; `sizes` are its dynamic sizes.

    Raises OperationError if it does not fit the source.
    """
    given = integers(op, "static_output_shape")
    found = (
        list(mixed(op, "static_output_shape", sizes))
        if given
        else list(static_shape(op.results[0].type) or ())
    )
    for axis, group in enumerate(integer_lists(op, "reassociation")):
        unknown = [position for position in group if found[position] < 0]
        known = prod(found[position] for position in group if found[position] >= 0)
        if not given and len(unknown) == 1 and known:
            found[unknown[0]] = shape[axis] // known
        parts = [found[position] for position in group]
        if prod(parts) != shape[axis] or min(parts, default=0) < 0:
            text = "x".join(map(str, parts))
            raise OperationError(op, f"expands dimension {axis} of extent {shape[axis]} to {text}")
    return tuple(found)


@impl("tensor.reshape")
def _reshape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    array = np.asarray(operands[0])
    return (array.reshape(reshaped(op, array.shape, operands[1])),)


def reshaped(op: Operation, shape: tuple[int, ...], extents: Value) -> tuple[int, ...]:
    """Return the shape of a `tensor.reshape`.

    Raises OperationError if the element count differs.
    """
    found = tuple(int(extent) for extent in extents)
    if prod(found) != prod(shape) or any(extent < 0 for extent in found):
        text = "x".join(map(str, found))
        raise OperationError(op, f"cannot reshape {shape_text(shape)} to {text}")
    return found


@impl("tensor.concat", "tosa.concat")
def _concat(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    axis = integer(op, "dim" if operation_name(op) == "tensor.concat" else "axis")
    concatenated_shape(op, axis, [np.shape(operand) for operand in operands])
    return (np.concatenate(operands, axis=axis),)


def concatenated_shape(
    op: Operation, axis: int, shapes: Sequence[tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the shape of a concatenation. Raises OperationError if other extents differ."""
    first = shapes[0]
    for shape in shapes:
        if shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            raise OperationError(
                op,
                f"cannot concatenate {shape_text(first)} and {shape_text(shape)} along dimension "
                f"{axis}",
            )
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


# --------------------------------------------------------------------------------------------
# Bodies


def fill_by_body(op: Operation, shape: tuple[int, ...], frame: Frame) -> Routine:
    """Return an array whose elements the operation's body computes from their indices."""
    result = np.empty(shape, dtype_of(op.results[0].type))
    block = op.regions[0].blocks[0]
    plan = frame.process.program.plan(block)
    if is_pointwise(plan) and 0 not in shape:
        indices = [loop_index(axis, shape) for axis in range(len(shape))]
        result[...] = run_body(plan, indices, frame, indices.__getitem__)[0]
        return result
    for point in product(*(range(extent) for extent in shape)):
        exit_: Exit = yield frame.run_block(block, [np.int64(index) for index in point])
        result[point] = exit_.values[0]
    return result


@impl_with_regions("tensor.generate")
def _generate(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    shape = filled_shape(op, op.results[0].type, operands)
    return ((yield fill_by_body(op, shape, frame)),)


@impl_with_regions("tensor.pad")
def _pad(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    (source,), low, high = operand_groups(op, operands)
    array = np.asarray(source)
    before, after = mixed(op, "static_low", low), mixed(op, "static_high", high)
    shape = padded_shape(op, array.shape, before, after)
    result: Array = yield fill_by_body(op, shape, frame)
    # Negative padding crops: only the part that remains is copied.
    inside = tuple(
        slice(max(left, 0), max(left, 0) + max(extent + min(left, 0) + min(right, 0), 0))
        for extent, left, right in zip(array.shape, before, after, strict=True)
    )
    crop = tuple(
        slice(max(-left, 0), max(extent - max(-right, 0), -left, 0))
        for extent, left, right in zip(array.shape, before, after, strict=True)
    )
    result[inside] = array[crop]
    return (result,)


def padded_shape(
    op: Operation, shape: tuple[int, ...], before: Sequence[int], after: Sequence[int]
) -> tuple[int, ...]:
    """Return the shape of a `tensor.pad`. Raises OperationError if an extent is negative."""
    padded = tuple(
        extent + left + right for extent, left, right in zip(shape, before, after, strict=True)
    )
    if min(padded, default=0) < 0:
        raise OperationError(op, f"pads {shape_text(shape)} to a negative size")
    check_countable(op, padded)
    return padded


# --------------------------------------------------------------------------------------------
# Gather and scatter


@impl("tensor.gather")
def _gather(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, indices = np.asarray(operands[0]), np.asarray(operands[1])
    axes = integers(op, "gather_dims")
    picked = _positions(op, indices, axes, source.shape)
    order = [*axes, *(axis for axis in range(source.ndim) if axis not in axes)]
    rows = np.transpose(source, order)[picked]
    batch = indices.shape[:-1]
    # A full-rank result keeps the gathered dimensions as 1; other results drop them.
    full = tuple(1 if axis in axes else extent for axis, extent in enumerate(source.shape))
    expected = static_shape(op.results[0].type) or ()
    if len(expected) == len(batch) + source.ndim:
        return (rows.reshape(batch + full),)
    return (rows,)


@impl("tensor.scatter")
def _scatter(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, target, indices = (np.asarray(operand) for operand in operands)
    axes = integers(op, "scatter_dims")
    picked = _positions(op, indices, axes, target.shape)
    order = [*axes, *(axis for axis in range(target.ndim) if axis not in axes)]
    result = np.array(target)
    rest = tuple(extent for axis, extent in enumerate(target.shape) if axis not in axes)
    if not flag(op, "unique") and len(set(zip(*(part.flat for part in picked), strict=True))) < (
        picked[0].size if picked else 0
    ):
        raise OperationError(op, "writes an element twice, expected unique coordinates")
    np.transpose(result, order)[picked] = source.reshape(indices.shape[:-1] + rest)
    return (result,)


def _positions(
    op: Operation, indices: Array, axes: Sequence[int], shape: Sequence[int]
) -> tuple[Array, ...]:
    picked = tuple(indices[..., position].astype(np.int64) for position in range(len(axes)))
    check_indices(op, picked, tuple(shape[axis] for axis in axes))
    return picked
