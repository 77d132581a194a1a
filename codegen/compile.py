"""Compile a module and run its functions on one device, or partitioned on a grid of threads.

    program = CompiledProgram(module)
    outputs = program.run("main", inputs)
    outputs = program.run_partitioned("main", global_inputs)

The first call of a function lowers it to host code and compiles the kernels that are not in the
cache. One program accepts inputs of all shapes that its types allow. A function without host code
runs in the interpreter. `ranks.py` runs a program on MPI ranks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ..dialects.shard.boundary import Boundary
from ..interpreter import calls
from ..interpreter.collective_signatures import mismatch_error
from ..interpreter.frames import Program
from ..interpreter.global_values import GlobalValues, IrDeviceArray, plain_types
from ..interpreter.run import (
    argument_types,
    boundaries,
    find_function,
    grid_of,
    result_types,
    run_processes,
)
from ..ir.diagnostics import Note, OperationError
from ..runtime.abi.arguments import InputError, InputTypes
from ..runtime.abi.arrays import Array
from ..runtime.abi.device_array import DeviceArray
from ..runtime.commands import CommandFailed
from ..runtime.communicator import Communicator
from ..runtime.device_machines import DeviceMachines, compile_machine_functions
from ..runtime.direct_call import DirectCall
from ..runtime.host.entry import DeviceStatistics, EntryPoint
from ..runtime.host.guards import OVERWRITTEN
from ..runtime.host.machine_errors import VirtualMachineError
from ..runtime.host.timeline import Timeline
from ..runtime.protocol import TOO_NARROW
from ..sharding.collective_matching import CollectiveMismatch
from ..sharding.grid import Grid
from .host_code.lowering import EntryCache, HostEntry
from .kernels.elements.kernel_text import FIRST_FAILURE, Failure

GUARD_VARIABLE = "MESH_OPT_GUARD"
"""The environment variable that puts guards around all buffers (`runtime/host/guards.py`)."""

__all__ = ["CompiledProgram", "DeviceStatistics", "InputError"]


@dataclass(slots=True)
class _Signature:
    """What calls of a function need to know about it.

    - `target`: the function;
    - `inputs`: the types that its inputs are checked against;
    - `arguments`, `results`: the global tensor and sharding behind each, `None` where it is not a
      shard;
    - `grid`: the grid that it is partitioned on, `None` if it is not partitioned;
    - `alone`: its host code on one device, once lowered;
    - `entries`: for each grid, its host code on each device, once lowered;
    - `values`: for each grid, how global arguments and results are scattered and gathered.
    """

    target: Operation
    inputs: InputTypes
    arguments: Sequence[Boundary | None]
    results: Sequence[Boundary | None]
    grid: Grid | None
    result_types: Sequence[Attribute]
    alone: HostEntry | None = None
    entries: dict[Grid, Sequence[HostEntry]] = field(
        default_factory=dict[Grid, "Sequence[HostEntry]"]
    )
    values: dict[Grid, GlobalValues] = field(default_factory=dict[Grid, GlobalValues])

    def values_on(self, grid: Grid) -> GlobalValues:
        """Return the global arguments and results on a grid. Raises InputError."""
        found = self.values.get(grid)
        if found is None:
            found = GlobalValues(self.target, self.arguments, self.results, grid)
            self.values[grid] = found
        return found


class CompiledProgram:
    """The functions of a module as native code.

    Any method may raise OperationError at the operation that failed, and InputError for inputs that
    a function does not take or a function that does not exist. Several threads may call one
    program; the calls run one after another.

    There are no reference cycles: the threads and the memory of the devices are released with the
    last reference to the program.
    """

    def __init__(
        self,
        module: ModuleOp,
        workers: int | None = None,
        devices: Sequence[str] | None = None,
        guard: bool | None = None,
        require_native: bool = False,
        trace: Callable[[str], object] | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        """Prepare a verified module.

        - `workers`: threads that share the kernels of each device; by default the cores that this
          process may use are divided among its devices;
        - `devices`: the kinds of the available devices (`local-task`), for programs that name
          devices; by default every device that the program names is available;
        - `guard`: detect kernels that write outside of their buffers, which is slow
          (`runtime/host/guards.py`); by default if MESH_OPT_GUARD is set;
        - `require_native`: raise an error if an operation would run in the interpreter;
        - `trace`: called with one line of text for each instruction of host code that was executed;
        - `timeline`: records when kernels and collectives begin and end.
        """
        self._requires_native = require_native
        self._devices = devices
        self._program = Program(module)
        self._host_code = EntryCache(self._program, devices)
        self._module = module
        self._machines = DeviceMachines(
            workers,
            _raise_located,
            max_calls=calls.MAXIMAL_DEPTH,
            guard=guard if guard is not None else bool(os.environ.get(GUARD_VARIABLE)),
            trace=trace,
            timeline=timeline,
        )
        self._signatures: dict[str, _Signature] = {}

    def compile(self, function: str, grid: Grid | None = None) -> None:
        """Lower a function, compile its kernels and start the threads of its devices.

        Does nothing for a function that runs in the interpreter, nor for a grid with open extents.
        Raises InputError if there is no such function, OperationError if native code is required
        but missing.
        """
        with self._machines.threads.turn.checked():
            signature = self._signature(function)
            target, grid = signature.target, grid or signature.grid
            communicators: Sequence[Communicator | None] = [None]
            if grid is not None:
                if not grid.is_static:
                    return
                communicators = self._machines.threads.group(grid.device_count()).communicators
                signature.values_on(grid)
            for communicator in communicators:
                entry = self._entry(target, grid, communicator.process if communicator else 0)
                if entry is None:
                    return
                entry.program.compile()
                self._machines.prepare(entry, communicator)

    def run(self, function: str, inputs: Sequence[Array]) -> list[Array]:
        """Run a function on one device, where `shard` annotations are identities."""
        return self._run_alone(function, inputs)

    @property
    def direct_calls(self) -> Mapping[str, DirectCall]:
        """The functions that have run on one device and whose next inputs native code checks."""
        return self._machines.direct_calls

    def _run_alone(self, function: str, inputs: Sequence[Array | DeviceArray]) -> list[Array]:
        direct = self.direct_calls.get(function)
        if direct is not None and (results := direct(inputs)) is not None:
            return results
        signature = self._signature(function)
        with self._machines.threads.turn.checked():
            self._machines.last.clear()
            arrays = signature.inputs.checked(inputs)
            if signature.alone is None:
                signature.alone = self._entry(signature.target, None)
            if signature.alone is None:
                program, target = self._program, signature.target
                (results,) = run_processes(program, target, [arrays], None, self._devices)
                return results
            results = self._machines.run(signature.alone, arrays)
            self._machines.allow_direct_calls(function, signature.alone, signature.inputs)
            return results

    def run_partitioned(
        self, function: str, inputs: Sequence[Array | DeviceArray], grid: Grid | None = None
    ) -> list[Array]:
        """Run a partitioned function on global inputs: scatter, run on all devices, gather.

        `grid` must be given if the module leaves extents of the grid open. A function that is not
        partitioned runs on one device.
        """
        signature = self._signature(function)
        grid = grid or signature.grid
        if grid is None:
            return self._run_alone(function, inputs)
        values = signature.values_on(grid)
        return values.gathered(self.run_spmd(function, values.scattered(inputs), grid))

    def run_on_devices(
        self, function: str, inputs: Sequence[Array | DeviceArray], grid: Grid | None = None
    ) -> list[DeviceArray]:
        """Run a partitioned function on global inputs, and leave its results on the devices.

        The results may be inputs of other calls.
        """
        signature = self._signature(function)
        grid = grid or signature.grid
        if grid is None:
            results = self._run_alone(function, inputs)
            return [
                IrDeviceArray([result], result.shape, each, None)
                for result, each in zip(results, signature.result_types, strict=True)
            ]
        values = signature.values_on(grid)
        return values.placed(self.run_spmd(function, values.scattered(inputs), grid))

    def run_spmd(
        self, function: str, inputs: Sequence[Sequence[Array]], grid: Grid
    ) -> list[list[Array]]:
        """Run a function on every device of a grid; `inputs[d]` are the inputs of process `d`.

        Raises InputError unless there are inputs for every device of the grid.
        """
        with self._machines.threads.turn.checked():
            signature = self._signature(function)
            target = signature.target
            count = grid.device_count()
            if len(inputs) != count:
                raise InputError(
                    f"grid @{grid.name} has {count} devices, but {len(inputs)} have inputs"
                )
            local = [signature.inputs.checked(each) for each in inputs]
            self._machines.last.clear()
            entries = signature.entries.get(grid) or self._entries(target, grid)
            if entries is None:
                return run_processes(self._program, target, local, grid, self._devices)
            signature.entries[grid] = entries
            try:
                return self._machines.run_on_threads(entries, local)
            except BaseException as error:
                # After a failure the devices may disagree about the state of their collectives.
                self._machines.forget()
                if isinstance(error, CollectiveMismatch):
                    raise mismatch_error(error, target) from error
                raise

    def run_as_processes(
        self,
        everywhere: Callable[[Callable[[Communicator], list[Array]]], list[list[Array]]],
        target: Operation,
        inputs: Sequence[Sequence[Array]],
        grid: Grid,
    ) -> list[list[Array]]:
        """Run a function that has host code, as some of the processes of a grid.

        `inputs[d]` are the local inputs of process `d`. `everywhere` calls its argument for each
        process that lives in this MPI rank, while other ranks do the same, and returns the results
        of all processes. Raises ValueError if the function has no host code.
        """
        with self._machines.threads.turn.checked():
            self._machines.last.clear()
            entries = self._entries(target, grid)
            if entries is None:
                raise ValueError("a function without host code runs on all devices at once")

            def run(communicator: Communicator) -> list[Array]:
                process = communicator.process
                return self._machines.run(entries[process], inputs[process], communicator)

            return everywhere(run)

    def has_host_code(self, target: Operation, grid: Grid | None) -> bool:
        """Return whether a function runs as host code, not in the interpreter."""
        with self._machines.threads.turn.checked():
            return self._entry(target, grid) is not None

    def entries(
        self, function: str, grid: Grid | None
    ) -> tuple[Operation, Grid | None, Sequence[HostEntry] | OperationError]:
        """Return a function, its grid, and either its host code or the reason that it has none.

        Raises InputError if there is no such function, OperationError if native code is required
        but missing.
        """
        with self._machines.threads.turn.checked():
            signature = self._signature(function)
            target, grid = signature.target, grid or signature.grid
            if grid is not None and not grid.is_static:
                message = f"runs on grid @{grid.name}, whose extents are given at a run"
                return target, grid, OperationError(target, message)
            if self._requires_native:
                self._host_code.require(target, grid)
            return target, grid, self._host_code.entries(target, grid)

    def grid_of(self, function: str) -> Grid | None:
        """Return the grid of a function, `None` if it is not partitioned. Raises InputError."""
        return self._signature(function).grid

    def _signature(self, function: str) -> _Signature:
        """Look up a function, once: the module does not change."""
        found = self._signatures.get(function)
        if found is None:
            target = find_function(self._program, function)
            arguments, results = boundaries(target)
            grid = grid_of(self._module, target)
            types = InputTypes(plain_types(argument_types(target)))
            found = self._signatures[function] = _Signature(
                target, types, arguments, results, grid, result_types(target)
            )
        return found

    @property
    def devices(self) -> Sequence[str] | None:
        """The kinds of the available devices, as given to the constructor."""
        return self._devices

    @property
    def module(self) -> ModuleOp:
        """The module, which does not change between calls."""
        return self._module

    @property
    def symbols(self) -> Program:
        """The module as the interpreter's symbol table."""
        return self._program

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """All operations of the module in order.

        A number means the same operation on each MPI rank.
        """
        return list(self._module.walk())

    @cached_property
    def digest(self) -> str:
        """A hash of the module's text."""
        return sha256(str(self._module).encode()).hexdigest()[:16]

    def close(self) -> None:
        """End the threads of the devices and release what is kept between calls."""
        self._machines.close()

    @property
    def device_statistics(self) -> list[DeviceStatistics]:
        """The statistics of the last run on each named device, process by process."""
        return self._machines.device_statistics

    def _entry(self, target: Operation, grid: Grid | None, process: int = 0) -> HostEntry | None:
        """Return a function's host code for a process, `None` if it does not lower completely."""
        if self._requires_native:
            self._host_code.require(target, grid)
        entry = self._host_code.entry(target, grid, process)
        if entry is not None:
            compile_machine_functions()
        return entry

    def _entries(self, target: Operation, grid: Grid) -> Sequence[HostEntry] | None:
        """Return the host code of a function for each process of a grid, `None` if one has none."""
        count = grid.device_count()
        entries = [self._entry(target, grid, process) for process in range(count)]
        found = [entry for entry in entries if entry is not None]
        return found if len(found) == count else None


