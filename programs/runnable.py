"""Compiled modules and the backends that run their functions.

`api.Program` adds the functions and pictures of the public API.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..interpreter import run as interpreter
from ..ir.diagnostics import OperationError
from ..ir.text.source import Source
from ..runtime.abi.arrays import Array
from ..runtime.abi.errors import ExecutionError
from ..runtime.direct_call import DirectCall
from ..runtime.host.timeline import Timeline
from ..sharding.grid import Grid
from ..tools.diagnostics import from_operation_error, render
from .backends import NATIVE, chosen_backend

if TYPE_CHECKING:
    from ..codegen.compile import CompiledProgram, DeviceStatistics

Backend = Callable[["RunnableModule", str, Sequence[Array]], list[Array]]
"""Runs a function of a program, given by name, on global inputs."""


class RunnableModule:
    """A compiled module, its source before all passes, and the settings of its runs."""

    def __init__(
        self,
        source: Callable[[], ModuleOp],
        module: ModuleOp,
        texts: Sequence[Source],
        backend: str,
        grid: Grid | None,
    ) -> None:
        """Keep the module, and how to get its source; errors quote `texts`.

        Raises ValueError for an unknown backend.
        """
        self._get_source = source
        self.module = module
        """The program after all passes."""
        self.grid = grid
        """Grid extents, for a program that leaves them dynamic."""
        self.devices: tuple[str, ...] | None = None
        """The kinds of the available devices; `None` means every device that the program names."""
        self.inputs_per_rank = False
        """With the backend `mpi`: whether each rank takes its shards from global arrays of its own,
        of the same shapes. Otherwise all ranks must pass the same inputs, which is checked.
        """
        self.devices_per_rank = 1
        """With the backend `mpi`: the number of grid processes that each rank runs as threads."""
        self.guard: bool | None = None
        """Whether native code runs with guard regions around its buffers (see `CompiledProgram`).
        """
        self.workers: int | None = None
        """The threads that share each device's work; `None` divides the available cores."""
        self.require_native = False
        """Whether an operation that only the interpreter can run is an error."""
        self.trace_host: Callable[[str], object] | None = None
        """Called with a line of text for each instruction of host code that was executed."""
        self.timeline: Timeline | None = None
        """Recorder of when kernels, copies and collectives of native code begin and end."""
        self._texts = tuple(texts)
        self._place = _Located(self._texts)
        self._backend = chosen_backend(backend, BACKENDS)
        self._native: dict[object, CompiledProgram] = {}
        self.direct_calls: dict[str, DirectCall] = {}
        """The functions that have run as native code on one device, with the present settings."""

    @property
    def source(self) -> ModuleOp:
        """Return the program before all passes."""
        return self._get_source()

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute. Calls may depend on it, so the next ones are not direct."""
        self.__dict__["direct_calls"] = {}
        super().__setattr__(name, value)

    def backend(self, name: str | None = None) -> Backend:
        """Return a backend by name, by default the program's. Raises ValueError if unknown."""
        return BACKENDS[chosen_backend(name, BACKENDS) if name else self._backend]

    def choose_backend(self, name: str) -> None:
        """Set the backend of later calls. Raises ValueError if it is unknown."""
        self._backend = chosen_backend(name, BACKENDS)

    def statistics(self) -> list[DeviceStatistics]:
        """Return the statistics of each device for the last run of native code.

        The list is empty before the first run. With the backend `mpi` this is a collective call.
        """
        if self._backend == "mpi" and self.native().device_statistics:
            from ..runtime.mpi.rank_calls import statistics_on_ranks

            return statistics_on_ranks(self.native().device_statistics)
        return self.native().device_statistics

    def native(self) -> CompiledProgram:
        """Return the program as native code for the available devices, created on first use.

        Its functions raise OperationError and InputError. Call them in `located` to get source
        locations.
        """
        options = (
            self.workers,
            self.devices,
            self.guard,
            self.require_native,
            self.trace_host,
            self.timeline,
        )
        found = self._native.get(options)
        if found is None:
            # Imported here because importing the native backend takes time.
            from ..codegen.compile import CompiledProgram

            found = self._native[options] = CompiledProgram(self.module, *options)
        return found

    @property
    def host_code(self) -> str:
        """The host code of the functions as text.

        Raises ExecutionError at the first operation that has no host code.
        """
        from ..codegen.host_code.lowering import host_code_text

        with self.located():
            return host_code_text(self.module)

    def located(self) -> _Located:
        """Return a context manager that converts OperationErrors to located ExecutionErrors."""
        return self._place

    def located_error(self, problem: OperationError) -> ExecutionError:
        """Return the located ExecutionError for an OperationError.

        A call that handles the error itself is faster than one in `located`.
        """
        return self._place.error(problem)


@dataclass(frozen=True, slots=True)
class _Located:
    """Context manager that converts OperationErrors to ExecutionErrors with source excerpts."""

    texts: tuple[Source, ...]

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, OperationError):
            raise self.error(problem) from problem

    def error(self, problem: OperationError) -> ExecutionError:
        """Return the ExecutionError with an excerpt of the source."""
        return ExecutionError(render(from_operation_error(problem), self.texts).rstrip())


def _run_with_interpreter(
    program: RunnableModule, function: str, inputs: Sequence[Array]
) -> list[Array]:
    return interpreter.run_partitioned(
        program.module, function, inputs, program.grid, program.devices
    )


def _run_natively(program: RunnableModule, function: str, inputs: Sequence[Array]) -> list[Array]:
    # If a setting changes during the run, the program has other direct calls from then on.
    known, native = program.direct_calls, program.native()
    results = native.run_partitioned(function, inputs, program.grid)
    direct = native.direct_calls.get(function)
    if direct is not None and program.grid is None and program.backend() is _run_natively:
        known[function] = direct
    return results


def _run_with_mpi(program: RunnableModule, function: str, inputs: Sequence[Array]) -> list[Array]:
    from ..codegen.ranks import run_on_ranks
    from ..runtime.communicator import RankError

    try:
        return run_on_ranks(
            program.native(),
            function,
            [np.asarray(each) for each in inputs],
            program.grid,
            program.inputs_per_rank,
            program.devices_per_rank,
        )
    except RankError as problem:
        raise ExecutionError(str(problem)) from problem


BACKENDS: dict[str, Backend] = {
    "interpreter": _run_with_interpreter,
    NATIVE: _run_natively,
    "mpi": _run_with_mpi,
}
"""The backends by name; `mpi` is for the ranks of `mpiexec -n N python -m mpi4py ...`."""
