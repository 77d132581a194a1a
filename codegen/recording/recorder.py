"""A device while its program is recorded: its buffers, and the commands so far.

Numbers that are needed and not known, such as a condition that depends on data, are found by
running what has been recorded so far; then the recording is good for these inputs only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from ...interpreter.constants import constant_array
from ...interpreter.machine import Device, Program, ResultType, result_check
from ...interpreter.registry import find_brancher, is_terminator
from ...interpreter.storage import Resource
from ...runtime.abi.values import Value
from ...runtime.buffers import Buffer, Storage
from ...runtime.commands import AnyCommand, Command, CommandBuffer, Place
from ...runtime.communicator import Communicator, copy_command
from ...runtime.guards import Guards
from ...runtime.workers import Team
from ...sharding.grid import Grid
from ..kernels.kernel_text import KernelText
from ..kernels.schedule import Schedule, schedule_block
from ..kernels.static_values import constant_attribute
from ..native_kernel import compile_kernel
from .device_bytes import DeviceBytes
from .shapes import Shape
from .tensors import Array, Tensor

LARGEST_RECORDING = 200_000
"""Commands after which what is recorded is run, so that an endless loop does not fill memory."""


class RecordedProgram(Program):
    """A module with the schedules of its blocks and its constants, shared by all devices."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._schedules: dict[Block, Schedule] = {}
        self._kernels: dict[Hashable, KernelText] = {}
        self._arrays: dict[Operation, Array] = {}
        self._checks: dict[SSAValue, ResultType | None] = {}
        self.settled: set[Operation] = set()
        """Operations whose shapes are the same at each run, and have been found right."""

    def result_check(self, value: SSAValue) -> ResultType | None:
        """What a value must look like."""
        if value not in self._checks:
            self._checks[value] = result_check(value.type)
        return self._checks[value]

    def schedule(self, block: Block) -> Schedule:
        """The steps of a block."""
        schedule = self._schedules.get(block)
        if schedule is None:
            schedule = self._schedules[block] = schedule_block(block, _is_end)
        return schedule

    def kernel(self, key: Hashable, write: Callable[[], KernelText]) -> KernelText:
        """The kernel of an operation that the host carries out, written on the first use."""
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = write()
        return kernel

    def constant(self, operation: Operation) -> Array:
        """The value of an `arith.constant`."""
        array = self._arrays.get(operation)
        if array is None:
            array = constant_array(operation, constant_attribute(operation.results[0]))
            self._arrays[operation] = array
        return array


def _is_end(name: str) -> bool:
    return is_terminator(name) or find_brancher(name) is not None


