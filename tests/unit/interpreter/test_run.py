"""Whole programs: models against JAX, partitioned functions, inputs that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from mesh_opt.api import InputError
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.frames import run_implementation
from mesh_opt.interpreter.registry import find_entry
from mesh_opt.interpreter.run import public_functions, run, run_partitioned
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.runtime.abi.compare import compare, first_difference
from mesh_opt.runtime.abi.values import undefined
from mesh_opt.sharding.grid import Grid
from mesh_opt.tools.console import fault_text
from parsing import parse_program
from xdsl.dialects.builtin import f32

MODELS = Path(__file__).parents[2] / "cases" / "models"


@pytest.mark.parametrize("name", ["mlp", "transformer_block", "transformer_block_sharded"])
def test_models_agree_with_jax(name: str) -> None:
    module = parse_program((MODELS / f"{name}.mlir").read_text())
    arrays = np.load(MODELS / f"{name}.npz")
    count = sum(key.startswith("in") for key in arrays.files)
    results = run(module, "main", [arrays[f"in{index}"] for index in range(count)])
    assert len(results) == len(arrays.files) - count
    for index, result in enumerate(results):
        np.testing.assert_allclose(result, arrays[f"out{index}"], rtol=1e-5, atol=2e-6)


def test_a_bug_of_an_implementation_names_its_operation() -> None:
    module = parse_program(
        "func.func @f(%x: f32) -> f32 { %y = math.exp %x : f32 return %y : f32 }"
    )
    exp = next(op for op in module.walk() if op.name == "math.exp")
    entry, frame = find_entry(exp.name), cast(Any, None)
    assert entry is not None and entry.execute is not None
    with pytest.raises(TypeError) as raised:
        run_implementation(exp, entry.execute, [cast(Any, None)], frame)
    message = fault_text("mesh-run", raised.value)
    assert "this is a bug in mesh-run" in message and "while running math.exp" in message


_PARTITIONED = """
shard.grid @g(shape = {shape})
func.func @f(
    %x: tensor<?x4xf32> {{shard.boundary = {{global_type = tensor<5x4xf32>, grid = @g,
        split_axes = [array<i16: 0>, array<i16>]}}}}, %s: f32)
    -> (tensor<?x4xf32> {{shard.boundary = {{global_type = tensor<5x4xf32>, grid = @g,
        split_axes = [array<i16: 0>, array<i16>]}}}}, tensor<4xf32>) {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %y = linalg.add ins(%x, %x : tensor<?x4xf32>, tensor<?x4xf32>)
                  outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %zero = arith.constant 0.0 : f32
  %z = tensor.splat %zero : tensor<4xf32>
  %p = linalg.reduce {{ arith.addf }} ins(%x : tensor<?x4xf32>) outs(%z : tensor<4xf32>)
      dimensions = [0]
  %t = {total}
  return %y, %t : tensor<?x4xf32>, tensor<4xf32>
}}"""
_TOTAL = "shard.all_reduce %p on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>"


@pytest.mark.parametrize("shape", ["1", "2", "3", "2x2"])
def test_partitioned_functions_take_and_return_whole_tensors(shape: str) -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    module = parse_program(_PARTITIONED.format(shape=shape, total=_TOTAL))
    doubled, total = run_partitioned(module, "f", [x, np.float32(0)])
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(total, x.sum(axis=0))


def test_a_missing_reduction_is_noticed() -> None:
    module = parse_program(_PARTITIONED.format(shape="2", total="arith.negf %p : tensor<4xf32>"))
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    with pytest.raises(OperationError, match=r"result #1: devices 0 and 1 .* differ"):
        run_partitioned(module, "f", [x, np.float32(0)])


def test_open_grids_need_a_shape() -> None:
    module = parse_program(_PARTITIONED.format(shape="?", total=_TOTAL))
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    with pytest.raises(InputError, match="has dynamic extents"):
        run_partitioned(module, "f", [x, np.float32(0)])
    results = run_partitioned(module, "f", [x, np.float32(0)], Grid("g", (3,)))
    np.testing.assert_array_equal(results[1], x.sum(axis=0))


_PLAIN = """
func.func @f(%x: tensor<2x?xf32>, %i: i32) -> tensor<2x?xf32> {
  return %x : tensor<2x?xf32>
}
func.func private @hidden() { return }
func.func private @declared()
"""


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        ("f", [np.zeros((2, 3), np.float32)], "expected 2 inputs, got 1"),
        ("f", [np.zeros((2, 3)), np.int32(1)], "input 0 is of float64, expected tensor<2x"),
        ("f", [np.zeros((3, 3), np.float32), np.int32(1)], "input 0 has shape 3x3"),
        ("f", [np.zeros(2, np.float32), np.int32(1)], "input 0 has shape 2, expected"),
        ("f", [np.zeros((2, 3), np.float32), np.int32([1])], "input 1 has shape 1, expected i32"),
        ("g", [], "there is no function @g; the module has @f"),
        ("declared", [], "@declared has no body"),
    ],
)
def test_inputs_that_do_not_fit(function: str, inputs: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(parse_program(_PLAIN), function, inputs)


@pytest.mark.parametrize(
    ("element", "dtype", "number"),
    [("i4", np.int8, 8), ("i4", np.int8, -9), ("ui2", np.uint8, 4), ("i12", np.int16, 4000)],
)
def test_inputs_wider_than_their_type(element: str, dtype: Any, number: int) -> None:
    """Stored in four bits they would be other numbers."""
    module = parse_program(f"func.func @f(%x: tensor<2x{element}>) {{ return }}")
    run(module, "f", [np.asarray([1, 0], dtype)])
    with pytest.raises(
        InputError, match=rf"input 0 holds {number} at \[1\], which does not fit tensor<2x"
    ):
        run(module, "f", [np.asarray([1, number], dtype)])


def test_public_functions() -> None:
    assert public_functions(parse_program(_PLAIN)) == ["f"]


@pytest.mark.parametrize(
    ("literal", "type_text", "expected"),
    [
        ("dense<[[1, 2], [3, 4]]>", "tensor<2x2xi32>", [[1, 2], [3, 4]]),
        ("dense<7>", "tensor<2x2xi8>", [[7, 7], [7, 7]]),
        ("dense<[true, false]>", "tensor<2xi1>", [True, False]),
        ("dense<[-3, 7]>", "tensor<2xi4>", [-3, 7]),
        ("dense<[255, 1]>", "tensor<2xui8>", [255, 1]),
        ('dense<"0x0000803F000000C0">', "tensor<2xf32>", [1.0, -2.0]),
        ("dense<0x7F800000>", "tensor<2xf32>", [np.inf, np.inf]),
        ("dense<[1.5, -2.0]>", "tensor<2xbf16>", [1.5, -2.0]),
        ("dense<[1.5, -2.0]>", "tensor<2xf8E4M3FN>", [1.5, -2.0]),
        ("dense<[(1.0, 2.0), (0.0, -1.0)]>", "tensor<2xcomplex<f32>>", [1 + 2j, -1j]),
        ("dense<>", "tensor<0x2xf32>", []),
        ("dense<[5, 6]>", "tensor<2xindex>", [5, 6]),
    ],
)
def test_constants(literal: str, type_text: str, expected: list[Any]) -> None:
    text = f"""
    func.func @f() -> {type_text} {{
      %0 = arith.constant {literal} : {type_text}
      return %0 : {type_text}
    }}"""
    (result,) = run(parse_program(text), "f", [])
    assert result.tolist() == expected


def test_resources() -> None:
    text = """
    func.func @f() -> tensor<2xf32> {
      %0 = arith.constant dense_resource<weights> : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    {-#
      dialect_resources: { builtin: { weights: "0x040000000000803F000000C0" } }
    #-}"""
    (result,) = run(parse_program(text), "f", [])
    assert result.tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("0x04000000zz", "which is damaged: non-hexadecimal number"),
        ("0x0400000", "which is damaged: non-hexadecimal number"),
        ("0x04", "of 0 bytes, but needs 8"),
        ("0x03000000000080bf000000C0", "which is damaged: its alignment is 3, expected a power of"),
        ("0x040000000000803F000000C000", "of 9 bytes, but needs 8"),
    ],
)
def test_damaged_resources(data: str, message: str) -> None:
    text = f"""
    func.func @f() -> tensor<2xf32> {{
      %0 = arith.constant dense_resource<damaged> : tensor<2xf32>
      return %0 : tensor<2xf32>
    }}
    {{-# dialect_resources: {{ builtin: {{ damaged: "{data}" }} }} #-}}"""
    with pytest.raises(OperationError, match=f"refers to the resource 'damaged.* {message}"):
        run(parse_program(text), "f", [])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("?", r"has a constant of type tensor<\?xf32>, expected static sizes"),
        ("0x4611686018427387904", "of shape 0x4611686018427387904, which is too large for memory"),
        ("4611686018427387904", "of shape 4611686018427387904, which is too large for memory"),
        ("1099511627776", "repeats the resource 'x' 1099511627776 times: a constant has at most"),
    ],
)
def test_sizes_of_resources(sizes: str, message: str) -> None:
    text = f"""
    func.func @f() -> tensor<{sizes}xf32> {{
      %0 = arith.constant dense_resource<x> : tensor<{sizes}xf32>
      return %0 : tensor<{sizes}xf32>
    }}
    {{-# dialect_resources: {{ builtin: {{ x: "0x040000000000803F" }} }} #-}}"""
    with pytest.raises(OperationError, match=message):
        run(parse_program(text), "f", [])
    with pytest.raises(OperationError, match=message):
        CompiledProgram(parse_program(text)).run("f", [])


