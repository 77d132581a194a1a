"""The conformance suite as one MPI rank: `mpiexec -n N python -m mpi4py mpi_conformance.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conformance import check
from mesh_opt.runtime.mpi import MpiCommunicator

if __name__ == "__main__":
    communicator = MpiCommunicator()
    check(communicator)
    if communicator.process == 0:
        print("conforms")
