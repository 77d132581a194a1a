"""Collectives that run while kernels do compute what they do one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY, cases, is_sampled
from mesh_opt import api, load
from mesh_opt.runtime.host import exchanges
from mpi_ranks import run_ranks
from overlap_programs import Writer, inputs


def run_twice(text: str, pipeline: str = "") -> list[list[np.ndarray]]:
    program = api.compile(text, pipeline)
    return [program["main"].run(inputs()) for _ in range(2)]


@pytest.mark.parametrize("seed", cases(6, 200))
def test_random_programs(seed: int) -> None:
    grid = [(2,), (3,), (2, 2), (2, 3)][seed % 4]
    text = Writer(seed, grid).text()
    want = api.compile(text, backend="interpreter")["main"].run(inputs())
    for pipeline in ("", "data-tile") if is_sampled(seed, 4) else ("",):
        for found in run_twice(text, pipeline):
            for got, expected in zip(found, want, strict=True):
                assert np.array_equal(got, expected), text


@pytest.mark.parametrize("pipeline", ["", "data-tile"])
def test_most_random_programs_start_collectives(pipeline: str) -> None:
    codes = [api.compile(Writer(seed, (2,)).text(), pipeline).host_code for seed in range(5)]
    assert sum("start #" in code for code in codes) >= 3


BESIDE = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<8x8xf32>) {
  %c = arith.constant dense<0.0> : tensor<8x8xf32>
  %g = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0
    : tensor<8x8xf32> -> tensor<16x8xf32>
  %o = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = math.exp %g : tensor<16x8xf32>
  return %e, %o : tensor<16x8xf32>, tensor<8x8xf32>
}
"""


@pytest.mark.parametrize("pipeline", ["", "data-tile"])
def test_a_collective_begins_early_from_the_first_run_on(
    pipeline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = api.compile(BESIDE, pipeline)
    assert "run @linalg" in program.host_code.partition("start #0")[2].partition("exchange #0")[0]
    program.save(tmp_path / "p.meshprog")
    a = np.arange(64, dtype=np.float32).reshape(8, 8) / 64
    want = [np.exp(np.vstack([a, a])), a @ a]
    # Python would take part in an exchange that is not known yet.
    monkeypatch.setattr(exchanges, "carry_out", None)
    for each in (program["main"], load(tmp_path / "p.meshprog")["main"]):
        for found, expected in zip(each.run([a, a]), want, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


ALONE = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<8x8xf32>) -> tensor<16x8xf32> {
  %g = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0
    : tensor<8x8xf32> -> tensor<16x8xf32>
  return %g : tensor<16x8xf32>
}
"""


@pytest.mark.parametrize("pipeline", ["", "data-tile"])
def test_a_collective_beside_no_work_is_not_split(pipeline: str) -> None:
    code = api.compile(ALONE, pipeline).host_code
    assert "exchange #0" in code and "start #0" not in code


MESSAGES = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = arith.constant dense<0.0> : tensor<8x8xf32>
  %c1 = arith.constant 1 : index
  %p = shard.process_linear_index on @g : index
  %other = arith.subi %c1, %p : index
  %o = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = shard.send %a on @g grid_axes = [0] destination = [%other]
    : (tensor<8x8xf32>, index) -> tensor<8x8xf32>
  %r = shard.recv %s on @g grid_axes = [0] source = [%other]
    : (tensor<8x8xf32>, index) -> tensor<8x8xf32>
  %q = linalg.matmul ins(%o, %a : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = arith.addf %r, %r : tensor<8x8xf32>
  return %e, %q : tensor<8x8xf32>, tensor<8x8xf32>
}
"""


def test_a_message_is_sent_early_and_awaited_late() -> None:
    program = api.compile(MESSAGES)
    code = program.host_code
    sends, waits = code.index("exchange #0"), code.index("exchange #1")
    assert sends < code.index("run @linalg.matmul") < code.rindex("run @linalg.matmul") < waits
    a = np.arange(64, dtype=np.float32).reshape(8, 8) / 64
    for _ in range(2):
        e, q = program["main"].run([a])
        assert np.array_equal(e, a + a)
        np.testing.assert_allclose(q, a @ a @ a, rtol=1e-5)


RANKS = """
import json, sys
sys.path.insert(0, {helpers!r})
import numpy as np
from mesh_opt import api, load
from overlap_programs import inputs

for number, text in enumerate(json.load(open({path!r}))):
    want = api.compile(text, backend="native")["main"].run(inputs())
    program = api.compile(text, backend="mpi")
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
    program = api.compile(Writer(seed, (2,)).text())
    want = program["main"].run(inputs())
    path = tmp_path / "program.meshprog"
    program.save(path)
    loaded = load(path)
    for _ in range(2):
        for got, expected in zip(loaded.main.run(inputs()), want, strict=True):
            assert np.array_equal(got, expected)
