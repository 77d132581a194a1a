"""Outputs that cannot be written leave nothing behind, and are no fault of ours."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.tools.output_files import open_output
from mesh_opt.tools.run.results import write_archive, write_array
from mpi_ranks import need_ranks

TOOLS = Path(sys.executable).parent
PROGRAM = """
func.func @f() -> tensor<4xi32> {
  %0 = arith.constant dense<7> : tensor<4xi32>
  return %0 : tensor<4xi32>
}
"""


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing more than this to a file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_new_file_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    refused = pytest.raises(UsageError, match="cannot write")
    with files_of_at_most(100_000), refused, open_output(str(path)) as file:
        file.write(b"x" * 200_000)
    assert not path.exists()


def test_existing_file_is_kept_on_error(tmp_path: Path) -> None:
    path = tmp_path / "out.npy"
    write_array(str(path), np.arange(4), append=False)
    whole = path.read_bytes()
    with files_of_at_most(100_000), pytest.raises(UsageError):
        write_array(str(path), np.arange(100_000), append=True)
    assert path.read_bytes() == whole


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    with files_of_at_most(100_000), pytest.raises(UsageError):
        write_archive(str(path), [np.arange(4), np.arange(100_000)])
    assert not path.exists()


COMMANDS = [["mesh-opt", "-"], ["mesh-run", "-"]]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(command: list[str], closed: str, tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM)
    words = f"{TOOLS / command[0]} {path} {closed}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    is_dropped = closed.startswith(">")
    assert done.returncode == int(is_dropped)
    told = f"{command[0]}: cannot write the output: the standard output is closed\n"
    assert done.stderr == (told if closed == ">&-" else "")
    assert ("4xi32" in done.stdout) == (not is_dropped)


@pytest.mark.parametrize("command", [*COMMANDS, ["mesh-run", "-", "--backend=mpi"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_standard_output(command: list[str]) -> None:
    if "--backend=mpi" in command:
        need_ranks()
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [TOOLS / command[0], *command[1:]],
            input=PROGRAM.encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    expected = f"{command[0]}: cannot write the output: No space left on device\n"
    assert done.stderr.decode() == expected


def test_modules_of_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    for name in ("numpy", "numba", "xdsl", "mpi4py"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('of the current folder')")
    command = [TOOLS / "mesh-run", "-", "--backend=native"]
    done = subprocess.run(
        command, input=PROGRAM, text=True, capture_output=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("4xi32=7 7 7 7\n")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("out.npy", lambda path: write_array(path, np.arange(5), append=False)),
        ("out.npy", lambda path: write_array(path, np.arange(5), append=True)),
        ("out.npz", lambda path: write_archive(path, [np.arange(5)])),
    ],
    ids=["array", "appended", "archive"],
)
def test_a_pipe_takes_results(tmp_path: Path, name: str, write: Callable[[str], None]) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(str(path))
        found = np.load(io.BytesIO(os.read(reader, 1 << 16)))
    finally:
        os.close(reader)
    np.testing.assert_array_equal(found["out0"] if name == "out.npz" else found, np.arange(5))
    assert path.exists()
