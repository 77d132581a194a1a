"""Encodings in and between dispatch regions: the program means the same at every stage."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile

HOIST = "iree-dispatch-creation-hoist-encoding-ops"
ENCODINGS = "\n".join(
    f"#e{index} = #iree_encoding.encoding<operand_index = {index} : index, op_type = matmul,"
    " element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn],"
    " iteration_sizes = [17, 9, ?]>"
    for index in range(3)
)
PROGRAM = (
    """
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#target = #hal.executable.target<"llvm-cpu", "x", {
  target_triple = "x86_64-none-elf", cpu_features = "+avx512f",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @d = #hal.device.target<"local", [#target]> : !hal.device
"""
    + ENCODINGS
    + """
func.func @main(%a: tensor<17x?xf16>, %b: tensor<9xf32>, %bias: tensor<9xf32>, %k: index)
    -> tensor<17x9xf32> {
  %r = flow.dispatch.region -> (tensor<17x9xf32>) {
    %ea = tensor.empty(%k) : tensor<17x?xf32>
    %wa = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<17x?xf16>) outs(%ea : tensor<17x?xf32>) {
    ^bb0(%x: f16, %o: f32):
      %y = arith.extf %x : f16 to f32
      linalg.yield %y : f32
    } -> tensor<17x?xf32>
    %eb = tensor.empty(%k) : tensor<?x9xf32>
    %wb = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<9xf32>) outs(%eb : tensor<?x9xf32>) {
    ^bb0(%x: f32, %o: f32):
      linalg.yield %x : f32
    } -> tensor<?x9xf32>
    %0 = iree_encoding.set_encoding %wa encoding_dims{%k}
      : tensor<17x?xf32> -> tensor<17x?xf32, #e0>
    %1 = iree_encoding.set_encoding %wb encoding_dims{%k}
      : tensor<?x9xf32> -> tensor<?x9xf32, #e1>
    %c = arith.constant dense<0.0> : tensor<17x9xf32>
    %2 = iree_encoding.set_encoding %c encoding_dims{%k}
      : tensor<17x9xf32> -> tensor<17x9xf32, #e2>
    %p = linalg.matmul ins(%0, %1 : tensor<17x?xf32, #e0>, tensor<?x9xf32, #e1>)
      outs(%2 : tensor<17x9xf32, #e2>) -> tensor<17x9xf32, #e2>
    %u = iree_encoding.unset_encoding %p encoding_dims{%k}
      : tensor<17x9xf32, #e2> -> tensor<17x9xf32>
    %er = tensor.empty() : tensor<17x9xf32>
    %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel",
      "parallel"]} ins(%u, %bias : tensor<17x9xf32>, tensor<9xf32>) outs(%er : tensor<17x9xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %t = arith.addf %x, %y : f32
      linalg.yield %t : f32
    } -> tensor<17x9xf32>
    flow.return %s : tensor<17x9xf32>
  }
  return %r : tensor<17x9xf32>
}
"""
)


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["hoisted", "tiled"])
def test_a_region_means_the_same_without_its_encodings(rest: str) -> None:
    numbers = np.random.default_rng(0)
    a = numbers.integers(-4, 5, (17, 5)).astype(np.float16)
    b = numbers.integers(-4, 5, 9).astype(np.float32)
    bias = np.arange(9, dtype=np.float32)
    wanted = a.astype(np.float32) @ np.broadcast_to(b, (5, 9)) + bias
    for backend in ("interpreter", "native"):
        program = compile(PROGRAM, HOIST + rest, backend=backend)
        (result,) = program["main"].run([a, b, bias, 5])
        np.testing.assert_array_equal(result, wanted)
        if not rest:
            region = next(o for o in program.module.walk() if o.name == "flow.dispatch.region")
            inside = [o.name for o in region.walk()]
            assert "iree_encoding.set_encoding" not in inside
            assert "linalg.matmul" in inside


THROUGH = "iree-dispatch-creation-propagate-encodings-through-generic-ops"
OUTSIDE = PROGRAM.replace("%r = flow.dispatch.region -> (tensor<17x9xf32>) {", "").replace(
    "flow.return %s : tensor<17x9xf32>\n  }\n  return %r", "return %s"
)


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["moved", "tiled"])
def test_encodings_move_through_what_is_in_no_region(rest: str) -> None:
    numbers = np.random.default_rng(0)
    a = numbers.integers(-4, 5, (17, 5)).astype(np.float16)
    b = numbers.integers(-4, 5, 9).astype(np.float32)
    bias = np.arange(9, dtype=np.float32)
    wanted = a.astype(np.float32) @ np.broadcast_to(b, (5, 9)) + bias
    for backend in ("interpreter", "native"):
        program = compile(OUTSIDE, THROUGH + rest, backend=backend)
        (result,) = program["main"].run([a, b, bias, 5])
        np.testing.assert_array_equal(result, wanted)
        if not rest:
            main = list(program.module.walk())
            last = next(o for o in main if o.name == "func.return").operands[0].owner
            assert getattr(last, "name", "") == "iree_encoding.unset_encoding"


TURNED = (
    OUTSIDE[: OUTSIDE.index("    %er = ")].replace(
        "-> tensor<17x9xf32> {", "-> (tensor<9x17xf32>, tensor<17x9xf16>) {", 1
    )
    + """
    %et = tensor.empty() : tensor<9x17xf32>
    %en = tensor.empty() : tensor<17x9xf16>
    %s:2 = linalg.generic {indexing_maps = [#turned, #col, #id, #turned],
      iterator_types = ["parallel", "parallel"]} ins(%u, %bias : tensor<17x9xf32>, tensor<9xf32>)
      outs(%et, %en : tensor<9x17xf32>, tensor<17x9xf16>) {
    ^bb0(%x: f32, %y: f32, %o: f32, %p1: f16):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i32
      %f = arith.sitofp %j : i32 to f32
      %t = arith.addf %x, %y : f32
      %v = arith.addf %t, %f : f32
      %w = arith.truncf %t : f32 to f16
      linalg.yield %v, %w : f32, f16
    } -> (tensor<9x17xf32>, tensor<17x9xf16>)
  return %s#0, %s#1 : tensor<9x17xf32>, tensor<17x9xf16>
}
"""
)


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["moved", "tiled"])
def test_a_decode_moves_through_a_transposition_with_two_results(rest: str) -> None:
    numbers = np.random.default_rng(0)
    a = numbers.integers(-4, 5, (17, 5)).astype(np.float16)
    b = numbers.integers(-4, 5, 9).astype(np.float32)
    bias = np.arange(9, dtype=np.float32)
    wanted = a.astype(np.float32) @ np.broadcast_to(b, (5, 9)) + bias
    maps = "#turned = affine_map<(n, m) -> (m, n)>\n#col = affine_map<(n, m) -> (n)>\n"
    for backend in ("interpreter", "numba"):
        program = compile(maps + TURNED, THROUGH + rest, backend=backend)
        turned, narrow = program["main"].run([a, b, bias, 5])
        np.testing.assert_array_equal(turned, wanted.T + np.arange(17, dtype=np.float32))
        np.testing.assert_array_equal(narrow, wanted.astype(np.float16))
        if not rest:
            decoded = [o for o in program.module.walk() if o.name == "iree_encoding.unset_encoding"]
            assert len(decoded) == 2


PAD = "iree-dispatch-creation-set-encoding{encoding-option=padding}"
PADDED = """
#id = affine_map<(m, n) -> (m, n)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#target = #hal.executable.target<"llvm-cpu", "x", {
  iree.encoding.resolver = #iree_gpu.gpu_padding_resolver<>,
  iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <>>}>
