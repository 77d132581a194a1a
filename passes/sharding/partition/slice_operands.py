"""Rewrite offsets, sizes and strides of slice operations, static and dynamic ones mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.attribute_access import integers
from ....ir.index import IndexOrInt
from ....ir.index_lists import SLICE_LISTS, index_array, mixed_list, split_list


def slice_with(
    operation: Operation,
    dynamic: Sequence[SSAValue],
    tensors: int,
    sizes: Mapping[int, IndexOrInt],
    offsets: Mapping[int, IndexOrInt] | None = None,
) -> tuple[dict[str, Attribute], list[SSAValue]]:
    """Return the properties and operands of a slice operation with some sizes and offsets replaced.

    `dynamic` are its operands after the first `tensors`; replacements are given by dimension.
    """
    lists = slice_lists(operation, dynamic)
    for held, changed in zip(lists, (offsets or {}, sizes), strict=False):
        for dimension, number in changed.items():
            held[dimension] = number
    properties = dict(operation.properties)
    values: list[SSAValue] = []
    counts = [1] * tensors
    for name, entries in zip(SLICE_LISTS, lists, strict=True):
        properties[name], found = index_array(entries), split_list(entries)[1]
        counts.append(len(found))
        values += found
    if isinstance(properties.get("operandSegmentSizes"), DenseArrayBase):
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    return properties, values


def slice_lists(
    operation: Operation, dynamic: Sequence[SSAValue], names: Sequence[str] = SLICE_LISTS
) -> list[list[IndexOrInt]]:
    """Return offsets, sizes and strides as lists, with values in place of dynamic markers."""
    values = iter(dynamic)
    return [list(mixed_list(integers(operation, name), values)) for name in names]