def _raise_located(error: Exception, entry: EntryPoint, communicator: Communicator | None) -> None:
    """Raise an error of a run again, located at an operation and on a device.

    Returns without an exception if the caller should raise the original error.
    """
    assert isinstance(entry, HostEntry)
    if isinstance(error, CommandFailed):
        located = _located(error, entry.target)
    elif isinstance(error, VirtualMachineError):
        source = error.source if isinstance(error.source, Operation) else entry.target
        located = OperationError(source, error.message)
    elif isinstance(error, MemoryError):
        if communicator is not None:
            raise MemoryError(f"{error} on device {communicator.process}") from error
        return
    elif isinstance(error, OperationError):
        located = error
    else:
        return
    raise _on_device(located, communicator, entry.grid) from error


def _located(failure: CommandFailed, target: Operation) -> OperationError:
    source = failure.source if isinstance(failure.source, Operation) else target
    message = f"failed with status {failure.status}"
    if failure.status == TOO_NARROW:
        message = "has a halo that is wider than the shard of the neighbour"
    elif failure.status == OVERWRITTEN:
        message = "writes outside of a buffer, or to an input or a constant"
    elif failure.status >= FIRST_FAILURE:
        check: Failure = failure.failures[failure.status - FIRST_FAILURE]
        source, message = check.operation, check.text(failure.constants)
    return OperationError(source, message)


def _on_device(
    error: OperationError, communicator: Communicator | None, grid: Grid | None
) -> OperationError:
    """Add a note to an error that says on which device it happened."""
    if communicator is None:
        return error
    where = f"on device {communicator.process}"
    if grid is not None and grid.rank > 1:
        where += f", at {list(grid.coordinates(communicator.process))} of grid @{grid.name}"
    note = Note(where)
    return OperationError(error.operation, error.message, (*error.notes, note))
