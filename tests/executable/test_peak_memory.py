"""How many bytes programs need, and in how many dispatches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from host_code_checks import Compiled
from mesh_opt.api import Program, compile

MODELS = Path(__file__).parents[1] / "cases" / "models"

IREE_PEAK_BYTES = 346_368
"""Of the transformer block: iree-run-module --device=local-sync --print_statistics, IREE 3.13,
by default; with --iree-opt-data-tiling and the host's CPU it is 478,720."""

SOFTMAX = """
func.func @main(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<8xf32>
  %whole = tensor.empty() : tensor<8x32xf32>
  %lows = linalg.fill ins(%low : f32) outs(%rows : tensor<8xf32>) -> tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<8xf32>) -> tensor<8xf32>
  %most = linalg.reduce {arith.maximumf} ins(%x : tensor<8x32xf32>) outs(%lows : tensor<8xf32>)
    dimensions = [1]
  %m = linalg.broadcast ins(%most : tensor<8xf32>) outs(%whole : tensor<8x32xf32>) dimensions = [1]
  %d = linalg.sub ins(%x, %m : tensor<8x32xf32>, tensor<8x32xf32>)
    outs(%whole : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e = linalg.exp ins(%d : tensor<8x32xf32>) outs(%whole : tensor<8x32xf32>) -> tensor<8x32xf32>
  %sum = linalg.reduce {arith.addf} ins(%e : tensor<8x32xf32>) outs(%zeros : tensor<8xf32>)
    dimensions = [1]
  %s = linalg.broadcast ins(%sum : tensor<8xf32>) outs(%whole : tensor<8x32xf32>) dimensions = [1]
  %r = linalg.div ins(%e, %s : tensor<8x32xf32>, tensor<8x32xf32>)
    outs(%whole : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
"""


def run_block(pipeline: str) -> Program:
    program = compile((MODELS / "transformer_block.mlir").read_text(), pipeline, backend="native")
    stored = np.load(MODELS / "transformer_block.npz")
    (result,) = program["main"].run([stored[f"in{index}"] for index in range(13)])
    expected = stored["out0"]
    assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()
    return program


def test_the_transformer_block_needs_no_more_than_a_tenth_more_than_iree() -> None:
    (found,) = run_block("compile").statistics()
    assert found.peak_bytes <= 1.1 * IREE_PEAK_BYTES
    assert found.memory.boundary_bytes == 231_680
    assert found.dispatches <= 21


def test_the_transformer_block_without_tiles_is_as_many_dispatches_as_iree_makes() -> None:
    (found,) = run_block("data-tile{data-tiling=false}").statistics()
    assert found.dispatches == 14
    # Its products are packed a section at a time.
    assert found.peak_bytes <= 1.1 * IREE_PEAK_BYTES


@pytest.mark.parametrize("pipeline", ["data-tile", "data-tile{data-tiling=false}"])
def test_softmax_is_one_dispatch_in_the_memory_of_its_result(pipeline: str) -> None:
    program = compile(SOFTMAX, pipeline, backend="native")
    given = np.random.default_rng(0).normal(size=(8, 32)).astype(np.float32)
    (result,) = program["main"].run([given])
    exponentials = np.exp(given - given.max(axis=1, keepdims=True))
    assert np.allclose(result, exponentials / exponentials.sum(axis=1, keepdims=True), atol=1e-6)
    (found,) = program.statistics()
    assert found.dispatches == 1
    # The exponentials lie in the result's memory; what rows add up to is small.
    assert found.memory.arena_bytes <= 2 * 64
    assert found.peak_bytes <= 2 * 1024 + 2 * 64


SHARED_WEIGHT = """
func.func @main(%x: tensor<16x32xf32>, %y: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %w = arith.constant dense_resource<weight> : tensor<32x32xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %a = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x32xf32>)
    outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %b = linalg.matmul ins(%y, %w : tensor<16x32xf32>, tensor<32x32xf32>)
    outs(%a : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %b : tensor<16x32xf32>
}
{-# dialect_resources: { builtin: { weight: "0x04000000CONTENTS" } } #-}
"""


def test_a_weight_of_two_products_is_stored_once() -> None:
    weight = np.random.default_rng(1).normal(size=(32, 32)).astype(np.float32)
    text = SHARED_WEIGHT.replace("CONTENTS", weight.tobytes().hex())
    program = compile(text, "data-tile", backend="native")
    x, y = (np.random.default_rng(seed).normal(size=(16, 32)).astype(np.float32) for seed in (2, 3))
    (result,) = program["main"].run([x, y])
    assert np.allclose(result, x @ weight + y @ weight, atol=1e-4)
    (found,) = program.statistics()
    assert found.memory.constant_bytes == weight.nbytes


@pytest.mark.parametrize("calls", [2, 9])
def test_a_result_that_nothing_reads_is_released_at_once(calls: int) -> None:
    kind = "tensor<64xf32>"
    steps = "\n".join(
        f"  %{i + 1}:2 = func.call @f(%{i}#0) : ({kind}) -> ({kind}, {kind})" for i in range(calls)
    )
    compiled = Compiled(f"""
func.func private @f(%a: {kind}) -> ({kind}, {kind}) {{
  %s = arith.addf %a, %a : {kind}
  %p = arith.mulf %s, %a : {kind}
  return %s, %p : {kind}, {kind}
}}
func.func @main(%a: {kind}) -> {kind} {{
  %0:2 = func.call @f(%a) : ({kind}) -> ({kind}, {kind})
{steps}
  return %{calls}#0 : {kind}
}}""")
    compiled.run([np.ones(64, np.float32)])
    assert compiled.machine.pool.peak_bytes == 2 * 64 * 4
