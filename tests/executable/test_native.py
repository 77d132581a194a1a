"""What the native backend computes is what the interpreter computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram

MODELS = Path(__file__).parents[1] / "cases" / "models"

PROGRAMS: dict[str, str] = {
    "row_sum": """
func.func @main(%a: tensor<5x37xf32>) -> tensor<5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %0 = linalg.reduce ins(%a : tensor<5x37xf32>) outs(%i : tensor<5xf32>) dimensions = [1]
    (%x: f32, %y: f32) {
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }
  return %0 : tensor<5xf32>
}""",
    "column_max_of_squares": """
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @main(%a: tensor<6x70xf32>, %i: tensor<70xf32>) -> tensor<70xf32> {
  %q = arith.mulf %a, %a : tensor<6x70xf32>
  %0 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%q : tensor<6x70xf32>) outs(%i : tensor<70xf32>) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.maximumf %x, %y : f32
      linalg.yield %s : f32
  } -> tensor<70xf32>
  return %0 : tensor<70xf32>
}""",
    "maximum_and_its_place": """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%a: tensor<4x9xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %m = arith.constant -1.0e30 : f32
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4xi32>
  %i = linalg.fill ins(%m : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %j = linalg.fill ins(%z : i32) outs(%f : tensor<4xi32>) -> tensor<4xi32>
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row],
                         iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4x9xf32>) outs(%i, %j : tensor<4xf32>, tensor<4xi32>) {
    ^bb0(%x: f32, %y: f32, %k: i32):
      %n = linalg.index 1 : index
      %c = arith.index_cast %n : index to i32
      %g = arith.cmpf ogt, %x, %y : f32
      %s = arith.select %g, %x, %y : f32
      %t = arith.select %g, %c, %k : i32
      linalg.yield %s, %t : f32, i32
  } -> (tensor<4xf32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}""",
    "swapped_accumulators": """
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @main(%a: tensor<5xi32>, %b: tensor<i32>, %c: tensor<i32>)
    -> (tensor<i32>, tensor<i32>) {
  %0:2 = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]}
      ins(%a : tensor<5xi32>) outs(%b, %c : tensor<i32>, tensor<i32>) {
    ^bb0(%x: i32, %y: i32, %z: i32):
      %s = arith.addi %x, %y : i32
      linalg.yield %z, %s : i32, i32
  } -> (tensor<i32>, tensor<i32>)
  return %0#0, %0#1 : tensor<i32>, tensor<i32>
}""",
    "convolution": """
func.func @main(%a: tensor<2x9x8x3xf32>, %w: tensor<3x2x3x5xf32>, %i: tensor<2x4x7x5xf32>)
    -> tensor<2x4x7x5xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>,
                                 strides = dense<[2, 1]> : tensor<2xi64>}
      ins(%a, %w : tensor<2x9x8x3xf32>, tensor<3x2x3x5xf32>)
      outs(%i : tensor<2x4x7x5xf32>) -> tensor<2x4x7x5xf32>
  return %0 : tensor<2x4x7x5xf32>
}""",
    "batch_matmul": """
func.func @main(%a: tensor<3x4x5xf32>, %b: tensor<3x5x6xf32>, %c: tensor<3x4x6xf32>)
    -> tensor<3x4x6xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<3x4x5xf32>, tensor<3x5x6xf32>)
      outs(%c : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}""",
    "softmax": """
