"""Merge small all-reduces that are ready at the same time into one.

An all-reduce can be delayed until its result is first read. Those that are pending at the same time
over the same devices, with the same kind and element type, are merged: their operands are flattened
and concatenated, reduced together, and split again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.shard.collectives import AllReduceOp
from ...dialects.tensor.reshapes import ExpandShapeOp, collapse_shape
from ...ir.index_lists import INDEX
from ...ir.locations import located_builder
from ...ir.regions import inner_blocks, values_read
from ...ir.tensor_types import element_bytes, ranked
from ...sharding.collective_rows import ALL_REDUCE
from .annotations.access import axes_of, grid_name, kind_of
from .partition.local_types import tensor_type_of

Group = tuple[object, ...]
"""The properties in which all-reduces must agree to be merged."""

Emit = Callable[[Operation], SSAValue]
"""Insert an operation and return its first result."""


def merge_reductions(operation: Operation, merge_bytes: int) -> None:
    """Merge all-reduces of at most `merge_bytes` bytes in every block of an operation."""
    for block in inner_blocks(operation):
        for inner in list(block.ops):
            if inner.regions:
                merge_reductions(inner, merge_bytes)
        _merge_in_block(block, merge_bytes)


def _merge_in_block(block: Block, merge_bytes: int) -> None:
    waiting: dict[Group, list[Operation]] = {}
    for operation in list(block.ops):
        reads = set(values_read(operation)) if waiting else set[SSAValue]()
        for group, members in list(waiting.items()):
            if not reads.isdisjoint(member.results[0] for member in members):
                _merge(members, operation)
                del waiting[group]
        if _is_small(operation, merge_bytes):
            waiting.setdefault(_group(operation), []).append(operation)
    last = block.last_op
    for members in waiting.values():
        if last is not None:
            _merge(members, last)


def _is_small(operation: Operation, merge_bytes: int) -> bool:
    if operation.name != ALL_REDUCE.operation:
        return False
    held, result = ranked(operation.operands[0]), ranked(operation.results[0])
    if held is None or held != result or not held.has_static_shape():
        return False
    return 0 < element_bytes(operation.operands[0]) * prod(held.get_shape()) <= merge_bytes


def _group(operation: Operation) -> Group:
    held = tensor_type_of(operation.operands[0])
    return grid_name(operation), axes_of(operation), kind_of(operation), held.element_type


def _merge(members: list[Operation], before: Operation) -> None:
    """Replace several all-reduces by one, inserted before an operation."""
    if len(members) < 2:
        return
    builder = located_builder(InsertPoint.before(before), members[0])

    def emit(made: Operation) -> SSAValue:
        return builder.insert(made).results[0]

    types = [held for member in members if (held := ranked(member.operands[0])) is not None]
    element: Attribute = types[0].element_type
    sizes = [prod(held.get_shape()) for held in types]
    flat = [
        _flatten(emit, member.operands[0], held, size)
        for member, held, size in zip(members, types, sizes, strict=True)
    ]
    joined_type = TensorType(element, [sum(sizes)])
    joined = emit(
        tensor.ConcatOp.create(
            operands=flat,
            result_types=[joined_type],
            properties={"dim": IntegerAttr(0, i64)},
        )
    )
    first = members[0]
    total = emit(AllReduceOp(joined, grid_name(first), axes_of(first), reduction=kind_of(first)))
    offset = 0
    for member, held, size in zip(members, types, sizes, strict=True):
        piece = emit(
            tensor.ExtractSliceOp(total, [offset], [size], [1], TensorType(element, [size]))
        )
        offset += size
        Rewriter.replace_op(member, [], [_unflatten(emit, piece, held)])


def _flatten(emit: Emit, value: SSAValue, held: TensorType[Attribute], size: int) -> SSAValue:
    """Return a tensor reshaped to one dimension."""
    rank, flat = held.get_num_dims(), TensorType(held.element_type, [size])
    if rank == 1:
        return value
    if rank == 0:
        element = emit(tensor.ExtractOp(value, [], held.element_type))
        return emit(tensor.FromElementsOp(element, result_type=flat))
    return emit(collapse_shape(value, [range(rank)], flat))


def _unflatten(emit: Emit, value: SSAValue, held: TensorType[Attribute]) -> SSAValue:
    """Return a one-dimensional tensor reshaped to another type."""
    rank = held.get_num_dims()
    if rank == 1:
        return value
    if rank == 0:
        zero = emit(arith.ConstantOp(IntegerAttr(0, INDEX)))
        element = emit(tensor.ExtractOp(value, [zero], held.element_type))
        return emit(tensor.FromElementsOp(element, result_type=held))
    return emit(ExpandShapeOp(value, held.get_shape(), [range(rank)], held))
