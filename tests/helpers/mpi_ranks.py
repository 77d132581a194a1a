"""Start MPI ranks, or skip where there is no MPI."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from peer_tools import missing


def find_launcher() -> str | None:
    beside = Path(sys.prefix) / "bin" / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def need_ranks() -> str:
    """The launcher; skips the test where there is no MPI."""
    launcher = find_launcher()
    if importlib.util.find_spec("mpi4py") is None or launcher is None:
        missing("mpi4py or mpiexec, of `pip install 'mesh-opt[mpi]'`,")
    return launcher


def launch(*words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run `mpiexec` with some arguments."""
    launcher = need_ranks()
    return subprocess.run(
        [launcher, *words],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "MESH_OPT_MPI_TIMEOUT": "60"},
        check=False,
    )


def run_ranks(count: int, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a Python program on ranks as everybody's own programs are run."""
    return launch("-n", str(count), sys.executable, "-m", "mpi4py", *command, timeout=timeout)


def mesh_run(count: int, *arguments: str) -> tuple[str, ...]:
    """The words behind `mpiexec` that run mesh-run on ranks, as the documentation says."""
    script = Path(sys.prefix) / "bin" / "mesh-run"
    if script.exists():
        return ("-n", str(count), str(script), *arguments)
    return ("-n", str(count), sys.executable, "-m", "mesh_opt.tools.mesh_run", *arguments)
