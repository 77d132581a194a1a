"""Layouts that store a tensor in the same way are one, however the devices' solvers write them."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile

DEVICES = """
#cpu = #hal.executable.target<"llvm-cpu", "embedded-elf-riscv_32", {
  target_triple = "riscv32-x-x", cpu_features = "", ukernels = "all",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#vm = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {
  ukernels = "none", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#vm]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#cpu]> : !hal.device
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
"""

TWO_USES = """
util.global private @w = dense<3> : tensor<40x33xi8>
func.func @main(%x: tensor<64x40xi8> {iree.abi.affinity = #on_a},
                %y: tensor<48x40xi8> {iree.abi.affinity = #on_a})
    -> (tensor<64x33xi32> {iree.abi.affinity = #on_a},
        tensor<48x33xi32> {iree.abi.affinity = #on_a}) {
  %w = util.global.load @w : tensor<40x33xi8>
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x33xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x33xi32>) -> tensor<64x33xi32>
  %p = linalg.matmul ins(%x, %w : tensor<64x40xi8>, tensor<40x33xi8>)
    outs(%f : tensor<64x33xi32>) -> tensor<64x33xi32>
  %g = tensor.empty() : tensor<48x33xi32>
  %h = linalg.fill ins(%zero : i32) outs(%g : tensor<48x33xi32>) -> tensor<48x33xi32>
  %q = linalg.matmul ins(%y, %w : tensor<48x40xi8>, tensor<40x33xi8>)
    outs(%h : tensor<48x33xi32>) -> tensor<48x33xi32>
  return %p, %q : tensor<64x33xi32>, tensor<48x33xi32>
}
"""

TWO_DEVICES = """
func.func @main(%x: tensor<64x40xi8> {iree.abi.affinity = #on_a},
                %y: tensor<40x32xi8> {iree.abi.affinity = #on_a})
    -> (tensor<64x32xi32> {iree.abi.affinity = #on_a},
        tensor<64x32xi32> {iree.abi.affinity = #on_b}) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x32xi32>) -> tensor<64x32xi32>
  %xb = flow.tensor.transfer %x : tensor<64x40xi8> to #on_b
  %yb = flow.tensor.transfer %y : tensor<40x32xi8> to #on_b
  %p = linalg.matmul ins(%x, %y : tensor<64x40xi8>, tensor<40x32xi8>)
    outs(%f : tensor<64x32xi32>) -> tensor<64x32xi32>
  %q = linalg.matmul ins(%xb, %yb : tensor<64x40xi8>, tensor<40x32xi8>)
    outs(%f : tensor<64x32xi32>) -> tensor<64x32xi32>
  return %p, %q : tensor<64x32xi32>, tensor<64x32xi32>
}
"""

EITHER_DEVICE = """
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#left = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul,
  element_types = [i8, i8, i32], user_indexing_maps = [#m0, #m1, #m2],
  iteration_sizes = [64, 32, 40]>
func.func @main(%x: tensor<64x40xi8> {iree.abi.affinity = #on_a}, %which: i1)
    -> (tensor<64x40xi8> {iree.abi.affinity = #on_a}) {
  %r = scf.if %which -> (tensor<64x40xi8, #left>) {
    %e = iree_encoding.set_encoding %x : tensor<64x40xi8> -> tensor<64x40xi8, #left>
    scf.yield %e : tensor<64x40xi8, #left>
  } else {
    %xb = flow.tensor.transfer %x : tensor<64x40xi8> to #on_b
    %e = iree_encoding.set_encoding %xb : tensor<64x40xi8> -> tensor<64x40xi8, #left>
    %ea = flow.tensor.transfer %e : tensor<64x40xi8, #left> to #on_a
    scf.yield %ea : tensor<64x40xi8, #left>
  }
  %u = iree_encoding.unset_encoding %r : tensor<64x40xi8, #left> -> tensor<64x40xi8>
  return %u : tensor<64x40xi8>
}
"""


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.int8)


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left.astype(np.int32) @ right.astype(np.int32)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_weight_of_two_products_is_kept_once(backend: str) -> None:
    program = compile(DEVICES + TWO_USES, "data-tile", backend=backend)
    kept = [
        op
        for op in program.module.body.block.ops
        if op.name == "util.global" and "stream.resource" in str(op.properties["type"])
    ]
    assert len(kept) == 1
    x, y, w = numbers(64, 40), numbers(48, 40), np.full((40, 33), 3)
    for found, left in zip(program["main"].run([x, y]), (x, y), strict=True):
        np.testing.assert_array_equal(found, product(left, w))


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_common_layout_is_made_once(backend: str) -> None:
    program = compile(DEVICES + TWO_DEVICES, "data-tile", backend=backend)
    encodes = [
        op
        for op in program.module.walk()
        if op.name == "stream.async.dispatch" and "encoding_" in str(op.properties["entry_points"])
    ]
    assert len(encodes) == 2
    x, y = numbers(64, 40), numbers(40, 32)
    for found in program["main"].run([x, y]):
        np.testing.assert_array_equal(found, product(x, y))


@pytest.mark.parametrize("which", [True, False])
def test_value_from_either_device(which: bool) -> None:
    program = compile(DEVICES + EITHER_DEVICE, "data-tile", backend="native")
    x = numbers(64, 40)
    (found,) = program["main"].run([x, np.array(which)])
    np.testing.assert_array_equal(found, x)
