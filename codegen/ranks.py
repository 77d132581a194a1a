"""Run a compiled program as one of many MPI ranks, which all do the same.

Ranks compare what they are asked to run, and on which inputs, before they begin: the program, the
function, the grid, shapes, and what inputs hold. A failure of one is an exception on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, cast
from zlib import crc32

import numpy as np
from xdsl.ir import Operation

from ..interpreter.entry_points import argument_types
from ..interpreter.run import (
    boundaries,
    find_function,
    gathered,
    global_types,
    plain_types,
    run_processes,
    scattered,
)
from ..interpreter.signatures import mismatch_error
from ..ir.attribute_access import symbol_name
from ..ir.diagnostics import Note, OperationError
from ..runtime.abi.arguments import InputError, checked_inputs
from ..runtime.abi.elements import integer_element
from ..runtime.abi.values import Array, shape_phrase
from ..runtime.collectives import Collective
from ..runtime.commands import DeviceMemory
from ..runtime.communicator import Communicator, RankError, as_bytes
from ..runtime.host.entry import DeviceStatistics
from ..sharding.collective_matching import ENDED, CollectiveSignature, DeviceState
from ..sharding.collectives import ALL_GATHER
from ..sharding.grid import Grid
from .compile import CompiledProgram

if TYPE_CHECKING:
    from ..runtime.mpi import MpiCommunicator
    from ..runtime.mpi_supervisor import Failure


def run_on_ranks(
    program: CompiledProgram,
    function: str,
    inputs: Sequence[Array],
    grid: Grid | None = None,
    inputs_per_rank: bool = False,
) -> list[Array]:
    """Run a function as one of the MPI ranks that all call this; inputs and results are global.

    Inputs must be the same on all ranks. With `inputs_per_rank` each rank takes its part of arrays
    of its own, which have the same shapes. Raises InputError without mpi4py, for inputs that do not
    agree, and where the grid is not of as many devices as there are ranks; RankError where another
    rank fails for a reason that is not in the program.
    """
    try:
        from ..runtime.mpi import world_communicator
    except (ImportError, RuntimeError) as error:
        message = "running on MPI ranks needs mpi4py and MPI: pip install 'mesh-opt[mpi]'"
        raise InputError(message) from error
    target = find_function(program.symbols, function)
    if grid is None and program.grid_of(function) is None:
        return program.run(function, inputs)
    run = _RankRun(program, world_communicator(), target)
    return run.run(inputs, grid, inputs_per_rank)


def statistics_on_ranks(program: CompiledProgram) -> list[DeviceStatistics]:
    """What the devices of all ranks did in the last run; all ranks must ask."""
    from ..runtime.mpi import world_communicator

    rows = program.device_statistics
    names = "\0".join(each.name for each in rows).encode()
    numbers = [
        (
            -1 if each.process is None else each.process,
            each.memory.arena_bytes,
            each.memory.transient_bytes,
            each.memory.constant_bytes,
            each.memory.boundary_bytes,
            each.dispatches,
            each.received_bytes,
        )
        for each in rows
    ]
    own = [np.frombuffer(names, np.uint8), np.array(numbers, np.int64).reshape(len(rows), 7)]
    found: list[DeviceStatistics] = []
    for text, table in _gather_everywhere(world_communicator(), own):
        for name, row in zip(text.tobytes().decode().split("\0"), table.tolist(), strict=False):
            process, *memory, dispatches, received = row
            sizes = DeviceMemory(name, *memory)
            at = None if process < 0 else process
            found.append(DeviceStatistics(name, sizes, dispatches, received, at))
    return found


class _RankRun:
    """One call of a function on one rank."""

    def __init__(
        self,
        program: CompiledProgram,
        communicator: MpiCommunicator,
        target: Operation,
    ) -> None:
        self._program = program
        self._communicator = communicator
        self._target = target
        communicator.use_operations(program.operations)

    def run(self, inputs: Sequence[Array], grid: Grid | None, inputs_per_rank: bool) -> list[Array]:
        """Run it; where one rank fails, all of them raise."""
        from ..runtime.mpi_supervisor import RanksFailed

        self._communicator.begin()
        try:
            arguments, results = boundaries(self._target)
            running = self._grid(grid)
            types = global_types(argument_types(self._target), arguments)
            given = checked_inputs(plain_types(types), inputs)
            self._agree(given, running, inputs_per_rank)
            local = scattered(self._target, arguments, given, running)
            everywhere = self._run(local[self._communicator.process], running)
            return gathered(self._target, results, everywhere, running)
        except RanksFailed as failed:
            raise self._error_of(failed.failure) from failed
        except Exception as error:
            self._communicator.report(self._report_of(error))
            raise

    def _run(self, inputs: Sequence[Array], grid: Grid) -> list[list[Array]]:
        """Run the function on this rank's inputs; returns the results of all ranks."""
        communicator, target = self._communicator, self._target
        if not self._program.has_host_code(target, grid):
            # Each rank interprets the whole grid.
            symbols, devices = self._program.symbols, self._program.devices
            everything = _gather_everywhere(communicator, inputs)
            return run_processes(symbols, target, everything, grid, devices)
        own = self._program.run_as_process(communicator, target, inputs, grid)
        communicator.end()
        return _gather_everywhere(communicator, own)

    def _grid(self, grid: Grid | None) -> Grid:
        name = symbol_name(self._target) or ""
        grid = grid or self._program.grid_of(name)
        if grid is None:
            raise InputError(f"@{name} is not partitioned")
        count, ranks = grid.device_count(), self._communicator.world.size
        if count != ranks:
            raise InputError(
                f"grid @{grid.name} has {count} devices, but {ranks} ranks run: start it with"
                f" mpiexec -n {count}"
            )
        return grid

    # What ranks must have in common -----------------------------------------------------------

    def _agree(self, inputs: Sequence[Array], grid: Grid, inputs_per_rank: bool) -> None:
        """Compare calls and inputs of all ranks.

        Raises InputError where inputs differ that should not.
        """
        world = self._communicator.world
        call = CollectiveSignature("call", world.processes, "a function", "", "a function")
        asked = {
            "program": self._program.digest,
            "function": symbol_name(self._target),
            "grid": grid,
            "choice of devices": self._program.devices,
            "choice of --inputs-per-rank": inputs_per_rank,
        }
        sizes = tuple(size for array in inputs for size in array.shape)
        contents = [_content(array, inputs_per_rank) for array in inputs]
        numbers = (*(crc32(str(each).encode()) for each in asked.values()), *sizes, *contents)
        found = self._communicator.exchange(world, DeviceState(call, self._target), numbers)
        for rank, theirs in enumerate(found):
            for what, one, other in zip(asked, found[0], theirs, strict=False):
                if one != other:
                    raise InputError(f"rank {rank} has another {what} than rank 0")
        given = [each[len(asked) :] for each in found]
        _compare_inputs(inputs, given, inputs_per_rank)

    # Failures ---------------------------------------------------------------------------------

    def _report_of(self, error: Exception) -> tuple[object, ...]:
        """What other ranks are told of an error."""
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
        """What this rank raises for a failure that others know, too."""
        match failure.kind, failure.content:
            case "mismatch", states:
                return mismatch_error(self._communicator.mismatch(states), self._target)
            case "report", ("operation", number, message, notes):
                places = cast("list[tuple[str, int | None]]", notes)
                found = [Note(text, self._operation(at)) for text, at in places]
                return OperationError(self._operation(number) or self._target, message, found)
            case "report", ("input", text):
                return InputError(text)
            case "report", (_, text):
                return RankError(text)
            case _, (rank, text):
                return RankError(f"rank {rank} failed: {text.strip()}")
            case _:
                return RankError(str(failure))

    def _operation(self, number: int | None) -> Operation | None:
        return None if number is None else self._program.operations[number]


