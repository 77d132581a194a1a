"""What becomes of operations on tensors that a host program may have: the table of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ....ir.rules import Rules
from ..analysis.device_placement import DevicePlacement
from .control_flow import TensorStorage
from .executables import StoredGlobals
from .stored_tensors import StoredTensor


class Host(TensorStorage, Protocol):
    """The conversion of a host program, as its rules see it."""

    placement: DevicePlacement
    variables: StoredGlobals

    def made(self, name: str) -> type[IRDLOperation]:
        """The class of operations that have a name."""
        ...

    def held_at(self, value: SSAValue) -> Attribute | None:
        """Where the resource is that stands for a tensor."""
        ...

    def brought(
        self, value: SSAValue, reader: Operation, place: Attribute | None, builder: Builder
    ) -> StoredTensor:
        """What stands for a tensor on the device where it is read."""
        ...


Rule = Callable[[Host, Operation, Builder], None]

conversion = Rules[Rule]()
"""What becomes of each operation on tensors that a host program may have."""


def operands_of(operation: Operation, name: str) -> tuple[SSAValue, ...]:
    """A group of operands by the name that the operation's definition gives it."""
    return tuple(cast(Sequence[SSAValue], getattr(operation, name)))


def dynamic_count(tensor: TensorType[Attribute], before: int | None = None) -> int:
    """How many dimensions, or how many of the first ones, a type leaves open."""
    return sum(size < 0 for size in tensor.get_shape()[:before])