func.func @main(%a: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %e = tensor.empty() : tensor<3x4x5xf32>
  %0 = linalg.softmax dimension(1) ins(%a : tensor<3x4x5xf32>)
      outs(%e : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}""",
    "transpose_of_broadcast": """
func.func @main(%a: tensor<4xf32>, %b: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %e = tensor.empty() : tensor<4x7xf32>
  %0 = linalg.broadcast ins(%a : tensor<4xf32>) outs(%e : tensor<4x7xf32>) dimensions = [1]
  %f = tensor.empty() : tensor<7x4xf32>
  %1 = linalg.transpose ins(%0 : tensor<4x7xf32>) outs(%f : tensor<7x4xf32>) permutation = [1, 0]
  %2 = arith.addf %1, %b : tensor<7x4xf32>
  return %2 : tensor<7x4xf32>
}""",
    "slices": """
func.func @main(%a: tensor<8x9xf32>, %b: tensor<2x3xf32>) -> (tensor<3x4xf32>, tensor<9xf32>,
    tensor<8x9xf32>) {
  %0 = tensor.extract_slice %a[1, 2] [3, 4] [2, 1] : tensor<8x9xf32> to tensor<3x4xf32>
  %1 = tensor.extract_slice %a[5, 0] [1, 9] [1, 1] : tensor<8x9xf32> to tensor<9xf32>
  %2 = tensor.insert_slice %b into %a[3, 1] [2, 3] [1, 2] : tensor<2x3xf32> into tensor<8x9xf32>
  return %0, %1, %2 : tensor<3x4xf32>, tensor<9xf32>, tensor<8x9xf32>
}""",
    "pad_and_concat": """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<4x2xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 7.5 : f32
  %p = tensor.pad %a low[1, 2] high[1, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %z : f32
  } : tensor<2x3xf32> to tensor<4x6xf32>
  %c = tensor.concat dim(1) %b, %p : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  %d = math.tanh %c : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}""",
    # Pieces of two concatenations, one inside the other, some of them empty.
    "concatenations_along_rows": """
func.func @main(%a: tensor<3x9xf32>, %b: tensor<3x0xf32>, %c: tensor<3x1xf32>, %d: tensor<3x17xf32>)
    -> tensor<3x18xf32> {
  %0 = tensor.concat dim(1) %b, %c, %a, %b : (tensor<3x0xf32>, tensor<3x1xf32>, tensor<3x9xf32>,
      tensor<3x0xf32>) -> tensor<3x10xf32>
  %n = arith.negf %0 : tensor<3x10xf32>
  %x = tensor.extract_slice %a[0, 1] [3, 8] [1, 1] : tensor<3x9xf32> to tensor<3x8xf32>
  %1 = tensor.concat dim(1) %x, %n : (tensor<3x8xf32>, tensor<3x10xf32>) -> tensor<3x18xf32>
  %2 = tensor.concat dim(1) %d, %c : (tensor<3x17xf32>, tensor<3x1xf32>) -> tensor<3x18xf32>
  %3 = arith.mulf %1, %2 : tensor<3x18xf32>
  return %3 : tensor<3x18xf32>
}""",
    "concatenations_of_vectors": """
func.func @main(%a: tensor<1x131xf32>, %b: tensor<1x1xf32>, %c: tensor<13xi8>, %d: tensor<0xi8>)
    -> (tensor<1x263xf32>, tensor<13xi8>) {
  %0 = tensor.concat dim(1) %a, %b, %a : (tensor<1x131xf32>, tensor<1x1xf32>, tensor<1x131xf32>)
      -> tensor<1x263xf32>
  %1 = tensor.concat dim(0) %d, %c : (tensor<0xi8>, tensor<13xi8>) -> tensor<13xi8>
  return %0, %1 : tensor<1x263xf32>, tensor<13xi8>
}""",
    "reshapes": """
func.func @main(%a: tensor<6x4xf32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<6x1x4xf32>) {
  %n = arith.negf %a : tensor<6x4xf32>
  %0 = tensor.expand_shape %n [[0, 1], [2]] output_shape [2, 3, 4]
      : tensor<6x4xf32> into tensor<2x3x4xf32>
  %1 = tensor.collapse_shape %n [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  %2 = tensor.expand_shape %n [[0, 1], [2]] output_shape [6, 1, 4]
      : tensor<6x4xf32> into tensor<6x1x4xf32>
  %3 = math.absf %2 : tensor<6x1x4xf32>
  return %0, %1, %3 : tensor<2x3x4xf32>, tensor<24xf32>, tensor<6x1x4xf32>
}""",
    "indices_and_gather": """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%t: tensor<9x4xf32>, %k: tensor<5xindex>) -> tensor<5x4xf32> {
  %e = tensor.empty() : tensor<5x4xf32>
  %c = arith.constant 9 : index
  %0 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%k : tensor<5xindex>) outs(%e : tensor<5x4xf32>) {
    ^bb0(%i: index, %o: f32):
      %j = linalg.index 1 : index
      %m = arith.remui %i, %c : index
      %v = tensor.extract %t[%m, %j] : tensor<9x4xf32>
      linalg.yield %v : f32
  } -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}""",
    "splat_and_from_elements": """
