"""Tensors in the bytes of devices: where kernels find and leave them, whatever their layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ...dialects.iree_encoding.interfaces import Tensor as TensorType
from ...interpreter.storage import (
    Resource,
    check_contents,
    check_room,
    read_tensor,
    settled_layout,
    stored_bytes,
    write_tensor,
)
from ...ir.diagnostics import OperationError
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import dtype_of, integer_width
from ...runtime.buffers import Bytes
from ...runtime.commands import HostCommand
from ...tiling.packed_arrays import packed_extents, settled_tiles
from ...tiling.packed_layouts import PackedLayout
from ..kernels.packing import write_relayout
from .device_bytes import DeviceBytes, allocate
from .recorder import Recorder
from .recording_frame import RecordingFrame
from .tensors import Array, Tensor


def take_over(
    frame: RecordingFrame, op: Operation, position: int, value: DeviceBytes
) -> DeviceBytes:
    """The bytes of an operand to write to: its own if nothing else reads them, else a copy."""
    operand = op.operands[position]
    is_read_again = sum(each is operand for each in op.operands) > 1
    if not is_read_again and frame.may_take_over(operand, value.place.buffer):
        return value
    target = allocate(value.size, value.owner)
    frame.recorder.copy_bytes(value.place, target.place, value.size, op)
    return target


@dataclass(frozen=True, slots=True, eq=False)
class BoundBytes:
    """A tensor of some shape in the bytes of a kernel's binding."""

    contents: DeviceBytes
    tensor: TensorType
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements when they are computed with."""
        return dtype_of(self.tensor)

    @property
    def elements(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    def check_contents(self, op: Operation) -> None:
        """Raise OperationError if the tensor, which is read, has more bytes than there are."""
        needed = stored_bytes(op, self.tensor, self.shape)
        check_contents(op, needed, self.contents.size, self.tensor)

    def check_room(self, op: Operation) -> None:
        """Raise OperationError if the tensor, which is written, has more bytes than there are."""
        needed = stored_bytes(op, self.tensor, self.shape)
        check_room(op, needed, self.contents.size, self.tensor)


def bind(
    op: Operation, contents: DeviceBytes, tensor: TensorType, shape: Sequence[int]
) -> BoundBytes:
    """A tensor in bytes. Raises OperationError if its layout is open."""
    if settled_layout(op, tensor) is None:
        raise OperationError(op, f"binds {tensor}, whose layout is not settled")
    return BoundBytes(contents, tensor, tuple(shape))


def _layout(op: Operation, bound: BoundBytes) -> PackedLayout | None:
    """How elements lie in bytes, `None` if that takes more than moving them."""
    layout = settled_layout(op, bound.tensor)
    if layout is None:
        return None
    formula = layout.storage_formula(
        type(bound.tensor)(bound.tensor.element_type, bound.shape, bound.tensor.encoding)
    )
    packed = layout.packed_layout(bound.tensor)
    if formula.element_bits != bound.dtype.itemsize * 8 or packed.swizzle is not None:
        return None
    if packed.is_identity and any(extent.padding for extent in formula.extents):
        return None
    return packed


def in_place(op: Operation, bound: BoundBytes, recorder: Recorder) -> Tensor | None:
    """The tensor itself, if its elements lie in rows. There must be as many bytes as it has."""
    layout = _layout(op, bound)
    if layout is None or not layout.is_identity:
        return None
    return Tensor(bound.shape, bound.dtype, bound.contents.place, recorder.read)


def _has_spare_bits(bound: BoundBytes) -> bool:
    """Whether elements are narrower than what holds them: nobody says what is in the other bits.

    Kernels that compute with them expect copies of the sign there, and leave these behind.
    """
    width = integer_width(bound.tensor)
    return width is not None and width != bound.dtype.itemsize * 8


def read(op: Operation, bound: BoundBytes, recorder: Recorder) -> Tensor:
    """The tensor in rows, as kernels compute with it: itself, or a copy."""
    bound.check_contents(op)
    spare = _has_spare_bits(bound)
    found = None if spare else in_place(op, bound, recorder)
    if found is not None:
        return found
    result = recorder.new_tensor(bound.shape, bound.dtype)
    if spare or not _relay(op, bound, result, recorder, is_pack=False):
        place, size = bound.contents.place, bound.contents.size
        dims = _dynamic_sizes(bound)

        def decode(source: Bytes, target: Bytes) -> None:
            array = read_tensor(op, Resource(source[:size]), bound.tensor, dims)
            target[: result.nbytes] = _raw(array)

        recorder.add(HostCommand(decode, (place, result.place), op))
    return result


def write(op: Operation, bound: BoundBytes, value: Tensor, recorder: Recorder) -> None:
    """Replace the tensor."""
    bound.check_room(op)
    target = in_place(op, bound, recorder)
    if target is not None:
        if target.place != value.place:
            recorder.copy(value, target, op)
    elif not _relay(op, bound, value, recorder, is_pack=True):

        def encode(target: Bytes, source: Bytes) -> None:
            array = source[: value.nbytes].view(value.dtype).reshape(value.shape)
            size = stored_bytes(op, bound.tensor, bound.shape)
            target[:size] = write_tensor(op, array, bound.tensor, size, None).contents

        recorder.add(HostCommand(encode, (bound.contents.place, value.place), op))


def read_part(
    op: Operation,
    bound: BoundBytes,
    parts: tuple[slice, ...],
    shape: tuple[int, ...],
    recorder: Recorder,
) -> Tensor:
    """A slice of the tensor, copied."""
    whole = read(op, bound, recorder)
    result = recorder.new_tensor(shape, whole.dtype)

    def copy(source: Bytes, target: Bytes) -> None:
        array = source[: whole.nbytes].view(whole.dtype).reshape(whole.shape)
        target[: result.nbytes] = _raw(array[parts])

    recorder.add(HostCommand(copy, (whole.place, result.place), op))
    return result


def write_part(
    op: Operation, bound: BoundBytes, parts: tuple[slice, ...], value: Tensor, recorder: Recorder
) -> None:
    """Replace a slice of the tensor."""
    whole = read(op, bound, recorder)

    def update(target: Bytes, source: Bytes) -> None:
        array = target[: whole.nbytes].view(whole.dtype).reshape(whole.shape)
        part = source[: value.nbytes].view(value.dtype)
        array[parts] = part.reshape(array[parts].shape)

    recorder.add(HostCommand(update, (whole.place, value.place), op))
    write(op, bound, whole, recorder)


def _raw(array: Array) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _dynamic_sizes(bound: BoundBytes) -> list[int]:
    extents = zip(bound.shape, bound.tensor.get_shape(), strict=True)
    return [size for size, extent in extents if extent < 0]


def _relay(
    op: Operation, bound: BoundBytes, plain: Tensor, recorder: Recorder, *, is_pack: bool
) -> bool:
    """Pack or unpack by a kernel, if the layout is one that kernels know."""
    layout = _layout(op, bound)
    if layout is None:
        return False
    layout = settled_tiles(layout)
    element = element_of(bound.tensor.element_type, op)
    rank = len(bound.shape)
    kernel = recorder.recorded.kernel(
        (op, is_pack), lambda: write_relayout(op, layout, rank, element, is_pack=is_pack)
    )
    extents = packed_extents(bound.shape, layout)
    packed = Tensor(extents, bound.dtype, bound.contents.place, recorder.read)
    source, target = (plain, packed) if is_pack else (packed, plain)
    constants = [*bound.shape, *extents[:rank]]
    recorder.run_kernel(kernel, [source], [target], constants, op)
    return True
