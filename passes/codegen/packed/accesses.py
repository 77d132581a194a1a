"""Loads and stores of bindings: the accessed slice, and sizes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ....dialects.iree_tensor_ext import DispatchTensor, DispatchTensorLoadOp, DispatchTensorStoreOp
from ....ir.attribute_access import constant_integer, number_list
from ....ir.index_lists import SLICE_LISTS, mixed_list
from ....ir.tensor_types import element_of, shape_of
from ....tiling.storage_sizes import dense_formula
from ...sizes.dimension_sizes import Size
from ...stream.kernels.bindings import whole_tensor

Access = DispatchTensorLoadOp | DispatchTensorStoreOp


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


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a binding that a load or store accesses.

    - `bounds`: the dynamic offsets, sizes and strides;
    - `static`: the properties with the static ones.
    """

    bounds: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]]
    static: dict[str, Attribute]

    @staticmethod
    def of(access: Access) -> Slice:
        """Return the slice that an operation accesses."""
        static = {name: access.properties[name] for name in SLICE_LISTS}
        return Slice((access.offsets, access.sizes, access.strides), static)

    @staticmethod
    def whole(tensor: Tensor, dims: Sequence[SSAValue]) -> Slice:
        """Return the slice that is all of a tensor with these dynamic sizes."""
        return Slice(((), dims, ()), whole_tensor(tensor))


def load_from(
    load: DispatchTensorLoadOp,
    source: SSAValue,
    dims: Sequence[SSAValue],
    part: Slice,
    result: Attribute,
) -> Operation:
    """Return a load of another source, whose dynamic sizes are `dims`, and of another slice."""
    operands = [source, dims, *part.bounds]
    return type(load).build(operands=operands, result_types=[result], properties=part.static)


def store_to(
    store: DispatchTensorStoreOp,
    value: SSAValue,
    target: SSAValue,
    dims: Sequence[SSAValue],
    part: Slice,
) -> Operation:
    """Return a store to another target, whose dynamic sizes are `dims`, and to another slice."""
    operands = [value, target, dims, *part.bounds]
    return type(store).build(operands=operands, properties=part.static)


def memory_dims(packed: Sequence[Size], stored: Tensor) -> list[SSAValue]:
    """Return the dynamic sizes of a packed tensor in memory; `packed` are all sizes."""
    pairs = zip(packed, stored.get_shape(), strict=False)
    return [size for size, n in pairs if n == DYNAMIC_INDEX and isinstance(size, SSAValue)]


def is_whole(access: Access, sizes: Sequence[Size]) -> bool:
    """Return whether an access is known to cover the whole tensor."""
    offsets, lengths, strides = (number_list(access.properties[name]) for name in SLICE_LISTS)
    if any(offsets) or any(stride != 1 for stride in strides):
        return False
    return all(
        length == size or (isinstance(length, SSAValue) and constant_integer(length) == size)
        for length, size in zip(mixed_list(lengths, access.sizes), sizes, strict=True)
    )
