"""One call of a collective: what the operands are, and the commands that carry it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...interpreter.frames import Device
from ...ir.diagnostics import OperationError
from ...runtime.collectives import Collective
from ...runtime.commands import AnyCommand, Buffer
from ...runtime.communicator import Communicator
from ...runtime.host.exchanges import carry_out, meeting_of, own_result
from ...runtime.host.program import Numbers
from ...runtime.host.virtual_machine import Meeting, VirtualMachine
from .values import HostTensor, HostValue

ALONE = "needs the devices of a grid, but the program runs on one device alone"


@dataclass(frozen=True, slots=True)
class SharedTensor:
    """A row-major tensor that fills a buffer of commands."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    buffer: Buffer

    @staticmethod
    def new(shape: tuple[int, ...], dtype: np.dtype[Any]) -> SharedTensor:
        """A tensor with a buffer of its own."""
        return SharedTensor(shape, dtype, Buffer(prod(shape) * dtype.itemsize))


class CollectiveCall:
    """What the rules of collectives work on: operands that are known, and commands so far."""

    def __init__(
        self,
        op: Operation,
        device: Device,
        communicator: Communicator | None,
        contents: Sequence[HostValue],
        numbers: Numbers,
    ) -> None:
        """`contents` are the operands as they were lowered, `numbers` the words of registers."""
        if communicator is None:
            raise OperationError(op, ALONE)
        self.op = op
        self.device = device
        self.communicator = communicator
        self.commands: list[AnyCommand] = []
        self._numbers = numbers
        rest = iter(numbers)
        self._values = {
            operand: _value(content, rest)
            for operand, content in zip(op.operands, contents, strict=True)
        }
        self.source = self.tensor(op.operands[0]).buffer

    def number(self, value: SSAValue) -> int:
        """An index."""
        found = self._values[value]
        if isinstance(found, SharedTensor):
            raise ValueError("a tensor is no number")
        return found

    def tensor(self, value: SSAValue) -> SharedTensor:
        """A tensor."""
        found = self._values[value]
        if not isinstance(found, SharedTensor):
            raise ValueError("a number is no tensor")
        return found

    def meet(self, collective: Collective, source: SharedTensor) -> SharedTensor:
        """Add the commands of a collective; returns its result."""
        target = SharedTensor.new(collective.result_shape, collective.result.dtype)
        self.commands += self.communicator.commands(
            collective, source.buffer, target.buffer, self.op
        )
        return target

    def owned(self, result: SharedTensor) -> SharedTensor:
        """A result that is no operand."""
        return replace(result, buffer=own_result(self.commands, self.source, result.buffer))

    # Carrying it out --------------------------------------------------------------------------

    def run(self, machine: VirtualMachine, result: SharedTensor) -> int:
        """Carry the commands out; returns the block of the result."""
        return carry_out(machine, self.commands, self.source, result.buffer, self._numbers[0])

    def meeting(
        self, result: SharedTensor, sizes: Sequence[int], *, is_static: bool
    ) -> Meeting | None:
        """The words with which the machine meets the others by itself, if it can.

        `sizes` are those of the result that its type leaves open.
        """
        return meeting_of(
            self.commands,
            self.source,
            result.buffer,
            list(self._numbers[1:]),
            sizes,
            is_static=is_static,
            communicator=self.communicator,
        )


def _value(content: HostValue, rest: Iterator[int]) -> int | SharedTensor:
    if not isinstance(content, HostTensor):
        return content if isinstance(content, int) else next(rest)
    next(rest)
    shape = tuple(each if isinstance(each, int) else next(rest) for each in content.shape)
    return SharedTensor.new(shape, content.dtype)
