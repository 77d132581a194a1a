"""Load saved programs: `mesh_opt.load(path)` reads what `Program.save(path)` wrote.

    program = mesh_opt.load("mlp.meshprog")
    y = program.mlp(x, w1, w2)           # as on a freshly compiled program

A call runs the native code in the file and imports no compiler. If that code cannot be used
(another machine, or a function without host code), the program is compiled from the IR in the file
(`docs/saved_programs.md`).
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .programs.backends import NATIVE, chosen_backend
from .runtime.abi.arguments import InputError
from .runtime.abi.arrays import Array
from .runtime.abi.device_array import DeviceArray
from .runtime.abi.errors import ExecutionError, NeedsCompiler
from .runtime.communicator import RankError
from .runtime.functions import CallableFunction, FunctionsByName
from .runtime.host.entry import DeviceStatistics
from .runtime.host.program import RegisterValues
from .runtime.host.timeline import Timeline
from .runtime.mpi.rank_calls import statistics_on_ranks
from .runtime.saved.fields import DamagedFile, SavedFileError
from .runtime.saved.program import SavedFunction, SavedProgram
from .runtime.saved.tables import read_grid
from .sharding.grid import Grid
from .sharding.sharding import Sharding

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .api import Function, Program
    from .codegen.compile import CompiledProgram
    from .ir.text.source import Source

__all__ = ["InputError", "LoadedFunction", "LoadedProgram", "SavedFileError", "load"]


def load(
    path: str | os.PathLike[str],
    *,
    workers: int | None = None,
    verify: bool = True,
    backend: str = NATIVE,
    remark: Callable[[str], object] = lambda text: warnings.warn(text, RuntimeWarning, 3),
    compile: Callable[[], Program] | None = None,
) -> LoadedProgram:
    """Load a saved program.

    - `workers`: the number of threads that share the work of each device; by default the available
      cores;
    - `verify`: whether to compare constants with their checksum, which reads all of them;
    - `backend`: `native`, or `mpi` on one of the ranks of `mpiexec -n N python -m mpi4py ...`;
    - `remark`: a callback that gets the reason if the program is recompiled; warns by default;
    - `compile`: a callback that compiles the program instead of compiling the IR in the file.

    The file contains native code: load only files that you trust. Raises OSError for a file that
    cannot be read, SavedFileError for one that is not a saved program, ValueError for an unknown
    backend.
    """
    return LoadedProgram(os.fspath(path), workers, verify, remark, backend, compile)


class LoadedFunction(CallableFunction):
    """A function of a loaded program: call it with global NumPy arrays."""

    def __init__(self, program: LoadedProgram, function: SavedFunction) -> None:
        super().__init__(function.name, function.types, function.inputs, function.grid)
        self.program = program
        self._function = function

    @property
    def argument_names(self) -> list[str]:
        """Return the argument names of the saved program: `x` for `%x`."""
        return list(self._function.argument_names)

    def run(self, inputs: Sequence[npt.ArrayLike | DeviceArray]) -> list[Array]:
        """Run the function and return all results. Raises the same errors as `api.Function.run`."""
        try:
            results = self.program.saved.run_directly(self._function, inputs)
            if results is not None:
                return results
            return self.program.run(self._function, self.arrays(inputs))
        except NeedsCompiler as need:
            return self._compiled(need).run([np.asarray(each) for each in self.arrays(inputs)])

    def run_on_devices(self, *inputs: npt.ArrayLike | DeviceArray) -> list[DeviceArray]:
        """Run the function and leave all results on the devices that compute them."""
        arrays = self.arrays(inputs)
        try:
            return self.program.saved.run_on_devices(self._function, arrays)
        except NeedsCompiler as need:
            whole = [np.asarray(each) for each in arrays]
            return list(self._compiled(need).run_on_devices(*whole))

    def place(self, argument: int, array: Any) -> DeviceArray:
        """Scatter an array-like that supports `shape` and slicing to the devices."""
        kind = self.types.arguments[argument]
        return DeviceArray.put(array, kind, self.argument_sharding(argument, len(array.shape)))

    def _boundary_sharding(self, side: int, index: int, grid: Grid, tensor_rank: int) -> Sharding:
        """Return the sharding of an argument (side 0) or a result (side 1) on a grid."""
        return self._function.boundary_sharding(side, index, grid, tensor_rank)

    def rounding(self) -> list[np.dtype[Any] | None]:
        """Return the least precise float type that computes each result; `None` if it has none."""
        return list(self._function.rounding)

    def _compiled(self, need: NeedsCompiler) -> Function:
        return self.program.compiled(need)[self.name]


class LoadedProgram(FunctionsByName[LoadedFunction]):
    """A program from a file: `program["main"]` and `program.main` are its functions."""

    def __init__(
        self,
        path: str,
        workers: int | None,
        verify: bool,
        remark: Callable[[str], object],
        backend: str = NATIVE,
        compile: Callable[[], Program] | None = None,
    ) -> None:
        """Open the file. Raises OSError, SavedFileError, and ValueError for an unknown backend."""
        self.path = path
        self.inputs_per_rank = False
        """On MPI ranks: as `RunnableModule.inputs_per_rank`."""
        self.devices_per_rank = 1
        """On MPI ranks: as `RunnableModule.devices_per_rank`."""
        self._backend = chosen_backend(backend, (NATIVE, "mpi"))
        try:
            self.saved = SavedProgram(path, verify=verify, workers=workers)
        except DamagedFile as problem:
            raise _refused(path, problem) from problem
        self.saved.check_sizes = self._check_sizes
        self._workers = workers
        self._remark = remark
        self._compile = compile or self._compile_ir
        self._compiled: Program | None = None
        self._lock = threading.RLock()

    @property
    def functions(self) -> list[str]:
        """Return the names of the public functions."""
        return list(self.saved.functions)

    def __repr__(self) -> str:
        """Return the functions, the file, and whether its code is for another machine."""
        functions = ", ".join(f"@{name}" for name in self.functions) or "nothing"
        code = "for another machine" if self.saved.differences else "native code"
        return f"<LoadedProgram of {functions} from {self.path}, {code}>"

    def __getitem__(self, name: str) -> LoadedFunction:
        """Return a function by name. Raises KeyError if there is none."""
        found = self.saved.functions.get(name)
        if found is None:
            known = ", ".join(f"@{each}" for each in self.functions) or "none"
            raise KeyError(f"there is no function @{name}; the program has {known}")
        return LoadedFunction(self, found)

    def run(self, function: SavedFunction, inputs: Sequence[Any]) -> list[Array]:
        """Run a function on global inputs. Raises InputError, NeedsCompiler, ExecutionError."""
        if self._backend == NATIVE:
            return self.saved.run(function, inputs)
        try:
            options = self.inputs_per_rank, self.devices_per_rank
            return self.saved.run_on_ranks(function, inputs, *options)
        except RankError as problem:
            raise ExecutionError(str(problem)) from problem

    def statistics(self) -> list[DeviceStatistics]:
        """Return the statistics of the last run for each device that the program names.

        The list is empty before the first run. With the backend `mpi` this is a collective call.
        """
        found = self.saved.device_statistics
        if found and self._backend == "mpi":
            return statistics_on_ranks(found)
        return found or ([] if self._compiled is None else self._compiled.statistics())

    @property
    def timeline(self) -> Timeline | None:
        """Recorder of when kernels, copies and collectives of later runs begin and end."""
        return self.saved.machines.timeline

    @timeline.setter
    def timeline(self, timeline: Timeline | None) -> None:
        self.saved.machines.timeline = timeline
        self.saved.machines.forget()

    def close(self) -> None:
        """End the devices' threads and free what is kept between calls."""
        self.saved.close()

    def compiled(self, need: NeedsCompiler | None = None) -> Program:
        """Compile the program from the IR in the file; the result is cached.

        The compiled program also reports errors with source locations, has `check` and all
        backends, and can be saved for this machine. Raises SavedFileError for IR that this version
        does not accept.
        """
        with self._lock:
            if self._compiled is None:
                if need is not None and self._needs_always(str(need)):
                    self._remark(f"{self.path} is compiled again from its IR: {need}")
                self._compiled = self._compile()
                self._compiled.workers = self._workers
            settings = ("inputs_per_rank", "devices_per_rank", "timeline")
            for name in settings if need is not None else ():
                if (setting := getattr(self, name)) != getattr(self._compiled, name):
                    setattr(self._compiled, name, setting)
            return self._compiled

    def _needs_always(self, need: str) -> bool:
        """Whether the file itself needs the compiler, rather than one of its calls."""
        reasons = (each.needs_compiler_reason for each in self.saved.functions.values())
        return bool(self.saved.differences) or need in reasons

    def _compile_ir(self) -> Program:
        from .api import Program
        from .ir.text.source import Source
        from .programs.compiling import Compiled

        try:
            header = self.saved.header
            names = [each.text() for each in header["texts"].items()]
            texts = [Source(self.saved.text(f"text{n}"), name) for n, name in enumerate(names)]
            grid = read_grid(header["open_grid"])
            devices = header["devices"]
            kinds = None if devices.is_null else tuple(each.text() for each in devices.items())
            source = self._module(Source(self.saved.text("source"), f"{self.path}:source"))
            module = self._module(Source(self.saved.text("ir"), f"{self.path}:ir"))
            compiled = Compiled(source.clone, lambda: source, module, texts)
            program = Program(compiled, self._backend, grid)
            program.devices = kinds
            self._compare_functions(program)
        except DamagedFile as problem:
            raise _refused(self.path, problem) from problem
        return program

    def _compare_functions(self, program: Program) -> None:
        """Raise DamagedFile if the IR lacks a function of the header or gives it other types."""
        for name, function in self.saved.functions.items():
            if name not in program.functions:
                raise DamagedFile(f"holds IR without the function @{name}, which its header names")
            found = program[name].types
            if found != function.types:
                raise DamagedFile(
                    f"holds IR with @{name} of {found}, expected {function.types} as in its header"
                )

    def _module(self, text: Source) -> ModuleOp:
        from xdsl.utils.exceptions import ParseError

        from .codegen.saving import restore_constants
        from .ir.text.parser import parse_module
        from .ir.verification import verification_errors
        from .tools.driver import new_context

        try:
            module = parse_module(new_context(), text)
            restore_constants(module, self.saved.constant)
        except (ParseError, ValueError, IndexError) as problem:
            message = f"holds IR that this version does not read: {problem}"
            raise DamagedFile(message) from problem
        for failure in verification_errors(module):
            raise DamagedFile(f"holds IR that this version does not accept: {failure}")
        return module

    def _check_sizes(
        self, function: str, process: int, number: int, numbers: RegisterValues
    ) -> None:
        """Check sizes that no earlier run has seen by the compiler's size rules for the ops."""
        with self._lock:
            native: CompiledProgram = self.compiled().native()
            saved = self.saved.functions[function]
            _, _, entries = native.entries(function, saved.grid)
            if not isinstance(entries, Sequence) or len(entries) != len(saved.entries):
                raise NeedsCompiler("sizes are new")
            own, other = (each[process].program for each in (saved.entries, entries))
            if not np.array_equal(own.code, other.code):
                raise NeedsCompiler("sizes are new")
            try:
                other.program.checks[number](numbers)
            except Exception as problem:
                raise NeedsCompiler(str(problem)) from problem


def _refused(path: str, problem: DamagedFile) -> SavedFileError:
    return SavedFileError(f"'{path}' is not a program that can be run: it {problem}")
