"""The conformance suite as one MPI rank: `mpiexec -n N python -m mpi4py mpi_conformance.py [K]`.

With K devices in each rank, a thread for each.
"""

import os
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from breadth import NIGHTLY
from conformance import check
from mesh_opt.runtime.abi.elements import F32, I64
from mesh_opt.runtime.collectives import Collective, group_of
from mesh_opt.runtime.communicator import RankError
from mesh_opt.runtime.messages import collective_steps, step_writer
from mesh_opt.runtime.mpi.communicator import MpiCommunicator
from mesh_opt.runtime.mpi.failure_coordinator import RanksFailed
from mesh_opt.runtime.saved import ranks
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import ReductionKind


def check_mismatch(communicator: MpiCommunicator) -> None:
    """All ranks are told what two have reached."""
    count = communicator.world.size
    group = group_of(Grid("g", (count,)), communicator.process, (0,))
    kinds = list(ReductionKind)[:count]
    own = kinds[communicator.process]
    collective = Collective("all_reduce", group, (2,), I64, (2,), I64, reduction=own)
    try:
        communicator.perform(collective, np.ones(2, np.int64))
    except RanksFailed as failed:
        states = communicator.mismatch(failed.failure.content).states
        assert len(states) == 2
        for rank, state in states.items():
            assert state.signature is not None
            assert kinds[rank].value in state.signature.text(), state.signature
        return
    raise AssertionError("reductions of several kinds match")


def check_report(communicator: MpiCommunicator) -> None:
    """A fault of one rank is what all raise, as an error of that rank."""
    group = group_of(Grid("g", (communicator.world.size,)), communicator.process, (0,))
    collective = Collective("broadcast", group, (2,), F32, (2,), F32, root=0)
    fault = ValueError("no luck")
    try:
        if communicator.process == 0:
            raise fault
        communicator.perform(collective, np.ones(2, np.float32))
    except Exception as problem:
        found = ranks._error_of_all(communicator, problem)
    if communicator.process == 0:
        assert found is fault
    else:
        assert isinstance(found, RankError)
        assert str(found) == "rank 0 failed: no luck"


if __name__ == "__main__":
    communicator = MpiCommunicator()
    if not any(name.startswith("MPIR_CVAR") for name in os.environ):
        # MPICH is not told to take this machine for several.
        is_pinned = "-bind-to" in sys.argv
        assert communicator.core_sharers == (1 if is_pinned else communicator.world.size)
    devices = next((int(each) for each in sys.argv[1:] if each.isdecimal()), 1)
    threads = communicator.threads(devices)
    count = communicator.world.size * devices

    def check_all(*, in_a_row: bool = False) -> None:
        check_it = partial(check, in_a_row=in_a_row)
        if threads is None:
            check_it(communicator)
        else:
            threads.run(check_it)

    check_all()
    if count < (7 if NIGHTLY else 5 if devices > 1 else 4):
        # Small pieces go the way of large ones, too, in more messages than one.
        collective_steps.SMALL_BYTES, step_writer.MESSAGE_BYTES = 0, 24
        check_all(in_a_row=not NIGHTLY)
    if devices == 1:
        check_mismatch(communicator)
        communicator.recover()
        check_report(communicator)
    if communicator.process == 0:
        print("conforms")
