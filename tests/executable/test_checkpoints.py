"""A computation that is killed goes on from its last checkpoint, and ends with the same bits."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import mesh_opt
import numpy as np
import pytest
from breadth import breadth
from mesh_opt import api
from mesh_opt.runtime.checkpoints import CheckpointError, Checkpoints

STEP = """
shard.grid @g(shape = {shape})
func.func @step(%w: tensor<8x4xf32>, %n: i32, %x: tensor<4x8xf32>)
    -> (tensor<8x4xf32>, i32, tensor<8xf32>) {{
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %w to %s annotate_for_users : tensor<8x4xf32>
  %rate = arith.constant dense<0.99> : tensor<8x4xf32>
  %one = arith.constant 1 : i32
  %b = arith.mulf %a, %rate : tensor<8x4xf32>
  %t = tensor.empty() : tensor<8x4xf32>
  %xt = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>) permutation = [1, 0]
  %c = arith.addf %b, %xt : tensor<8x4xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %sum = linalg.reduce {{ arith.addf }} ins(%c : tensor<8x4xf32>) outs(%zero : tensor<8xf32>)
    dimensions = [1]
  %m = arith.addi %n, %one : i32
  return %c, %m, %sum : tensor<8x4xf32>, i32, tensor<8xf32>
}}"""
"""Weights and a count are the state; there is data, and something to look at."""

STEPS = 60


def inputs() -> list[Any]:
    numbers = np.random.default_rng(0)
    w, x = (numbers.standard_normal(shape).astype(np.float32) for shape in ((8, 4), (4, 8)))
    return [w, np.int32(0), x]


def program(shape: int) -> api.Program:
    return api.compile(STEP.format(shape=shape), "spmd")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A program on two devices, and what it ends with."""
    path = tmp_path_factory.mktemp("steps") / "step.meshprog"
    compiled = program(2)
    compiled.save(path)
    found = compiled.step.run_steps(inputs(), STEPS)
    assert int(np.asarray(found[1])) == STEPS
    return path, [np.asarray(each).tobytes() for each in found]


def test_steps_are_calls_with_the_last_results(saved: tuple[Path, list[bytes]]) -> None:
    state: list[Any] = inputs()
    compiled = program(2)
    for _ in range(STEPS):
        results = compiled.step.run(state)
        state = [*results[:2], inputs()[2]]
    assert [np.asarray(each).tobytes() for each in results] == saved[1]


RUN = """
import sys
import numpy as np
import mesh_opt
program = mesh_opt.load(sys.argv[1])
numbers = np.random.default_rng(0)
w, x = (numbers.standard_normal(shape).astype(np.float32) for shape in ((8, 4), (4, 8)))
found = program.step.run_steps([w, np.int32(0), x], int(sys.argv[2]), sys.argv[3])
np.save(sys.argv[4], np.asarray(found[0]))
"""


def test_numbers_of_steps_that_are_none(saved: tuple[Path, list[bytes]]) -> None:
    step, half = mesh_opt.load(saved[0]).step, cast(Any, 2.5)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        step.run_steps(inputs(), half)
    with pytest.raises(mesh_opt.InputError, match="steps and every must be at least 1, got 0"):
        step.run_steps(inputs(), 0)


