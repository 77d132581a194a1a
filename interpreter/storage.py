"""Resources: bytes that belong to a device, and reading and writing tensors in them.

As long as the layout of an encoded tensor is not resolved, its bytes have no meaning. A resource
then holds the tensor itself, and a reader must ask for the same encoding. With a resolved layout a
resource holds only bytes, in the order of the layout.

Resources are values: an operation that writes to one returns a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from ..dialects.iree_encoding.interfaces import (
    EncodingError,
    LayoutInterface,
    Tensor,
    tensor_encoding,
    with_encoding,
)
from ..dialects.iree_encoding.layouts import IdentityAttr
from ..ir.diagnostics import OperationError
from ..ir.tensor_types import element_of
from ..runtime.abi.arrays import Array, Value, shape_text
from ..runtime.abi.values import dtype_of
from ..tiling.packed_arrays import Bytes, from_bytes, pack, packed_extents, to_bytes, unpack
from ..tiling.storage_sizes import StorageFormula
from .shapes import filled_shape

FRESH_BYTE = 0xDB
"""Contents of bytes that have not been written. Numbers made of it are conspicuous."""

PLAIN = IdentityAttr()
"""The layout of tensors without an encoding: row-major."""


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """Bytes on a device.

    If the layout of the tensor is not resolved, `unresolved_tensor` holds it instead.
    `owner` is the device that may access them, `None` for all devices (constants, staging buffers).
    `written_type` is the tensor type that all bytes were written as, if known.
    """

    contents: Bytes
    owner: str | None = None
    written_type: Tensor | None = None
    unresolved_tensor: Array | None = None

    @property
    def size(self) -> int:
        """The size in bytes."""
        return int(self.contents.size)

    def __eq__(self, other: object) -> bool:
        """Return whether another resource has the same bytes, on whatever device they are."""
        if not isinstance(other, Resource):
            return False
        first, second = self.unresolved_tensor, other.unresolved_tensor
        if first is None or second is None:
            return first is second and np.array_equal(self.contents, other.contents)
        return np.array_equal(first, second)

    __hash__ = object.__hash__

    def owned_by(self, owner: str | None) -> Resource:
        """Return the same bytes with another owner."""
        return replace(self, owner=owner)

    def part(self, op: Operation, start: Value, length: Value) -> Bytes:
        """Return bytes. Raises OperationError if they are out of bounds or not laid out."""
        if self.unresolved_tensor is not None:
            raise OperationError(
                op, f"accesses bytes of {self.written_type}, whose layout is not resolved"
            )
        return bytes_at(op, self.contents, start, length)


def resource_size(op: Operation, value: Value) -> int:
    """Return the size of a new resource in bytes. Raises OperationError if it is negative."""
    size = int(value)
    if size < 0:
        raise OperationError(op, f"has the negative size {size}")
    return size


def fresh(size: int, owner: str | None) -> Resource:
    """Return a resource of `size` bytes that have not been written."""
    return Resource(np.full(size, FRESH_BYTE, np.uint8), owner)


def bytes_at(op: Operation, contents: Bytes, start: Value, length: Value) -> Bytes:
    """Return `length` bytes from `start`. Raises OperationError if they are out of bounds."""
    first, last = int(start), int(start) + int(length)
    check_range(op, first, last, int(contents.size))
    return contents[first:last]


def check_range(op: Operation, first: int, last: int, size: int) -> None:
    """Raise OperationError if a range of bytes is not among `size` bytes."""
    if not 0 <= first <= last <= size:
        raise OperationError(op, f"accesses bytes {first} to {last} of {size}")


def resolved_layout(op: Operation, tensor: Tensor) -> LayoutInterface | None:
    """Return the layout of a tensor in memory; `None` if it is not resolved.

    Raises OperationError if there are several different layouts: then the tensor cannot be read.
    """
    encoding = tensor_encoding(tensor)
    if encoding is None:
        return PLAIN
    layouts = encoding.layouts()
    try:
        ways = {(one.packed_layout(tensor), one.storage_formula(tensor)) for one in layouts}
    except EncodingError:
        return None
    if len(ways) > 1:
        raise OperationError(op, f"has {len(ways)} different layouts for one tensor: {tensor}")
    return layouts[0] if layouts else None


def write_tensor(
    op: Operation,
    array: Array,
    type_: Attribute,
    size: int,
    owner: str | None,
    padding: Value = 0,
) -> Resource:
    """Return a resource of `size` bytes that holds an array as a tensor of a type.

    Raises OperationError if it does not fit.
    """
    tensor = ranked(op, type_)
    found, layout = replace(fresh(size, owner), written_type=tensor), resolved_layout(op, tensor)
    if layout is None:
        return replace(found, unresolved_tensor=array)
    data = _encoded(op, array, tensor, layout, padding)
    check_room(op, data.size, size, tensor)
    found.contents[: data.size] = data
    return found


def read_tensor(
    op: Operation, resource: Resource, type_: Attribute, dims: Sequence[Value], offset: int = 0
) -> Array:
    """Return the array that a resource holds as a tensor of a type, starting at a byte offset.

    Raises OperationError if the resource was written in another layout or is too small.
    """
    tensor = ranked(op, type_)
    shape = filled_shape(op, tensor, dims)
    layout = resolved_layout(op, tensor)
    if layout is None:
        return _read_unresolved(op, resource, tensor, shape)
    if resource.unresolved_tensor is not None:
        raise OperationError(
            op,
            f"reads {tensor} from a resource that holds {resource.written_type}, whose layout is"
            " not resolved",
        )
    if offset == 0:
        _check_layout(op, resource, tensor, layout, shape)
    return _decoded(op, resource.contents[offset:], tensor, layout, shape)


def ranked(op: Operation, type_: Attribute) -> Tensor:
    """Return a type as a ranked tensor type. Raises OperationError for other types."""
    if not isinstance(type_, TensorType):
        raise OperationError(op, f"stores {type_} in a resource, expected a tensor")
    return cast(Tensor, type_)


def stored_bytes(op: Operation, tensor: Tensor, shape: Sequence[int]) -> int:
    """Return the storage size of a tensor in bytes; row-major if its layout is unresolved."""
    layout = resolved_layout(op, tensor) or PLAIN
    return _formula(layout, tensor, shape).evaluate()


# --------------------------------------------------------------------------------------------
# Layouts


def _formula(layout: LayoutInterface, tensor: Tensor, shape: Sequence[int]) -> StorageFormula:
    return layout.storage_formula(with_sizes(tensor, shape))


def with_sizes(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a tensor type with other sizes, which are those that it has if all are static."""
    if tensor.get_shape() == tuple(shape):
        return tensor
    return TensorType(tensor.element_type, shape, tensor.encoding)