def _compare_inputs(
    inputs: Sequence[Array], given: Sequence[Sequence[int]], inputs_per_rank: bool
) -> None:
    """Compare the sizes of all ranks' inputs, and then what they hold. Raises InputError."""
    first = given[0]
    for rank, theirs in enumerate(given):
        start = 0
        for position, array in enumerate(inputs):
            end = start + array.ndim
            if theirs[start:end] != first[start:end]:
                raise InputError(
                    f"input {position} has {shape_phrase(tuple(first[start:end]))} on rank 0, but"
                    f" {shape_phrase(tuple(theirs[start:end]))} on rank {rank}: all ranks must be"
                    " given the same shapes"
                )
            start = end
        for position in range(0 if inputs_per_rank else len(inputs)):
            if theirs[start + position] != first[start + position]:
                raise InputError(
                    f"input {position} holds something else on rank {rank} than on rank 0: all"
                    " ranks must be given the same inputs, unless each is to take its part of its"
                    " own (--inputs-per-rank)"
                )


def _content(array: Array, inputs_per_rank: bool) -> int:
    """A number that tells what an input holds: of a scalar its bits, else a check sum."""
    data = as_bytes(np.asarray(array, order="C"))
    if array.ndim == 0:
        return int.from_bytes(data.tobytes(), "little")
    return 0 if inputs_per_rank else crc32(data.data)


def _gather_everywhere(communicator: Communicator, arrays: Sequence[Array]) -> list[list[Array]]:
    """Every process's arrays, of shapes that may differ, for each process."""
    world = communicator.world
    element = integer_element(8)
    own = tuple(size for array in arrays for size in array.shape)
    sizes = [iter(each) for each in communicator.exchange(world, ENDED, own)]
    everywhere: list[list[Array]] = [[] for _ in world.processes]
    for array in arrays:
        shapes = [tuple(next(each) for _ in array.shape) for each in sizes]
        lengths = [prod(shape) * array.itemsize for shape in shapes]
        flat = as_bytes(np.asarray(array, order="C")).view(np.int8)
        gather = Collective(
            ALL_GATHER.name,
            world,
            flat.shape,
            element,
            (sum(lengths),),
            element,
            shapes=tuple((length,) for length in lengths),
        )
        parts = np.split(communicator.perform(gather, flat), np.cumsum(lengths)[:-1])
        for found, part, shape in zip(everywhere, parts, shapes, strict=True):
            found.append(part.copy().view(array.dtype).reshape(shape))
    return everywhere