def test_a_run_that_is_killed_goes_on(saved: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    source = random.Random(7)
    kills = 0
    for attempt in range(breadth(1, 10)):
        folder, result = tmp_path / f"c{attempt}", tmp_path / f"{attempt}.npy"
        command = [sys.executable, "-c", RUN, str(saved[0]), str(STEPS), str(folder), str(result)]
        for _ in range(5):
            with subprocess.Popen(command) as running:
                # Somewhere between the first checkpoint that it writes and its last.
                before = set(folder.glob("step-*/manifest.json"))
                while running.poll() is None and before >= set(folder.glob("step-*/manifest.json")):
                    time.sleep(0.005)
                time.sleep(source.random() * 0.02)
                kills += running.poll() is None
                running.kill()
        subprocess.run(command, check=True)
        assert np.load(result).tobytes() == saved[1][0]
        # The last two are kept, and nothing that was not finished.
        assert sorted(each.name for each in folder.iterdir()) == [
            f"step-{step:012}" for step in (STEPS - 1, STEPS)
        ]
    assert kills


def test_files_of_a_killed_run_are_removed(
    saved: tuple[Path, list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no step is left to do."""
    loaded, folder = mesh_opt.load(saved[0]), tmp_path / "c"
    loaded.step.run_steps(inputs(), 4, folder)

    def kill(self: Checkpoints, newest: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoints, "clean", kill)
        patch.setattr(Checkpoints, "last", lambda self: None)
        loaded.step.run_steps(inputs(), 5, folder, every=5)
    (folder / "step-000000000006.tmp1").mkdir()
    assert len(list(folder.iterdir())) == 4
    found = loaded.step.run_steps(inputs(), 5, folder)
    assert [int(each.name[-2:]) for each in sorted(folder.iterdir())] == [4, 5]
    assert len(found) == 2


@pytest.mark.parametrize("shape", [1, 3, 4])
def test_another_grid_goes_on(shape: int, saved: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    mesh_opt.load(saved[0]).step.run_steps(inputs(), 20, tmp_path / "c", every=7)
    assert sorted(each.name for each in (tmp_path / "c").iterdir()) == [
        "step-000000000014",
        "step-000000000020",
    ]
    parts = list((tmp_path / "c" / "step-000000000020").glob("0.*"))
    assert sorted(each.stat().st_size for each in parts) == [64, 64]
    found = program(shape).step.run_steps(inputs(), STEPS, tmp_path / "c", every=STEPS)
    assert [np.asarray(each).tobytes() for each in found] == saved[1]


def test_a_damaged_checkpoint_is_left_out(saved: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    loaded = mesh_opt.load(saved[0])
    folder = tmp_path / "c"
    loaded.step.run_steps(inputs(), 20, folder, every=10)
    (folder / "step-000000000020" / "0.1").write_bytes(bytes(64))
    last = Checkpoints(folder).last()
    assert last is not None and last.step == 10
    found = loaded.step.run_steps(inputs(), STEPS, folder, every=STEPS)
    assert [np.asarray(each).tobytes() for each in found] == saved[1]


def test_parts_that_overlap_are_no_array(saved: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    """Together they have as many elements as the array, but not all of it."""
    mesh_opt.load(saved[0]).step.run_steps(inputs(), 2, tmp_path / "c", every=2)
    manifest = tmp_path / "c" / "step-000000000002" / "manifest.json"
    data = json.loads(manifest.read_text())
    parts = data["state"][0][3]
    assert [intervals[0] for intervals, _ in parts] == [[0, 4], [4, 8]]
    for rows in ([0, 4], [2, 6]):
        parts[1][0][0] = rows
        manifest.write_text(json.dumps(data))
        with pytest.raises(CheckpointError, match="parts of 32 elements that do not make up 8x4"):
            Checkpoints(tmp_path / "c").last()


def test_a_full_disk_is_named_and_left_as_it_was(
    saved: tuple[Path, list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = mesh_opt.load(saved[0])
    folder = tmp_path / "c"
    loaded.step.run_steps(inputs(), 10, folder, every=10)

    def sync(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(OSError, match=f"No space left on device: '{folder}/step-000000000020"):
        loaded.step.run_steps(inputs(), 20, folder, every=10)
    assert [each.name for each in folder.iterdir()] == ["step-000000000010"]


def test_checkpoint_of_another_program_is_refused(
    saved: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    loaded = mesh_opt.load(saved[0])
    folder = tmp_path / "c"
    loaded.step.run_steps(inputs(), 2, folder, every=2)
    with pytest.raises(CheckpointError, match="is after step 2, but 1 are requested"):
        loaded.step.run_steps(inputs(), 1, folder)
    other = api.compile(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
        "func.func @g(%x: f32, %y: i32) -> (f32, i32) { return %x, %y : f32, i32 }"
        "func.func @h(%x: f32) -> i32 { %0 = arith.constant 1 : i32 return %0 : i32 }"
    )
    with pytest.raises(CheckpointError, match="has 2 arrays, expected 1"):
        other.f.run_steps([np.ones(4, np.float32)], 3, folder)
    with pytest.raises(CheckpointError, match="has tensor<8x4xf32> as array 0, expected f32"):
        other.g.run_steps([1.0, 1], 3, folder)
    with pytest.raises(
        api.InputError, match="a first argument of type f32 and a first result of type i32"
    ):
        other.h.run_steps([1.0], 3)
    manifest = folder / "step-000000000002" / "manifest.json"
    data = json.loads(manifest.read_text())
    for change in ("[", '{"version": 2}', json.dumps({**data, "state": [[1]]})):
        manifest.write_text(change)
        with pytest.raises(CheckpointError, match="has no complete checkpoint: the last has"):
            Checkpoints(folder).last()
    shutil.rmtree(folder)
    assert Checkpoints(folder).last() is None


@pytest.mark.parametrize(("steps", "every"), [(0, 1), (-1, 1), (2, 0)])
def test_steps_are_at_least_one(steps: int, every: int, tmp_path: Path) -> None:
    step = program(2).step
    with pytest.raises(mesh_opt.InputError, match="at least 1"):
        step.run_steps(inputs(), steps, tmp_path / "c", every=every)


def test_a_folder_without_a_name_is_not_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="the name of a folder"):
        program(2).step.run_steps(inputs(), 2, "")
    assert not list(tmp_path.iterdir())
