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
        missing = "needs mpi4py and mpiexec: pip install 'mesh-opt[mpi]'"
        if os.environ.get("MESH_OPT_REQUIRE_PEERS") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
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


PROGRAM = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %0 = shard.shard %a to %s : tensor<4x3xf32>
  %1 = math.tanh %0 : tensor<4x3xf32>
  %2 = shard.shard %1 to %t : tensor<4x3xf32>
  %3 = math.absf %2 : tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}
"""


def test_mesh_run_on_ranks(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    options = ["-p", "spmd", "--backend=mpi", "--random-inputs=3", "--check"]
    done = run_ranks(2, "-m", "mesh_opt.tools.mesh_run", str(path), *options)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("EXEC @main") == 1
    assert "agrees with the reference" in done.stdout


def test_ranks_on_different_targets(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    example = Path(__file__).parents[3] / "docs" / "examples" / "two_targets.mlir"
    path.write_text(example.read_text())
    devices = ["--device=local-task", "--device=local-task"]
    options = ["-p", "compile", "--backend=mpi", "--random-inputs=3", "--check", *devices]
    done = run_ranks(4, "-m", "mesh_opt.tools.mesh_run", str(path), *options)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "CHECK @main on 4 devices agrees with the reference" in done.stdout


FAILS_ON_ONE = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
  %p = shard.process_linear_index on @g : index
  %x = tensor.extract %a[%p] : tensor<1xf32>
  %s = tensor.splat %x : tensor<1xf32>
  %r = shard.all_reduce %s on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
  return %r : tensor<1xf32>
}
"""


def test_a_failing_rank_ends_the_others(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(FAILS_ON_ONE)
    done = run_ranks(
        2, "-m", "mesh_opt.tools.mesh_run", str(path), "--backend=mpi", "--input=1xf32=1"
    )
    assert done.returncode != 0
    assert "tensor.extract" in done.stderr
    assert "on device 1" in done.stderr
