"""Compile a module and run its functions: on one device, or partitioned on a grid of threads.

    program = compile_program(module)
    outputs = program.run("main", inputs)
    outputs = program.run_partitioned("main", global_inputs)

The first call with inputs of some shapes records command buffers and compiles what kernels are
not in the cache; later calls with the same shapes replay them. `ranks.py` runs a program on MPI.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any
from weakref import finalize

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, UnrankedMemRefType
from xdsl.ir import Operation

from ...interpreter.devices import provide
from ...interpreter.entry_points import passed
from ...interpreter.func import run_function
from ...interpreter.hal_buffers import BufferView
from ...interpreter.machine import Program
from ...interpreter.run import (
    InputError,
    argument_types,
    boundaries,
    checked_inputs,
    find_function,
    gathered,
    grid_of,
    scattered,
)
from ...interpreter.signatures import mismatch_error
from ...interpreter.spmd import run_lockstep
from ...ir.diagnostics import Note, OperationError
from ...runtime.abi.values import Value
from ...runtime.commands import CommandBuffer, CommandFailed, DeviceMemory, Statistics
from ...runtime.communicator import Communicator
from ...runtime.guards import OVERWRITTEN, Guards
from ...runtime.native import TOO_NARROW
from ...runtime.threads import ThreadGroup
from ...runtime.workers import Team
from ...sharding.collective_matching import CollectiveMismatch
from ...sharding.grid import Grid
from ..host_code.entry_cache import HostCode
from ..host_code.lowering import HostEntry
from ..kernels.kernel_text import FIRST_FAILURE, Failure
from .block_recorder import BlockRecorder
from .recorder import RecordedProgram, Recorder
from .tensors import Array, Tensor

MOST_RECORDINGS = 32
"""Recordings of a program that are kept for each device, each with its memory."""

GUARD_VARIABLE = "MESH_OPT_GUARD"
"""The environment variable that asks for guards around all buffers."""

__all__ = ["CompiledProgram", "InputError", "compile_program"]


@dataclass(frozen=True, slots=True)
class DeviceStatistics:
    """One device of a program in one run.

    - `memory`: the bytes of its buffers, by what they are for;
    - `dispatches`: how many kernels of executables it ran;
    - `received_bytes`: what other devices sent it, collectives apart;
    - `process`: of a partitioned program, which process of the grid this is about.
    """

    name: str
    memory: DeviceMemory
    dispatches: int
    received_bytes: int
    process: int | None = None

    @property
    def peak_bytes(self) -> int:
        """Its buffers at their peak, with constants, inputs and results."""
        return self.memory.peak_bytes


@dataclass(frozen=True, slots=True)
class _ArrayType:
    """What a result of a recording is."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class _Recording:
    """Commands for inputs of one kind, and what the results are made of."""

    buffer: CommandBuffer
    results: tuple[_ArrayType | Value, ...]
    statistics: list[DeviceStatistics]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """New results; what is no array, such as a sharding, is passed as it is."""
        outputs = iter(self.buffer.run([array.reshape(-1).view(np.uint8) for array in inputs]))
        return [
            next(outputs).view(result.dtype).reshape(result.shape)
            if isinstance(result, _ArrayType)
            else result
            for result in self.results
        ]


def compile_program(
    module: ModuleOp,
    workers: int = 1,
    devices: Sequence[str] | None = None,
    guard: bool | None = None,
    require_native: bool = False,
) -> CompiledProgram:
    """Prepare a verified module. `workers` threads share the dispatches of each device.

    `devices` are the kinds of the devices at hand (`local-task`), for programs that name devices;
    by default there is whatever the program names. `guard` runs it slowly and catches commands
    that write outside of their buffers (`runtime/guards.py`); by default if MESH_OPT_GUARD is set.
    With `require_native` it is an error if the interpreter has to carry out an operation.
    """
    return CompiledProgram(module, workers, devices, guard, require_native)


