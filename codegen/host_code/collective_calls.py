"""One call of a collective: what the operands are, and the commands that carry it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...interpreter.machine import Device
from ...ir.diagnostics import OperationError
from ...runtime.collectives import Collective
from ...runtime.commands import AnyCommand, Buffer, Bytes, Command, run_commands
from ...runtime.host.machine import Machine, Meeting
from ...runtime.host.pool import view
from ...runtime.host.program import Numbers
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
        machine: Machine,
        contents: Sequence[HostValue],
        numbers: Numbers,
    ) -> None:
        """`contents` are the operands as they were lowered, `numbers` the words of registers."""
        if machine.communicator is None:
            raise OperationError(op, ALONE)
        self.op = op
        self.device = device
        self.machine = machine
        self.communicator = machine.communicator
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

    # Carrying it out --------------------------------------------------------------------------

    def run(self, result: SharedTensor) -> int:
        """Carry the commands out; returns the block of the result."""
        source, address = self.source, self._numbers[0]
        size = result.buffer.size
        block = self.machine.pool.allocate(size)
        memory: dict[Buffer, Bytes] = {source: view(address, source.size)}
        if result.buffer is source:
            view(block, size)[:] = memory[source]
        else:
            memory[result.buffer] = view(block, size)
        run_commands(self.commands, memory)
        return block

    def meeting(
        self, result: SharedTensor, sizes: Sequence[int], *, is_static: bool
    ) -> Meeting | None:
        """The words with which the machine meets the others by itself, if it can.

        `sizes` are those of the result that its type leaves open.
        """
        if result.buffer is self.source or (not is_static and len(self.commands) > 1):
            return None
        memory: dict[Buffer, Bytes] = {}
        rows: list[tuple[Command, list[int]]] = []
        sources: list[tuple[int, int]] = []
        results: list[tuple[int, int]] = []
        for row, command in enumerate(self.commands):
            if not isinstance(command, Command):
                return None
            words: list[int] = []
            for position, binding in enumerate(command.bindings):
                if not isinstance(binding, Buffer):
                    words.append(binding)
                elif binding in (self.source, result.buffer):
                    (sources if binding is self.source else results).append((row, position))
                    words.append(0)
                else:
                    kept = memory.setdefault(binding, np.empty(binding.size, np.uint8))
                    words.append(kept.ctypes.data)
            rows.append((command, words))
        kept_memory = list(memory.values())
        size = result.buffer.size
        is_open = not is_static and any(command.state is not None for command, _ in rows)
        numbers = list(self._numbers[1:])
        return Meeting(numbers, size, rows, sources, results, sizes, is_open, kept_memory)


def _value(content: HostValue, rest: Iterator[int]) -> int | SharedTensor:
    if not isinstance(content, HostTensor):
        return content if isinstance(content, int) else next(rest)
    next(rest)
    shape = tuple(each if isinstance(each, int) else next(rest) for each in content.shape)
    return SharedTensor.new(shape, content.dtype)
