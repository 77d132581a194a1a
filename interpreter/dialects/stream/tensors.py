"""Execute the `stream.tensor` operations: resources that hold tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation

from ....ir.attribute_access import operand_groups, required
from ....runtime.abi.arrays import Value
from ....runtime.abi.values import dtype_of
from ...buffer_views import BufferView, imported_array
from ...constants import constant_array
from ...devices import check_access, device_of
from ...frames import Frame
from ...nests.loops import element, with_element
from ...registry import Results, impl
from ...shapes import filled_shape, part_of
from ...storage import ranked, read_tensor, stored_bytes, write_tensor


@impl("stream.tensor.import")
def _import(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    view, *dims, size = operands
    type_ = required(op, "result_encoding")
    array = imported_array(op, view, type_, dims)
    return (write_tensor(op, array, type_, int(size), device_of(op, frame)),)


@impl("stream.tensor.export")
def _export(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    resource, *dims, _ = operands
    check_access(op, frame, resource)
    tensor = ranked(op, required(op, "source_encoding"))
    return (BufferView(read_tensor(op, resource, tensor, dims), tensor.element_type),)


@impl("stream.tensor.sizeof")
def _size_of(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    tensor = ranked(op, required(op, "encoding"))
    return (np.int64(stored_bytes(op, tensor, filled_shape(op, tensor, operands))),)


@impl("stream.tensor.empty")
def _empty(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    *dims, size = operands
    type_ = required(op, "result_encoding")
    shape = filled_shape(op, type_, dims)
    blank = np.zeros(shape, dtype_of(type_))
    return (write_tensor(op, blank, type_, int(size), device_of(op, frame)),)


@impl("stream.tensor.constant")
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    tensor = ranked(op, required(op, "result_encoding"))
    array = constant_array(op, required(op, "value"))
    size = stored_bytes(op, tensor, array.shape)
    return (write_tensor(op, array, tensor, size, device_of(op, frame)),)


@impl("stream.tensor.splat")
def _splat(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, *dims, size = operands
    type_ = required(op, "result_encoding")
    array = np.full(filled_shape(op, type_, dims), value, dtype_of(type_))
    return (write_tensor(op, array, type_, int(size), device_of(op, frame), padding=value),)


@impl("stream.tensor.clone", "stream.tensor.encode")
def _copy(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), dims, _, _, (size,) = operand_groups(op, operands)
    here = check_access(op, frame, source)
    source_type, result_type = required(op, "source_encoding"), required(op, "result_encoding")
    array = read_tensor(op, source, source_type, dims)
    if op.name == "stream.tensor.clone" and source_type != result_type:
        stored = write_tensor(op, array, source_type, int(size), here)
        return (replace(stored, written_type=None),)
    return (write_tensor(op, array, result_type, int(size), here),)


@impl("stream.tensor.slice")
def _slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), dims, _, starts, lengths, result_dims, (size,) = operand_groups(op, operands)
    here = check_access(op, frame, source)
    array = read_tensor(op, source, required(op, "source_encoding"), dims)
    part = array[part_of(op, array.shape, starts, lengths)]
    result_type = required(op, "result_encoding")
    part = part.reshape(filled_shape(op, result_type, result_dims))
    return (write_tensor(op, part, result_type, int(size), here),)


@impl("stream.tensor.fill")
def _fill(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (target,), dims, _, starts, lengths, (value,) = operand_groups(op, operands)
    check_access(op, frame, target)
    type_ = required(op, "target_encoding")
    if not lengths:
        array = np.full(filled_shape(op, type_, dims), value, dtype_of(type_))
        return (write_tensor(op, array, type_, target.size, target.owner, padding=value),)
    array = np.array(read_tensor(op, target, type_, dims))
    array[part_of(op, array.shape, starts, lengths)] = value
    return (write_tensor(op, array, type_, target.size, target.owner),)


@impl("stream.tensor.update")
def _update(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (target,), dims, _, starts, (update,), update_dims, _ = operand_groups(op, operands)
    check_access(op, frame, target, update)
    type_ = required(op, "target_encoding")
    array = np.array(read_tensor(op, target, type_, dims))
    part = read_tensor(op, update, required(op, "update_encoding"), update_dims)
    array[part_of(op, array.shape, starts, part.shape)] = part
    return (write_tensor(op, array, type_, target.size, target.owner),)


@impl("stream.tensor.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), dims, _, indices = operand_groups(op, operands)
    array = read_tensor(op, source, required(op, "source_encoding"), dims)
    return (element(op, array, indices),)


@impl("stream.tensor.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (target,), dims, _, indices, (value,) = operand_groups(op, operands)
    type_ = required(op, "target_encoding")
    array = with_element(op, read_tensor(op, target, type_, dims), indices, value)
    return (write_tensor(op, array, type_, target.size, target.owner),)
