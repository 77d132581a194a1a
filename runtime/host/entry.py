"""Calls of host code with arrays: how arguments and results are passed in registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abi.arguments import ArrayKind
from ..abi.arrays import Array, dynamic_sizes
from ..abi.memory import address_of
from .pool import ALLOCATED, DISPATCHES, INPUTS, PEAK_IN_USE, RECEIVED, RESULTS
from .program import LinkedProgram
from .virtual_machine import VirtualMachine

Shape = tuple[int, ...]

ADDRESS_AND_BLOCK = 2
"""The number of registers of a tensor before those of its dynamic sizes."""


def passing_registers(shape: Shape | None) -> int:
    """Return the number of registers that pass a tensor of a shape, or a scalar if it is `None`."""
    return 1 if shape is None else ADDRESS_AND_BLOCK + sum(size < 0 for size in shape)


@dataclass(frozen=True, slots=True)
class PassedResult:
    """The shape of a result, negative where dynamic and `None` for a scalar, and its dtype."""

    shape: Shape | None
    dtype: np.dtype[Any]


class EntryPoint:
    """A function that can be called with arrays.

    - `number`: the function's number in the program;
    - `arguments`: the argument shapes, negative where dynamic, `None` for scalars;
    - `devices`: the names of the program's devices by the ids of blocks; `None` for no device;
    - `constants`: the bytes of constants by device.
    """

    def __init__(
        self,
        program: LinkedProgram,
        number: int,
        arguments: Sequence[Shape | None],
        results: Sequence[PassedResult],
        devices: Sequence[str | None],
        constants: Mapping[int, int],
    ) -> None:
        self.program = program
        self.number = number
        self.arguments = arguments
        self.results = results
        self.devices = devices
        self.constants = constants
        self._are_static = all(
            shape is not None and min(shape, default=0) >= 0 for shape in arguments
        )
        ends = list(accumulate(passing_registers(each.shape) for each in results))
        self._result_words = list(zip(results, (0, *ends), ends, strict=False))
        self.has_dynamic_results = any(min(each.shape or (), default=0) < 0 for each in results)
        static = () if self.has_dynamic_results else results
        self._result_bytes = sum(prod(each.shape or ()) * each.dtype.itemsize for each in static)

    def takes(self, kinds: Sequence[ArrayKind]) -> bool:
        """Whether the arguments are arrays of these kinds, static and dynamic where they are."""
        shapes = [None if each is None else tuple(each) for each in self.arguments]
        return shapes == [shape for _, shape in kinds]

    def call(self, machine: VirtualMachine, inputs: Sequence[Array]) -> list[Array]:
        """Run the function on arrays that are already checked; return new arrays.

        Raises VirtualMachineError, and CommandFailed if a kernel or command fails.
        """
        return self._results(machine, machine.call(self.number, self._words(machine, inputs)))

    def begin(self, machine: VirtualMachine, inputs: Sequence[Array]) -> tuple[int, int]:
        """Prepare a call; return the native call that runs it until Python is needed."""
        return machine.begin(self.number, self._words(machine, inputs))

    def end(self, machine: VirtualMachine) -> list[Array]:
        """Return the results of a call that has been prepared and run."""
        return self._results(machine, machine.end(self.number))

    def _results(self, machine: VirtualMachine, found: Sequence[int]) -> list[Array]:
        results: list[Array] = []
        for each, first, last in self._result_words:
            shape = each.shape
            if shape is None:
                results.append(scalar_of(found[first], each.dtype))
                continue
            if last - first > ADDRESS_AND_BLOCK:
                rest = iter(found[first + ADDRESS_AND_BLOCK : last])
                shape = tuple(size if size >= 0 else next(rest) for size in shape)
            results.append(machine.pool.take(found[first], found[first + 1], shape, each.dtype))
        return results

    def result_bytes(self, results: Sequence[Array]) -> int:
        """Return the size of a call's results in bytes."""
        if self.has_dynamic_results:
            return sum(each.nbytes for each in results)
        return self._result_bytes

    def _words(self, machine: VirtualMachine, inputs: Sequence[Array]) -> list[int]:
        """Return the argument registers: of a tensor its address, no block, and dynamic sizes."""
        words: list[int] = []
        if self._are_static and machine.guards is None:
            for array in inputs:
                words.append(address_of(array))
                words.append(0)
            return words
        for array, static in zip(inputs, self.arguments, strict=True):
            if static is None:
                words.append(word_of(array))
            else:
                words += (machine.address(array), 0, *dynamic_sizes(array.shape, static))
        return words


