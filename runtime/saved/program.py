"""Saved programs: their functions run on devices without a compiler.

Some things need the compiler: error messages, checks of sizes that are new, and functions that have
no host code. In these cases a call raises `NeedsCompiler`; `mesh_opt.load` then compiles the
program from its IR and repeats the call, which has the same effect.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from ...sharding.collective_matching import CollectiveMismatch
from ...sharding.grid import Grid
from ...sharding.sharding import Sharding
from .. import direct_call, intrinsics, protocol
from ..abi.arguments import InputError
from ..abi.arrays import ROUNDED_TYPES, Array, FunctionTypes, ValueType, Words
from ..abi.device_array import DeviceArray
from ..abi.errors import NeedsCompiler
from ..abi.native_code import CPU_FEATURES, Native, load_objects, target_platform
from ..commands import CommandFailed, DeviceFailed
from ..communicator import Communicator
from ..device_machines import DeviceMachines
from ..host import (
    instructions,
    long_instructions,
    loop,
    machine_state,
    pool,
    scalar_code,
    worker_team,
)
from ..host.entry import DeviceStatistics, EntryPoint, PassedResult
from ..host.exchanges import Exchange, ExchangeFailed
from ..host.machine_errors import VirtualMachineError
from ..host.program import (
    HostFunction,
    HostKernel,
    HostProgram,
    LinkedProgram,
    ProgramCode,
    PythonCall,
    RegisterValues,
    not_started,
)
from ..host.size_rules import KnownSizes
from ..host.virtual_machine import VirtualMachine
from ..messages import step_interpreter
from ..native_registry import give_functions
from ..threads import message_queues, shared_memory_collectives, thread_pool
from .code_check import Tables, check_code
from .entry_check import check_entry, check_exchanges, check_type
from .fields import DamagedFile, Fields
from .file_format import Container, piece
from .functions import SavedFunction
from .tables import (
    read_constants,
    read_exchange,
    read_function,
    read_grid,
    read_shape,
    read_sharding,
    read_sizes,
    read_type,
)

_MAX_FEATURES = 8
"""The largest number of differing CPU features that a message lists."""

CheckSizes = Callable[[str, int, int, RegisterValues], None]
"""Raises an exception if sizes are inconsistent: takes function, process, check and numbers."""


NATIVE_MODULES = (
    *(intrinsics, protocol, message_queues, shared_memory_collectives, step_interpreter),
    *(thread_pool, instructions, long_instructions, loop, machine_state, pool, scalar_code),
    *(worker_team, direct_call),
)
"""The modules whose functions run as native code."""


def platform() -> dict[str, str]:
    """Return what native code depends on; a saved program is recompiled if one value differs."""
    digest = sha256("\0".join(each.SOURCE for each in NATIVE_MODULES).encode())
    return {**target_platform(), "version of the runtime": digest.hexdigest()[:16]}


def _difference(name: str, saved: str | None, here: str) -> str:
    """Return a message about a value of `platform` that differs.

    There are about a hundred CPU features, so only those that differ are listed.
    """
    if name != CPU_FEATURES or saved is None:
        return f"the {name} is {here!r} here, and was {saved!r}"
    were, are = set(saved.split(",")), set(here.split(","))
    missing = sorted(each[1:] for each in were - are if each.startswith("+"))
    added = sorted(each[1:] for each in are - were if each.startswith("+"))
    parts = [
        f"{words} {', '.join(names[:_MAX_FEATURES])}"
        + (f" and {len(names) - _MAX_FEATURES} more" if names[_MAX_FEATURES:] else "")
        for words, names in (("lacks", missing), ("also has", added))
        if names
    ]
    return f"the CPU here {' and '.join(parts) or 'names its features in another way'}"


class SavedProgram:
    """A program from a file. Its functions are thread-safe; calls run one at a time."""

    def __init__(
        self, path: str | os.PathLike[str], *, verify: bool = True, workers: int | None = None
    ) -> None:
        """Read a file; with `verify`, compare the checksum of the constants too.

        Raises OSError for a file that cannot be read, DamagedFile for one that is not a valid saved
        program.
        """
        self._file = Container(path, verify=verify)
        header = self._file.header
        saved = {name: value.text() for name, value in header["platform"].entries()}
        here = platform()
        self.differences = [
            _difference(name, saved.get(name), here[name])
            for name in here
            if saved.get(name) != here[name]
        ]
        """The reasons why the file's native code cannot run here; empty if it can."""
        self.check_sizes: CheckSizes | None = None
        """Checks new sizes, if set; otherwise new sizes raise NeedsCompiler."""
        self._objects = self._read_objects(header["objects"])
        self._runtime = _names(header["runtime"], self._objects)
        self._arrays = self._read_arrays(header["arrays"])
        self._kernels: set[str] = set()
        self._natives: dict[str, Native] | None = None
        self.functions = {
            each.name: each for each in map(self._read_function, header["functions"].items())
        }
        self.machines = DeviceMachines(workers)
        """The machines that run the functions; their timeline is set before the first run."""
        self._dropped: list[object] = []

    # Reading ----------------------------------------------------------------------------------

    def text(self, section: str) -> str:
        """Return a text section: `ir`, or `source`, the program before all passes."""
        return self._file.text(section)

    @property
    def digest(self) -> str:
        """A hash that identifies the program."""
        return sha256(self._file.section("ir")).hexdigest()[:16]

    @property
    def header(self) -> Fields:
        """The header of the file."""
        return self._file.header

    def constant(self, number: int) -> memoryview:
        """Return the bytes of a constant, mapped from the file."""
        return self._arrays[number].data

    def _read_objects(self, rows: Fields) -> dict[str, memoryview]:
        section = self._file.section("objects")
        found: dict[str, memoryview] = {}
        for row in rows.items():
            name, place = row.items(2)
            found[name.text()] = piece(section, place)
        return found

    def _read_arrays(self, rows: Fields) -> list[npt.NDArray[np.uint8]]:
        section = self._file.section("constants")
        return [np.frombuffer(piece(section, row), np.uint8) for row in rows.items()]

    def _read_function(self, data: Fields) -> SavedFunction:
        types = FunctionTypes(
            *(tuple(map(read_type, each.items())) for each in data["types"].items(2))
        )
        grid = read_grid(data["grid"])
        arguments, results = (
            [
                _read_boundary(row, kind, grid)
                for row, kind in zip(rows.items(len(kinds)), kinds, strict=True)
            ]
            for rows, kinds in zip(
                data["placed"].items(2), (types.arguments, types.results), strict=True
            )
        )
        name, why = data["name"].text(), data["why"]
        for kind in (*types.arguments, *types.results):
            check_type(kind, data.path)
        rows = data["entries"].items()
        entries = [
            self._read_entry(name, process, each, types, grid) for process, each in enumerate(rows)
        ]
        for process, (entry, row) in enumerate(zip(entries, rows, strict=True)):
            processes = range(process, 1 if grid is None else grid.device_count(), len(entries))
            check_entry(entry, types, (arguments, results), processes, row.path)
        if not entries and why.is_null:
            raise DamagedFile(f"has no code as {data.path}")
        reason = None if why.is_null else why.text()
        rounding = [
            None if each.is_null else ROUNDED_TYPES[each.choice(*ROUNDED_TYPES)]
            for each in data["rounding"].items(len(types.results))
        ]
        called = [each.text() for each in data["arguments"].items()]
        return SavedFunction(
            name, types, grid, arguments, results, entries, reason, rounding, called
        )

    def _read_entry(
        self, name: str, process: int, data: Fields, types: FunctionTypes, grid: Grid | None
    ) -> EntryPoint:
        words, count = self._read_words(data["code"]), len(self._arrays)
        functions = tuple(
            read_function(each, len(words), count) for each in data["functions"].items()
        )
        kernels = self._read_kernels(data)
        for kind in (*types.arguments, *types.results):
            if not kind.holds_numbers:
                raise DamagedFile(f"has host code for values of {kind}, which are not numbers")
        devices = [None if each.is_null else each.text() for each in data["devices"].items()]
        if not devices:
            raise DamagedFile(f"has blocks without a device as {data.path}")
        failures = data["failures"].count(len(words))
        checks = [read_sizes(each) for each in data["checks"].items()]
        exchanges = [_read_exchanges(each) for each in data["exchanges"].items()]
        for number, (_, each) in enumerate(exchanges):
            check_exchanges(each, grid, f"{data.path}.exchanges[{number}]")
        tables = Tables(
            functions, len(kernels), failures, checks, [each for _, each in exchanges], len(devices)
        )
        check_code(words, tables, data.path)
        program = HostProgram(
            functions=[HostFunction(each.text()) for each in data["names"].items(len(functions))],
            kernels=[HostKernel(each) for _, each in kernels],
            compile_kernels=lambda numbers: [self._native(kernels[each][0]) for each in numbers],
            # The count is at most that of the words, so this list cannot exhaust memory.
            failures=[_fail] * failures,
            checks=[
                partial(self._check, name, process, number, each)
                for number, each in enumerate(checks)
            ],
            python=[call for call, _ in exchanges],
            arrays=list(self._arrays),
            globals=list(read_constants(data["globals"], count)),
            devices=len(devices),
        )
        program.global_blocks += data["global_blocks"].integers(0, len(program.globals) - 1)
        number = data["number"].integer(0, len(functions) - 1)
        shapes = map(read_shape, data["results"].items(len(types.results)))
        results = zip(shapes, types.results, strict=True)
        return EntryPoint(
            LinkedProgram(program, ProgramCode(words, functions)),
            number,
            [read_shape(each) for each in data["arguments"].items()],
            [PassedResult(shape, kind.dtype) for shape, kind in results],
            devices,
            dict(enumerate(data["constants"].integers(0, count=len(devices)))),
        )

    def _read_words(self, data: Fields) -> Words:
        """Return the host code with a number."""
        rows = self._file.header["code"].items()
        words = piece(self._file.section("code"), rows[data.integer(0, len(rows) - 1)])
        if len(words) % 8 or not len(words):
            raise DamagedFile(f"has host code of {len(words)} bytes, expected words of 8")
        return np.frombuffer(words, np.int64)

    def _read_kernels(self, data: Fields) -> list[tuple[str, str]]:
        """Return the symbol of each kernel of a program, and its name."""
        found: list[tuple[str, str]] = []
        for row in data["kernels"].items():
            symbol, name = (part.text() for part in row.items(2))
            if symbol not in self._objects:
                raise DamagedFile(f"has no object code of {symbol!r}, which {data.path} runs")
            self._kernels.add(symbol)
            found.append((symbol, name))
        return found

    # Running ----------------------------------------------------------------------------------

    def run(self, function: SavedFunction, inputs: Sequence[Any]) -> list[Array]:
        """Run a function on global inputs. Raises InputError, NeedsCompiler, MemoryError."""
        grid = function.grid
        if grid is None:
            return self._run_alone(function, inputs)
        try:
            return function.gathered(self._run_everywhere(function, inputs, grid), grid)
        except InputError:
            raise
        except ValueError as problem:
            # Replicas of a shard differ.
            raise NeedsCompiler(str(problem)) from problem

    def run_directly(self, function: SavedFunction, inputs: Sequence[Any]) -> list[Array] | None:
        """Run a function that has run on one device before; `None` if native code rejects inputs.

        Raises NeedsCompiler, MemoryError.
        """
        direct = self.machines.direct_calls.get(function.name)
        return None if direct is None else self._attempt(lambda: direct(inputs))

    def run_on_devices(self, function: SavedFunction, inputs: Sequence[Any]) -> list[DeviceArray]:
        """Run a function and leave its results on the devices. Raises the same errors as `run`."""
        grid = function.grid
        if grid is None:
            found = self.run_directly(function, inputs)
            if found is None:
                found = self._run_alone(function, inputs)
            pairs = zip(found, function.types.results, strict=True)
            return [DeviceArray([each], each.shape, kind, None) for each, kind in pairs]
        return function.placed(self._run_everywhere(function, inputs, grid), grid)

    def run_on_ranks(
        self,
        function: SavedFunction,
        inputs: Sequence[Any],
        inputs_per_rank: bool,
        devices_per_rank: int,
    ) -> list[Array]:
        """Run a function on global inputs, on all MPI ranks; a collective call.

        Raises the errors of `run`, InputError and RankError (`ranks.py`).
        """
        from .ranks import run_on_ranks

        grid = function.grid
        if grid is None:
            return self.run(function, inputs)
        whole = function.inputs.checked(inputs)
        call_parameters = {"program": self.digest, "function": function.name}
        reason = "; ".join(self.differences) or function.needs_compiler_reason

        def prepare() -> Callable[[Communicator], list[Array]]:
            self._begin(function)
            return partial(self._run_as_process, function, function.scattered(whole, grid))

        with self.machines.threads.turn.checked():
            try:
                options = inputs_per_rank, devices_per_rank
                found = run_on_ranks(call_parameters, grid, whole, *options, reason, prepare)
            except NeedsCompiler:
                # Other ranks may still write to the memory of the failed run.
                self._dropped.append(self.machines.forget())
                raise
        try:
            return function.gathered(found, grid)
        except ValueError as problem:
            raise NeedsCompiler(str(problem)) from problem

    def _run_alone(self, function: SavedFunction, inputs: Sequence[Any]) -> list[Array]:
        whole = function.inputs.checked(inputs)
        with self.machines.threads.turn.checked():
            self._begin(function)
            entry = function.entries[0]
            results = self._attempt(lambda: self.machines.run(entry, whole))
            self.machines.allow_direct_calls(function.name, entry, function.inputs)
            return results

    def _run_everywhere(
        self, function: SavedFunction, inputs: Sequence[Any], grid: Grid
    ) -> list[list[Array]]:
        local = function.scattered(function.inputs.checked_for_devices(inputs), grid)
        with self.machines.threads.turn.checked():
            self._begin(function)
            entries = [function.entry(process) for process in range(len(local))]
            return self._attempt(lambda: self.machines.run_on_threads(entries, local))

    def _run_as_process(
        self, function: SavedFunction, inputs: Sequence[Sequence[Array]], communicator: Communicator
    ) -> list[Array]:
        process = communicator.process
        return self.machines.run(function.entry(process), inputs[process], communicator)

    def _begin(self, function: SavedFunction) -> None:
        self.machines.last.clear()
        if self.differences:
            raise NeedsCompiler("; ".join(self.differences))
        if function.needs_compiler_reason is not None:
            raise NeedsCompiler(function.needs_compiler_reason)
        if self._natives is None:
            runtime = {key: (name, self._objects[name]) for key, name in self._runtime.items()}
            kernels = {name: self._objects[name] for name in sorted(self._kernels)}
            try:
                give_functions(runtime)
                self._natives = load_objects(kernels)
            except RuntimeError as problem:
                self.differences.append(f"its object code cannot be loaded: {problem}")
                raise NeedsCompiler("; ".join(self.differences)) from problem

    def _attempt(self, run: Callable[[], Any]) -> Any:
        """Run something on the devices; on failure the compiler is needed for the error message."""
        try:
            return run()
        except (CommandFailed, VirtualMachineError, CollectiveMismatch, DeviceFailed) as problem:
            self.machines.forget()
            raise NeedsCompiler(f"a run has failed: {problem}") from problem
        except BaseException:
            self.machines.forget()
            raise

    def _native(self, symbol: str) -> Native:
        assert self._natives is not None
        return self._natives[symbol]

    def _check(
        self, function: str, process: int, number: int, sizes: KnownSizes, numbers: RegisterValues
    ) -> None:
        if sizes.accept(numbers):
            return
        if self.check_sizes is None:
            raise NeedsCompiler("sizes are new")
        self.check_sizes(function, process, number, numbers)

    @property
    def device_statistics(self) -> list[DeviceStatistics]:
        """Statistics of each device that the program names, in its last run, by process."""
        return self.machines.device_statistics

    def close(self) -> None:
        """End the devices' threads and free what is kept between calls."""
        self.machines.close()


