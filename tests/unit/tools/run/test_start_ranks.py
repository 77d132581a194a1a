"""`mesh-run --ranks` starts MPI ranks, and is as if one process had run."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from breadth import sampled
from mesh_opt.api import compile
from mesh_opt.tools.run import start_ranks
from mesh_opt.tools.run.ranks import process_file
from mpi_ranks import need_ranks
from tool_runs import mesh_run

PROGRAM = """shard.grid @g(shape = 2)
func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %0 = shard.shard %a to %rows : tensor<2x3xf32>
  %1 = shard.shard %0 to %columns annotate_for_users : tensor<2x3xf32>
  %2 = math.absf %1 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}
"""


def test_ranks_are_started(tmp_path: Path) -> None:
    """Each reads its part of the input and writes its part of the result."""
    need_ranks()
    path, trace = (tmp_path / name for name in ("p.mlir", "t.json"))
    path.write_text(PROGRAM)
    for rank in range(2):
        np.save(tmp_path / f"x.{rank}.npy", np.array([rank + 1] * 3, np.float32)[None])
    files = [f"--input=@{tmp_path}/x.{{rank}}.npy", f"--output=@{tmp_path}/y.{{rank}}.npy"]
    options = ["-p", "spmd", *files, "--statistics", f"--trace={trace}"]
    code, printed, errors = mesh_run(str(path), "--ranks", "2", *options)
    assert (code, errors) == (0, "")
    lines = printed.splitlines()
    assert lines[0] == "EXEC @main"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "STATISTICS process 0",
        "STATISTICS process 1",
    ]
    assert np.load(tmp_path / "y.0.npy").tolist() == [[1], [2]]
    assert np.load(tmp_path / "y.1.npy").tolist() == [[1, 1], [2, 2]]
    events = json.loads(trace.read_text())["traceEvents"]
    met = [each for each in events if each.get("cat") == "collective"]
    assert len({each["tid"] for each in met}) == 2


FILES_OF_PARTS = [
    ("@{}/none/y.{{rank}}.npy", "there is no folder"),
    ("@{}/y.{{rank}}.npz", "an .npz file holds whole results, and is the only output"),
]


@pytest.mark.parametrize(("output", "message"), sampled(FILES_OF_PARTS, 2))
def test_files_of_parts_are_looked_at_before_the_run(
    output: str, message: str, tmp_path: Path
) -> None:
    need_ranks()
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM)
    options = ["-p", "spmd", "--random-inputs=0", f"--output={output.format(tmp_path)}"]
    code, printed, errors = mesh_run(str(path), "--ranks=2", *options)
    assert (code, printed) == (1, "")
    assert errors.count(message) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["p.mlir"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd_open")
def test_the_first_rank_to_end_is_known(tmp_path: Path) -> None:
    end = tmp_path / "end"
    watch = start_ranks._Watch(end, 2, io.StringIO())
    command = [sys.executable, "-c", "input()"]
    ranks = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
    for rank, process in enumerate(ranks):
        process_file(end, rank).write_text(str(process.pid))
    ranks[1].kill()
    deadline = time.monotonic() + 30
    while not watch._first and time.monotonic() < deadline:
        time.sleep(0.01)
    ranks[0].kill()
    assert watch.stop() == 1
    for process in ranks:
        process.communicate()


MESSAGES = """shard.grid @g(shape = 2x2)
func.func @main(%a: tensor<4x3xf32>) -> (tensor<8x3xf32>, tensor<4x3xf32>) {
  %0 = math.tanh %a : tensor<4x3xf32>
  %1 = shard.all_reduce %0 on @g grid_axes = [0, 1] : tensor<4x3xf32> -> tensor<4x3xf32>
  %2 = shard.all_gather %0 on @g grid_axes = [1] gather_axis = 0
    : tensor<4x3xf32> -> tensor<8x3xf32>
  %3 = shard.all_gather %2 on @g grid_axes = [1, 0] gather_axis = 1
    : tensor<8x3xf32> -> tensor<8x12xf32>
  %4 = tensor.extract_slice %3[0, 3] [8, 3] [1, 1] : tensor<8x12xf32> to tensor<8x3xf32>
  return %4, %1 : tensor<8x3xf32>, tensor<4x3xf32>
}
"""


def test_devices_per_rank(tmp_path: Path) -> None:
    """Two ranks of two devices give what four threads do, with fewer messages than four ranks."""
    need_ranks()
    path, saved = tmp_path / "p.mlir", tmp_path / "p.meshprog"
    path.write_text(MESSAGES)
    compile(path).save(saved)
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    for device in range(4):
        np.save(tmp_path / f"x.{device}.npy", x)
    found: dict[str, list[bytes]] = {}
    sent: dict[str, int] = {}
    for name, file, options in [
        ("threads", path, ["--input=@{}/x.npy"]),
        ("ranks", saved, ["--ranks=4", "--input=@{}/x.npy"]),
        ("two levels", path, ["--ranks=2", "--devices-per-rank=2", "--input=@{}/x.{{rank}}.npy"]),
        ("saved", saved, ["--ranks=2", "--devices-per-rank=2", "--input=@{}/x.npy"]),
    ]:
        outputs = [f"--output=@{tmp_path}/{name}.{number}.npy" for number in range(2)]
        words = [each.format(tmp_path) for each in options]
        code, printed, errors = mesh_run(str(file), *words, *outputs, "--statistics")
        assert (code, errors) == (0, "")
        found[name] = [(tmp_path / f"{name}.{number}.npy").read_bytes() for number in range(2)]
        sent[name] = sum(map(int, re.findall(r"(\d+) messages sent", printed)))
    assert all(each == found["threads"] for each in found.values())
    assert sent == {"threads": 0, "ranks": 20, "two levels": 4, "saved": 4}


def test_ranks_that_die_are_one_message() -> None:
    """What MPICH says of it is not passed on."""
    need_ranks()
    # In one piece: with PYTHONUNBUFFERED `print` writes the end of the line by itself.
    code = r"import os, time; os.write(1, b'said\n'); time.sleep(0.2); os.kill(os.getpid(), 9)"
    stdout, stderr = io.StringIO(), io.StringIO()
    command = [start_ranks.find_launcher(2), "-n", "2", sys.executable, "-c", code]
    error_lines: list[str] = []
    deaths: list[str] = []
    assert start_ranks._run(command, {}, stdout, stderr, error_lines, deaths) == 9
    assert not error_lines and deaths == ["Killed (signal 9)"]
    assert stdout.getvalue() == "said\n" * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("p.mlir", "--ranks=0"), "--ranks must be at least 1, found 0"),
        (("--ranks=2",), "ranks have no standard input: name the file of the program"),
        (("p.mlir", "--ranks=2", "--backend=native"), "--ranks needs --backend=mpi"),
        (
            ("p.mlir", "--devices-per-rank=2"),
            "--devices-per-rank needs --backend=mpi or --ranks",
        ),
        (
            ("p.mlir", "--ranks=2", "--devices-per-rank=0"),
            "--devices-per-rank must be at least 1, found 0",
        ),
        (
            ("p.mlir", "--input=@x.{rank}.npy"),
            "@x.{rank}.npy names the files of ranks, which needs --backend=mpi",
        ),
        (("p.mlir", "--timeout=3"), "--timeout needs --backend=mpi or --ranks"),
        (
            ("p.mlir", "--ranks=2", "--timeout=nan"),
            "--timeout must be more than 0 seconds, and is nan",
        ),
    ],
)
def test_options_that_make_no_sense(arguments: tuple[str, ...], message: str) -> None:
    assert mesh_run(*arguments) == (1, "", f"mesh-run: {message}\n")


@pytest.mark.parametrize("seconds", ["soon", "nan", "-1", ""])
def test_a_timeout_of_the_environment_that_is_none(
    seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_ranks()
    monkeypatch.setenv("MESH_OPT_MPI_TIMEOUT", seconds)
    command = [sys.executable, "-m", "mesh_opt.tools.mesh_run", "--backend=mpi", "p.mlir"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = f"mesh-run: MESH_OPT_MPI_TIMEOUT is {seconds!r}, expected seconds, more than 0\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_without_mpiexec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need_ranks()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    code, _, errors = mesh_run("p.mlir", "--ranks=2")
    assert code == 1
    assert errors.startswith("mesh-run: --ranks=2 needs mpiexec, which is neither in ")
    assert "pip install 'mesh-opt[mpi]'" in errors


def test_a_rank_starts_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    code, _, errors = mesh_run("p.mlir", "--ranks=2")
    assert code == 1
    assert "--ranks=2 starts ranks, but this process is one already" in errors


def test_arguments_of_ranks() -> None:
    words = ["p.mlir", "--ranks", "2", "-p", "spmd", "--backend=mpi", "--ranks=3", "--check"]
    assert start_ranks.without_option(words) == ["p.mlir", "-p", "spmd", "--check"]


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was tried, and what to do."""
    need_ranks()
    monkeypatch.setenv("MPI4PY_LIBMPI", "/nowhere/libmpi.so")
    monkeypatch.delenv("MPI4PY_MPIABI", raising=False)
    command = [sys.executable, "-m", "mesh_opt.tools.mesh_run", "--backend=mpi", "p.mlir"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "mesh-run: --backend=mpi needs mpi4py and an MPI library: /nowhere/libmpi.so: cannot open"
    )
    assert "with MPI4PY_LIBMPI=/nowhere/libmpi.so in the environment" in done.stderr
    assert "pip install 'mesh-opt[mpi]'" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="ranks are watched on Linux")