def _encoded(
    op: Operation, array: Array, tensor: Tensor, layout: LayoutInterface, padding: Value
) -> Bytes:
    formula = _formula(layout, tensor, array.shape)
    packed = layout.packed_layout(tensor)
    try:
        if packed.is_identity:
            array = _with_skipped(array, formula)
        else:
            array = pack(array, packed, padding)
        return to_bytes(array, element_of(tensor), formula.element_bits)
    except ValueError as error:
        raise OperationError(op, f"cannot store {tensor}: {error}") from error


def _decoded(
    op: Operation, data: Bytes, tensor: Tensor, layout: LayoutInterface, shape: tuple[int, ...]
) -> Array:
    formula = _formula(layout, tensor, shape)
    check_contents(op, formula.evaluate(), data.size, tensor)
    packed = layout.packed_layout(tensor)
    extents = tuple(extent.size or 0 for extent in formula.extents)
    if packed.is_identity:
        extents = tuple(e.padding + size for e, size in zip(formula.extents, extents, strict=True))
    else:
        extents = packed_extents(shape, packed)
    try:
        flat = from_bytes(
            data, element_of(tensor), dtype_of(tensor), prod(extents), formula.element_bits
        )
    except ValueError as error:
        raise OperationError(op, f"cannot read {tensor}: {error}") from error
    array = flat.reshape(extents)
    if packed.is_identity:
        return array[tuple(slice(extent) for extent in shape)]
    return unpack(array, packed, shape)


def _with_skipped(array: Array, formula: StorageFormula) -> Array:
    """Append the padding elements of a storage formula to each dimension of an array."""
    extents = [
        extent.padding + size for extent, size in zip(formula.extents, array.shape, strict=True)
    ]
    if tuple(extents) == array.shape:
        return array
    padded = np.zeros(extents, array.dtype)
    padded[tuple(slice(extent) for extent in array.shape)] = array
    return padded


# --------------------------------------------------------------------------------------------
# Checks


def check_room(op: Operation, needed: int, size: int, tensor: Tensor) -> None:
    """Raise OperationError if a tensor does not fit into the resource it is written to."""
    if needed > size:
        raise OperationError(op, f"writes {needed} bytes of {tensor} to a resource of {size} bytes")


def check_contents(op: Operation, needed: int, size: int, tensor: Tensor) -> None:
    """Raise OperationError if a resource has fewer bytes than the tensor that is read."""
    if needed > size:
        raise OperationError(op, f"reads {needed} bytes of {tensor} from {size} bytes")


def _check_layout(
    op: Operation,
    resource: Resource,
    tensor: Tensor,
    layout: LayoutInterface,
    shape: tuple[int, ...],
) -> None:
    """Raise OperationError if a tensor was written in another layout than it is read in."""
    written = resource.written_type
    if written is None or written.element_type != tensor.element_type:
        return
    if len(written.get_shape()) != len(shape):
        return
    other = resolved_layout(op, written)
    if other is None or other.packed_layout(written) == layout.packed_layout(tensor):
        return
    if other.packed_layout(written).is_identity and layout.packed_layout(tensor).is_identity:
        return
    raise OperationError(op, f"reads {tensor} from a resource that was written as {written}")


def _read_unresolved(
    op: Operation, resource: Resource, tensor: Tensor, shape: tuple[int, ...]
) -> Array:
    if resource.unresolved_tensor is None:
        raise OperationError(
            op, f"reads {tensor}, whose layout is not resolved, from a resource of plain bytes"
        )
    written = resource.written_type
    if written is not None and written.encoding != tensor.encoding:
        raise OperationError(
            op,
            f"reads {tensor} from a resource that holds {with_encoding(tensor, written.encoding)}",
        )
    if resource.unresolved_tensor.shape != shape:
        raise OperationError(
            op,
            f"reads a tensor of {shape_text(shape)} from a resource that holds one of"
            f" {shape_text(resource.unresolved_tensor.shape)}",
        )
    return resource.unresolved_tensor
