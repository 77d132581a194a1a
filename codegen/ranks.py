"""Run a compiled program as one of several MPI ranks that all make the same calls.

Before a run, the ranks compare what they were asked to do: the program, the function, the grid, and
the shapes and contents of the inputs. If one rank fails, all ranks raise an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation

from ..interpreter.collective_signatures import mismatch_error
from ..interpreter.function_signatures import argument_types
from ..interpreter.global_values import GlobalValues, global_types, plain_types
from ..interpreter.run import boundaries, find_function, run_processes
from ..ir.attribute_access import symbol_name
from ..ir.diagnostics import Note, OperationError
from ..runtime.abi.arguments import InputError, checked_inputs
from ..runtime.abi.arrays import Array
from ..runtime.mpi.rank_calls import (
    agree_on_call,
    common_error,
    gather_devices,
    join_ranks,
    run_and_gather,
)
from ..sharding.grid import Grid
from .compile import CompiledProgram

if TYPE_CHECKING:
    from ..runtime.mpi.communicator import MpiCommunicator
    from ..runtime.mpi.failure_coordinator import Failure


def run_on_ranks(
    program: CompiledProgram,
    function: str,
    inputs: Sequence[Array],
    grid: Grid | None = None,
    inputs_per_rank: bool = False,
    devices_per_rank: int = 1,
) -> list[Array]:
    """Run a function as one of the MPI ranks that all call this; inputs and results are global.

    Each rank runs `devices_per_rank` consecutive devices of the grid. Inputs must be the same on
    all ranks. With `inputs_per_rank`, each rank scatters its own arrays and keeps its own part;
    their shapes must be the same on all ranks.

    Raises InputError if mpi4py is missing, if inputs do not agree, or if the grid does not have as
    many devices as the ranks provide; RankError if another rank fails for a reason outside of the
    program.
    """
    communicator = join_ranks()
    target = find_function(program.symbols, function)
    if grid is None and program.grid_of(function) is None:
        return program.run(function, inputs)
    run = _RankRun(program, communicator, target, devices_per_rank)
    return run.run(inputs, grid, inputs_per_rank)


class _RankRun:
    """One call of a function on one rank."""

    def __init__(
        self,
        program: CompiledProgram,
        communicator: MpiCommunicator,
        target: Operation,
        devices: int,
    ) -> None:
        self._program = program
        self._devices = devices
        self._communicator = communicator
        self._target = target
        communicator.use_operations(program.operations)

    def run(self, inputs: Sequence[Array], grid: Grid | None, inputs_per_rank: bool) -> list[Array]:
        """Run the function; if one rank fails, all ranks raise."""
        from ..runtime.mpi.failure_coordinator import RanksFailed

        try:
            self._communicator.begin()
            arguments, results = boundaries(self._target)
            running = self._grid(grid)
            types = global_types(argument_types(self._target), arguments)
            given = checked_inputs(plain_types(types), inputs)
            values = GlobalValues(self._target, arguments, results, running)
            self._agree(given, running, inputs_per_rank)
            return values.gathered(self._run(values.scattered(given), running))
        except RanksFailed as failed:
            raise self._error_of(failed.failure) from failed
        except Exception as error:
            self._communicator.report(self._report_of(error))
            raise

    def _run(self, inputs: Sequence[Sequence[Array]], grid: Grid) -> list[list[Array]]:
        """Run the function on this rank's part of the inputs; return the results of all devices."""
        communicator, target = self._communicator, self._target
        if not self._program.has_host_code(target, grid):
            # Each rank interprets all devices of the grid.
            symbols, devices = self._program.symbols, self._program.devices
            first = communicator.process * self._devices
            everything = gather_devices(communicator, inputs[first : first + self._devices])
            return run_processes(symbols, target, everything, grid, devices)
        everywhere = partial(run_and_gather, communicator, self._devices)
        return self._program.run_as_processes(everywhere, target, inputs, grid)

    def _grid(self, grid: Grid | None) -> Grid:
        name = symbol_name(self._target) or ""
        grid = grid or self._program.grid_of(name)
        if grid is None:
            raise InputError(f"@{name} is not partitioned")
        return grid

    def _agree(self, inputs: Sequence[Array], grid: Grid, inputs_per_rank: bool) -> None:
        """Compare the calls and inputs of all ranks, and check their number. Raises InputError."""
        call_parameters = {
            "program": self._program.digest,
            "function": symbol_name(self._target),
            "choice of devices": self._program.devices,
        }
        call = call_parameters, grid, self._devices
        agree_on_call(self._communicator, *call, inputs, inputs_per_rank, self._target)

    # Failures ---------------------------------------------------------------------------------

    def _report_of(self, error: Exception) -> tuple[object, ...]:
        """Return how an error is described to the other ranks."""
        rank = self._communicator.process
        if isinstance(error, OperationError):
            number = {op: place for place, op in enumerate(self._program.operations)}.get
            notes = [
                (note.message, note.operation and number(note.operation)) for note in error.notes
            ]
            return ("operation", number(error.operation), error.message, notes)
        if isinstance(error, InputError):
            return ("input", str(error))
        return ("other", f"rank {rank} failed: {error or type(error).__name__}")

    def _error_of(self, failure: Failure) -> Exception:
        """Return the exception that this rank raises for a failure that all ranks know of."""
        match failure.kind, failure.content:
            case "mismatch", states:
                return mismatch_error(self._communicator.mismatch(states), self._target)
            case "timeout", content:
                found = self._communicator.timed_out(content)
                operation = cast("Operation | None", found.state.operation)
                return OperationError(operation or self._target, found.text())
            case "report", ("operation", number, message, notes):
                places = cast("list[tuple[str, int | None]]", notes)
                found = [Note(text, self._operation(at)) for text, at in places]
                return OperationError(self._operation(number) or self._target, message, found)
            case _:
                return common_error(failure)

    def _operation(self, number: int | None) -> Operation | None:
        return None if number is None else self._program.operations[number]
