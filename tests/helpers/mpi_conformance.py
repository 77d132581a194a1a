"""The conformance suite as one MPI rank: `mpiexec -n N python -m mpi4py mpi_conformance.py [K]`.

With K devices in each rank, a thread for each.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from breadth import NIGHTLY
from conformance import check
from mesh_opt.runtime import message_steps, message_writer
from mesh_opt.runtime.mpi import MpiCommunicator

if __name__ == "__main__":
    communicator = MpiCommunicator()
    if not any(name.startswith("MPIR_CVAR") for name in os.environ):
        # MPICH is not told to take this machine for several.
        is_pinned = "-bind-to" in sys.argv
        assert communicator.core_sharers == (1 if is_pinned else communicator.world.size)
    devices = next((int(each) for each in sys.argv[1:] if each.isdecimal()), 1)
    host = communicator.host(devices)
    count = communicator.world.size * devices

    def check_all() -> None:
        if host is None:
            check(communicator)
        else:
            host.run(check)

    check_all()
    if count < (7 if NIGHTLY else 5 if devices > 1 else 4):
        # Small pieces go the way of large ones, too, in more messages than one.
        message_steps.SMALL_BYTES, message_writer.MESSAGE_BYTES = 0, 24
        check_all()
    if communicator.process == 0:
        print("conforms")