func.func @main(%x: f32, %y: f32) -> tensor<3xf32> {
  %s = tensor.splat %x : tensor<3xf32>
  %g = tensor.from_elements %y, %x, %y : tensor<3xf32>
  %0 = arith.addf %s, %g : tensor<3xf32>
  return %0 : tensor<3xf32>
}""",
    "branch_in_a_body": """
#id = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<19xf32>) -> tensor<19xf32> {
  %e = tensor.empty() : tensor<19xf32>
  %z = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<19xf32>) outs(%e : tensor<19xf32>) {
    ^bb0(%x: f32, %o: f32):
      %p = arith.cmpf ogt, %x, %z : f32
      %r = scf.if %p -> (f32) {
        %q = math.sqrt %x : f32
        scf.yield %q : f32
      } else {
        scf.yield %z : f32
      }
      linalg.yield %r : f32
  } -> tensor<19xf32>
  return %0 : tensor<19xf32>
}""",
    "loop_with_update": """
func.func @main(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %l = arith.constant 0 : index
  %h = arith.constant 4 : index
  %s = arith.constant 1 : index
  %r = scf.for %i = %l to %h step %s iter_args(%t = %a) -> (tensor<4x3xf32>) {
    %x = tensor.extract_slice %t[%i, 0] [1, 3] [1, 1] : tensor<4x3xf32> to tensor<1x3xf32>
    %y = math.exp %x : tensor<1x3xf32>
    %u = tensor.insert_slice %y into %t[%i, 0] [1, 3] [1, 1]
        : tensor<1x3xf32> into tensor<4x3xf32>
    scf.yield %u : tensor<4x3xf32>
  }
  return %r : tensor<4x3xf32>
}""",
    "size_from_data": """
func.func @main(%a: tensor<4xindex>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %i = arith.constant 1 : index
  %s = tensor.extract %a[%i] : tensor<4xindex>
  %t = arith.constant dense<[2, 3]> : tensor<2xindex>
  %m = tensor.extract %t[%i] : tensor<2xindex>
  %n = arith.remui %s, %m : index
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %z = arith.constant 0.5 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  %x = tensor.extract_slice %b[0, 0] [%n, 3] [1, 1] : tensor<?x3xf32> to tensor<?x3xf32>
  %0 = arith.addf %f, %x : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}""",
    "condition_on_data": """
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %c = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %b = math.sin %a : tensor<3xf32>
  %x = tensor.extract %b[%c] : tensor<3xf32>
  %p = arith.cmpf ogt, %x, %z : f32
  %r = scf.if %p -> (tensor<3xf32>) {
    %n = arith.negf %b : tensor<3xf32>
    scf.yield %n : tensor<3xf32>
  } else {
    scf.yield %b : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}""",
    "loop_until_data_say_so": """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %c = arith.constant 0 : index
  %h = arith.constant 100.0 : f32
  %q = math.absf %a : tensor<2xf32>
  %r = scf.while (%t = %q) : (tensor<2xf32>) -> tensor<2xf32> {
    %x = tensor.extract %t[%c] : tensor<2xf32>
    %p = arith.cmpf olt, %x, %h : f32
    scf.condition(%p) %t : tensor<2xf32>
  } do {
  ^bb0(%t: tensor<2xf32>):
    %d = arith.addf %t, %t : tensor<2xf32>
    scf.yield %d : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}""",
    "calls": """
func.func private @twice(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = arith.addf %a, %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @main(%a: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = func.call @twice(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = func.call @twice(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}""",
    "scalars": """
func.func @main(%a: f32, %b: f32, %t: tensor<4xf32>) -> (tensor<4xf32>, f32) {
  %0 = arith.mulf %a, %b : f32
  %1 = math.exp %0 : f32
  %s = tensor.splat %1 : tensor<4xf32>
  %2 = arith.addf %s, %t : tensor<4xf32>
  return %2, %1 : tensor<4xf32>, f32
}""",
    "dynamic_sizes": """
func.func @main(%a: tensor<?x6xf32>, %b: tensor<6x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x6xf32>
  %n = tensor.dim %b, %c1 : tensor<6x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x6xf32>, tensor<6x?xf32>)
      outs(%i : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = math.tanh %0 : tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}""",
    "result_is_an_argument_twice": """
func.func @main(%a: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  return %a, %a : tensor<3xf32>, tensor<3xf32>
}""",
    "constants": """
func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi4>) {
  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %i = arith.constant dense<0x7F800000> : tensor<2x3xf32>
  %n = arith.constant dense<[-8, 7, 0]> : tensor<3xi4>
  %0 = arith.mulf %a, %c : tensor<2x3xf32>
  %1 = arith.addf %0, %i : tensor<2x3xf32>
  return %1, %c, %n : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi4>
}""",
    "pack_and_unpack": """
func.func @main(%a: tensor<5x7xf32>) -> (tensor<2x3x4x3xf32>, tensor<5x7xf32>) {
  %z = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<2x3x4x3xf32>
  %p = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 3]
      into %e : tensor<5x7xf32> -> tensor<2x3x4x3xf32>
  %f = tensor.empty() : tensor<5x7xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 3]
      into %f : tensor<2x3x4x3xf32> -> tensor<5x7xf32>
  return %p, %u : tensor<2x3x4x3xf32>, tensor<5x7xf32>
}""",
    "empty_dimension": """
