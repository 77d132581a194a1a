"""What a device does at an `exchange`: the commands that carry it out, and what is kept of them.

An exchange is data: which collectives, on which shape. Where types leave sizes open, a run tells
them: the process's own from registers, and those of the others by a meeting of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...sharding.collective_matching import ANY_SIZE, OPEN_SIZE, CollectiveSignature, DeviceState
from ..collectives import HALO, Collective, Shape
from ..commands import AnyCommand, Buffer, Bytes, Command, run_commands
from ..communicator import Communicator, copy_command
from .pool import view
from .program import Numbers
from .virtual_machine import Meeting, VirtualMachine

MEET, SEND, RECEIVE = "meet", "send", "receive"
"""Kinds of steps."""


class ExchangeFailed(Exception):
    """What a process brings does not suffice; the text says for what, after the operation."""


@dataclass(frozen=True, slots=True)
class ExchangeStep:
    """A collective, or a message with a signature. Each step takes what the one before it gave."""

    kind: str
    what: Collective | CollectiveSignature


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange as one process takes part in it.

    - `shape`, `item`: what the process brings, with `OPEN_SIZE` where a run tells the size, and the
      bytes of an element;
    - `open_results`: dimensions of the result whose sizes its type leaves open;
    - `is_static`: whether no type leaves sizes open.
    """

    shape: Shape
    item: int
    steps: tuple[ExchangeStep, ...]
    open_results: tuple[int, ...]
    is_static: bool

    def perform(
        self, machine: VirtualMachine, numbers: Numbers, operation: object = None
    ) -> Numbers:
        """Take part; returns the address and the block of the result, and its open sizes.

        `numbers` are the address of what the process brings, its open sizes, and what else the
        exchange was made for. Raises ExchangeFailed, CommandFailed and DeviceFailed.
        """
        call = self._call(machine, numbers, operation)
        call.keep(machine)
        block = carry_out(machine, call.commands, call.source, call.result, numbers[0])
        return [block, block, *call.sizes]

    def prepare(self, machine: VirtualMachine, operation: object = None) -> None:
        """Let the machine know the commands before it comes to the exchange, if they are the same
        in every run."""
        if self.is_static and OPEN_SIZE not in self.shape:
            self._call(machine, [0], operation).keep(machine)

    def _call(self, machine: VirtualMachine, numbers: Numbers, operation: object) -> _Call:
        communicator = machine.communicator
        if communicator is None:
            raise ValueError("an exchange needs the devices of a grid")
        told = iter(numbers[1:])
        shape = tuple(next(told) if size == OPEN_SIZE else size for size in self.shape)
        source = result = Buffer(prod(shape) * self.item)
        commands: list[AnyCommand] = []
        for step in self.steps:
            if isinstance(step.what, Collective):
                collective = _told(communicator, step.what, shape, operation)
                given, shape = result, collective.result_shape
                result = Buffer(prod(shape) * collective.result.dtype.itemsize)
                commands += communicator.commands(collective, given, result, operation)
                continue
            state = DeviceState(step.what.of_sizes(shape), operation)
            if step.kind == SEND:
                commands.append(communicator.send_command(result, state))
            else:
                result = Buffer(result.size)
                commands.append(communicator.receive_command(result, state))
        if result is source:
            # Who sends a message has it as the result, too, in other memory.
            result = Buffer(source.size)
            commands.append(copy_command(source, result, source.size, operation))
        sizes = [shape[each] for each in self.open_results]
        return _Call(commands, source, result, list(numbers[1:]), sizes, self.is_static)


@dataclass(frozen=True, slots=True)
class _Call:
    """An exchange of known sizes: its commands, `numbers` for which they are made, and the open
    `sizes` of its result."""

    commands: Sequence[AnyCommand]
    source: Buffer
    result: Buffer
    numbers: Sequence[int]
    sizes: Sequence[int]
    is_static: bool

    def keep(self, machine: VirtualMachine) -> None:
        """Let the machine carry out the exchange by itself from now on, if it can."""
        meeting = self._meeting(machine.communicator)
        if meeting is not None:
            machine.keep_meeting(meeting)

    def _meeting(self, communicator: Communicator | None) -> Meeting | None:
        """The words with which a machine meets the others by itself, if it can."""
        if not self.is_static and len(self.commands) > 1:
            return None
        memory: dict[Buffer, Bytes] = {}
        rows: list[tuple[Command, list[int]]] = []
        sources: list[tuple[int, int]] = []
        results: list[tuple[int, int]] = []
        offer = None
        if not self.is_static and len(self.commands) == 1 and communicator is not None:
            offer = _offer(communicator, self.commands[0])
        for row, command in enumerate(offer or self.commands):
            if not isinstance(command, Command):
                return None
            words: list[int] = []
            for position, binding in enumerate(command.bindings):
                if not isinstance(binding, Buffer):
                    words.append(binding)
                elif binding in (self.source, self.result):
                    (sources if binding is self.source else results).append((row, position))
                    words.append(0)
                else:
                    kept = memory.setdefault(binding, np.empty(binding.size, np.uint8))
                    words.append(kept.ctypes.data)
            rows.append((command, words))
        is_open = 0
        if not self.is_static and any(command.state is not None for command, _ in rows):
            # Ranks compare sizes in each collective, as a part of its signature.
            is_open = 2 if offer else int(all(command.waits is None for command, _ in rows))
        # Messages get on only if somebody looks at them.
        gets_on = any(command.waits is not None for command, _ in rows)
        kept = list(memory.values())
        return Meeting(
            *(self.numbers, self.result.size, rows, sources, results, self.sizes),
            *(is_open, gets_on, kept),
        )


def _told(
    communicator: Communicator, what: Collective, shape: Shape, operation: object
) -> Collective:
    """A collective of known sizes: of a shape, and what the others bring where that may differ."""
    if what.kind == HALO and shape[what.axis] < what.low + what.high:
        raise ExchangeFailed(
            f"has {shape[what.axis]} elements to hold halos of {what.low} and {what.high}"
        )
    shapes: tuple[Shape, ...] = ()
    if what.joins_unequal:
        state = DeviceState(what.of_sizes(shape).signature, operation)
        shapes = tuple(communicator.sizes(what.group, state, shape))
    return what.of_sizes(shape, shapes)


def carry_out(
    machine: VirtualMachine,
    commands: Sequence[AnyCommand],
    source: Buffer,
    result: Buffer,
    address: int,
) -> int:
    """Carry commands out on what lies at an address; returns the block of the result."""
    block = machine.pool.allocate(result.size)
    run_commands(commands, {source: view(address, source.size), result: view(block, result.size)})
    return block


def _offer(communicator: Communicator, command: AnyCommand) -> list[Command] | None:
    """What devices that wait for messages do where they may bring different amounts: they tell each
    other first whether they have new ones."""
    if not isinstance(command, Command) or command.waits is None or command.state is None:
        return None
    signature = command.state.signature
    if signature is None or ANY_SIZE not in signature.sizes:
        return None
    return communicator.with_offer(command, command.state)
