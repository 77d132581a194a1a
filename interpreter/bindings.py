"""What kernels are bound to: tensors to read and write, in arrays or in the bytes of resources."""

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
    """A tensor that a kernel may read as a whole and replace."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The tensor's extents."""

    @abstractmethod
    def read(self, op: Operation) -> Array:
        """The tensor as it is now."""

    @abstractmethod
    def write(self, op: Operation, array: Array) -> None:
        """Replace the tensor."""


@dataclass(slots=True)
class ArraySlot(BoundTensor):
    """A tensor of a `flow` program: only an array."""

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
    """A range of a resource that a kernel is given; writing replaces the resource."""

    resource: Resource


@dataclass(slots=True)
class ByteSlot(BoundTensor):
    """A tensor in the bytes of a binding, from an offset on."""

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
        if part.tensor is not None:
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
        known = part.written_as if self.offset == 0 else None
        self.binding.resource = Resource(contents, resource.owner, known)


def check_stored_shape(op: Operation, stored: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise OperationError if what is stored is not what there is room for."""
    if stored != shape:
        raise OperationError(op, f"stores {shape_text(stored)} as a tensor of {shape_text(shape)}")
