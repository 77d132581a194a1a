"""What a device does at an `exchange`: the commands that carry it out, and what is kept of them.

Where all sizes are known, an exchange is data: which collectives, from which buffers to which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...sharding.collective_matching import ANY_SIZE, CollectiveSignature, DeviceState
from ..collectives import Collective
from ..commands import AnyCommand, Buffer, Bytes, Command, run_commands
from ..communicator import Communicator, copy_command
from .pool import view
from .program import Numbers
from .virtual_machine import Meeting, VirtualMachine

MEET, SEND, RECEIVE = "meet", "send", "receive"
"""Kinds of steps."""


@dataclass(frozen=True, slots=True)
class ExchangeStep:
    """A collective, or a message with a signature, from one of the buffers to another one."""

    kind: str
    source: int
    target: int
    what: Collective | CollectiveSignature


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange as one process takes part in it.

    - `sizes`: the bytes of its buffers, the first of which is what the process brings;
    - `result`: which of them it has in the end.
    """

    sizes: tuple[int, ...]
    steps: tuple[ExchangeStep, ...]
    result: int

    def perform(self, machine: VirtualMachine, numbers: Numbers) -> Numbers:
        """Take part; returns the address and the block of the result.

        Raises CommandFailed and DeviceFailed.
        """
        communicator = machine.communicator
        if communicator is None:
            raise ValueError("an exchange needs the devices of a grid")
        buffers = [Buffer(size) for size in self.sizes]
        commands: list[AnyCommand] = [
            command
            for step in self.steps
            for command in _commands(communicator, step, buffers[step.source], buffers[step.target])
        ]
        source = buffers[0]
        result = own_result(commands, source, buffers[self.result])
        meeting = meeting_of(commands, source, result, (), (), is_static=True)
        if meeting is not None:
            machine.keep_meeting(meeting)
        block = carry_out(machine, commands, source, result, numbers[0])
        return [block, block]


def _commands(
    communicator: Communicator, step: ExchangeStep, source: Buffer, target: Buffer
) -> Sequence[AnyCommand]:
    if isinstance(step.what, Collective):
        return communicator.commands(step.what, source, target, None)
    state = DeviceState(step.what)
    if step.kind == SEND:
        return [communicator.send_command(source, state)]
    return [communicator.receive_command(target, state)]


def own_result(commands: list[AnyCommand], source: Buffer, result: Buffer) -> Buffer:
    """The buffer of a result: where it is what the process brings, as of `shard.send`, a copy."""
    if result is not source:
        return result
    copy = Buffer(source.size)
    commands.append(copy_command(source, copy, source.size, None))
    return copy


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


def meeting_of(
    commands: Sequence[AnyCommand],
    source: Buffer,
    result: Buffer,
    numbers: Sequence[int],
    sizes: Sequence[int],
    *,
    is_static: bool,
    communicator: Communicator | None = None,
) -> Meeting | None:
    """The words with which a machine meets the others by itself, if it can.

    `numbers` are what the commands were made for, and `sizes` those of the result that its type
    leaves open.
    """
    if not is_static and len(commands) > 1:
        return None
    memory: dict[Buffer, Bytes] = {}
    rows: list[tuple[Command, list[int]]] = []
    sources: list[tuple[int, int]] = []
    results: list[tuple[int, int]] = []
    offer = None
    if not is_static and len(commands) == 1 and communicator is not None:
        offer = _offer(communicator, commands[0])
    for row, command in enumerate(offer or commands):
        if not isinstance(command, Command):
            return None
        words: list[int] = []
        for position, binding in enumerate(command.bindings):
            if not isinstance(binding, Buffer):
                words.append(binding)
            elif binding in (source, result):
                (sources if binding is source else results).append((row, position))
                words.append(0)
            else:
                kept = memory.setdefault(binding, np.empty(binding.size, np.uint8))
                words.append(kept.ctypes.data)
        rows.append((command, words))
    is_open = 0
    if not is_static and any(command.state is not None for command, _ in rows):
        # Ranks compare sizes in each collective, as a part of its signature.
        is_open = 2 if offer else int(all(command.waits is None for command, _ in rows))
    # Messages get on only if somebody looks at them.
    gets_on = any(command.waits is not None for command, _ in rows)
    kept = list(memory.values())
    return Meeting(numbers, result.size, rows, sources, results, sizes, is_open, gets_on, kept)
