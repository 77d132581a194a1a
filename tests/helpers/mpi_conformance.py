"""The conformance suite as one MPI rank: `mpiexec -n N python -m mpi4py mpi_conformance.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from breadth import NIGHTLY
from conformance import check
from mesh_opt.runtime import message_steps
from mesh_opt.runtime.mpi import MpiCommunicator

if __name__ == "__main__":
    communicator = MpiCommunicator()
    assert communicator.core_sharers == (1 if "-bind-to" in sys.argv else communicator.world.size)
    check(communicator)
    if communicator.world.size < (7 if NIGHTLY else 4):
        # Small pieces go the way of large ones, too, in more messages than one.
        message_steps.SMALL_BYTES, message_steps.MESSAGE_BYTES = 0, 24
        check(communicator)
    if communicator.process == 0:
        print("conforms")
