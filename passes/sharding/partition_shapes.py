"""Operations whose attributes or operands spell out the shape of their result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from .emit_reshard import shard_interval
from .emitter import Size
from .local_types import local_type, ranked
from .partition_by_rule import (
    SpreadOperation,
    copy_local,
    copy_with,
    evenly,
    freely,
    run_whole,
    spread_by_rule,
)
from .partition_registry import partitions
from .partitioner import Partitioner, shape
from .rules.tensor_shapes import reassociation


@partitions("tensor.expand_shape")
def expand_shape(partitioner: Partitioner, operation: Operation) -> None:
    """Output sizes are those of the shard."""
    spread_by_rule(partitioner, operation, freely, _expand)


def _expand(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> Operation:
    operation, emitter = spread.operation, partitioner.emitter
    whole = ranked(operation.results[0])
    groups = reassociation(operation)
    assert whole is not None and groups is not None
    sharding = spread.result_shardings[0]
    found = local_type(whole, sharding)
    group_of = {d: index for index, group in enumerate(groups) for d in group}
    given = iter(operands[1:])
    numbers: list[int] = []
    sizes: list[SSAValue] = []
    for dimension, (before, after) in enumerate(
        zip(whole.get_shape(), found.get_shape(), strict=True)
    ):
        size = next(given) if before == DYNAMIC_INDEX else None
        numbers.append(after)
        if after != DYNAMIC_INDEX:
            continue
        if sharding.dimension_axes[dimension] or size is None:
            # Only a dimension that is alone in its group can have shards of several sizes.
            size = emitter.index(emitter.dimension(operands[0], group_of[dimension]))
        sizes.append(size)
    properties = {
        **operation.properties,
        "static_output_shape": DenseArrayBase.from_list(i64, numbers),
    }
    return copy_with(partitioner, operation, [operands[0], *sizes], [found], properties)


@partitions("tensor.reshape")
def reshape(partitioner: Partitioner, operation: Operation) -> None:
    """The shape operand becomes the shape of the shard."""
    whole = ranked(operation.results[0])
    if whole is None or not whole.has_static_shape():
        run_whole(partitioner, operation)
        return
    spread_by_rule(partitioner, operation, evenly, _reshape)


def _reshape(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> Operation:
    whole, shape_type = ranked(spread.operation.results[0]), ranked(operands[1])
    assert whole is not None and shape_type is not None
    extents = local_type(whole, spread.result_shardings[0]).get_shape()
    held = TensorType(cast(IntegerType | IndexType, shape_type.element_type), [len(extents)])
    values = DenseIntOrFPElementsAttr.from_list(held, list(extents))
    constant = partitioner.emitter.help(arith.ConstantOp(values))
    return copy_local(partitioner, spread, [operands[0], constant])


@partitions("tosa.reshape")
def tosa_reshape(partitioner: Partitioner, operation: Operation) -> None:
    """The shape operand becomes the shape of the shard."""
    spread_by_rule(
        partitioner,
        operation,
        evenly,
        lambda p, spread, operands: _with_shape_operand(p, spread, operands, 1),
    )


@partitions("tosa.slice")
def tosa_slice(partitioner: Partitioner, operation: Operation) -> None:
    """The size operand becomes the size of the shard's slice."""
    spread_by_rule(
        partitioner,
        operation,
        evenly,
        lambda p, spread, operands: _with_shape_operand(p, spread, operands, 2),
    )


def _with_shape_operand(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue], index: int
) -> Operation:
    """A copy whose `!tosa.shape` operand is the local shape of the result."""
    whole = ranked(spread.operation.results[0])
    maker = operands[index].owner
    assert whole is not None and isinstance(maker, Operation)
    extents = local_type(whole, spread.result_shardings[0]).get_shape()
    if maker.name == "tosa.const_shape" and DYNAMIC_INDEX not in extents:
        held = TensorType(IndexType(), [len(extents)])
        values = DenseIntOrFPElementsAttr.from_list(held, list(extents))
        constant = type(maker).create(
            result_types=[operands[index].type],
            properties={**maker.properties, "values": values},
            location=maker.location,
        )
        operands[index] = partitioner.emitter.help(constant)
    return copy_local(partitioner, spread, operands)


@partitions("tensor.extract_slice")
def extract_slice(partitioner: Partitioner, operation: Operation) -> None:
    """Dimensions that are taken whole are taken whole of the shard."""
    spread_by_rule(
        partitioner,
        operation,
        freely,
        lambda p, spread, operands: _with_local_sizes(p, spread, operands, 0, 1),
    )


