"""Helpers for loads and stores of bindings: the accessed slice, and sizes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ....dialects.iree_tensor_ext import (
    DispatchTensor,
    DispatchTensorLoadOp,
    DispatchTensorStoreOp,
    static_list,
)
from ....ir.attribute_access import constant_integer
from ....ir.index_lists import SLICE_LISTS, mixed_list
from ....ir.tensor_types import element_of, shape_of
from ....tiling.storage_sizes import dense_formula
from ...sizes.dimension_sizes import Size


def keeps_storage(tensor: Tensor) -> bool:
    """Return whether the stored bytes differ from the dense tensor: `padding`, `packed_storage`."""
    encoding = tensor_encoding(tensor)
    if encoding is None or encoding.is_open:
        return False
    dense = dense_formula(shape_of(tensor), element_of(tensor))
    return any(
        layout.packed_layout(tensor).is_identity and layout.storage_formula(tensor) != dense
        for layout in encoding.layouts()
    )


def dynamic_dims(operation: Operation) -> Sequence[SSAValue]:
    """Return the operands that list the dynamic sizes of a binding's tensor."""
    count = cast(Tensor, cast(DispatchTensor, operation.results[0].type).bound_type).get_shape()
    dynamic = sum(size == DYNAMIC_INDEX for size in count)
    return operation.operands[len(operation.operands) - dynamic :] if dynamic else ()


def sizes_listed(tensor: Tensor, dims: Sequence[SSAValue]) -> list[Size]:
    """Return all sizes of a tensor, given those of its dynamic dimensions."""
    return list(mixed_list(tensor.get_shape(), dims))


def load_from(
    load: DispatchTensorLoadOp,
    source: SSAValue,
    offsets: Sequence[SSAValue],
    sizes: Sequence[SSAValue],
    strides: Sequence[SSAValue],
    access: Operation | dict[str, Attribute],
    result: Attribute,
    dims: Sequence[SSAValue] | None = None,
) -> Operation:
    """Emit a copy of a load with another source, slice and result type."""
    static = access if isinstance(access, dict) else access.properties
    return type(load).build(
        operands=[source, load.source_dims if dims is None else dims, offsets, sizes, strides],
        result_types=[result],
        properties={name: static[name] for name in SLICE_LISTS},
    )


def memory_sizes(packed: Sequence[Size], stored: Tensor) -> list[Size]:
    """Return the sizes of a packed tensor in memory; dynamic sizes come from `packed`."""
    return [
        packed[index] if size == DYNAMIC_INDEX else size
        for index, size in enumerate(stored.get_shape())
    ]


def is_whole(access: DispatchTensorLoadOp | DispatchTensorStoreOp, sizes: Sequence[Size]) -> bool:
    """Return whether an access is known to cover the whole tensor."""
    if any(offset != 0 for offset in static_list(access, "offsets")):
        return False
    if any(stride != 1 for stride in static_list(access, "strides")):
        return False
    dynamic = iter(access.sizes)
    for static, size in zip(static_list(access, "sizes"), sizes, strict=True):
        accessed = next(dynamic) if static is None else static
        number = constant_integer(accessed) if isinstance(accessed, SSAValue) else accessed
        if accessed != size and (number is None or number != size):
            return False
    return True
