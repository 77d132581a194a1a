"""Tensor operations of `flow` and `hal` that programs of IREE's have on the host, as resources.

`form-dispatches` makes none of these but transfers and encodes.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.arith import SelectOp
from xdsl.dialects.builtin import ArrayAttr, IndexType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream import async_ops
from ....dialects.stream import tensor_ops as stream
from ....dialects.util.dialect import OptimizationBarrierOp
from ....ir.diagnostics import OperationError
from ....ir.index import constant_index
from ....ir.tensor_types import element_of, ranked, require_ranked
from .host import Host, conversion, operands_of
from .stored_tensors import STAGING, UNKNOWN, StoredTensor, at, constant, size_of, transfer


@conversion("flow.tensor.alloca")
def _alloca(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    dims = tuple(operation.operands)
    size = size_of(require_ranked(operation, operation.results[0].type), dims, place, builder)
    alloca = async_ops.AsyncAllocaOp.create(
        operands=[size], result_types=[UNKNOWN], properties=at(place)
    )
    host.store(operation.results[0], StoredTensor(builder.insert(alloca).results[0], size, dims))


@conversion("flow.tensor.clone")
def _clone(host: Host, operation: Operation, builder: Builder) -> None:
    stored = host.stored(operation.operands[0], operation)
    dims = operands_of(operation, "argument_dims")
    _copy_as(host, operation, (stored.size, dims), dims, builder)


@conversion("flow.tensor.bitcast", "flow.tensor.reshape")
def _bitcast(host: Host, operation: Operation, builder: Builder) -> None:
    """The same bytes; how many follows from the new type, as elsewhere."""
    place = host.placement.runs_on(operation)
    dims = operands_of(operation, "result_dims")
    tensor = require_ranked(operation, operation.results[0].type)
    held = size_of(tensor, dims, place, builder), dims
    own = "source_dims" if operation.name == "flow.tensor.bitcast" else "operand_dims"
    _copy_as(host, operation, held, operands_of(operation, own), builder)


def _copy_as(
    host: Host,
    operation: Operation,
    held: tuple[SSAValue, tuple[SSAValue, ...]],
    source_dims: tuple[SSAValue, ...],
    builder: Builder,
) -> None:
    """The result is a copy of the operand, of so many bytes and with these sizes."""
    (source, *_), result = operation.operands, operation.results[0]
    place = host.placement.runs_on(operation)
    stored, (size, dims) = host.brought(source, operation, place, builder), held
    clone = stream.TensorCloneOp.build(
        operands=[stored.resource, source_dims, stored.size, dims, size],
        result_types=[UNKNOWN],
        properties={
            "source_encoding": source.type,
            "result_encoding": result.type,
            **at(place),
        },
    )
    host.store(result, StoredTensor(builder.insert(clone).result, size, dims))


@conversion("flow.tensor.slice")
def _slice(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    source, result = operation.operands[0], operation.results[0]
    starts, lengths = (operands_of(operation, name) for name in ("start_indices", "lengths"))
    dims = operands_of(operation, "result_dims")
    tensor = require_ranked(operation, result.type)
    stored = host.brought(source, operation, place, builder)
    whole = source.type, operands_of(operation, "source_dims")
    host.store(result, _part(stored, whole, (starts, lengths), (tensor, dims), place, builder))


def _part(
    stored: StoredTensor,
    source: tuple[Attribute, tuple[SSAValue, ...]],
    bounds: tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]],
    result: tuple[Tensor, tuple[SSAValue, ...]],
    place: Attribute | None,
    builder: Builder,
) -> StoredTensor:
    """A copy of a part of a tensor: from where, how much of it, and what tensor that is."""
    (whole, source_dims), (tensor, dims) = source, result
    size = size_of(tensor, dims, place, builder)
    part = stream.TensorSliceOp.build(
        operands=[stored.resource, source_dims, stored.size, *bounds, dims, size],
        result_types=[UNKNOWN],
        properties={"source_encoding": whole, "result_encoding": tensor, **at(place)},
    )
    return StoredTensor(builder.insert(part).result, size, dims)


@conversion("flow.tensor.update")
def _update(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    target, update = (getattr(operation, name) for name in ("target", "update"))
    into, what = (host.brought(value, operation, place, builder) for value in (target, update))
    dims = operands_of(operation, "target_dims")
    updated = stream.TensorUpdateOp.build(
        operands=[
            into.resource,
            dims,
            into.size,
            operands_of(operation, "start_indices"),
            what.resource,
            operands_of(operation, "update_dims"),
            what.size,
        ],
        result_types=[UNKNOWN],
        properties={
            "target_encoding": target.type,
            "update_encoding": update.type,
            **at(place),
        },
    )
    held = StoredTensor(builder.insert(updated).result, into.size, dims)
    host.store(operation.results[0], held)


@conversion("flow.tensor.load")
def _load(host: Host, operation: Operation, builder: Builder) -> None:
    """The element alone comes to where the host can reach it, or all if it shares its byte."""
    source, indices = operation.operands[0], operands_of(operation, "indices")
    tensor = require_ranked(operation, source.type)
    stored, place = host.stored(source, operation), host.held_at(source)
    whole = source.type, operands_of(operation, "source_dims")
    read: tuple[Attribute, tuple[SSAValue, ...]] = whole
    if indices and element_of(tensor).storage_bits % 8 == 0:
        one, zero = (constant_index(number, builder) for number in (1, 0))
        tensor = TensorType(tensor.element_type, [1] * len(indices))
        bounds = indices, (one,) * len(indices)
        read = tensor, ()
        stored = _part(stored, whole, bounds, (tensor, ()), place, builder)
        indices = (zero,) * len(indices)
    reachable = transfer(stored, place, None, builder, STAGING)
    load_element(operation, read, reachable, indices, builder)


def load_element(
    operation: Operation,
    tensor: tuple[Attribute, tuple[SSAValue, ...]],
    stored: StoredTensor,
    indices: tuple[SSAValue, ...],
    builder: Builder,
) -> None:
    """The result is an element of a tensor that the host can reach."""
    type_, dims = tensor
    load = stream.TensorLoadOp.build(
        operands=[stored.resource, dims, stored.size, indices],
        result_types=[operation.results[0].type],
        properties={"source_encoding": type_},
    )
    operation.results[0].replace_all_uses_with(builder.insert(load).result)


@conversion("flow.tensor.store")
def _store(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    value, target = (getattr(operation, name) for name in ("value", "target"))
    indices = operands_of(operation, "indices")
    stored, dims = (
        host.brought(target, operation, place, builder),
        operands_of(operation, "target_dims"),
    )
    lengths = (constant_index(1, builder),) * len(indices) if indices else ()
    fill = stream.TensorFillOp.build(
        operands=[stored.resource, dims, stored.size, indices, lengths, value],
        result_types=[UNKNOWN],
        properties={"target_encoding": target.type, **at(place)},
    )
    held = StoredTensor(builder.insert(fill).result, stored.size, dims)
    host.store(operation.results[0], held)


@conversion("flow.tensor.trace")
def _trace(host: Host, operation: Operation, builder: Builder) -> None:
    values = operands_of(operation, "values_")
    held = [
        transfer(host.stored(value, operation), host.held_at(value), None, builder, STAGING)
        for value in values
    ]
    trace = stream.TensorTraceOp.build(
        operands=[
            [one.resource for one in held],
            [one.size for one in held],
            operands_of(operation, "value_dims"),
        ],
        properties={
            "key": operation.properties["key"],
            "resource_encodings": ArrayAttr([value.type for value in values]),
        },
    )
    builder.insert(trace)


@conversion("flow.tensor.dynamic_constant")
def _dynamic_constant(host: Host, operation: Operation, builder: Builder) -> None:
    """A constant whose sizes nothing may rely on."""
    place = host.placement.runs_on(operation)
    value = operation.properties["value"]
    known = getattr(value, "type", None)
    tensor = require_ranked(operation, operation.results[0].type)
    if not isinstance(known, TensorType):
        raise OperationError(operation, f"has contents of no tensor type: {value}")
    dims: list[SSAValue] = []
    for size, extent in zip(tensor.get_shape(), known.get_shape(), strict=True):
        if size < 0:
            barrier = OptimizationBarrierOp.create(
                operands=[constant_index(extent, builder)], result_types=[IndexType()]
            )
            dims.append(builder.insert(barrier).results[0])
    made = constant(value, tensor, place, builder, dims=dims)
    host.store(operation.results[0], transfer(made, place, place, builder))


@conversion("arith.select")
def _select(host: Host, operation: Operation, builder: Builder) -> None:
    """Of two tensors, with their sizes."""
    condition, *sides = operation.operands
    if ranked(condition) is not None:
        raise OperationError(operation, "selects elements, which kernels do")
    one, other = (
        host.stored(side, operation).values(with_dims=host.carries_dims) for side in sides
    )
    chosen = [
        a if a is b else builder.insert(SelectOp(condition, a, b)).result
        for a, b in zip(one, other, strict=True)
    ]
    host.store(operation.results[0], StoredTensor(chosen[0], chosen[1], tuple(chosen[2:])))
