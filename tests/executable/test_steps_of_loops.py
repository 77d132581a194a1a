"""Loops whose step is not positive: the interpreter and native code refuse them alike."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api

LOOPS = """
func.func @for(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %n iter_args(%a = %x) -> (tensor<8xf32>) {
    %b = arith.addf %a, %x : tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
func.func @forall(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %r = scf.forall (%i, %j) = (0, 0) to (8, 1) step (%n, 1) shared_outs(%o = %x) -> (tensor<8xf32>) {
    %e = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %z = arith.addf %e, %e : tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %z into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}
func.func @parallel(%x: tensor<8xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %r = scf.parallel (%i) = (%c0) to (%c8) step (%n) init (%z) -> f32 {
    %e = tensor.extract %x[%i] : tensor<8xf32>
    scf.reduce(%e : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}
"""


@pytest.mark.parametrize("step", [0, -1])
@pytest.mark.parametrize("name", ["for", "forall", "parallel"])
@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_refused(backend: str, name: str, step: int) -> None:
    program = api.compile(LOOPS, backend=backend)
    x = np.arange(8, dtype=np.float32)
    with pytest.raises(
        api.ExecutionError, match=f"'scf.{name}' op has step {step}, expected a positive"
    ):
        program[name](x, np.int64(step))
