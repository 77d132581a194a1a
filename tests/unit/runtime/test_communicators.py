"""Both communicators pass one conformance suite."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conformance import check
from mesh_opt.runtime.threads import ThreadGroup

HELPERS = Path(__file__).parents[2] / "helpers"


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_threads(count: int) -> None:
    group = ThreadGroup(count)
    try:
        group.run(check)
    finally:
        group.close()


def find_launcher() -> str | None:
    beside = Path(sys.prefix) / "bin" / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def run_ranks(count: int, *command: str, timeout: float = 120) -> subprocess.CompletedProcess:
    launcher = find_launcher()
    if importlib.util.find_spec("mpi4py") is None or launcher is None:
        pytest.skip("needs mpi4py and mpiexec: pip install 'mesh-opt[mpi]'")
    return subprocess.run(
        [launcher, "-n", str(count), sys.executable, "-m", "mpi4py", *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "MESH_OPT_MPI_TIMEOUT": "60"},
        check=False,
    )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_mpi(count: int) -> None:
    done = run_ranks(count, str(HELPERS / "mpi_conformance.py"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "conforms" in done.stdout