class CompiledProgram:
    """The functions of a module as native code.

    Everything raises OperationError, located where it failed, and InputError for inputs that a
    function does not take. A program may be called from several threads, one call at a time.

    The threads of its devices end with it; so does its memory, without a search for cycles.
    """

    def __init__(
        self,
        module: ModuleOp,
        workers: int = 1,
        devices: Sequence[str] | None = None,
        guard: bool | None = None,
        require_native: bool = False,
    ) -> None:
        self._requires_native = require_native
        self._devices = devices
        self._program = RecordedProgram(module)
        self._host_code = HostCode(self._program, devices)
        self._module = module
        self._workers = workers
        self._teams: dict[int, Team] = {}
        self._guards = guard if guard is not None else bool(os.environ.get(GUARD_VARIABLE))
        self._recordings: dict[int, dict[object, _Recording]] = {}
        self._groups: dict[int, ThreadGroup] = {}
        self._grids: dict[Operation, Grid | None] = {}
        self._targets: dict[str, Operation] = {}
        self._lock = threading.Lock()
        self._recording_lock = threading.Lock()
        self._last: list[Statistics] = []
        self._last_devices: dict[int, list[DeviceStatistics]] = {}
        self._finish = finalize(self, _release, self._groups, self._teams, self._recordings)

    def run(self, function: str, inputs: Sequence[Array]) -> list[Array]:
        """Run a function on one device; `shard` annotations are identities."""
        with self._lock:
            target = self._targets.get(function)
            if target is None:
                target = self._targets[function] = find_function(self._program, function)
            self._last, self._last_devices = [], {}
            entry = self._host_entry(target, None)
            if entry is not None and entry.accepts(inputs):
                return self._run_host_code(entry, inputs, None)
            arguments = checked_inputs(argument_types(target), inputs)
            return self._run_on_device(target, arguments, None, None)

    def run_partitioned(
        self, function: str, inputs: Sequence[Array], grid: Grid | None = None
    ) -> list[Array]:
        """Run a partitioned function on global inputs: scatter, run on all devices, gather.

        A grid with extents that the module leaves open must be given. A function that is not
        partitioned runs on one device.
        """
        target = find_function(self._program, function)
        arguments, results = boundaries(target)
        grid = grid or self.grid_of(target)
        if grid is None:
            return self.run(function, inputs)
        if not grid.is_static:
            raise InputError(f"grid @{grid.name} has extents that the run must give")
        local = scattered(target, arguments, inputs, grid)
        outputs = self.run_spmd(function, local, grid)
        return gathered(target, results, outputs, grid)

    def run_spmd(
        self, function: str, inputs: Sequence[Sequence[Array]], grid: Grid
    ) -> list[list[Array]]:
        """Run a function on every device of a grid; `inputs[d]` are those of process `d`."""
        with self._lock:
            target = find_function(self._program, function)
            count = grid.device_count()
            if len(inputs) != count:
                raise InputError(
                    f"grid @{grid.name} has {count} devices, but {len(inputs)} have inputs"
                )
            types = argument_types(target)
            local = [checked_inputs(types, each) for each in inputs]
            group = self._groups.get(count)
            if group is None:
                group = self._groups[count] = ThreadGroup(count)
            self._last, self._last_devices = [], {}
            # Lowered here, as the devices' threads must not do so at the same time.
            self._host_entry(target, grid)
            # What others bring decides the shapes of what a device gets from them.
            key = tuple(_input_key(array) for each in local for array in each)
            try:
                return group.run(
                    lambda communicator: self._run_on_device(
                        target, local[communicator.process], grid, communicator, key
                    )
                )
            except CollectiveMismatch as mismatch:
                raise mismatch_error(mismatch, target) from mismatch

    def run_as_process(
        self,
        communicator: Communicator,
        target: Operation,
        inputs: Sequence[Array],
        grid: Grid,
        key: object,
    ) -> list[Array]:
        """Run a function on local inputs as one process of a grid, as all the others do, too.

        `key` tells calls apart for which different things must be recorded: by the shapes and the
        scalars of all processes.
        """
        with self._lock:
            self._last, self._last_devices = [], {}
            return self._run_on_device(target, inputs, grid, communicator, key)

    def grid_of(self, target: Operation) -> Grid | None:
        """The grid of a partitioned function, looked for once: a module does not change."""
        if target not in self._grids:
            self._grids[target] = grid_of(self._module, target)
        return self._grids[target]

    @property
    def devices(self) -> Sequence[str] | None:
        """The kinds of the devices at hand, as in `compile_program`."""
        return self._devices

    @property
    def module(self) -> ModuleOp:
        """The module, which does not change between calls."""
        return self._module

    @property
    def symbols(self) -> Program:
        """The module as the interpreter reads it."""
        return self._program

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """All operations of the module: their numbers are the same wherever it is read."""
        return list(self._module.walk())

    @cached_property
    def digest(self) -> str:
        """What tells the module from others."""
        return sha256(str(self._module).encode()).hexdigest()[:16]

    def close(self) -> None:
        """End the devices' threads and drop what is kept between calls."""
        _release(self._groups, self._teams, self._recordings)
        self._host_code.close()

    @property
    def statistics(self) -> list[Statistics]:
        """Of each device's last run: commands and bytes."""
        return list(self._last)

    @property
    def device_statistics(self) -> list[DeviceStatistics]:
        """Of each device that the program names, in its last run on them; process by process."""
        processes = sorted(self._last_devices)
        return [each for process in processes for each in self._last_devices[process]]

    def _run_on_device(
        self,
        target: Operation,
        inputs: Sequence[Array],
        grid: Grid | None,
        communicator: Communicator | None,
        shared_key: object = None,
    ) -> list[Array]:
        arrays = [np.asarray(array, order="C") for array in inputs]
        process = communicator.process if communicator else 0
        entry = self._host_entry(target, grid, process)
        if entry is not None:
            return self._run_host_code(entry, arrays, communicator)
        key = (target, grid, shared_key or tuple(map(_input_key, arrays)))
        recordings = self._recordings.setdefault(process, {})
        recording = recordings.get(key)
        try:
            if recording is not None:
                self._last.append(recording.buffer.statistics)
                self._last_devices[process] = recording.statistics
                return recording.run(arrays)
            recording, is_replayable = self._record(target, arrays, grid, communicator)
            self._last.append(recording.buffer.statistics)
            self._last_devices[process] = recording.statistics
            results = recording.run(arrays)
            if is_replayable if communicator is None else communicator.end(is_replayable):
                # The oldest goes, on all devices alike: they have seen the same calls.
                while len(recordings) >= MOST_RECORDINGS:
                    del recordings[next(iter(recordings))]
                recordings[key] = recording
            return results
        except CommandFailed as failure:
            raise _located(failure, target, communicator) from failure
        except OperationError as error:
            raise _on_device(error, communicator) from error

    def _host_entry(
        self, target: Operation, grid: Grid | None, process: int = 0
    ) -> HostEntry | None:
        """A function as host code, if all of it is lowered, and nothing asks for a recording."""
        if self._requires_native:
            self._host_code.require(target, grid)
        if self._guards:
            return None
        return self._host_code.entry(target, grid, process)

    def _run_host_code(
        self, entry: HostEntry, arrays: Sequence[Array], communicator: Communicator | None
    ) -> list[Array]:
        process = communicator.process if communicator else 0
        try:
            results = self._host_code.run(entry, arrays, communicator, self._team(process))
        except CommandFailed as failure:
            raise _located(failure, entry.target, communicator) from failure
        except OperationError as error:
            raise _on_device(error, communicator) from error
        machine = self._host_code.machine(entry, communicator)
        self._last.append(entry.statistics(machine, results))
        own = communicator.process if communicator else None
        self._last_devices[process] = [
            DeviceStatistics(memory.owner or "", memory, dispatches, received, own)
            for memory, dispatches, received in entry.device_statistics(machine)
        ]
        return results

    def _record(
        self,
        target: Operation,
        inputs: Sequence[Array],
        grid: Grid | None,
        communicator: Communicator | None,
    ) -> tuple[_Recording, bool]:
        recorder = Recorder(
            self._program,
            inputs,
            grid,
            communicator,
            self._recording_lock,
            self._team(communicator.process if communicator else 0),
            {
                **provide(
                    self._module, self._devices, grid, communicator.process if communicator else 0
                )
            },
            Guards() if self._guards else None,
        )
        types = argument_types(target)
        arguments: list[Value] = [
            recorder.argument(position) if isinstance(kind, TensorType) else inputs[position]
            for position, kind in enumerate(types)
        ]
        if any(isinstance(kind, MemRefType | UnrankedMemRefType) for kind in types):
            # The interpreter reads and writes memory while the program is recorded.
            recorder.is_replayable = False
        routine = run_function(target, passed(target, arguments), BlockRecorder(recorder))
        try:
            (returned,) = run_lockstep([recorder.run(routine)], target)
        except OperationError:
            # What comes before it may fail first.
            recorder.run_what_may_fail()
            raise
        values = [each.array if isinstance(each, BufferView) else each for each in returned]
        results = tuple(
            recorder.as_tensor(value) if _is_array(value) else value for value in values
        )
        buffer = recorder.finish([each for each in results if isinstance(each, Tensor)])
        process = communicator.process if communicator else None
        statistics = _device_statistics(buffer, recorder, process)
        # Tensors know the recorder, and that knows this call's inputs.
        kinds = tuple(
            _ArrayType(each.shape, each.dtype) if isinstance(each, Tensor) else each
            for each in results
        )
        return _Recording(buffer, kinds, statistics), recorder.is_replayable

    def _team(self, process: int) -> Team | None:
        """The workers of a process's device, which live as long as the program."""
        if self._workers == 1:
            return None
        with self._recording_lock:
            if process not in self._teams:
                self._teams[process] = Team(self._workers)
            return self._teams[process]


