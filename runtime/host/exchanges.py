"""Exchanges: the commands by which a process takes part in collectives and messages.

An exchange is data: its steps, and the shape that the process brings. Dynamic sizes are known at
run time: the process's own from registers, those of others by communication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...sharding.collective_matching import (
    ANY_SIZE,
    DYNAMIC_SIZE,
    SEND,
    CollectiveSignature,
    DeviceState,
)
from ...sharding.collective_rows import UPDATE_HALO
from ..abi.arrays import Bytes
from ..collectives import Collective, Shape
from ..commands import AnyCommand, Buffer, Command, run_commands
from ..communicator import Communicator, copy_command
from .cached_exchanges import CachedExchange
from .pool import view
from .program import RegisterValues
from .virtual_machine import VirtualMachine

ExchangeStep = Collective | CollectiveSignature
"""A collective, or the signature of a message, applied to the result of the previous step."""


class ExchangeFailed(Exception):
    """The operand of a process is too small; the message follows the name of the operation."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange as one process takes part in it.

    - `shape`, `item`: the operand's shape, with `DYNAMIC_SIZE` where dynamic, and the bytes of an
      element;
    - `dynamic_results`: the dynamic dimensions of the result;
    - `is_static`: whether all types are static.
    """

    shape: Shape
    item: int
    steps: tuple[ExchangeStep, ...]
    dynamic_results: tuple[int, ...]
    is_static: bool

    def perform(
        self, machine: VirtualMachine, numbers: RegisterValues, operation: object = None
    ) -> RegisterValues:
        """Take part in the exchange; return the result's address, block and dynamic sizes.

        `numbers` are the operand's address, its dynamic sizes, and other values that the exchange
        depends on. Raises ExchangeFailed, CommandFailed and DeviceFailed.
        """
        call = self._call(machine, numbers, operation)
        call.cache(machine)
        block = carry_out(machine, call.commands, call.source, call.result, numbers[0])
        return [block, block, *call.sizes]

    def prepare(self, machine: VirtualMachine, operation: object = None) -> None:
        """Give the machine the commands in advance, if they are the same in every run."""
        if self.is_static and DYNAMIC_SIZE not in self.shape:
            self._call(machine, [0], operation).cache(machine)

    def _call(self, machine: VirtualMachine, numbers: RegisterValues, operation: object) -> _Call:
        communicator = machine.communicator
        if communicator is None:
            raise ValueError("an exchange needs the devices of a grid")
        dynamic_sizes = iter(numbers[1:])
        shape = tuple(next(dynamic_sizes) if size == DYNAMIC_SIZE else size for size in self.shape)
        source = result = Buffer(prod(shape) * self.item)
        commands: list[AnyCommand] = []
        for step in self.steps:
            if isinstance(step, Collective):
                collective = _with_known_sizes(communicator, step, shape, operation)
                given, shape = result, collective.result_shape
                result = Buffer(prod(shape) * collective.result.dtype.itemsize)
                commands += communicator.commands(collective, given, result, operation)
                continue
            state = DeviceState(step.of_sizes(shape), operation)
            if step.kind == SEND:
                commands.append(communicator.send_command(result, state))
            else:
                result = Buffer(result.size)
                commands.append(communicator.receive_command(result, state))
        if result is source:
            # The result of a send is its operand, in other memory.
            result = Buffer(source.size)
            commands.append(copy_command(source, result, source.size, operation))
        sizes = [shape[each] for each in self.dynamic_results]
        return _Call(commands, source, result, list(numbers[1:]), sizes, self.is_static)


@dataclass(frozen=True, slots=True)
class _Call:
    """An exchange of known sizes: its commands, and the dynamic sizes of its result.

    The commands are valid for the register values `numbers`.
    """

    commands: Sequence[AnyCommand]
    source: Buffer
    result: Buffer
    numbers: Sequence[int]
    sizes: Sequence[int]
    is_static: bool

    def cache(self, machine: VirtualMachine) -> None:
        """Let the machine run the exchange without Python from now on, if possible."""
        communicator, notice = machine.communicator, None
        if not self.is_static:
            if len(self.commands) > 1:
                return
            if communicator is not None:
                notice = _with_size_check(communicator, self.commands[0])
        commands = [each for each in notice or self.commands if isinstance(each, Command)]
        if len(commands) == len(notice or self.commands):
            machine.cache_exchange(self._cached(commands, checks_sizes=notice is not None))

    def _cached(self, commands: Sequence[Command], *, checks_sizes: bool) -> CachedExchange:
        """Return the form that runs without Python; `checks_sizes` is whether a command does so."""
        memory: dict[Buffer, Bytes] = {}
        places: dict[Buffer, list[tuple[int, int]]] = {self.source: [], self.result: []}

        def word(binding: Buffer | int, row: int, position: int) -> int:
            if not isinstance(binding, Buffer):
                return binding
            if binding in places:
                places[binding].append((row, position))
                return 0
            return memory.setdefault(binding, np.empty(binding.size, np.uint8)).ctypes.data

        rows = [
            (command, [word(each, row, at) for at, each in enumerate(command.bindings)])
            for row, command in enumerate(commands)
        ]
        waits = any(command.waits is not None for command in commands)
        size_check = 0
        if not self.is_static and any(command.state is not None for command in commands):
            # Ranks compare sizes as a part of the signature of each collective.
            size_check = 2 if checks_sizes else int(not waits)
        return CachedExchange(
            *(self.numbers, self.result.size, rows, places[self.source], places[self.result]),
            *(self.sizes, size_check, waits, list(memory.values())),
        )


def _with_known_sizes(
    communicator: Communicator, collective: Collective, shape: Shape, operation: object
) -> Collective:
    """Return a collective with known sizes, exchanging those of others where they may differ."""
    low, high = collective.low, collective.high
    if collective.row is UPDATE_HALO and shape[collective.axis] < low + high:
        raise ExchangeFailed(
            f"has {shape[collective.axis]} elements to hold halos of {low} and {high}"
        )
    shapes: tuple[Shape, ...] = ()
    if collective.joins_unequal:
        state = DeviceState(collective.of_sizes(shape).signature, operation)
        shapes = tuple(communicator.sizes(collective.group, state, shape))
    return collective.of_sizes(shape, shapes)


def carry_out(
    machine: VirtualMachine,
    commands: Sequence[AnyCommand],
    source: Buffer,
    result: Buffer,
    address: int,
) -> int:
    """Run commands on the operand at an address; return the block of the result."""
    block = machine.pool.allocate(result.size)
    run_commands(commands, {source: view(address, source.size), result: view(block, result.size)})
    return block


def _with_size_check(communicator: Communicator, command: AnyCommand) -> list[Command] | None:
    """Return the commands by which devices first tell each other whether they have new sizes.

    `None` if the communicator is not message-based or all participants bring the same sizes.
    """
    if not isinstance(command, Command) or command.waits is None or command.state is None:
        return None
    signature = command.state.signature
    if signature is None or ANY_SIZE not in signature.sizes:
        return None
    return communicator.with_size_check(command, command.state)
