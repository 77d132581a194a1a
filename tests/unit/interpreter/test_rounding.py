"""The least precise float type on the way to each result says how far it may differ."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.runtime.abi.compare import compare, tolerance


def rounding(text: str) -> list[str | None]:
    program = compile(text)
    return [each and each.name for each in program[program.functions[0]].rounding()]


WIDENED = """
func.func @f(%x: tensor<64xf32>, %y: tensor<64xf64>) -> (f64, tensor<64xf64>, i32, f32) {
  %zero = arith.constant 0.0 : f32
  %i = arith.constant 7 : i32
  %e = tensor.splat %zero : tensor<f32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<64xf32>) outs(%e : tensor<f32>) dimensions = [0]
  %v = tensor.extract %s[] : tensor<f32>
  %w = arith.extf %v : f32 to f64
  %exact = arith.extf %x : tensor<64xf32> to tensor<64xf64>
  %sum = arith.addf %exact, %y : tensor<64xf64>
  return %w, %sum, %i, %zero : f64, tensor<64xf64>, i32, f32
}
"""


def test_each_result_has_its_own() -> None:
    # An argument and a constant are exact, whatever their type.
    assert rounding(WIDENED) == ["float32", "float64", None, None]


def test_regions_calls_and_branches_count() -> None:
    text = """
    func.func @main(%x: f64, %c: i1) -> (f64, f64, f64) {
      %0 = call @f(%x) : (f64) -> f64
      %1 = scf.if %c -> (f64) {
        %t = arith.truncf %x : f64 to bf16
        %e = arith.extf %t : bf16 to f64
        scf.yield %e : f64
      } else {
        scf.yield %x : f64
      }
      %2 = arith.addf %x, %x : f64
      %3 = arith.mulf %0, %2 : f64
      return %3, %1, %2 : f64, f64, f64
    }
    func.func private @f(%x: f64) -> f64 {
      %0 = call @g(%x) : (f64) -> f64
      return %0 : f64
    }
    func.func private @g(%x: f64) -> f64 {
      %t = arith.truncf %x : f64 to f16
      cf.br ^bb1(%t : f16)
    ^bb1(%y: f16):
      %e = arith.extf %y : f16 to f64
      %r = call @f(%e) : (f64) -> f64
      return %r : f64
    }"""
    assert rounding(text) == ["float16", "bfloat16", "float64"]


def test_functions_with_branches_count_as_a_whole() -> None:
    text = """
    func.func @main(%x: f64) -> (f64, i1) {
      %t = arith.truncf %x : f64 to f32
      %e = arith.extf %t : f32 to f64
      cf.br ^bb1(%e : f64)
    ^bb1(%y: f64):
      %true = arith.constant true
      return %y, %true : f64, i1
    }"""
    assert rounding(text) == ["float32", "float32"]


def test_the_tolerance_of_widened_sums() -> None:
    exact, rounded = np.float64([1.0]), np.float64([1.00001])
    assert not compare(rounded, exact).agrees
    assert compare(rounded, exact, through=np.dtype("f4")).agrees
    assert not compare(rounded, exact, 1e-9, np.dtype("f4")).agrees
    # A rougher type on the way never makes integers differ, a finer one changes nothing.
    assert tolerance(np.dtype("i4"), through=np.dtype("f4")) == (0.0, 0.0)
    assert tolerance(np.dtype("f4"), through=np.dtype("f8")) == tolerance(np.dtype("f4"))


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_sum_in_another_order_agrees(backend: str) -> None:
    """Four devices add f32 in another order than one."""
    text = """
    shard.grid @g(shape = 4)
    func.func @main(%x: tensor<4099xf32>) -> tensor<f64> {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
      %a = shard.shard %x to %s annotate_for_users : tensor<4099xf32>
      %r = linalg.reduce {arith.addf} ins(%a : tensor<4099xf32>) outs(%zero : tensor<f32>)
        dimensions = [0]
      %w = arith.extf %r : tensor<f32> to tensor<f64>
      return %w : tensor<f64>
    }"""
    program = compile(text, "spmd", backend=backend)
    inputs = np.random.default_rng(1).standard_normal(4099).astype(np.float32)
    (difference,) = program.main.check(inputs)
    assert difference.agrees
