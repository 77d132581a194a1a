"""Collectives that run while kernels do compute what they do one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY, cases
from mesh_opt import api, load
from mpi_ranks import run_ranks
from overlap_programs import Writer, inputs


def run_twice(text: str, backend: str) -> list[list[np.ndarray]]:
    program = api.compile(text, backend=backend, stages=False)
    return [program["main"].run(inputs()) for _ in range(2)]


@pytest.mark.parametrize("seed", cases(12, 200))
def test_random_programs(seed: int) -> None:
    grid = [(2,), (3,), (2, 2), (2, 3)][seed % 4]
    text = Writer(seed, grid).text()
    want = api.compile(text, backend="interpreter", stages=False)["main"].run(inputs())
    for found in run_twice(text, "numba"):
        for got, expected in zip(found, want, strict=True):
            assert np.array_equal(got, expected), text


def test_most_random_programs_start_collectives() -> None:
    codes = [api.compile(Writer(seed, (2,)).text(), stages=False).host_code for seed in range(5)]
    assert sum("start #" in code for code in codes) > 3


RANKS = """
import json, sys
sys.path.insert(0, {helpers!r})
import numpy as np
from mesh_opt import api, load
from overlap_programs import inputs

for number, text in enumerate(json.load(open({path!r}))):
    want = api.compile(text, backend="numba", stages=False)["main"].run(inputs())
    program = api.compile(text, backend="mpi", stages=False)
    program.devices_per_rank = {devices}
    for _ in range(2):
        for got, expected in zip(program["main"].run(inputs()), want, strict=True):
            assert np.array_equal(got, expected), (number, text)
print("done")
"""


@pytest.mark.parametrize(
    ("ranks", "devices"), [(2, 1), *([(4, 1), (2, 2), (3, 1), (6, 1)] if NIGHTLY else [])]
)
def test_random_programs_on_ranks(ranks: int, devices: int, tmp_path: Path) -> None:
    """Ranks compute the same bits as threads."""
    count = ranks * devices
    grids = {4: (2, 2), 6: (2, 3)}
    path, script = tmp_path / "programs.json", tmp_path / "script.py"
    texts = [Writer(seed, grids.get(count, (count,))).text() for seed in cases(3, 20)]
    path.write_text(json.dumps(texts))
    helpers = str(Path(__file__).parents[1] / "helpers")
    script.write_text(RANKS.format(helpers=helpers, path=str(path), devices=devices))
    done = run_ranks(ranks, str(script), timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("done") == ranks


@pytest.mark.parametrize("seed", cases(1, 10))
def test_random_programs_from_files(seed: int, tmp_path: Path) -> None:
    program = api.compile(Writer(seed, (2,)).text(), stages=False)
    want = program["main"].run(inputs())
    path = tmp_path / "program.meshprog"
    program.save(path)
    loaded = load(path)
    for _ in range(2):
        for got, expected in zip(loaded.main.run(inputs()), want, strict=True):
            assert np.array_equal(got, expected)
