"""Modules after their passes, and what runs their functions.

`api.Program` is one with the functions and pictures that a user sees.
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
from ..runtime.host.timeline import Timeline
from ..sharding.grid import Grid
from ..tools.diagnostics import from_operation_error, render

if TYPE_CHECKING:
    from ..codegen.compile import CompiledProgram, DeviceStatistics

Backend = Callable[["RunnableModule", str, Sequence[Array]], list[Array]]
"""Runs a function of a program, by its name, on global inputs."""


class RunnableModule:
    """A module, its source before all passes, and how its functions are run."""

    def __init__(
        self,
        source: ModuleOp,
        module: ModuleOp,
        texts: Sequence[Source],
        backend: str,
        grid: Grid | None,
    ) -> None:
        """`texts` are what errors quote. Raises ValueError for an unknown backend."""
        self.source = source
        """The program before all passes."""
        self.module = module
        """The program after all passes."""
        self.grid = grid
        """Extents for a grid that the program leaves open."""
        self.devices: tuple[str, ...] | None = None
        """The kinds of the devices at hand; `None`: whatever the program names exists."""
        self.inputs_per_rank = False
        """With the backend `mpi`: whether each rank takes its part of whole arrays of its own, of
        the same shapes; else all must be given the same, which is looked at."""
        self.devices_per_rank = 1
        """With the backend `mpi`: how many devices of the grid each rank is, a thread for each."""
        self.guard: bool | None = None
        """Whether native code runs with guards around its buffers; as in `CompiledProgram`."""
        self.workers: int | None = None
        """How many threads share the work of each device of native code; `None`: the cores at
        hand, shared out over the devices."""
        self.require_native = False
        """Whether it is an error if the interpreter has to carry out an operation."""
        self.trace_host: Callable[[str], object] | None = None
        """What is given a line about each instruction of host code that was carried out."""
        self.timeline: Timeline | None = None
        """What is told when kernels, copies and collectives of native code began and ended."""
        self._texts = tuple(texts)
        self._place = _Located(self._texts)
        self._backend = backend
        self._native: dict[object, CompiledProgram] = {}
        self.backend()

    def backend(self, name: str | None = None) -> Backend:
        """A backend by name, the program's own by default. Raises ValueError."""
        found = BACKENDS.get(name or self._backend)
        if found is None:
            raise ValueError(
                f"there is no backend '{name or self._backend}'; there are {', '.join(BACKENDS)}"
            )
        return found

    def choose_backend(self, name: str) -> None:
        """Let functions run with another backend. Raises ValueError if there is none."""
        self.backend(name)
        self._backend = name

    def statistics(self) -> list[DeviceStatistics]:
        """What each device did and held in the last run of native code.

        Empty before the first one. With the backend `mpi` all ranks must ask.
        """
        if self._backend == "mpi" and self.native().device_statistics:
            from ..runtime.rank_calls import statistics_on_ranks

            return statistics_on_ranks(self.native().device_statistics)
        return self.native().device_statistics

    def native(self) -> CompiledProgram:
        """The program as native code for the devices at hand, made when it is first asked for.

        Its functions raise OperationError and InputError; in `located` these have places.
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
            # The backend takes time to import: only for who wants it.
            from ..codegen.compile import CompiledProgram

            found = self._native[options] = CompiledProgram(self.module, *options)
        return found

    @property
    def host_code(self) -> str:
        """The instructions that run the functions on a device, as text.

        Raises ExecutionError at the first operation that has none.
        """
        from ..codegen.host_code.lowering import host_code_text

        with self.located():
            return host_code_text(self.module)

    def located(self) -> _Located:
        """A `with` block in which errors of operations become ExecutionErrors."""
        return self._place


@dataclass(frozen=True, slots=True)
class _Located:
    """Turns OperationErrors into ExecutionErrors with a place and an excerpt of the source."""

    texts: tuple[Source, ...]

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, OperationError):
            text = render(from_operation_error(problem), self.texts).rstrip()
            raise ExecutionError(text) from problem


def _run_with_interpreter(
    program: RunnableModule, function: str, inputs: Sequence[Array]
) -> list[Array]:
    return interpreter.run_partitioned(
        program.module, function, inputs, program.grid, program.devices
    )


def _run_with_numba(program: RunnableModule, function: str, inputs: Sequence[Array]) -> list[Array]:
    return program.native().run_partitioned(function, inputs, program.grid)


def _run_with_mpi(program: RunnableModule, function: str, inputs: Sequence[Array]) -> list[Array]:
    from ..codegen.ranks import RankError, run_on_ranks

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
    "numba": _run_with_numba,
    "mpi": _run_with_mpi,
}
"""What programs can be run with; `mpi` is for the ranks of `mpiexec -n N python -m mpi4py ...`."""
