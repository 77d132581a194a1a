"""Whatever fails on one device ends all devices in time, with one message and an exit code.

On threads all programs run here, and in `make nightly` on MPI ranks. Devices that do not match are
in `test_mismatched_collectives.py`, ranks that are started wrongly in `test_communicators.py`.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY
from deadlines import is_in_time
from faults import OPERATIONS, POSITIONS, PROGRAM, SUM, FaultyProgram, program_faults
from faulty_rank import AT_ONCE, LATER
from mesh_opt import api
from mpi_ranks import launch, mesh_run, need_ranks

PROGRAMS = program_faults()
A = np.ones(8, np.float32)

ON_THREADS, ON_RANKS, TIMEOUT = 2, 5, 2
"""Seconds in which all must end, and after which ranks wait no longer for one that is stuck."""


def check_message(text: str, program: FaultyProgram) -> None:
    """One error at a line, which says what was wrong and on which device."""
    assert text.count("error:") == 1, text
    assert program.message in text, text
    assert f":{program.line}:" in text.partition(" error:")[0], text
    assert "note: on device 1" in text, text


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_an_operation_fails_on_threads(name: str) -> None:
    program = api.compile(PROGRAMS[name].text)
    expected = program["main"](A, -1, 1)
    start = time.monotonic()
    with pytest.raises(api.ExecutionError) as caught:
        program["main"](A, 1, 1)
    assert is_in_time(time.monotonic() - start, ON_THREADS)
    check_message(str(caught.value), PROGRAMS[name])
    # The same devices go on.
    assert np.array_equal(program["main"](A, -1, 1), expected)


@pytest.mark.skipif(not NIGHTLY, reason="takes a minute")
def test_random_faults_on_threads() -> None:
    fault = OPERATIONS["an element outside"]
    body = POSITIONS["between collectives"].format(fault=fault.text, loop_sum=SUM.format("%t"))
    text = PROGRAM.format(body=body, good=fault.good, wrong=fault.wrong)
    program = api.compile(text.replace("shape = 2", "shape = 2x2"))
    rng = random.Random(0)
    for _ in range(10_000):
        device, turn = rng.randrange(-1, 4), rng.randrange(3)
        if device < 0:
            program["main"](A, device, turn)
            continue
        with pytest.raises(api.ExecutionError, match=f"on device {device}, at"):
            program["main"](A, device, turn)


@pytest.mark.skipif(not NIGHTLY, reason="one program takes seconds")
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_an_operation_fails_on_ranks(name: str, devices: int, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAMS[name].text.replace("shape = 2", f"shape = {2 * devices}"))
    inputs = ["--input=8xf32=1", "--input=index=1", "--input=index=1"]
    done = launch(*mesh_run(2, str(path), *inputs, f"--devices-per-rank={devices}"))
    assert done.returncode == 1
    assert "result" not in done.stdout
    check_message(done.stderr, PROGRAMS[name])


LOOP = """shard.grid @g(shape = 2)
func.func @main(%a: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<64xf32>) {
    %r = shard.all_reduce %t on @g grid_axes = [0] reduction = max
      : tensor<64xf32> -> tensor<64xf32>
    scf.yield %r : tensor<64xf32>
  }
  return %q : tensor<64xf32>
}
"""

STUCK = "program.mlir:6:10: error: 'shard.all_reduce' op waited 2 s on device {other} for device {}"
ENDED = "program.mlir:6:10: error: 'shard.all_reduce' op must match on all devices of its group"

SAID = {
    "is stopped": STUCK,
    "computes and does not come back": STUCK,
    "ends without a word": ENDED,
    "raises an exception": "ValueError: lost",
    "runs out of memory": "mesh-run: out of memory: a tensor of 8 bytes on device {}\n",
}
"""What the other rank, or the one of which something goes wrong, says in words."""

SAMPLE = [("is killed", 1, 1)]
ALL = [(what, rank, count) for what in (*LATER, *AT_ONCE) for rank in (0, 1) for count in (1, 2)]


@pytest.mark.parametrize(("what", "rank", "devices"), ALL if NIGHTLY else SAMPLE)
def test_a_rank_fails(what: str, rank: int, devices: int, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(LOOP.replace("shape = 2", f"shape = {2 * devices}"))
    script = Path(__file__).parents[1] / "helpers" / "faulty_rank.py"
    begun = tmp_path / "begun"
    fault = [what, str(rank), str(begun), str(TIMEOUT)]
    options = ["--input=64xf32=1", f"--input=index={1 << 40}", f"--devices-per-rank={devices}"]
    done = launch("-n", "2", sys.executable, "-P", str(script), *fault, str(path), *options)
    assert begun.exists(), done.stderr
    limit = ON_RANKS + (TIMEOUT + 3 if SAID.get(what) == STUCK else 0)
    assert is_in_time(time.time() - float(begun.read_text()), limit)
    # mpiexec takes `os._exit(0)` for an end like others.
    assert done.returncode != 0 or what == "leaves with 0"
    assert "result" not in done.stdout
    message = SAID.get(what, "").format(rank * devices, other=(1 - rank) * devices)
    assert message in done.stderr, done.stderr
    assert done.stderr.count("error:") + done.stderr.count("mesh-run:") == (what in SAID)


def processes(word: str) -> list[str]:
    """The command lines of Linux's processes that have a word in them."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [each for each in found if word in each]


@pytest.mark.skipif(not NIGHTLY or sys.platform != "linux", reason="takes seconds, needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_ranks_end_with_who_has_started_them(number: int, tmp_path: Path) -> None:
    need_ranks()
    path = tmp_path / "program.mlir"
    path.write_text(LOOP)
    options = ["--ranks=2", "--input=64xf32=1", f"--input=index={1 << 40}"]
    command = [sys.executable, "-P", "-m", "mesh_opt.tools.mesh_run", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"EXEC @main\n"
        assert len(processes(str(path))) >= 4
        process.send_signal(number)
    start = time.monotonic()
    while processes(str(path)) and is_in_time(time.monotonic() - start, ON_RANKS):
        time.sleep(0.1)
    assert not processes(str(path))
