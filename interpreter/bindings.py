"""Tensors that kernels read and write: arrays (`flow`), or bytes of resources (`stream`, `hal`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from ..dialects.iree_encoding.interfaces import Tensor
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array, Value, shape_text
from .storage import Resource, read_tensor, stored_bytes, write_tensor


class BoundTensor(ABC):
    """A tensor argument of a kernel, which the kernel can read and replace as a whole."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""

    @abstractmethod
    def read(self, op: Operation) -> Array:
        """Return the current contents. Raises OperationError if they are not this tensor."""

    @abstractmethod
    def write(self, op: Operation, array: Array) -> None:
        """Replace the tensor. Raises OperationError if `array` does not fit."""


@dataclass(slots=True)
class ArraySlot(BoundTensor):
    """A tensor argument of a `flow` kernel, held as an array."""

    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def read(self, op: Operation) -> Array:
        return self.array

    def write(self, op: Operation, array: Array) -> None:
        check_stored_shape(op, array.shape, self.array.shape)
        self.array = array


@dataclass(slots=True)
class Binding:
    """A resource that is bound to a kernel. A write replaces `resource` by a new one."""

    resource: Resource


@dataclass(slots=True)
class ByteSlot(BoundTensor):
    """A tensor stored in a binding's bytes from a byte offset on."""

    binding: Binding
    offset: int
    tensor: Tensor
    dims: Sequence[Value]
    extents: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents

    def read(self, op: Operation) -> Array:
        return read_tensor(op, self.binding.resource, self.tensor, self.dims, self.offset)

    def write(self, op: Operation, array: Array) -> None:
        check_stored_shape(op, array.shape, self.shape)
        resource = self.binding.resource
        if self.offset == 0 and stored_bytes(op, self.tensor, self.shape) >= resource.size:
            written = write_tensor(op, array, self.tensor, resource.size, resource.owner)
            self.binding.resource = written
            return
        room = resource.size - self.offset
        part = write_tensor(op, array, self.tensor, room, resource.owner)
        if part.unresolved_tensor is not None:
            if self.offset:
                raise OperationError(
                    op,
                    f"writes {self.tensor}, whose layout is not resolved, at"
                    f" byte {self.offset} of a resource",
                )
            self.binding.resource = part
            return
        used = stored_bytes(op, self.tensor, self.shape)
        contents = resource.contents.copy()
        contents[self.offset : self.offset + used] = part.contents[:used]
        known = part.written_type if self.offset == 0 else None
        self.binding.resource = Resource(contents, resource.owner, known)


def check_stored_shape(op: Operation, stored: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise OperationError if the shape of a stored array differs from that of its target."""
    if stored != shape:
        raise OperationError(
            op, f"stores a tensor of shape {shape_text(stored)}, expected shape {shape_text(shape)}"
        )