def _release(
    groups: dict[int, ThreadGroup],
    teams: dict[int, Team],
    recordings: dict[int, dict[object, _Recording]],
) -> None:
    """End the threads of a program, after what they run, and forget its recordings."""
    for each in (*groups.values(), *teams.values()):
        each.close()
    groups.clear()
    teams.clear()
    recordings.clear()


def _device_statistics(
    buffer: CommandBuffer, recorder: Recorder, process: int | None
) -> list[DeviceStatistics]:
    """What each device that the program names has done and holds."""
    memory = {each.owner: each for each in buffer.statistics.memory}
    received: Counter[str | None] = Counter()
    for (_, receiver), size in recorder.transferred.items():
        received[receiver] += size
    names = {*memory, *recorder.dispatches, *received}
    found: list[DeviceStatistics] = []
    for name in sorted(each for each in names if each is not None):
        own = memory.get(name, DeviceMemory(name, 0, 0, 0, 0))
        dispatches = recorder.dispatches[name]
        found.append(DeviceStatistics(name, own, dispatches, received[name], process))
    return found


def _is_array(value: Value) -> bool:
    return isinstance(value, Tensor) or not np.asarray(value).dtype.hasobject


def _input_key(array: Array) -> object:
    """What a recording depends on: shapes, and numbers that are not on the device."""
    return (array.shape, array.dtype.str, array.tobytes() if array.ndim == 0 else b"")


def _located(
    failure: CommandFailed, target: Operation, communicator: Communicator | None
) -> OperationError:
    source = failure.source if isinstance(failure.source, Operation) else target
    message = f"failed with status {failure.status}"
    if failure.status == TOO_NARROW:
        message = "has a halo that is wider than what the neighbour holds"
    elif failure.status == OVERWRITTEN:
        message = "writes where it must not: outside of a buffer, or to an input or a constant"
    elif failure.status >= FIRST_FAILURE:
        check: Failure = failure.failures[failure.status - FIRST_FAILURE]
        source, message = check.operation, check.text(failure.constants)
    return _on_device(OperationError(source, message), communicator)


def _on_device(error: OperationError, communicator: Communicator | None) -> OperationError:
    """The same error, saying on which device it happened."""
    if communicator is None:
        return error
    note = Note(f"on device {communicator.process}")
    return OperationError(error.operation, error.message, (*error.notes, note))
