"""`compile` partitions and tiles: all processes together compute what the program did before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import (
    argument_types,
    find_function,
    public_functions,
    run,
    run_partitioned,
)
from mesh_opt.passes.compile import CompilePass
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"

PROGRAMS = [
    ROOT / "examples" / "mlp_dp_tp.mlir",
    CASES / "models" / "mlp.mlir",
    *sorted(CASES.glob("shard/0*.mlir")),
    *sorted(CASES.glob("shard/3[3-7]*.mlir")),
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_compiled_programs(path: Path) -> None:
    context, module = parse(path.read_text())
    name = public_functions(module)[0]
    generator = np.random.default_rng(0)
    inputs = [
        np.asarray(generator.integers(-1, 2, type_.get_shape())).astype(dtype_of(type_))
        for type_ in argument_types(find_function(Program(module), name))
    ]
    expected = run(module, name, inputs)
    CompilePass().apply(context, module)
    module.verify()
    found = run_partitioned(module, name, inputs)
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-5)


MEMORY = """
func.func @exchanged(%t: tensor<6xf32>, %u: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %a = bufferization.to_buffer %t : tensor<6xf32> to memref<6xf32>
  %b = memref.alloc() : memref<6xf32>
  %c = memref.alloc() : memref<6xf32>
  affine.for %i = 0 to 6 {
    %x = affine.load %a[%i] : memref<6xf32>
    %y = arith.mulf %x, %x : f32
    affine.store %y, %b[-%i + 5] : memref<6xf32>
  }
  %tb = bufferization.to_tensor %b : memref<6xf32> to tensor<6xf32>
  %e = tensor.empty() : tensor<6xf32>
  %s = linalg.add ins(%tb, %u : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>)
      -> tensor<6xf32>
  %sb = bufferization.to_buffer %s : tensor<6xf32> to memref<6xf32>
  linalg.sub ins(%sb, %a : memref<6xf32>, memref<6xf32>) outs(%c : memref<6xf32>)
  %tc = bufferization.to_tensor %c : memref<6xf32> to tensor<6xf32>
  %w = linalg.mul ins(%tc, %t : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>)
      -> tensor<6xf32>
  bufferization.materialize_in_destination %w in writable %b : (tensor<6xf32>, memref<6xf32>) -> ()
  %r = bufferization.to_tensor %b : memref<6xf32> to tensor<6xf32>
  return %r, %tc : tensor<6xf32>, tensor<6xf32>
}
// -----
func.func @number(%t: tensor<6xf32>) -> tensor<6xf32> {
  %a = bufferization.to_buffer %t : tensor<6xf32> to memref<6xf32>
  %z = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 6 iter_args(%acc = %z) -> f32 {
    %x = affine.load %a[%i] : memref<6xf32>
    %y = arith.addf %x, %acc : f32
    affine.yield %y : f32
  }
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  return %f : tensor<6xf32>
}
// -----
memref.global "private" @table : memref<6xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
func.func @in_a_loop(%t: tensor<6xf32>) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%x = %t) -> tensor<6xf32> {
    %m = bufferization.to_buffer %x : tensor<6xf32> to memref<6xf32>
    %g = memref.get_global @table : memref<6xf32>
    %s = memref.subview %m[1] [2] [2] : memref<6xf32> to memref<2xf32, strided<[2], offset: 1>>
    %h = memref.subview %g[%k] [2] [1] : memref<6xf32> to memref<2xf32, strided<[1], offset: ?>>
    memref.copy %h, %s
        : memref<2xf32, strided<[1], offset: ?>> to memref<2xf32, strided<[2], offset: 1>>
    %q = bufferization.to_tensor %m : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %y = linalg.add ins(%q, %t : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>)
        -> tensor<6xf32>
    scf.yield %y : tensor<6xf32>
  }
  return %r : tensor<6xf32>
}
// -----
func.func @around_a_loop(%t: tensor<6xf32>) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = bufferization.to_buffer %t : tensor<6xf32> to memref<6xf32>
  scf.for %k = %c0 to %c3 step %c1 {
    %p = bufferization.to_tensor %m : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %y = linalg.add ins(%p, %t : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>)
        -> tensor<6xf32>
    bufferization.materialize_in_destination %y in writable %m
        : (tensor<6xf32>, memref<6xf32>) -> ()
  }
  %q = bufferization.to_tensor %m : memref<6xf32> to tensor<6xf32>
  return %q : tensor<6xf32>
}
// -----
func.func @dynamic(%t: tensor<?x6xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %t, %c0 : tensor<?x6xf32>
  %m = bufferization.to_buffer %t : tensor<?x6xf32> to memref<?x6xf32>
  %s = memref.subview %m[0, 1] [%n, 3] [1, 2]
      : memref<?x6xf32> to memref<?x3xf32, strided<[6, 2], offset: 1>>
  %q = memref.alloc(%n) : memref<?x3xf32>
  memref.copy %s, %q : memref<?x3xf32, strided<[6, 2], offset: 1>> to memref<?x3xf32>
  %r = bufferization.to_tensor %q : memref<?x3xf32> to tensor<?x3xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %x = linalg.add ins(%r, %r : tensor<?x3xf32>, tensor<?x3xf32>) outs(%e : tensor<?x3xf32>)
      -> tensor<?x3xf32>
  return %x : tensor<?x3xf32>
}
// -----
func.func @dispatch_region(%t: tensor<6xf32>) -> tensor<6xf32> {
  %r = flow.dispatch.region -> (tensor<6xf32>) {
    %m = bufferization.to_buffer %t : tensor<6xf32> to memref<6xf32>
    affine.for %i = 0 to 3 {
      %x = affine.load %m[%i] : memref<6xf32>
      affine.store %x, %m[-%i + 5] : memref<6xf32>
    }
    %q = bufferization.to_tensor %m : memref<6xf32> to tensor<6xf32>
    flow.return %q : tensor<6xf32>
  }
  return %r : tensor<6xf32>
}
""".split("// -----")
"""Operations on one memory are one kernel: dispatches pass no memrefs."""


@pytest.mark.parametrize("text", MEMORY, ids=lambda text: text.partition("@")[2].partition("(")[0])
def test_programs_on_memory(text: str) -> None:
    context, module = parse(text)
    name = public_functions(module)[0]
    shapes = [
        [max(size, 4) for size in type_.get_shape()]
        for type_ in argument_types(find_function(Program(module), name))
    ]
    inputs = [np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in shapes]
    expected = run(module, name, inputs)
    CompilePass().apply(context, module)
    module.verify()
    found = run_partitioned(module, name, inputs)
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-5)


def test_transformer_block_on_a_grid() -> None:
    context, module = parse((CASES / "models" / "transformer_block_sharded.mlir").read_text())
    stored = np.load(CASES / "models" / "transformer_block_sharded.npz")
    inputs = [stored[f"in{i}"] for i in range(sum(key.startswith("in") for key in stored))]
    name = public_functions(module)[0]
    CompilePass().apply(context, module)
    found = run_partitioned(module, name, inputs)
    for index, array in enumerate(found):
        np.testing.assert_allclose(array, stored[f"out{index}"], rtol=1e-4, atol=1e-5)