def test_a_launcher_that_starts_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As MPICH's does where its helper is not beside it: it says nothing, and does not end."""
    launcher, errors = tmp_path / "mpiexec", io.StringIO()
    launcher.write_text("#!/bin/sh\nsleep 0.5\n")
    launcher.chmod(0o755)
    monkeypatch.setattr(start_ranks, "find_launcher", lambda count: str(launcher))
    monkeypatch.setattr(start_ranks, "PATIENCE", 0.1)
    assert start_ranks.start_ranks(2, ["p.mlir"], io.StringIO(), errors) == 1
    assert errors.getvalue().count("mpiexec has started no rank for 0.1 s: does `mpiexec -n 2") == 1


def test_ranks_with_other_backends_do_not_wait_for_each_other(tmp_path: Path) -> None:
    need_ranks()
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM)
    tool = [sys.executable, "-m", "mesh_opt.tools.mesh_run", str(path), "--input=2x3xf32=1"]
    launcher = str(start_ranks.find_launcher(2))

    def started(first: str, second: str) -> subprocess.CompletedProcess[str]:
        ranks = ["-n", "1", *tool, first], ["-n", "1", *tool, second]
        command = [launcher, *ranks[0], ":", *ranks[1]]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    apart = started("--backend=mpi", "--backend=native")
    assert apart.returncode == 1
    wanted = "rank 0 runs with --backend=mpi, and rank 1 with --backend=native: all ranks must"
    assert apart.stderr.count(wanted) == 1
    alone = started("--backend=native", "--backend=native")
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout.count("EXEC @main") == 2


def test_an_input_of_one_rank_does_not_fit(tmp_path: Path) -> None:
    need_ranks()
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM)
    tool = [sys.executable, "-m", "mesh_opt.tools.mesh_run", str(path), "-p", "spmd"]
    launcher = str(start_ranks.find_launcher(2))
    ranks = ["-n", "1", *tool, "--input=2x3xf32=1"], ["-n", "1", *tool, "--input=3xf32=1"]
    command = [launcher, *ranks[0], ":", *ranks[1]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "has shape 3, expected 2x3xf32" in done.stderr
    assert "internal error" not in done.stderr