def test_a_splat_of_nothing_that_has_a_huge_size() -> None:
    kind = "tensor<0x4611686018427387904xf32>"
    text = (
        f"func.func @f() -> {kind} {{ %0 = arith.constant dense<1.0> : {kind} return %0 : {kind} }}"
    )
    with pytest.raises(OperationError, match="which is too large for memory"):
        run(parse_program(text), "f", [])
    with pytest.raises(OperationError, match="which is too large for memory"):
        CompiledProgram(parse_program(text)).run("f", [])


def test_annotations_are_identities() -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
      %y = shard.shard %x to %s : tensor<4xf32>
      %z = shard.shard %y to %s annotate_for_users : tensor<4xf32>
      return %z : tensor<4xf32>
    }"""
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(parse_program(text), "f", [x])[0], x)


def test_comparison() -> None:
    a = np.float32([1, np.nan, np.inf, 100])
    assert compare(a, a.copy()).agrees
    assert compare(a, np.float32([1, np.nan, np.inf, 100.001])).agrees
    difference = compare(a, np.float32([1, np.nan, -np.inf, 101]))
    assert (difference.agrees, difference.index, difference.absolute) == (False, (2,), np.inf)
    assert not compare(a, np.float32([np.nan, 1, np.inf, 100])).agrees
    assert not compare(np.int32([1]), np.int32([2])).agrees
    assert compare(np.float32([1]), np.float32([2]), 1.0).agrees
    with pytest.raises(ValueError, match="has shape 4, expected 3"):
        compare(a, a[:3])
    with pytest.raises(ValueError, match="is of float32, expected float64"):
        compare(a, a.astype(np.float64))
    assert "1 elements are undefined" in str(first_difference(a[:1], undefined((1,), f32)))


def test_small_elements_bear_the_rounding_of_large_ones() -> None:
    expected = np.float32([400, -300, 200, 1e-3])
    assert compare(expected + np.float32([0, 0, 0, 2e-3]), expected).agrees
    # One large element is not typical, and hides nothing.
    expected = np.float32([1e30, *range(20)])
    assert not compare(expected + np.float32([0] * 20 + [1]), expected).agrees


def test_annotations_of_older_and_other_dialects() -> None:
    text = """
    sdy.mesh @m = <["x"=2]>
    mesh.mesh @g(shape = 2)
    module @inner {
      func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = sdy.sharding_constraint %x <@m, [{"x"}]> : tensor<4xf32>
        %s = mesh.sharding @g split_axes = [[0]] : !mesh.sharding
        %1 = mesh.shard %0 to %s : tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    }"""
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(parse_program(text), "f", [x])[0], x)
