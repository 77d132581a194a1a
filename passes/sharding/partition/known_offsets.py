"""Replace dynamic offsets of slices by constants where value ranges determine them.

MLIR's `canonicalize` does so where its folds apply. Programs clamp an offset so that the slice
fits, whether the offset is an argument or a constant, as JAX's `dynamic_slice` does:

    %0 = arith.maxsi %i, %c0 : index
    %1 = arith.minsi %0, %c0 : index      0, whatever %i is
    %2 = tensor.extract_slice %x[%1, 3] [8, 1] [1, 1] : tensor<8x16xf32> to tensor<8x1xf32>
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ....ir.attribute_access import attribute, number_list
from ....ir.index_lists import SLICE_LISTS, mixed_list
from ....ir.integer_ranges import result_range, within_type
from ....ir.intervals import Interval
from ....ir.locations import made_by
from ....ir.regions import walk
from ....ir.tensor_types import tensor_shape

SLICED = {"tensor.extract_slice": 0, "tensor.insert_slice": 1, "tensor.parallel_insert_slice": 1}
"""Operations that access a slice of a tensor, with the operand number of that tensor."""

MAX_DEPTH = 16
"""Maximum depth of the chain of operations that is analysed."""
MAX_ELEMENTS = 16
"""Maximum number of elements of a constant that is analysed."""


def fold_known_offsets(module: ModuleOp) -> None:
    """Make offsets with a known value static, in place, if the slice is within bounds there."""
    known: dict[SSAValue, Interval] = {}
    for operation in walk(module):
        tensor = SLICED.get(operation.name)
        if tensor is not None and len(operation.operands) > tensor + 1:
            _fold(operation, tensor, known)


def _fold(operation: Operation, tensor: int, known: dict[SSAValue, Interval]) -> None:
    extents = tensor_shape(operation.operands[tensor])
    offsets, sizes, strides = (number_list(operation.properties.get(name)) for name in SLICE_LISTS)
    if extents is None or not len(extents) == len(offsets) == len(sizes) == len(strides):
        return
    values = operation.operands[tensor + 1 :]
    count = offsets.count(DYNAMIC_INDEX)
    numbers = list(offsets)
    kept: list[SSAValue] = []
    for dimension, offset in enumerate(mixed_list(offsets, values[:count])):
        if isinstance(offset, int):
            continue
        found = range_of(offset, known)
        size, stride = sizes[dimension], strides[dimension]
        last = found.low + (size - 1) * stride
        is_inside = min(found.low, size - 1, stride - 1) >= 0 and last < (extents[dimension] or 0)
        if found.low == found.high and is_inside:
            numbers[dimension] = found.low
        else:
            kept.append(offset)
    if len(kept) == count:
        return
    operation.operands = [*operation.operands[: tensor + 1], *kept, *values[count:]]
    operation.properties["static_offsets"] = DenseArrayBase.from_list(i64, numbers)
    if lengths := list(number_list(operation.properties.get("operandSegmentSizes"))):
        lengths[tensor + 1] = len(kept)
        operation.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, lengths)


def range_of(value: SSAValue, known: dict[SSAValue, Interval], depth: int = 0) -> Interval:
    """Return the range of an integer that constants, clamps and casts imply; caches in `known`."""
    if value not in known:
        found = None
        if isinstance(value, OpResult) and depth < MAX_DEPTH:
            found = _found(value.op, known, depth)
        known[value] = within_type(found, value.type)
    return known[value]


def _found(operation: Operation, known: dict[SSAValue, Interval], depth: int) -> Interval | None:
    """Return the range of an operation's result, ignoring overflow; `None` if unknown."""
    if operation.name == "arith.constant":
        return _ends(attribute(operation, "value"))
    if operation.name == "tensor.extract":
        source = made_by(operation.operands[0], "arith.constant")
        return None if source is None else _found(source, known, depth)
    return result_range(operation, lambda operand: range_of(operand, known, depth + 1))


def _ends(constant: Attribute | None) -> Interval | None:
    """Return the smallest and the largest element of a small integer constant."""
    if isinstance(constant, IntegerAttr):
        return Interval(constant.value.data, constant.value.data)
    if not isinstance(constant, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[Any]", constant)
    numbers = number_list(dense) if len(dense) <= MAX_ELEMENTS else ()
    return Interval(min(numbers), max(numbers)) if numbers else None