util.global private @d = #hal.device.target<"local", [#target]> : !hal.device
func.func @main(%a: tensor<?x500xf16>, %b: tensor<8x500xf16>, %c: tensor<?x8xf32>, %m: index)
    -> tensor<?x8xf32> {
  %p = flow.dispatch.region -> (tensor<?x500xf16>{%m}) {
    %e = tensor.empty(%m) : tensor<?x500xf16>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x500xf16>) outs(%e : tensor<?x500xf16>) {
    ^bb0(%x: f16, %o: f16):
      %y = arith.addf %x, %x : f16
      linalg.yield %y : f16
    } -> tensor<?x500xf16>
    flow.return %0 : tensor<?x500xf16>
  }
  %r = flow.dispatch.region -> (tensor<?x8xf32>{%m}) {
    %0 = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel",
      "parallel", "reduction"]} ins(%p, %b : tensor<?x500xf16>, tensor<8x500xf16>)
      outs(%c : tensor<?x8xf32>) {
    ^bb0(%x: f16, %y: f16, %o: f32):
      %s = arith.extf %x : f16 to f32
      %t = arith.extf %y : f16 to f32
      %u = arith.mulf %s, %t : f32
      %v = arith.addf %o, %u : f32
      linalg.yield %v : f32
    } -> tensor<?x8xf32>
    flow.return %0 : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}
