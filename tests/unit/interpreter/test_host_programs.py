"""Programs with globals, devices and encodings, before layouts are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.function_signatures import result_types
from mesh_opt.interpreter.run import argument_types, find_function, public_functions, run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from parsing import parse_verified

CASES = Path(__file__).parents[2] / "cases" / "encoding"


def test_globals_and_initializers(execute: Any) -> None:
    text = """
    util.global private @weight = dense<2.0> : tensor<3xf32>
    util.global private mutable @count = 5 : i32
    util.global private mutable @later : i32
    util.initializer {
      %0 = util.global.load @count : i32
      %1 = arith.addi %0, %0 : i32
      util.global.store %1, @later : i32
      util.return
    }
    util.func private @bump() -> i32 {
      %0 = util.global.load @count : i32
      %1 = arith.addi %0, %0 : i32
      util.global.store %1, @count : i32
      util.return %1 : i32
    }
    util.func public @f(%x: tensor<3xf32>) -> (tensor<3xf32>, i32, i32, i32) {
      %w = util.global.load @weight : tensor<3xf32>
      %y = arith.mulf %x, %w : tensor<3xf32>
      %0 = util.call @bump() : () -> i32
      %1 = util.call @bump() : () -> i32
      %2 = util.global.load @later : i32
      util.return %y, %0, %1, %2 : tensor<3xf32>, i32, i32, i32
    }"""
    x = np.float32([1, 2, 3])
    for _ in range(2):
        # Every run starts with the initial values.
        scaled, first, second, later = execute(text, x)
        np.testing.assert_array_equal(scaled, 2 * x)
        assert (first, second, later) == (10, 20, 10)


def test_globals_of_dynamic_sizes_start_empty() -> None:
    text = """
    util.global private mutable @g : tensor<?xf32>
    util.func public @f(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
      %0 = util.global.load @g : tensor<?xf32>
      util.global.store %x, @g : tensor<?xf32>
      %1 = util.global.load @g : tensor<?xf32>
      util.return %0, %1 : tensor<?xf32>, tensor<?xf32>
    }"""
    x = np.float32([1, 2, 3])
    for backend in ("interpreter", "native"):
        before, after = compile(text, backend=backend)["f"].run([x])
        assert before.shape == (0,)
        np.testing.assert_array_equal(after, x)


FLOW = """
func.func @f(%v: f32, %t: tensor<?x4xf32>, %u: tensor<2x3xf32>, %i: index, %n: index)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x2xf32>, f32, tensor<?x4xf32>, tensor<?x4xi32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = flow.tensor.splat %v : tensor<?x4xf32>{%n}
  %1 = flow.tensor.clone %t : tensor<?x4xf32>{%n}
  %2 = flow.tensor.update %u, %1[%i, %c1] : tensor<2x3xf32> -> %1 as tensor<?x4xf32>{%n}
  %3 = flow.tensor.slice %2[%i, %c1 for %n, %c2] : tensor<?x4xf32>{%n} -> tensor<?x2xf32>{%n}
  %4 = flow.tensor.load %2[%i, %c2] : tensor<?x4xf32>{%n}
  %5 = flow.tensor.store %v, %1[%i, %c2] : tensor<?x4xf32>{%n}
  %6 = flow.tensor.tie_shape %2 : tensor<?x4xf32>{%n}
  %7 = flow.tensor.bitcast %5 : tensor<?x4xf32>{%n} -> tensor<?x4xi32>{%n}
  %8 = flow.tensor.empty : tensor<2x3xf32>
  %9 = flow.tensor.alloca : tensor<?x4xf32>{%n}
  return %0, %6, %3, %4, %5, %7
    : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x2xf32>, f32, tensor<?x4xf32>, tensor<?x4xi32>
}"""


def test_whole_tensors(execute: Any, execute_error: Any) -> None:
    v, t, u = np.float32(7), np.float32(range(8)).reshape(2, 4), -np.ones((2, 3), np.float32)
    splat, updated, part, element, stored, bits = execute(FLOW, v, t, u, np.int64(0), np.int64(2))
    np.testing.assert_array_equal(splat, np.full((2, 4), v))
    np.testing.assert_array_equal(updated, [[0, -1, -1, -1], [4, -1, -1, -1]])
    np.testing.assert_array_equal(part, -np.ones((2, 2)))
    assert element == -1
    # Tensors are values: what was cloned is as it was.
    np.testing.assert_array_equal(stored, [[0, 1, 7, 3], [4, 5, 6, 7]])
    np.testing.assert_array_equal(bits, stored.view(np.int32))
    np.testing.assert_array_equal(t, np.float32(range(8)).reshape(2, 4))

    error = execute_error(FLOW, v, t, u, np.int64(1), np.int64(2))
    assert error.operation.name == "flow.tensor.update"
    assert error.message.startswith("takes 2 elements from 1")
    error = execute_error(FLOW, v, t, u, np.int64(0), np.int64(1))
    assert error.operation.name == "flow.tensor.tie_shape"
    assert error.message == "expects shape 1x4, found 2x4"


def test_parameters_have_no_contents(execute_error: Any) -> None:
    text = """
    util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<2xf32>
    func.func @f() -> tensor<2xf32> {
      %w = util.global.load @w : tensor<2xf32>
      return %w : tensor<2xf32>
    }"""
    error = execute_error(text)
    assert error.operation.name == "util.global"
    assert "whose contents are not given" in error.message


@pytest.mark.parametrize("name", ["c01_homog", "c08_shared_const", "c13_enc_transfer"])
def test_encodings_and_transfers_change_no_elements(name: str) -> None:
    text = (CASES / f"{name}.mlir").read_text()
    results = []
    for plain in (False, True):
        module = parse_module(new_context(), Source(text, "case.mlir"))
        moves = [op for op in module.walk() if op.name == "flow.tensor.transfer"]
        assert moves
        for op in moves if plain else ():
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()
        (name,) = public_functions(module)
        types = argument_types(find_function(Program(module), name))
        generator = np.random.default_rng(1)
        inputs = [generator.standard_normal(t.get_shape()).astype(np.float32) for t in types]
        results.append(run(module, name, inputs))
    for with_transfers, without in zip(*results, strict=True):
        np.testing.assert_array_equal(with_transfers, without)


def test_bits_as_elements_of_another_size(execute: Any, execute_error: Any) -> None:
    """Two `i4` are an `i8`, the first one in the low bits."""
    text = """
    func.func @f(%x: tensor<2x2xi4>) -> (tensor<2xi8>, tensor<4xi4>) {
      %0 = iree_tensor_ext.bitcast %x : tensor<2x2xi4> -> tensor<2xi8>
      %1 = iree_tensor_ext.bitcast %0 : tensor<2xi8> -> tensor<4xi4>
      return %0, %1 : tensor<2xi8>, tensor<4xi4>
    }"""
    bytes_, again = execute(text, np.int8([[1, 2], [-1, -8]]))
    assert (bytes_.tolist(), again.tolist()) == ([0x21, -0x71], [1, 2, -1, -8])
    error = execute_error(text.replace("2xi8", "2xi16"), np.int8([[1, 2], [-1, -8]]))
    assert "cannot bitcast tensor<2x2xi4> to tensor<2xi16>" in error.message


def test_types_of_results_are_those_that_are_returned() -> None:
    """A branch may have as many operands as the function has results."""
    text = """
util.func public @main(%x: tensor<2xf32>, %whether: i1, %n: index)
    -> (!hal.buffer_view, index, index) {
  cf.br ^head(%n : index)
^end:
  %view = hal.tensor.export %x : tensor<2xf32> -> !hal.buffer_view
  util.return %view, %n, %n : !hal.buffer_view, index, index
^head(%i: index):
  cf.cond_br %whether, ^other(%i : index), ^other(%n : index)
^other(%j: index):
  cf.br ^end
}"""
    _, module = parse_verified(text)
    (function,) = module.body.block.ops
    assert [str(each) for each in result_types(function)] == ["tensor<2xf32>", "index", "index"]
