"""Saved programs on MPI ranks: each rank runs the parts of its own processes.

If one rank needs the compiler, all fall back to it together.
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
from ..mpi.rank_calls import agree_on_call, common_error, join_ranks, run_and_gather

if TYPE_CHECKING:
    from ..mpi.communicator import MpiCommunicator

RunOwn = Callable[[Communicator], list[Array]]
"""Runs the part of a communicator's process."""


def run_on_ranks(
    call_parameters: Mapping[str, object],
    grid: Grid,
    inputs: Sequence[Array],
    inputs_per_rank: bool,
    devices: int,
    needs_compiler_reason: str | None,
    prepare: Callable[[], RunOwn],
) -> list[list[Array]]:
    """Run a function on all ranks; return the results of all devices. A collective call.

    - `call_parameters`: values that must be equal on all ranks;
    - `devices`: the number of devices per rank;
    - `needs_compiler_reason`: the reason that this rank needs the compiler, or `None`;
    - `prepare`: prepares the run and returns the function that runs it.

    Raises NeedsCompiler on all ranks if one needs it, InputError and RankError.
    """
    communicator = join_ranks()
    try:
        communicator.begin()
        agree_on_call(communicator, call_parameters, grid, devices, inputs, inputs_per_rank)
        _agree_to_run(communicator, needs_compiler_reason)
        return run_and_gather(communicator, devices, prepare())
    except _Elsewhere as problem:
        raise NeedsCompiler(str(problem)) from problem
    except Exception as problem:
        raise _error_of_all(communicator, problem) from problem


class _Elsewhere(Exception):
    """A rank cannot run the native code of the file; found out before the run."""


def _agree_to_run(communicator: MpiCommunicator, reason: str | None) -> None:
    world = communicator.world
    able = CollectiveSignature("call", world.processes, "native code", "", "native code")
    found = communicator.exchange(world, DeviceState(able), (int(reason is None),))
    for rank, (is_able,) in enumerate(found):
        if not is_able:
            raise _Elsewhere(reason or f"rank {rank} cannot run its native code")


def _error_of_all(communicator: MpiCommunicator, problem: Exception) -> Exception:
    """Return the error that all ranks raise if some have failed."""
    from ..mpi.failure_coordinator import RanksFailed

    if isinstance(problem, InputError):
        communicator.report(("input", str(problem)))
    elif isinstance(problem, CommandFailed | VirtualMachineError | NeedsCompiler):
        communicator.report(("compiler", str(problem)))
    elif not isinstance(problem, RanksFailed):
        text = str(problem) or type(problem).__name__
        communicator.report(("other", f"rank {communicator.process} failed: {text}"))
        return problem
    failure = communicator.ranks.verdict()
    content: Any = failure.content
    if failure.kind == "mismatch" or (failure.kind == "report" and content[0] == "compiler"):
        communicator.recover()
        return NeedsCompiler("a run has failed")
    if failure.kind == "timeout":
        found = communicator.timed_out(content)
        signature = found.state.signature
        return RankError(f"'{signature.kind if signature else 'the end'}' {found.text()}")
    return common_error(failure)