class Recorder(Device):
    """One device while its program is recorded."""

    def __init__(
        self,
        program: RecordedProgram,
        inputs: Sequence[Array],
        grid: Grid | None = None,
        communicator: Communicator | None = None,
        lock: threading.Lock | None = None,
        team: Team | None = None,
        memory: dict[str, Any] | None = None,
        guards: Guards | None = None,
    ) -> None:
        process = communicator.process if communicator else 0
        super().__init__(program, grid, process, memory or {})
        self.lock = lock or threading.Lock()
        self.recorded = program
        self.communicator = communicator
        self.inputs = inputs
        self.commands: list[AnyCommand] = []
        self.is_replayable = True
        self._team = team
        self._guards = guards
        self._resident: dict[int, tuple[Array, Buffer]] = {}
        self.owner: str | None = None
        """The device that commands are recorded for, in programs that name several."""
        self.resources: dict[int, tuple[Resource, DeviceBytes]] = {}
        self.dispatches: Counter[str | None] = Counter()
        self.transferred: Counter[tuple[str | None, str | None]] = Counter()

    # Values -----------------------------------------------------------------------------------

    def new_tensor(self, shape: Shape, dtype: np.dtype[Any]) -> Tensor:
        """A tensor with a buffer of its own, whose contents are not defined yet."""
        size = prod(shape) * dtype.itemsize
        buffer = Buffer(size, Storage.TRANSIENT, owner=self.owner)
        return Tensor(shape, dtype, Place(buffer), self.read)

    def argument(self, position: int) -> Tensor:
        """An input of the program as a tensor."""
        array = self.inputs[position]
        place = Place(Buffer(array.nbytes, Storage.INPUT, position))
        return Tensor(array.shape, array.dtype, place, self.read)

    def as_tensor(self, value: Value) -> Tensor:
        """A value as a tensor on the device; what the host knows becomes a constant."""
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        found = self._resident.get(id(array))
        if found is None:
            # The array is kept, so that its identity stays its own.
            found = self._resident[id(array)] = (array, Buffer.holding(array))
        return Tensor(array.shape, array.dtype, Place(found[1]), self.read)

    def read(self, tensor: Tensor) -> Array:
        """The elements of a tensor, by running everything that has been recorded."""
        buffer = tensor.place.buffer
        if buffer.storage is not Storage.RESIDENT:
            self.is_replayable = False
            self.flush()
        memory = buffer.memory
        if buffer.storage is Storage.INPUT:
            memory = self.inputs[buffer.position].reshape(-1).view(np.uint8)
        if memory is None:
            # Nothing has written to it, so any contents will do.
            memory = np.zeros(buffer.size, np.uint8)
        part = memory[tensor.place.offset : tensor.place.offset + tensor.nbytes]
        return part.view(tensor.dtype).reshape(tensor.shape).copy()

    def flush(self) -> None:
        """Run what has been recorded; its buffers become resident.

        What is recorded of the program then is for these inputs only.
        """
        if not self.commands:
            return
        self.is_replayable = False
        buffer = CommandBuffer(self.commands, [], self._state(), self._team, True, self._guards)
        self.commands = []
        buffer.run([array.reshape(-1).view(np.uint8) for array in self.inputs])

    def run_what_may_fail(self) -> None:
        """Run what has been recorded if a check in it may fail; alone, as the others go on."""
        if self.communicator is None and any(
            isinstance(each, Command) and each.failures for each in self.commands
        ):
            self.flush()

    def finish(self, results: Sequence[Tensor]) -> CommandBuffer:
        """The command buffer of the whole program."""
        sizes: list[int] = []
        for position, tensor in enumerate(results):
            target = Buffer(tensor.nbytes, Storage.OUTPUT, position)
            self.copy(tensor, Tensor(tensor.shape, tensor.dtype, Place(target), self.read), None)
            sizes.append(tensor.nbytes)
        _write_outputs_in_place(self.commands, results, sizes)
        return CommandBuffer(self.commands, sizes, self._state(), self._team, guards=self._guards)

    def _state(self) -> Any:
        return self.communicator.state if self.communicator else None

    # Commands ---------------------------------------------------------------------------------

    def add(self, command: AnyCommand) -> None:
        """Append a command."""
        self.commands.append(command)
        if len(self.commands) >= LARGEST_RECORDING:
            self.flush()

    def copy(self, source: Tensor, target: Tensor, operation: Operation | None) -> None:
        """Copy all elements."""
        self.add(copy_command(source.place, target.place, source.nbytes, operation))

    def copy_bytes(self, source: Place, target: Place, size: int, operation: Operation) -> None:
        """Copy bytes, perhaps from one device to another."""
        self.add(copy_command(source, target, size, operation))

    def count_dispatch(self, owner: str | None) -> None:
        """Note that a device runs an executable's function."""
        self.dispatches[owner] += 1

    def count_transfer(self, sender: str | None, receiver: str | None, size: int) -> None:
        """Note that bytes go from one device to another."""
        self.transferred[sender, receiver] += size

    def run_kernel(
        self,
        kernel: KernelText,
        reads: Sequence[Tensor],
        writes: Sequence[Tensor],
        constants: Sequence[int],
        operation: Operation,
        in_place: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Append a dispatch; `in_place` is as in `Command`, of the results and then operands."""
        if not any(tensor.nbytes for tensor in writes):
            # The other sizes of an empty tensor may be of any length.
            return
        tiles = kernel.tiles.evaluate(constants)
        bindings = tuple(tensor.place for tensor in (*writes, *reads))
        command = Command(
            compile_kernel(kernel),
            bindings,
            tuple(constants),
            tiles,
            operation,
            in_place=tuple(in_place),
            failures=kernel.failures,
        )
        self.add(command)


def _write_outputs_in_place(
    commands: list[AnyCommand], results: Sequence[Tensor], sizes: Sequence[int]
) -> None:
    """Drop the final copies of results that can as well be computed where they are wanted."""
    copies = commands[len(commands) - len(results) :]
    del commands[len(commands) - len(results) :]
    for tensor, copy in zip(results, copies, strict=True):
        buffer = tensor.place.buffer
        if buffer.storage is Storage.TRANSIENT and tensor.is_whole and isinstance(copy, Command):
            target = copy.bindings[0]
            if isinstance(target, Place):
                buffer.storage = Storage.OUTPUT
                buffer.position = target.buffer.position
                continue
        commands.append(copy)
