"""Devices that do not match in a collective compute nothing: every engine says so, at both places.

A few of the programs run here with the interpreter and on threads, two on MPI ranks. In
`make nightly` all of them do.
"""

from __future__ import annotations

import re
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY
from mesh_opt import api
from mismatches import mismatches
from mpi_ranks import launch, mesh_run

ALL = mismatches()
SAMPLE = [
    "all_reduce on device 0",
    "shape of all_gather",
    "root at run time",
    "size of all_reduce",
    "counts of loops",
    "a collective that was started",
    "one that was started or another",
    "axes [0, 1] or [1, 0]",
    "size of a message",
    "second message",
]
NAMES = list(ALL) if NIGHTLY else SAMPLE
SECONDS = 60
"""On a machine that does much else; alone it is a tenth of a second after the start."""


def check_error(text: str) -> None:
    """One error at one operation, and a note at another, that name a device and what it has."""
    errors = re.findall(r":(\d+):\d+: error: 'shard\.\w+' op (.*)", text)
    notes = re.findall(r":(\d+):\d+: note: (.*)", text)
    assert len(errors) == 1, text
    (line, message), (other, note) = errors[0], notes[0]
    assert line != other, text
    standing = r"device (\d) has (\w+ .*(?:f32|f64|i32)>.* here|ended)"
    found = re.fullmatch(
        rf"must match on all devices of its group: {standing}; {standing}", message
    )
    assert found, text
    assert found[1] != found[3], text
    assert message.endswith(f"; {note}"), text


def inputs() -> list[np.ndarray]:
    return [np.ones((8, 8), dtype) for dtype in (np.float32, np.float64, np.int32)]


@pytest.mark.parametrize("name", NAMES)
def test_in_one_process(name: str) -> None:
    texts: list[str] = []
    for backend in ("interpreter", "native"):
        program = api.compile(ALL[name].text, backend=backend)
        start = time.monotonic()
        with pytest.raises(api.ExecutionError) as caught:
            program["main"].run(inputs())
        assert time.monotonic() - start < SECONDS
        texts.append(str(caught.value))
        check_error(texts[-1])
    assert texts[0].splitlines()[0] == texts[1].splitlines()[0]


MESSAGES = [("size of a message", 1), ("second message", 1)]
"""What only messages check; one program takes a second."""


@pytest.mark.parametrize(("name", "devices"), [*product(NAMES, (1, 2))] if NIGHTLY else MESSAGES)
def test_on_ranks(name: str, devices: int, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(ALL[name].text)
    options = ["--backend=mpi", "--random-inputs=0", f"--devices-per-rank={devices}"]
    start = time.monotonic()
    done = launch(*mesh_run(ALL[name].devices // devices, str(path), *options))
    assert time.monotonic() - start < SECONDS
    assert done.returncode != 0
    assert "result" not in done.stdout
    check_error(done.stderr)
    program = api.compile(path)
    with pytest.raises(api.ExecutionError) as caught:
        program["main"].run(inputs())
    if ALL[name].devices == 2:
        assert done.stderr.splitlines()[0] == str(caught.value).splitlines()[0]


STATIC_ON_ONE = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4x2xf32>) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %p = shard.process_linear_index on @g : index
  %is_first = arith.cmpi eq, %p, %c0 : index
  %d = tensor.cast %a : tensor<4x2xf32> to tensor<?x2xf32>
  %r = scf.if %is_first -> (tensor<?x2xf32>) {
    %0 = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0
        : tensor<4x2xf32> -> tensor<?x2xf32>
    scf.yield %0 : tensor<?x2xf32>
  } else {
    %0 = shard.all_gather %d on @g grid_axes = [0] gather_axis = 0
        : tensor<?x2xf32> -> tensor<?x2xf32>
    scf.yield %0 : tensor<?x2xf32>
  }
  return %r : tensor<?x2xf32>
}
"""


def test_a_size_may_be_static_on_one_rank_alone(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(STATIC_ON_ONE)
    done = launch(*mesh_run(2, str(path), "--backend=mpi", "--input=4x2xf32=1"))
    assert done.returncode == 0, done.stderr
    assert "8x2xf32=[1 1][1 1]" in done.stdout
