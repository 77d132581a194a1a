"""mesh-run as one MPI rank of which something goes wrong while it runs.

`mpiexec -n 2 python -P faulty_rank.py FAULT RANK FILE SECONDS mesh-run's arguments`: after the
program has begun and a moment has passed, the rank does what FAULT says. When it begins it writes
the time to FILE, which is there whatever becomes of the rank and its output. From then on ranks
wait for each other for so many SECONDS, and not before: a busy machine starts one of them later.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from mesh_opt.runtime.host.entry import EntryPoint
from mesh_opt.tools import mesh_run
from mesh_opt.tools.run.ranks import run_on_ranks

MOMENT = 0.2


def signalled(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


LATER: dict[str, Callable[[], None]] = {
    "is killed": signalled(signal.SIGKILL),
    "is stopped": signalled(signal.SIGSTOP),
    "is terminated": signalled(signal.SIGTERM),
    "runs into a bad address": signalled(signal.SIGSEGV),
    "is interrupted": signalled(signal.SIGINT),
    "aborts": os.abort,
    "leaves with 0": lambda: os._exit(0),
    "leaves with 3": lambda: os._exit(3),
}
"""While native code runs, in another thread."""


def _raise(error: BaseException) -> None:
    raise error


def _stop_mpi() -> None:
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(5)


AT_ONCE: dict[str, Callable[[], None]] = {
    "raises an exception": lambda: _raise(ValueError("lost")),
    "runs out of memory": lambda: _raise(MemoryError("a tensor of 8 bytes")),
    "ends its thread of Python": lambda: _raise(SystemExit(4)),
    "ends without a word": lambda: _raise(SystemExit(0)),
    "computes and does not come back": lambda: time.sleep(600),
    "ends MPI": _stop_mpi,
}
"""In the place of the program's native code."""


def main() -> None:
    # Tests without MPI read this file for the names of the faults.
    from mesh_opt.runtime.mpi.rank_supervisor import supervisor

    what, faulty_rank, file, seconds = sys.argv[1:5]
    is_faulty = os.environ.get("PMI_RANK", "0") == faulty_rank
    run = EntryPoint.call
    sys.argv[1:] = sys.argv[5:]

    def timed(*arguments: object) -> object:
        supervisor().timeout = float(seconds)
        return faulty(*arguments) if is_faulty else run(*arguments)  # type: ignore[arg-type]

    def faulty(*arguments: object) -> object:
        Path(file).write_text(str(time.time()))
        if what in LATER:
            threading.Timer(MOMENT, LATER[what]).start()
        else:
            AT_ONCE[what]()
        return run(*arguments)  # type: ignore[arg-type]

    EntryPoint.call = timed  # type: ignore[method-assign]

    def tool(arguments: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
        return mesh_run.main(arguments, stdin, stdout, stderr)

    sys.exit(run_on_ranks(tool))


if __name__ == "__main__":
    main()
