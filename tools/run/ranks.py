"""Run a console script as one of several MPI ranks that start and end together.

`mpiexec -n 4 mesh-run ...` starts the script four times. MPI is initialised before anything can
fail. Only rank 0 prints. A failure on any rank, even a wrong option, ends all of them with one
message.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from ...programs.backends import NATIVE, backend_name
from ..command_line import values_of
from ..console import STDOUT_CLOSED, Main, exit_code_of, open_streams, run_console

MPI = "mpi"
"""The name of the backend that runs on ranks."""

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables with the number of processes: of MPICH and Intel MPI, Open MPI, and Slurm."""

END_VARIABLE = "MESH_OPT_END_OF_RANKS"
"""The environment variable with the name of a file to which rank 0 writes the common exit code.

If the system kills a rank, the file is not written, although mpiexec may return 0.
"""


def process_file(end: str | os.PathLike[str], rank: int) -> Path:
    """Return the file next to that of END_VARIABLE to which a rank writes its process id."""
    return Path(f"{os.fspath(end)}.{rank}")


_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


def default_backend() -> str:
    """Return the default backend: `mpi` if there are several ranks, otherwise `native`."""
    sizes = [os.environ.get(name, "") for name in SIZES]
    return MPI if any(size.isdecimal() and int(size) > 1 for size in sizes) else NATIVE


def runs_on_ranks(argv: Sequence[str]) -> bool:
    """Return whether to run on MPI ranks: the backend is `mpi`, or there are several ranks.

    The arguments may be invalid.
    """
    is_rank = default_backend() == MPI
    if values_of(argv, "ranks"):
        # `--ranks` starts the ranks first, and is an error on one.
        return is_rank
    return is_rank or _backend(argv) == MPI


def _backend(argv: Sequence[str]) -> str:
    return backend_name([default_backend(), *values_of(argv, "backend")][-1])


def _disagreement(backends: Sequence[str]) -> str | None:
    """Return an error message if the ranks use different backends: some would wait forever."""
    for rank, backend in enumerate(backends):
        if backend != backends[0]:
            return (
                f"mesh-run: rank 0 runs with --backend={backends[0]}, and rank {rank} with"
                f" --backend={backend}: all ranks must run with one\n"
            )
    return None


def _say_once(problem: str) -> int:
    """Let one process report why none can start; return the exit code."""
    if all(os.environ.get(name, "0") == "0" for name in _RANKS):
        sys.stderr.write(f"mesh-run: {problem}\n")
    return 1


def run_on_ranks(main: Main) -> int:
    """Run a tool on the process's arguments and streams, together with all other ranks.

    Returns the exit code, which is 0 only if it is 0 on all ranks.
    """
    has_output = open_streams()
    backend = _backend(sys.argv[1:])
    try:
        from ...runtime.mpi.rank_supervisor import supervisor

        ranks = supervisor()
    except (ImportError, RuntimeError) as problem:
        if backend != MPI:
            return run_console(main)
        from ...runtime.mpi.rank_calls import missing_mpi

        return _say_once(f"--backend=mpi {missing_mpi(problem)}")
    except ValueError as problem:
        return _say_once(str(problem))
    end_file = os.environ.get(END_VARIABLE)
    if end_file is not None:
        process_file(end_file, ranks.rank).write_text(str(os.getpid()))
    problem = _disagreement(ranks.gathered(backend))
    if problem is not None:
        return ranks.finish(1, problem)
    if backend != MPI:
        # Each rank runs independently and prints.
        return ranks.finish(run_console(main), "")
    output = sys.stdout if ranks.rank == 0 else io.StringIO()
    errors = io.StringIO()

    def run() -> int:
        if not has_output and ranks.rank == 0:
            errors.write(f"mesh-run: {STDOUT_CLOSED}\n")
            return 1
        code = main(sys.argv[1:], sys.stdin, output, errors)
        output.flush()
        return code

    code = _code_of_rank(run, errors)
    if not code and ranks.rank == 0:
        sys.stderr.write(errors.getvalue())
    code = ranks.finish(code, errors.getvalue())
    if ranks.rank == 0 and end_file is not None:
        Path(end_file).write_text(str(code))
    return code


def _code_of_rank(run: Callable[[], int], errors: TextIO) -> int:
    """Return the exit code of a run, whatever ends it; write the reason to `errors`."""
    try:
        return exit_code_of(run, "mesh-run", errors)
    except SystemExit as end:
        errors.write(end.code + "\n" if isinstance(end.code, str) else "")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        errors.write(traceback.format_exc())
        return 1