"""


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["padded", "tiled"])
def test_padding_between_regions(rest: str) -> None:
    numbers = np.random.default_rng(0)
    a = numbers.integers(-3, 4, (9, 500)).astype(np.float16)
    b = numbers.integers(-3, 4, (8, 500)).astype(np.float16)
    c = np.arange(72, dtype=np.float32).reshape(9, 8)
    wanted = 2 * a.astype(np.float32) @ b.astype(np.float32).T + c
    for backend in ("interpreter", "native"):
        program = compile(PADDED, f"builtin.module({PAD}{rest})", backend=backend)
        (result,) = program["main"].run([a, b, c, 9])
        np.testing.assert_array_equal(result, wanted)
        if rest:
            # 500 elements of two bytes, and room for 76 more: nine lines of the cache.
            assert "1152 : index" in str(program.module)


FILLED = (
    PROGRAM[: PROGRAM.index("func.func")]
    + """
func.func @main(%b: tensor<?x9xf32>, %k: index) -> tensor<17x9xf32> {
  %two = arith.constant 2.0 : f32
  %ea = tensor.empty(%k) : tensor<17x?xf32>
  %a = linalg.fill ins(%two : f32) outs(%ea : tensor<17x?xf32>) -> tensor<17x?xf32>
  %ec = tensor.empty() : tensor<17x9xf32>
  %c = linalg.fill ins(%two : f32) outs(%ec : tensor<17x9xf32>) -> tensor<17x9xf32>
  %0 = iree_encoding.set_encoding %a encoding_dims{%k} : tensor<17x?xf32> -> tensor<17x?xf32, #e0>
  %1 = iree_encoding.set_encoding %b encoding_dims{%k} : tensor<?x9xf32> -> tensor<?x9xf32, #e1>
  %2 = iree_encoding.set_encoding %c encoding_dims{%k} : tensor<17x9xf32> -> tensor<17x9xf32, #e2>
  %p = linalg.matmul ins(%0, %1 : tensor<17x?xf32, #e0>, tensor<?x9xf32, #e1>)
    outs(%2 : tensor<17x9xf32, #e2>) -> tensor<17x9xf32, #e2>
  %u = iree_encoding.unset_encoding %p encoding_dims{%k}
    : tensor<17x9xf32, #e2> -> tensor<17x9xf32>
  return %u : tensor<17x9xf32>
}
"""
)
EIGHT_BY_FOUR = FILLED.replace(
    """"llvm-cpu", "x", {
  target_triple = "x86_64-none-elf", cpu_features = "+avx512f",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}""",
    """"vmvx", "x", {ukernels = "none",
  iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}""",
)


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["folded", "tiled"])
def test_a_filled_factor_adds_nothing_beyond_its_end(rest: str) -> None:
    """Tiles are four long in K, and five rows are added up."""
    assert "vmvx" in EIGHT_BY_FOUR
    b = np.arange(45, dtype=np.float32).reshape(5, 9)
    wanted = np.broadcast_to(2 * b.sum(0) + 2, (17, 9))
    pipeline = f"iree-dispatch-creation-set-encoding{rest}"
    for backend in ("interpreter", "native"):
        program = compile(EIGHT_BY_FOUR, pipeline, backend=backend)
        (result,) = program["main"].run([b, 5])
        np.testing.assert_array_equal(result, wanted)
        if not rest:
            assert str(program.module).count("iree_encoding.set_encoding") == 1


FUSE = "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions"
MADE_IN_A_REGION = (
    EIGHT_BY_FOUR[: EIGHT_BY_FOUR.index("func.func")]
    + """
func.func @main(%x: tensor<17x?xf32>, %b: tensor<?x9xf32>, %c: tensor<17x9xf32>, %k: index)
    -> (tensor<17x?xf32>, tensor<17x9xf32>) {
  %a = flow.dispatch.region -> (tensor<17x?xf32>{%k}) {
    %e = tensor.empty(%k) : tensor<17x?xf32>
    %d = linalg.add ins(%x, %x : tensor<17x?xf32>, tensor<17x?xf32>)
      outs(%e : tensor<17x?xf32>) -> tensor<17x?xf32>
    flow.return %d : tensor<17x?xf32>
  }
  %0 = iree_encoding.set_encoding %a encoding_dims{%k} : tensor<17x?xf32> -> tensor<17x?xf32, #e0>
  %1 = iree_encoding.set_encoding %b encoding_dims{%k} : tensor<?x9xf32> -> tensor<?x9xf32, #e1>
  %2 = iree_encoding.set_encoding %c encoding_dims{%k} : tensor<17x9xf32> -> tensor<17x9xf32, #e2>
  %u = flow.dispatch.region -> (tensor<17x9xf32>) {
    %p = linalg.matmul ins(%0, %1 : tensor<17x?xf32, #e0>, tensor<?x9xf32, #e1>)
      outs(%2 : tensor<17x9xf32, #e2>) -> tensor<17x9xf32, #e2>
    %d = iree_encoding.unset_encoding %p encoding_dims{%k}
      : tensor<17x9xf32, #e2> -> tensor<17x9xf32>
    flow.return %d : tensor<17x9xf32>
  }
  return %a, %u : tensor<17x?xf32>, tensor<17x9xf32>
}
"""
)


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["fused", "tiled"])
def test_a_region_may_store_a_tensor_plain_and_encoded(rest: str) -> None:
    numbers = np.random.default_rng(0)
    x, b, c = (
        numbers.integers(-4, 5, shape).astype(np.float32) for shape in ((17, 5), (5, 9), (17, 9))
    )
    pipeline = f"builtin.module({FUSE}{{enable-aggressive-fusion=true}}{rest})"
    for backend in ("interpreter", "native"):
        program = compile(MADE_IN_A_REGION, pipeline, backend=backend)
        doubled, result = program["main"].run([x, b, c, 5])
        np.testing.assert_array_equal(doubled, 2 * x)
        np.testing.assert_array_equal(result, 2 * x @ b + c)
        if not rest:
            region = next(o for o in program.module.walk() if o.name == "flow.dispatch.region")
            assert "iree_encoding.set_encoding" in [o.name for o in region.walk()]


SCALED = (
    EIGHT_BY_FOUR[: EIGHT_BY_FOUR.index("func.func")]
    + """
#col = affine_map<(m, n) -> (m)>
func.func @main(%a: tensor<17x?xi8>, %s: tensor<17xf32>, %z: tensor<17xf32>, %b: tensor<?x9xf32>,
    %c: tensor<17x9xf32>, %k: index) -> tensor<17x9xf32> {
  %r = flow.dispatch.region -> (tensor<17x9xf32>) {
    %e = tensor.empty(%k) : tensor<17x?xf32>
    %d = linalg.generic {indexing_maps = [#id, #col, #col, #id], iterator_types = ["parallel",
      "parallel"]} ins(%a, %s, %z : tensor<17x?xi8>, tensor<17xf32>, tensor<17xf32>)
      outs(%e : tensor<17x?xf32>) {
    ^bb0(%x: i8, %scale: f32, %zero: f32, %o: f32):
      %t = arith.sitofp %x : i8 to f32
      %u = arith.subf %t, %zero : f32
      %v = arith.mulf %u, %scale : f32
      linalg.yield %v : f32
    } -> tensor<17x?xf32>
    %0 = iree_encoding.set_encoding %d encoding_dims{%k}
      : tensor<17x?xf32> -> tensor<17x?xf32, #e0>
    %1 = iree_encoding.set_encoding %b encoding_dims{%k}
      : tensor<?x9xf32> -> tensor<?x9xf32, #e1>
    %2 = iree_encoding.set_encoding %c encoding_dims{%k}
      : tensor<17x9xf32> -> tensor<17x9xf32, #e2>
    %p = linalg.matmul ins(%0, %1 : tensor<17x?xf32, #e0>, tensor<?x9xf32, #e1>)
      outs(%2 : tensor<17x9xf32, #e2>) -> tensor<17x9xf32, #e2>
    %y = iree_encoding.unset_encoding %p encoding_dims{%k}
      : tensor<17x9xf32, #e2> -> tensor<17x9xf32>
    flow.return %y : tensor<17x9xf32>
  }
  return %r : tensor<17x9xf32>
}
"""
)


@pytest.mark.parametrize("rest", ["", ",data-tile"], ids=["hoisted", "tiled"])
def test_numbers_with_a_scale_are_encoded_as_they_are(rest: str) -> None:
    """Neither padding nor its zero point is added up: tiles are four long, and K is five."""
    numbers = np.random.default_rng(0)
    a = numbers.integers(-4, 5, (17, 5)).astype(np.int8)
    s, z = (numbers.integers(1, 4, 17).astype(np.float32) for _ in range(2))
    b, c = (numbers.integers(-4, 5, shape).astype(np.float32) for shape in ((5, 9), (17, 9)))
    wanted = ((a - z[:, None]) * s[:, None]) @ b + c
    for backend in ("interpreter", "native"):
        program = compile(SCALED, HOIST + rest, backend=backend)
        (result,) = program["main"].run([a, s, z, b, c, 5])
        np.testing.assert_array_equal(result, wanted)
        if not rest:
            region = next(o for o in program.module.walk() if o.name == "flow.dispatch.region")
            assert "iree_encoding.set_encoding" not in [o.name for o in region.walk()]
