"""Kernels that host code calls in a loop, on several workers."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.runtime.host.worker_team import WorkerTeam

GATHERING = """
func.func @main(%a: tensor<64x512xf32>, %k: tensor<64x512xindex>, %n: index) -> tensor<64x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<64x512xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<64x512xf32>) {
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%k : tensor<64x512xindex>) outs(%e : tensor<64x512xf32>) {
    ^b(%at: index, %old: f32):
      %row = linalg.index 0 : index
      %x = tensor.extract %t[%row, %at] : tensor<64x512xf32>
      %y = arith.addf %x, %x : f32
      linalg.yield %y : f32
    } -> tensor<64x512xf32>
    scf.yield %s : tensor<64x512xf32>
  }
  return %r : tensor<64x512xf32>
}"""


def test_workers_share_kernels_in_a_loop() -> None:
    """Small kernels stay on one thread, and a check that fails on another worker is told."""
    module = api.compile(GATHERING).module
    generator = np.random.default_rng(0)
    values = generator.standard_normal((64, 512), np.float32)
    places = generator.integers(0, 512, (64, 512))
    program = CompiledProgram(module, workers=3)
    for count in (1, 5):
        inputs = [values, places, np.int64(count)]
        (expected,) = run(module, "main", inputs)
        np.testing.assert_array_equal(program.run("main", inputs)[0], expected)
    places[50, 7] = places[60, 0] = 512
    with pytest.raises(OperationError, match="has index 512 in dimension 1") as failure:
        program.run("main", [values, places, np.int64(1)])
    assert failure.value.operation.name == "tensor.extract"


def test_every_share_is_run_once() -> None:
    """Each tile is run once, whoever claims it, however few tiles or many workers there are."""
    rng = np.random.default_rng(1)
    for rows, workers in ((3, 2), (64, 2), (67, 5), (1, 3)):
        text = GATHERING.replace("64x512", f"{rows}x65536")
        values = rng.standard_normal((rows, 65536), np.float32)
        places = rng.integers(0, 65536, (rows, 65536))
        program = CompiledProgram(api.compile(text).module, workers=workers)
        for _ in range(3):
            (found,) = program.run("main", [values, places, np.int64(1)])
            expected = 2 * np.take_along_axis(values, places, 1)
            np.testing.assert_array_equal(found, expected)


def test_idle_workers_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine they may wake after a kernel is over, or never."""
    monkeypatch.setattr(WorkerTeam, "start", lambda *_: None)
    module = api.compile(GATHERING).module
    values, places = np.ones((64, 512), np.float32), np.zeros((64, 512), np.int64)
    (found,) = CompiledProgram(module, workers=3).run("main", [values, places, np.int64(5)])
    np.testing.assert_array_equal(found, values * 32)