def _fail(numbers: RegisterValues) -> Exception:
    return NeedsCompiler("an operation has failed")


def _names(data: Fields, objects: dict[str, memoryview]) -> dict[str, str]:
    found = {name: each.text() for name, each in data.entries()}
    for symbol in found.values():
        if symbol not in objects:
            raise DamagedFile(f"has no object code of {symbol!r}, which {data.path} names")
    return found


def _read_boundary(data: Fields, kind: ValueType, grid: Grid | None) -> Sharding | None:
    if data.is_null:
        return None
    sharding = read_sharding(data)
    if grid is None or sharding.grid.device_count() != grid.device_count():
        raise DamagedFile(f"has {data.path} on grid {sharding.grid}, and runs on {grid}")
    if kind.shape is None or sharding.rank != len(kind.shape):
        raise DamagedFile(f"has {data.path} of rank {sharding.rank} for {kind}")
    return sharding


def _read_exchanges(data: Fields) -> tuple[PythonCall, Sequence[Exchange]]:
    """Return an exchange as a Python call, and its form on each process."""
    name, starts, rows = data.items(3)
    exchanges = [read_exchange(each) for each in rows.items()]
    if not exchanges:
        raise DamagedFile(f"has no exchange as {data.path}")

    def own(machine: VirtualMachine) -> Exchange:
        return exchanges[machine.process % len(exchanges)]

    def exchange(machine: VirtualMachine, numbers: RegisterValues) -> RegisterValues:
        try:
            return own(machine).perform(machine, numbers)
        except ExchangeFailed as problem:
            raise NeedsCompiler("an operation has failed") from problem

    def prepare(machine: VirtualMachine) -> None:
        if machine.communicator is not None:
            own(machine).prepare(machine)

    begins = prepare if starts.boolean() else not_started
    return PythonCall(name.text(), exchange, None, begins), exchanges
