"""Annotations survive `cse`, `canonicalize` and `dce` before and after propagation.

Every sharding case is partitioned with these passes in between, and computes what it did before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from breadth import sampled
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import (
    Program,
    argument_types,
    find_function,
    public_functions,
    run,
    run_partitioned,
)
from mesh_opt.passes.registry import all_passes
from mesh_opt.runtime.abi.values import dtype_of
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Attribute
from xdsl.parser import Parser

CASES = Path(__file__).parents[1] / "cases" / "shard"
CLEAN = ("cse", "canonicalize", "cse", "dce")
PIPELINE = (*CLEAN, "sharding-propagation", *CLEAN, "shard-partition", *CLEAN)
DYNAMIC_SIZE = 6

TWO_PLACES = """
shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %rows = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %a = arith.constant dense<2.0> : tensor<4x8xf32>
  %a_rows = shard.shard %a to %rows : tensor<4x8xf32>
  %b = arith.constant dense<2.0> : tensor<4x8xf32>
  %b_columns = shard.shard %b to %columns : tensor<4x8xf32>
  %x_rows = shard.shard %x to %rows : tensor<4x8xf32>
  %p = arith.mulf %x_rows, %a_rows : tensor<4x8xf32>
  %y_columns = shard.shard %y to %columns : tensor<4x8xf32>
  %q = arith.mulf %y_columns, %b_columns : tensor<4x8xf32>
  %p_again = arith.mulf %x_rows, %a_rows : tensor<4x8xf32>
  %p_columns = shard.shard %p_again to %columns : tensor<4x8xf32>
  %s = arith.addf %q, %p_columns : tensor<4x8xf32>
  return %p, %s : tensor<4x8xf32>, tensor<4x8xf32>
}
"""
"""Equal constants, and equal products, that are annotated differently."""


def random_array(value_type: Attribute, generator: np.random.Generator) -> np.ndarray:
    """Small numbers of an element type; indices are not negative."""
    shape: list[int] = []
    if isinstance(value_type, TensorType):
        shape = [DYNAMIC_SIZE if n == DYNAMIC_INDEX else n for n in value_type.get_shape()]
    dtype = dtype_of(value_type)
    if np.issubdtype(dtype, np.integer):
        low = 0 if "index" in str(value_type) else -100
        return np.asarray(generator.integers(low, 4, shape)).astype(dtype)
    return np.asarray(generator.standard_normal(shape)).astype(dtype)


def programs() -> list[pytest.ParameterSet]:
    cases = {"two_places": TWO_PLACES}
    cases |= {path.stem: path.read_text() for path in sorted(CASES.glob("*.mlir"))}
    del cases["70_axis_out_of_range"]
    return [pytest.param(text, id=name) for name, text in cases.items()]


@pytest.mark.parametrize("text", sampled(programs(), 3))
def test_means_the_same(text: str) -> None:
    context = Context()
    register_dialects(context)
    module = Parser(context, text).parse_module()
    original = module.clone()
    assert isinstance(original, ModuleOp)
    for name in PIPELINE:
        all_passes()[name]()().apply(context, module)
        module.verify()
    generator = np.random.default_rng(0)
    for name in public_functions(original):
        types = argument_types(find_function(Program(original), name))
        inputs = [random_array(value_type, generator) for value_type in types]
        expected = run(original, name, inputs)
        results = run_partitioned(module, name, inputs)
        for got, wanted in zip(results, expected, strict=True):
            if isinstance(wanted, np.ndarray):
                np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
            else:
                assert got == wanted
