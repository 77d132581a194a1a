"""Saved programs on MPI ranks: each runs its own process's part of a function.

What needs the compiler on one rank needs it on all: they begin again together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...sharding.collective_matching import CollectiveSignature, DeviceState
from ...sharding.grid import Grid
from ..abi.arguments import InputError
from ..abi.arrays import Array
from ..abi.errors import NeedsCompiler
from ..commands import CommandFailed
from ..communicator import Communicator, RankError
from ..host.machine_errors import VirtualMachineError
from ..rank_calls import agree, check_rank_count, join_ranks, run_and_gather

if TYPE_CHECKING:
    from ..mpi import MpiCommunicator

RunOwn = Callable[[Communicator], list[Array]]
"""Runs the part of a communicator's process."""


def run_on_ranks(
    asked: Mapping[str, object],
    grid: Grid,
    inputs: Sequence[Array],
    inputs_per_rank: bool,
    devices: int,
    why: str | None,
    prepare: Callable[[], RunOwn],
) -> list[list[Array]]:
    """Run a function as one of all ranks; returns the results of all devices.

    - `asked`: what must be the same on all ranks;
    - `devices`: how many a rank has;
    - `why` this rank needs the compiler, if it does;
    - `prepare`: gets ready to run, and gives what runs.

    Raises NeedsCompiler on all ranks if one does, InputError and RankError.
    """
    communicator = join_ranks()
    try:
        communicator.begin()
        asked = {**asked, "grid": grid, "choice of --devices-per-rank": devices}
        agree(communicator, asked, inputs, inputs_per_rank)
        check_rank_count(grid, communicator, devices)
        _agree_to_run(communicator, why)
        return run_and_gather(communicator, devices, prepare())
    except _Elsewhere as problem:
        raise NeedsCompiler(str(problem)) from problem
    except Exception as problem:
        raise _common_error(communicator, problem) from problem


class _Elsewhere(Exception):
    """A rank cannot run the native code of the file, and has said so before it began."""


def _agree_to_run(communicator: MpiCommunicator, why: str | None) -> None:
    world = communicator.world
    able = CollectiveSignature("call", world.processes, "native code", "", "native code")
    found = communicator.exchange(world, DeviceState(able), (int(why is None),))
    for rank, (is_able,) in enumerate(found):
        if not is_able:
            raise _Elsewhere(why or f"rank {rank} cannot run its native code")


def _common_error(communicator: MpiCommunicator, problem: Exception) -> Exception:
    """What all ranks raise where one or some have failed."""
    from ..mpi_supervisor import RanksFailed

    if isinstance(problem, InputError):
        communicator.report(("input", str(problem)))
    elif isinstance(problem, CommandFailed | VirtualMachineError | NeedsCompiler):
        communicator.report(("compiler", str(problem)))
    elif not isinstance(problem, RanksFailed):
        text = str(problem) or type(problem).__name__
        communicator.report(("other", f"rank {communicator.process} failed: {text}"))
        return problem
    failure = communicator.verdict()
    content: Any = failure.content
    if failure.kind == "mismatch" or (failure.kind == "report" and content[0] == "compiler"):
        communicator.recover()
        return NeedsCompiler("a run has failed")
    if failure.kind == "timeout":
        found = communicator.timed_out(content)
        what = found.state.signature
        return RankError(f"'{what.kind if what else 'the end'}' {found.text()}")
    if failure.kind == "report":
        kind, text = content
        return InputError(text) if kind == "input" else RankError(text)
    rank, text = content
    return RankError(f"rank {rank} failed: {text.strip()}")