@partitions("tensor.insert_slice")
def insert_slice(partitioner: Partitioner, operation: Operation) -> None:
    """Dimensions that are written whole are written whole in the shard."""
    spread_by_rule(
        partitioner,
        operation,
        freely,
        lambda p, spread, operands: _with_local_sizes(p, spread, operands, 1, 2),
    )


def _with_local_sizes(
    partitioner: Partitioner,
    spread: SpreadOperation,
    operands: list[SSAValue],
    full: int,
    tensors: int,
) -> Operation:
    """A copy of a slice operation whose split dimensions have local sizes.

    `full` is the operand whose dimensions the lists count, `tensors` the number of tensors
    before the operands of the lists.
    """
    operation, emitter = spread.operation, partitioner.emitter
    sizes = {
        dimension: emitter.dimension(operands[full], dimension)
        for dimension, axes in enumerate(spread.operand_shardings[full].dimension_axes)
        if axes
    }
    properties, dynamic = slice_with_sizes(operation, operands[tensors:], sizes, tensors)
    whole = ranked(operation.results[0])
    assert whole is not None
    found = local_type(whole, spread.result_shardings[0])
    return copy_with(partitioner, operation, [*operands[:tensors], *dynamic], [found], properties)


def slice_with_sizes(
    operation: Operation, dynamic: Sequence[SSAValue], sizes: Mapping[int, Size], tensors: int
) -> tuple[dict[str, Attribute], list[SSAValue]]:
    """The properties and operands of a slice operation whose slice has other sizes.

    `dynamic` are its operands after the first `tensors`, and `sizes` the new ones by dimension.
    """
    lists = _lists(operation, dynamic)
    lists[1] = [sizes.get(dimension, size) for dimension, size in enumerate(lists[1])]
    properties = dict(operation.properties)
    values: list[SSAValue] = []
    counts = [1] * tensors
    for name, entries in zip(_LISTS, lists, strict=True):
        numbers = [entry if isinstance(entry, int) else DYNAMIC_INDEX for entry in entries]
        found = [entry for entry in entries if not isinstance(entry, int)]
        properties[name] = DenseArrayBase.from_list(i64, numbers)
        counts.append(len(found))
        values += found
    if isinstance(properties.get("operandSegmentSizes"), DenseArrayBase):
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    return properties, values


_LISTS = ("static_offsets", "static_sizes", "static_strides")


def _lists(operation: Operation, dynamic: Sequence[SSAValue]) -> list[Sequence[Size]]:
    """Offsets, sizes and strides, with values in the place of their marks."""
    values = iter(dynamic)
    lists: list[Sequence[Size]] = []
    for name in _LISTS:
        held = operation.properties.get(name)
        numbers = [int(n) for n in held.get_values()] if isinstance(held, DenseArrayBase) else []
        lists.append([next(values) if n == DYNAMIC_INDEX else n for n in numbers])
    return lists


@partitions("tensor.pad", "tensor.generate")
def with_index_body(partitioner: Partitioner, operation: Operation) -> None:
    """The body computes an element from its place in the whole tensor."""
    spread_by_rule(partitioner, operation, freely, _with_shifted_body)


def _with_shifted_body(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> Operation:
    operation, emitter = spread.operation, partitioner.emitter
    result = operation.results[0]
    whole = ranked(result)
    assert whole is not None
    sharding = spread.result_shardings[0]
    starts: list[Size] = []
    sizes: list[SSAValue] = []
    given = iter(operands)
    for dimension, (size, local) in enumerate(
        zip(shape(result), local_type(whole, sharding).get_shape(), strict=True)
    ):
        if operation.name == "tensor.generate":
            total: Size = next(given) if size is None else size
        elif sharding.dimension_axes[dimension]:
            total = partitioner.global_size(operation.operands[0], dimension)
        else:
            starts.append(0)
            continue
        start, length = shard_interval(emitter, total, sharding, dimension)
        starts.append(start)
        if local == DYNAMIC_INDEX:
            sizes.append(emitter.index(length))
    if operation.name == "tensor.generate":
        operands = sizes
    made = copy_local(partitioner, spread, operands)
    block = made.regions[0].blocks[0]
    for argument, start in zip(block.args, starts, strict=True):
        if not (isinstance(start, int) and start == 0) and argument.first_use is not None:
            shifted = arith.AddiOp(argument, emitter.index(start))
            first = block.first_op
            assert first is not None
            block.insert_op_before(shifted, first)
            argument.replace_uses_with_if(
                shifted.results[0], lambda use, own=shifted: use.operation is not own
            )
    return made