func.func @main(%a: tensor<0x4xf32>, %b: tensor<4xf32>) -> (tensor<0x4xf32>, tensor<4xf32>) {
  %0 = math.exp %a : tensor<0x4xf32>
  %1 = linalg.reduce ins(%a : tensor<0x4xf32>) outs(%b : tensor<4xf32>) dimensions = [0]
    (%x: f32, %y: f32) {
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }
  return %0, %1 : tensor<0x4xf32>, tensor<4xf32>
}""",
}


def test_operation_without_kernel_is_interpreted() -> None:
    text = """
func.func @main(%a: tensor<3x4xui8>) -> tensor<3x4xui8> {
  %0 = tosa.reverse %a {axis = 1 : i32} : (tensor<3x4xui8>) -> tensor<3x4xui8>
  return %0 : tensor<3x4xui8>
}"""
    check(text, interpreted=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    check(PROGRAMS[name])


def test_more_buffers_than_llvm_is_told_to_be_apart() -> None:
    kind = "tensor<5xf32>"
    sums = [f"%{i + 1} = arith.addf %{i}, %a{i + 1} : {kind}" for i in range(33)]
    sums[0] = f"%1 = arith.addf %a0, %a1 : {kind}"
    check(function([kind] * 34, kind, "\n".join([*sums, f"return %33 : {kind}"])))


def test_hundreds_of_tensors_are_concatenated() -> None:
    types = [f"tensor<2x{1 + i % 3}xf32>" for i in range(300)]
    names = ", ".join(f"%a{i}" for i in range(300))
    kind = "tensor<2x600xf32>"
    joined = f"%0 = tensor.concat dim(1) {names} : ({', '.join(types)}) -> {kind}"
    check(function(types, kind, f"{joined}\nreturn %0 : {kind}"))


def test_unusual_names() -> None:
    """Names of the program never reach the generated code, however they look."""
    name = "a.b; import os"
    long = "x" * 10_000
    text = f"""
func.func private @"{long}"(%a: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = math.exp %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}}
func.func @"{name}"(%a: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = func.call @"{long}"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}}"""
    compiled = CompiledProgram(api.compile(text).module)
    (result,) = compiled.run(name, [np.zeros(3, np.float32)])
    assert np.array_equal(result, np.ones(3, np.float32))


@pytest.mark.parametrize("name", ["mlp", "transformer_block"])
def test_model(name: str) -> None:
    stored = np.load(MODELS / f"{name}.npz")
    inputs = [stored[f"in{i}"] for i in range(len(stored.files) - 1)]
    compiled = CompiledProgram(api.compile(MODELS / f"{name}.mlir").module)
    (result,) = compiled.run("main", inputs)
    assert np.abs(result - stored["out0"]).max() < 1e-5


def test_results_do_not_change_with_later_calls() -> None:
    compiled = CompiledProgram(api.compile(PROGRAMS["row_sum"]).module)
    ones = np.ones((5, 37), np.float32)
    (first,) = compiled.run("main", [ones])
    compiled.run("main", [ones * 2])
    assert np.array_equal(first, np.full(5, 37, np.float32))


def test_workers_share_a_dispatch() -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((16, 32)), rng.standard_normal((32, 64))]
    inputs = [each.astype(np.float32) for each in [*inputs, rng.standard_normal((64, 32))]]
    program = api.compile(MODELS / "mlp.mlir")
    (alone,) = CompiledProgram(program.module).run("main", inputs)
    (shared,) = CompiledProgram(program.module, workers=3).run("main", inputs)
    assert np.array_equal(alone, shared)