def word_of(scalar: npt.NDArray[Any]) -> int:
    """Return a scalar of the interpreter as a register word."""
    if scalar.dtype.kind == "b":
        return int(scalar)
    if scalar.dtype.kind in "iu":
        return int(scalar.astype(np.int64))
    data = scalar.tobytes()
    return int.from_bytes(data, "little", signed=len(data) == 8)


def scalar_of(word: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a register word as a scalar of the interpreter."""
    data = np.array([word], np.int64).view(np.uint8)[: dtype.itemsize]
    return data.view(dtype).reshape(()).copy()


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The bytes of one device's buffers.

    - `arena_bytes`: the peak of the transient buffers;
    - `transient_bytes`: the transient buffers without any reuse of memory;
    - `constant_bytes`: what is known before the run;
    - `boundary_bytes`: inputs and results, whose memory transient buffers may share.
    """

    arena_bytes: int
    transient_bytes: int
    constant_bytes: int
    boundary_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceStatistics:
    """Statistics of one device in one run.

    - `name`: empty for the only device of a program that names none;
    - `memory`: the bytes of its buffers by purpose;
    - `dispatches`: the number of dispatches it ran, or of kernels if there are no executables;
    - `received_bytes`: what other devices sent to it, without collectives;
    - `process`: for a partitioned program, the grid process;
    - `sent_messages`: the messages it sent to other MPI ranks, `None` without ranks.
    """

    name: str
    memory: DeviceMemory
    dispatches: int
    received_bytes: int
    process: int | None = None
    sent_messages: int | None = None

    @property
    def peak_bytes(self) -> int:
        """The peak of its buffers in bytes, including constants, inputs and results."""
        memory = self.memory
        return memory.arena_bytes + memory.constant_bytes + memory.boundary_bytes


@dataclass(slots=True, eq=False)
class DeviceFunction:
    """A function on a device: its machine, and what statistics need to know of its last run.

    `process` is `None` for a function on one device.
    """

    entry: EntryPoint
    machine: VirtualMachine
    process: int | None
    result_bytes: int = 0
    sent_messages: int | None = None

    def statistics(self) -> Iterator[DeviceStatistics]:
        """Yield the statistics of each device that the program names.

        If it names none, there is one, and kernels count as dispatches.
        """
        entry, pool, where = self.entry, self.machine.pool, (self.process, self.sent_messages)
        devices = sorted((name, number) for number, name in enumerate(entry.devices) if name)
        if not devices:
            results = self.result_bytes
            allocated = sum(pool.count(each, ALLOCATED) for each in range(len(entry.devices)))
            own = max(pool.peak_bytes - results, 0), max(allocated - results, 0)
            memory = DeviceMemory(*own, 0, results)
            yield DeviceStatistics("", memory, self.machine.runs, 0, *where)
        for name, number in devices:
            count = partial(pool.count, number)
            results = count(RESULTS)
            memory = DeviceMemory(
                max(count(PEAK_IN_USE) - results, 0),
                max(count(ALLOCATED) - results, 0),
                entry.constants.get(number, 0),
                count(INPUTS) + results,
            )
            yield DeviceStatistics(name, memory, count(DISPATCHES), count(RECEIVED), *where)
