"""Replace dynamic offsets of slices by constants where value ranges determine them.

MLIR's `canonicalize` does so where its folds apply. Programs clamp an offset so that the slice
fits, whether the offset is an argument or a constant, as JAX's `dynamic_slice` does:

    %0 = arith.maxsi %i, %c0 : index
    %1 = arith.minsi %0, %c0 : index      0, whatever %i is
    %2 = tensor.extract_slice %x[%1, 3] [8, 1] [1, 1] : tensor<8x16xf32> to tensor<8x1xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import number_list
from ....ir.index_lists import SLICE_LISTS, mixed_list
from ....ir.integer_ranges import is_slice_inside, range_of
from ....ir.intervals import Interval
from ....ir.regions import walk
from ....ir.tensor_types import tensor_shape

SLICED = {"tensor.extract_slice": 0, "tensor.insert_slice": 1, "tensor.parallel_insert_slice": 1}
"""Operations that access a slice of a tensor, with the operand number of that tensor."""


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
        size, stride, extent = sizes[dimension], strides[dimension], extents[dimension] or 0
        # A static offset has to be that of an element, even if nothing is read there.
        names_element = found.low == found.high < max(extent, 1)
        if names_element and is_slice_inside(found, size, stride, extent):
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
