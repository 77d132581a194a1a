"""Loops are written so that LLVM makes vectors of what lies side by side."""

from __future__ import annotations

import ast
import gc
import weakref
from collections.abc import Sequence

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen.cache import compile_kernels
from mesh_opt.codegen.host_code import program_lowering
from mesh_opt.codegen.kernels.code.llvm_lowering import kernel_module
from mesh_opt.runtime.abi.native_code import Native

COPY = """
def kernel(bindings, constants, first, last):
    b0 = bindings[0]
    b1 = bindings[1]
    for v1 in range(first, last):
        for v2 in range(0, {size}):
            v3 = v1 * {size}
            v4 = v3 + v2
            v5 = cmpislt_i64({chosen}, 5)
            if v5:
                v7 = load_f32_1(b1, v4)
                v6 = v7
            else:
                v8 = load_f32_1(b1, v2)
                v6 = v8
            store_f32_0(b0, v4, v6)
    return 0
"""


def module(text: str) -> str:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    return str(kernel_module(function, "kernel"))


@pytest.mark.parametrize(("chosen", "loops"), [("v1", 3), ("v2", 2)])
def test_a_choice_that_a_loop_does_not_change_is_made_before_it(chosen: str, loops: int) -> None:
    assert module(COPY.format(size=512, chosen=chosen)).count(" phi ") == loops


def test_bindings_that_are_accessed_have_alias_scopes() -> None:
    """LLVM reads all scopes for each pair of accesses."""
    found = module(COPY.format(size=512, chosen="v1"))
    assert found.count("!alias.scope") == found.count("!noalias") == 4
    assert found.count('!"binding ') == 2


def test_modules_are_dropped() -> None:
    (function,) = ast.parse(COPY.format(size=512, chosen="v1")).body
    assert isinstance(function, ast.FunctionDef)
    held = weakref.ref(kernel_module(function, "kernel"))
    gc.collect()
    assert held() is None


@pytest.mark.parametrize(("size", "hinted"), [(4, 0), (16, 2), (512, 1)])
def test_short_rows_and_loops_around_longer_ones_are_not_unrolled(size: int, hinted: int) -> None:
    """The loop around 4 elements may be unrolled with them; that of 512 is no short row."""
    found = module(COPY.format(size=size, chosen="v2"))
    assert found.count("!llvm.loop ") == hinted


@pytest.mark.parametrize("chains", [1, 4])
def test_short_rows_of_long_chains_are_not_unrolled(chains: int) -> None:
    """One chain is computed four times at once; four chains are enough."""
    lines = "".join(
        f"""
        v{2 * n + 3} = load_f32_1(b1, v2)
        v{2 * n + 4} = maximumf_f32(v{2 * n + 3}, v{2 * n + 3})
        store_f32_0(b0, v2, v{2 * n + 4})"""
        for n in range(chains)
    )
    found = module(f"""
def kernel(bindings, constants, first, last):
    b0 = bindings[0]
    b1 = bindings[1]
    for v2 in range(0, 16):{lines}
    return 0
""")
    assert "llvm.loop.unroll.disable" in found
    assert f'"llvm.loop.interleave.count", i32 {4 // chains}' in found


def test_sums_in_variables_may_be_unrolled() -> None:
    found = module("""
def kernel(bindings, constants, first, last):
    b0 = bindings[0]
    v1 = as_f32(0.0)
    v2 = v1
    for v3 in range(0, 16):
        v4 = load_f32_0(b0, v3)
        v2 = addf_f32(v2, v4)
    store_f32_0(b0, 0, v2)
    return 0
""")
    assert "unroll" not in found


ROWS = """
func.func @main(%a: tensor<24x96xi64>, %b: tensor<24xi64>) -> tensor<24xi64> {
  %most = arith.constant 9223372036854775807 : i64
  %e = tensor.empty() : tensor<24xi64>
  %i = linalg.fill ins(%most : i64) outs(%e : tensor<24xi64>) -> tensor<24xi64>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>,
                       affine_map<(r, c) -> (r)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<24x96xi64>, tensor<24xi64>) outs(%i : tensor<24xi64>) {
  ^body(%x: i64, %y: i64, %z: i64):
    %larger = arith.cmpi sgt, %x, %y : i64
    %open = arith.select %larger, %x, %most : i64
    %least = arith.minsi %z, %open : i64
    linalg.yield %least : i64
  } -> tensor<24xi64>
  return %0 : tensor<24xi64>
}
"""
"""The least number of each row that is more than a number for the row."""

CHANNELS = """
func.func @main(%a: tensor<2x9x64x1xf32>, %b: tensor<3x64x1xf32>) -> tensor<2x7x64x1xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x64x1xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x64x1xf32>) -> tensor<2x7x64x1xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, h, c, m, k, z) -> (n, h + k, c, z)>,
                       affine_map<(n, h, c, m, k, z) -> (k, c, m + z)>,
                       affine_map<(n, h, c, m, k, z) -> (n, h, c, m)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<2x9x64x1xf32>, tensor<3x64x1xf32>) outs(%i : tensor<2x7x64x1xf32>) {
  ^body(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x7x64x1xf32>
  return %0 : tensor<2x7x64x1xf32>
}
"""
"""A convolution of each channel alone: one result for each."""


@pytest.mark.parametrize(
    ("text", "innermost"),
    [pytest.param(ROWS, 96, id="numbers-of-rows"), pytest.param(CHANNELS, 64, id="channels")],
)
def test_innermost_loops_go_along_the_largest_operand(
    text: str, innermost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[ast.FunctionDef] = []

    def record(functions: Sequence[ast.FunctionDef]) -> list[Native]:
        written.extend(functions)
        return compile_kernels(functions)

    monkeypatch.setattr(program_lowering, "compile_kernels", record)
    main = api.compile(text).main
    rng = np.random.default_rng(0)
    shapes = [(24, 96), (24,)] if text is ROWS else [(2, 9, 64, 1), (3, 64, 1)]
    dtype = np.int64 if text is ROWS else np.float32
    inputs = [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
    np.testing.assert_array_equal(main(*inputs), main.reference(inputs)[0])
    ranges = [each for function in written for each in innermost_ranges(function)]
    assert ranges[-1] == f"range(0, {innermost})"


def innermost_ranges(function: ast.FunctionDef) -> list[str]:
    """Over what the loops run that have none inside."""
    loops = [each for each in ast.walk(function) if isinstance(each, ast.For)]
    return [
        ast.unparse(each.iter)
        for each in loops
        if sum(isinstance(node, ast.For) for node in ast.walk(each)) == 1
    ]
