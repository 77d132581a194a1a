"""xdsl-jax, another compiler on xDSL: its `stablehlo` and our dialects in one context.

It asks for an xDSL of its own, so these tests run in an environment that has it (`.ci/run`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import mesh_opt
import numpy as np
import pytest
from mesh_opt.extend import register_dialects
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint

if os.environ.get("MESH_OPT_REQUIRE_XDSL_JAX") != "1":
    pytest.importorskip("xdsl_jax")

PROGRAM = """
shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<6x4xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4x8xf32>
  %p = "stablehlo.dot_general"(%a, %w) <{
    dot_dimension_numbers = #stablehlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>,
    precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]
  }> : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %z = "stablehlo.constant"() <{value = dense<0.0> : tensor<4x6xf32>}> : () -> tensor<4x6xf32>
  %c = "stablehlo.compare"(%p, %z) <{comparison_direction = #stablehlo<comparison_direction GT>}>
    : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  %r = "stablehlo.select"(%c, %p, %z)
    : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = "stablehlo.transpose"(%r) <{permutation = array<i64: 1, 0>}>
    : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %u = "stablehlo.tanh"(%t) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %u : tensor<6x4xf32>
}
"""
X, W = (np.random.default_rng(7).standard_normal(n).astype(np.float32) for n in ((4, 8), (8, 6)))


def context() -> Context:
    """One that has their dialects, and then ours."""
    from xdsl_jax.dialects import get_all_dialects

    made = Context()
    for name, factory in get_all_dialects().items():
        made.register_dialect(name, factory)
    register_dialects(made)
    return made


def check_classes(module: ModuleOp) -> None:
    theirs = [op for op in module.walk() if op.name.startswith("stablehlo.")]
    assert theirs
    assert {type(op).__module__.partition(".")[0] for op in theirs} == {"xdsl_jax"}


@pytest.mark.parametrize("parser", ["ours", "xDSL's"])
def test_its_programs_are_partitioned(parser: str) -> None:
    shared = context()
    if parser == "ours":
        module = parse_module(shared, Source(PROGRAM, "program.mlir"))
    else:
        module = Parser(shared, PROGRAM).parse_module()
    check_classes(module)
    program = mesh_opt.compile(module, "spmd", context=shared, backend="interpreter")
    assert "shard.all_reduce" in program.stages[-1].text
    assert "stablehlo." not in program.stages[-1].text
    expected = np.tanh(np.maximum(X @ W, 0)).T
    np.testing.assert_allclose(program.main(X, W), expected, rtol=1e-5, atol=1e-6)


def test_operations_that_are_built() -> None:
    from xdsl_jax.dialects import stablehlo

    kind = TensorType(f32, [4, 8])
    function = FuncOp("main", ([kind, kind], [kind]))
    builder = Builder(InsertPoint.at_end(function.body.block))
    a, b = function.args
    total = builder.insert(stablehlo.AddOp(a, b)).results[0]
    builder.insert(ReturnOp(builder.insert(stablehlo.MultiplyOp(total, a)).results[0]))
    module = ModuleOp([function])
    check_classes(module)
    program = mesh_opt.compile(module, context=context(), backend="interpreter")
    np.testing.assert_allclose(program.main(X, X), (X + X) * X, rtol=1e-6)


def test_xdsl_opt_with_both_packages() -> None:
    """Neither hides the other: a name of both is theirs."""
    xdsl_opt = Path(sys.executable).parent / "xdsl-opt"
    passes = "convert-stablehlo-to-linalg,sharding-propagation"
    done = subprocess.run(
        [xdsl_opt, "-p", passes], input=PROGRAM, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "linalg." in done.stdout and "stablehlo." not in done.stdout
