"""Calls of a function by all MPI ranks: agree on the call, and exchange inputs and results."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from itertools import chain
from math import prod
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from ...sharding.collective_matching import ENDED, CollectiveSignature, DeviceState
from ...sharding.grid import Grid
from ..abi.arguments import InputError
from ..abi.arrays import Array, shape_phrase
from ..abi.elements import integer_element
from ..collectives import gather_of_vectors
from ..communicator import Communicator, RankError, as_bytes
from ..host.entry import DeviceMemory, DeviceStatistics
from ..host.timeline import Event, Timeline

if TYPE_CHECKING:
    from .communicator import MpiCommunicator
    from .failure_coordinator import Failure


_LIBRARY_NAMES = ("MPI4PY_LIBMPI", "MPI4PY_MPIABI")
"""Environment variables that tell mpi4py which MPI library to load."""


def join_ranks() -> MpiCommunicator:
    """Return this process's communicator. Raises InputError without mpi4py or MPI."""
    try:
        from .communicator import world_communicator
    except (ImportError, RuntimeError) as error:
        raise InputError(f"running on MPI ranks {missing_mpi(error)}") from error
    return world_communicator()


def missing_mpi(problem: BaseException) -> str:
    """Return an import error of mpi4py as "needs ...": the libraries tried, and a remedy."""
    head, *tried = str(problem).splitlines()
    found = "; ".join(dict.fromkeys((*tried, *([] if tried else [head]))))
    set_here = [f"{name}={os.environ[name]}" for name in _LIBRARY_NAMES if name in os.environ]
    given = f", with {' '.join(set_here)} in the environment" if set_here else ""
    return (
        f"needs mpi4py and an MPI library: {found}{given}. pip install 'mesh-opt[mpi]' installs"
        " mpi4py and MPICH; MPI4PY_LIBMPI=<path of libmpi.so> names the library of another MPI"
    )


def _check_rank_count(grid: Grid, communicator: Communicator, devices: int) -> None:
    """Raise InputError unless all ranks together have as many devices as the grid."""
    count, ranks = grid.device_count(), communicator.world.size
    if count == ranks * devices:
        return
    run = f"{ranks} ranks run" if devices == 1 else f"{ranks} ranks of {devices} devices run"
    wanted = count if count % devices else count // devices
    advice = f"start it with --ranks={wanted} or mpiexec -n {wanted}"
    if devices == 1 and count % ranks == 0 and ranks > 1:
        advice += f", or with --devices-per-rank={count // ranks}"
    elif count % devices:
        advice += " and without --devices-per-rank"
    raise InputError(f"grid @{grid.name} has {count} devices, but {run}: {advice}")


def agree_on_call(
    communicator: Communicator,
    call_parameters: Mapping[str, object],
    grid: Grid,
    devices_per_rank: int,
    inputs: Sequence[Array],
    inputs_per_rank: bool,
    operation: object = None,
) -> None:
    """Compare a call and its inputs between all ranks, and check the number of ranks.

    `call_parameters` maps names for the error message to values that must be equal. Raises
    InputError.
    """
    world = communicator.world
    call = CollectiveSignature("call", world.processes, "a function", "", "a function")
    call_parameters = {
        **call_parameters,
        "grid": grid,
        "choice of --devices-per-rank": devices_per_rank,
        "choice of --inputs-per-rank": inputs_per_rank,
    }
    sizes = tuple(size for array in inputs for size in array.shape)
    contents = [_content(array, inputs_per_rank) for array in inputs]
    numbers = (*(crc32(str(each).encode()) for each in call_parameters.values()), *sizes, *contents)
    found = communicator.exchange(world, DeviceState(call, operation), numbers)
    for rank, theirs in enumerate(found):
        for name, one, other in zip(call_parameters, found[0], theirs, strict=False):
            if one != other:
                raise InputError(f"rank {rank} has another {name} than rank 0")
    given = [each[len(call_parameters) :] for each in found]
    _compare_inputs(inputs, given, inputs_per_rank)
    _check_rank_count(grid, communicator, devices_per_rank)


def agree_on_steps(steps: int, done: int) -> None:
    """Compare between all ranks the number of steps and the step after which they resume.

    Raises InputError if they differ: a rank would wait for calls that others do not make.
    """
    communicator = join_ranks()
    with _asked_by_all("the same number of steps", "--steps"):
        communicator.begin()
        found = communicator.exchange(communicator.world, ENDED, (steps, done))
    for rank, (wanted, begun) in enumerate(found):
        if wanted != found[0][0]:
            raise InputError(
                f"rank {rank} runs {wanted} steps, rank 0 runs {found[0][0]}: give all ranks the"
                " same --steps"
            )
        if begun != found[0][1]:
            raise InputError(
                f"rank {rank} resumes after step {begun}, rank 0 after step {found[0][1]}: give"
                " all ranks a --checkpoint folder that they share"
            )


def _compare_inputs(
    inputs: Sequence[Array], given: Sequence[Sequence[int]], inputs_per_rank: bool
) -> None:
    """Compare the shapes of all ranks' inputs, then their contents. Raises InputError."""
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
                    f"input {position} differs between rank {rank} and rank 0: all ranks must be "
                    "given the same inputs, unless each takes its part of its own "
                    "(--inputs-per-rank)"
                )


