"""Bytes of a device: what a resource of a `stream` program is while the program is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Operation

from ...interpreter.devices import reach
from ...interpreter.storage import Resource
from ...ir.diagnostics import OperationError
from ...runtime.buffers import Buffer, Storage
from ...runtime.commands import Place


@dataclass(frozen=True, slots=True, eq=False)
class DeviceBytes:
    """`size` bytes from a place on, of the device `owner`; of nobody, if that is `None`."""

    place: Place
    size: int
    owner: str | None

    def part(self, op: Operation, start: int, end: int) -> DeviceBytes:
        """The bytes from `start` to `end`, which must be there."""
        if not 0 <= start <= end <= self.size:
            raise OperationError(op, f"touches bytes {start} to {end} of {self.size}")
        place = Place(self.place.buffer, self.place.offset + start)
        return DeviceBytes(place, end - start, self.owner)

    def owned_by(self, owner: str | None) -> DeviceBytes:
        """The same bytes, as another device's."""
        return DeviceBytes(self.place, self.size, owner)


def allocate(size: int, owner: str | None) -> DeviceBytes:
    """New bytes of a device. What lies in them is counted as one use more than there are."""
    buffer = Buffer(size, Storage.TRANSIENT, owner=owner)
    buffer.references = 1
    return DeviceBytes(Place(buffer), size, owner)


def resident(op: Operation, resource: Resource) -> DeviceBytes:
    """What the interpreter knows already: constants, and what initializers have made of them."""
    if resource.tensor is not None:
        raise OperationError(op, f"has {resource.written_as}, whose layout is not settled")
    buffer = Buffer.holding(resource.contents)
    buffer.owner = resource.owner
    return DeviceBytes(Place(buffer), resource.size, resource.owner)


def touch(op: Operation, value: DeviceBytes, here: str | None) -> DeviceBytes:
    """Bytes that a device may touch. Raises OperationError if they are another's."""
    reach(op, cast(Any, value), here)
    return value