def _content(array: Array, inputs_per_rank: bool) -> int:
    """Return the bits of a scalar input, or a checksum (0 if ranks have inputs of their own)."""
    data = as_bytes(np.asarray(array, order="C"))
    if array.ndim == 0:
        return int.from_bytes(data.tobytes(), "little")
    return 0 if inputs_per_rank else crc32(data.data)


def gather_everywhere(communicator: Communicator, arrays: Sequence[Array]) -> list[list[Array]]:
    """Gather the arrays of every process on every process; shapes may differ."""
    world = communicator.world
    element = integer_element(8)
    own = tuple(size for array in arrays for size in array.shape)
    sizes = [iter(each) for each in communicator.exchange(world, ENDED, own)]
    everywhere: list[list[Array]] = [[] for _ in world.processes]
    for array in arrays:
        shapes = [tuple(next(each) for _ in array.shape) for each in sizes]
        lengths = [prod(shape) * array.itemsize for shape in shapes]
        flat = as_bytes(np.asarray(array, order="C")).view(np.int8)
        gather = gather_of_vectors(world, element, lengths)
        parts = np.split(communicator.perform(gather, flat), np.cumsum(lengths)[:-1])
        for found, part, shape in zip(everywhere, parts, shapes, strict=True):
            found.append(part.copy().view(array.dtype).reshape(shape))
    return everywhere


def common_error(failure: Failure) -> Exception:
    """Return the error that all ranks raise for a reported input or another failure of a rank."""
    match failure.kind, failure.content:
        case "report", ("input", text):
            return InputError(text)
        case "report", (_, text):
            return RankError(text)
        case _, (rank, text):
            return RankError(f"rank {rank} failed: {text.strip()}")
        case _:
            return RankError(str(failure))


def run_and_gather(
    communicator: MpiCommunicator, devices: int, run: Callable[[Communicator], list[Array]]
) -> list[list[Array]]:
    """Run a function on each device of this rank, as all ranks do; return all devices' results."""
    threads = communicator.threads(devices)
    own = [run(communicator)] if threads is None else threads.run(run)
    communicator.end()
    return gather_devices(communicator, own)


def gather_devices(communicator: Communicator, own: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Gather the arrays of all devices; each device has the same number of them."""
    everywhere = gather_everywhere(communicator, [array for each in own for array in each])
    count = len(own[0])
    return [
        arrays[count * device : count * (device + 1)]
        for arrays in everywhere
        for device in range(len(own))
    ]


@contextmanager
def _asked_by_all(what: str, options: str = "--statistics and --trace") -> Generator[None]:
    """Raise InputError if another rank fails or does not make the collective call in the block."""
    from .failure_coordinator import RanksFailed

    try:
        yield
    except RanksFailed as problem:
        failure = problem.failure
        if failure.kind == "exit":
            rank, text = failure.content
            said = text.strip().removeprefix("mesh-run: ")
            raise InputError(f"rank {rank} failed: {said}") from problem
        raise InputError(
            f"not all ranks request {what}: give {options} to all or to none"
        ) from problem


def timeline_of_ranks(own: Timeline) -> Timeline:
    """Return the events of all ranks by the clock of rank 0; a collective call.

    Raises InputError if other ranks do not take part.
    """
    communicator = join_ranks()
    with _asked_by_all("a timeline"):
        return _timeline_of_all(own, communicator)


def _timeline_of_all(own: Timeline, communicator: Communicator) -> Timeline:
    world = communicator.world
    communicator.exchange(world, ENDED, ())
    # All ranks read their clocks after the same exchange; processes of one machine share a clock.
    here = crc32(platform.node().encode())
    clocks = communicator.exchange(world, ENDED, (here, perf_counter_ns()))
    events: list[Event] = []
    everywhere = _gathered_rows(communicator, own.events)
    for (host, now), rows in zip(clocks, everywhere, strict=True):
        shift = clocks[0][1] - now if host != clocks[0][0] else 0
        for row in rows:
            kind, name, process, device, start, end, amount, group, number = row
            times = start + shift, end + shift
            more = tuple(group), tuple(number)
            events.append(Event(kind, name, process, device, *times, amount, *more))
    origin = min([own.origin, *(each.start for each in events)])
    return Timeline(events, origin)


def statistics_on_ranks(rows: Sequence[DeviceStatistics]) -> list[DeviceStatistics]:
    """Return the statistics of the devices of all ranks for the last run; a collective call.

    `rows` are those of this rank. Raises InputError if other ranks do not take part.
    """
    with _asked_by_all("statistics"):
        everywhere = _gathered_rows(join_ranks(), rows)
    return [
        DeviceStatistics(name, DeviceMemory(*memory), *more)
        for name, memory, *more in chain.from_iterable(everywhere)
    ]


def _gathered_rows(
    communicator: Communicator, own: Sequence[Event | DeviceStatistics]
) -> list[list[Any]]:
    """Gather records from all ranks, each as a list of its fields; a collective call."""
    text = json.dumps([astuple(each) for each in own]).encode()
    everywhere = gather_everywhere(communicator, [np.frombuffer(text, np.uint8)])
    return [json.loads(data.tobytes()) for (data,) in everywhere]
