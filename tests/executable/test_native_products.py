"""Matrix products of all element types, small and tiled: kernels against the interpreter."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from backend_checks import check, function
from breadth import NIGHTLY, breadth, covering, sampled
from mesh_opt import api
from mesh_opt.codegen.compile import GUARD_VARIABLE, CompiledProgram
from mesh_opt.codegen.host_code import kernel_steps
from mesh_opt.codegen.kernels.products import contractions
from mesh_opt.codegen.kernels.products import panels as panel_products
from mesh_opt.codegen.kernels.products.contractions import DEPTH_BLOCK
from mesh_opt.codegen.kernels.reductions.nests import ReductionLoops
from mesh_opt.codegen.microkernels import vectors
from mesh_opt.codegen.microkernels.products import tile_of_product
from mesh_opt.codegen.microkernels.vectors import cpu_has, vector_bits
from mesh_opt.runtime.abi.arrays import FLOAT_TYPES
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.runtime.abi.elements import integer_element
from numpy.lib.stride_tricks import sliding_window_view

BYTE, I32 = integer_element(8), integer_element(32)


def matmul(left: str, result: str) -> str:
    return f"""
func.func @main(%a: tensor<7x9x{left}>, %b: tensor<9x33x{left}>, %c: tensor<7x33x{result}>)
    -> tensor<7x33x{result}> {{
  %0 = linalg.matmul ins(%a, %b : tensor<7x9x{left}>, tensor<9x33x{left}>)
      outs(%c : tensor<7x33x{result}>) -> tensor<7x33x{result}>
  return %0 : tensor<7x33x{result}>
}}
"""


@pytest.mark.parametrize(
    ("left", "result"),
    [
        ("f32", "f32"),
        ("f64", "f64"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f16", "f16"),
        ("bf16", "bf16"),
        ("i8", "i32"),
        ("i4", "i32"),
        ("i32", "i32"),
        ("i1", "i1"),
        ("i16", "i64"),
    ],
)
def test_matmul(left: str, result: str) -> None:
    check(matmul(left, result))


LARGE = {
    "edges": ("61x83xf32 mk", "83x70xf32 kn", "61x70xf32 mn"),
    "transposed": ("70x64xf32 mk", "70x64xf32 nk", "70x70xf32 nm"),
    "left_by_columns": ("83x61xf64 km", "83x70xf64 kn", "61x70xf64 mn"),
    "batched": ("3x40x50xf32 bmk", "3x50x60xf32 bkn", "3x40x60xf32 bmn"),
    # Panels that are written together, and some that belong to two matrices.
    "many_panels": ("3x13x20xf32 bmk", "3x20x150xf32 bkn", "3x13x150xf32 bmn"),
    "rows_of_two_loops": ("5x13x70xf32 amk", "70x66xf32 kn", "5x13x66xf32 amn"),
    "depth_of_two_loops": ("65x8x9xf32 mak", "8x9x66xf32 akn", "65x66xf32 mn"),
    "dynamic": ("?x80xf32 mk", "80x?xf32 kn", "?x?xf32 mn"),
    "dynamic_depth": ("?x?xf32 mk", "?x?xf32 kn", "?x?xf32 mn"),
}
"""Types of two operands and the result, each with its loops."""

DEEP = ("edges", "left_by_columns", "batched", "depth_of_two_loops", "dynamic_depth")
"""Those that are multiplied with a depth of several blocks, in `make nightly` with one as well."""

SHALLOW = 128
"""Bytes of depth that are several blocks in such tests."""


def in_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every product be packed, however small it is, between guards."""
    monkeypatch.setenv(GUARD_VARIABLE, "1")
    monkeypatch.setattr(kernel_steps, "MIN_PANEL_PRODUCT", 1)
    monkeypatch.setattr(panel_products, "gains_from_panels", lambda contraction, is_fused: True)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        *((each, DEPTH_BLOCK) for each in LARGE if NIGHTLY or each not in DEEP),
        *((each, SHALLOW) for each in DEEP),
    ],
)
def test_large_product(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that are packed and multiplied in registers, added to what is there."""
    in_panels(monkeypatch)
    monkeypatch.setattr(contractions, "DEPTH_BLOCK", block)
    tensors = [f"tensor<{each.split()[0]}>" for each in LARGE[name]]
    used = [each.split()[1] for each in LARGE[name]]
    element = "f64" if "f64" in tensors[0] else "f32"
    names = [*used[2], *(each for each in used[0] if each not in used[2])]
    iterators = ", ".join('"parallel"' if each in used[2] else '"reduction"' for each in names)
    loops = ", ".join(names)
    maps = ", ".join(f"affine_map<({loops}) -> ({', '.join(each)})>" for each in used)
    body = f"""
  %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins(%a0, %a1 : {tensors[0]}, {tensors[1]}) outs(%a2 : {tensors[2]}) {{
    ^bb0(%x: {element}, %y: {element}, %o: {element}):
      %p = arith.mulf %x, %y : {element}
      %s = arith.addf %o, %p : {element}
      linalg.yield %s : {element}
  }} -> {tensors[2]}
  return %0 : {tensors[2]}"""
    inputs = None
    if "dynamic" in name:
        rng = np.random.default_rng(1)
        shapes = [(67, 80), (80, 69), (67, 69)]
        inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    check(function(tensors, tensors[2], body), inputs)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_large_product_of_narrow_floats(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_panels(monkeypatch)
    text = matmul(element, "f32")
    for size, larger in (("7", "67"), ("9", "69"), ("33", "73")):
        text = text.replace(f"tensor<{size}x", f"tensor<{larger}x")
    text = text.replace("x9x", "x69x").replace("x33x", "x73x")
    check(text)


def test_f16_is_widened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that strips serve well in `f32` is packed in `f16`, which is slow to convert."""
    asked: list[bool] = []
    gains = panel_products.gains_from_panels
    monkeypatch.setattr(
        panel_products, "gains_from_panels", lambda *each: asked.append(gains(*each)) or asked[-1]
    )
    for element in ("f16", "f32"):
        text = matmul(element, "f32").replace("<7x", "<131x").replace("x33x", "x139x")
        check(text.replace("x9x", "x67x").replace("<9x", "<67x"))
    assert set(asked[: len(asked) // 2]) == {True}
    assert set(asked[len(asked) // 2 :]) == {False}


NARROW = {
    "signed": ("i8", "extsi extsi", "61x83 mk", "83x70 kn"),
    "unsigned": ("i8", "extui extui", "61x83 mk", "83x70 kn"),
    "signed_and_unsigned": ("i8", "extsi extui", "61x131 mk", "131x70 kn"),
    "unsigned_and_signed": ("i8", "extui extsi", "131x61 km", "70x131 nk"),
    "wide": ("i16", "extsi extsi", "61x83 mk", "83x70 kn"),
    "wide_and_unsigned": ("i16", "extui extui", "61x82 mk", "82x70 kn"),
    # Full panels only, the last of which ends where its memory does.
    "transposed": ("i8", "extsi extsi", "96x60 km", "70x96 nk"),
    "many_columns": ("i8", "extsi extsi", "61x66 mk", "66x300 kn"),
    "dynamic": ("i8", "extsi extsi", "?x83 mk", "83x? kn"),
    "floats": ("bf16", "extf extf", "61x131 mk", "131x300 kn"),
    "transposed_floats": ("bf16", "extf extf", "131x61 km", "70x131 nk"),
    # Words of whole terms, which are transposed in registers.
    "floats_in_words": ("bf16", "extf extf", "61x138 mk", "70x138 nk"),
    "dynamic_floats": ("bf16", "extf extf", "?x83 mk", "83x? kn"),
}
"""Elements, how they are widened, and two operands with their loops."""

DEEP_NARROW = ("signed", "wide", "floats", "floats_in_words")
"""Those with a depth of several blocks, as `DEEP`."""


def narrow_product(element: str, widen: str, operands: Sequence[str]) -> str:
    """The program `c + a * b` of two operands with their loops, each widened in its own way."""
    shapes, used = zip(*(each.split() for each in operands), strict=True)
    sizes = {
        loop: size
        for shape, loops in zip(shapes, used, strict=True)
        for loop, size in zip(loops, shape.split("x"), strict=True)
    }
    total, kind = ("f32", "f") if element == "bf16" else ("i32", "i")
    tensors = [f"tensor<{each}x{element}>" for each in shapes]
    tensors.append(f"tensor<{sizes['m']}x{sizes['n']}x{total}>")
    maps = ", ".join(f"affine_map<(m, n, k) -> ({', '.join(each)})>" for each in (*used, "mn"))
    left, right = widen.split()
    body = f"""
  %0 = linalg.generic {{indexing_maps = [{maps}],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a0, %a1 : {tensors[0]}, {tensors[1]}) outs(%a2 : {tensors[2]}) {{
    ^bb0(%x: {element}, %y: {element}, %o: {total}):
      %l = arith.{left} %x : {element} to {total}
      %r = arith.{right} %y : {element} to {total}
      %p = arith.mul{kind} %l, %r : {total}
      %s = arith.add{kind} %o, %p : {total}
      linalg.yield %s : {total}
  }} -> {tensors[2]}
  return %0 : {tensors[2]}"""
    return function(tensors, tensors[2], body)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        *((each, DEPTH_BLOCK) for each in NARROW if NIGHTLY or each not in DEEP_NARROW),
        *((each, SHALLOW // 2) for each in DEEP_NARROW),
    ],
)
def test_large_product_of_narrow_elements(
    name: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several terms at once: of integers the least, whose pairs are more than a sum can hold, of
    floats infinities, zeros with a sign and what is no number."""
    in_panels(monkeypatch)
    monkeypatch.setattr(contractions, "DEPTH_BLOCK", block)
    element, widen, *operands = NARROW[name]
    rng = np.random.default_rng(1)
    sizes: dict[str, int] = {}
    inputs: list[np.ndarray] = []
    for shape, used in (each.split() for each in operands):
        known = tuple(int(each.replace("?", "67")) for each in shape.split("x"))
        sizes.update(zip(used, known, strict=True))
        inputs.append(_narrow_numbers(rng, element, known))
    dtype = np.float32 if element == "bf16" else np.int32
    inputs.append(rng.integers(-9, 9, (sizes["m"], sizes["n"])).astype(dtype))
    check(narrow_product(element, widen, operands), inputs)


def check_sizes(element: str, widen: str, used: Sequence[str], count: int) -> None:
    """One program for many sizes: none, one, primes, those around a tile's, and sums that wrap."""
    program = api.compile(narrow_product(element, widen, [f"?x? {each}" for each in used]))
    compiled = CompiledProgram(program.module)
    rng = np.random.default_rng(3)
    around = {"m": 12, "n": 32, "k": 64}
    for _ in range(count):
        sizes = {
            loop: int(rng.choice([0, 1, 2, 3, 5, 7, 23, 61, size - 1, size, size + 1]))
            for loop, size in around.items()
        }
        shapes = [tuple(sizes[each] for each in loops) for loops in used]
        inputs = [_narrow_numbers(rng, element, shape) for shape in shapes]
        result = (sizes["m"], sizes["n"])
        if element == "i8":
            inputs.append(rng.integers(-(1 << 31), 1 << 31, result, np.int64).astype(np.int32))
        else:
            inputs.append(rng.standard_normal(result, np.float32))
        difference = compare(compiled.run("main", inputs)[0], program["main"].reference(inputs)[0])
        assert difference.agrees, (sizes, difference)


WIDENINGS = ("extsi extsi", "extui extui", "extsi extui", "extui extsi")


SIZED = [(used, how) for used in (("mk", "kn"), ("km", "nk")) for how in (*WIDENINGS, "extf extf")]


@pytest.mark.parametrize(("used", "widen"), sampled(SIZED, 2))
def test_sizes_of_narrow_products(
    widen: str, used: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_panels(monkeypatch)
    check_sizes("bf16" if "f" in widen else "i8", widen, used, breadth(20, 400))


@pytest.mark.parametrize("widen", WIDENINGS)
def test_bytes_in_vectors_of_256_bits(widen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel of a CPU with AVX-VNNI alone, on one that has the same instruction in AVX-512."""
    if not (cpu_has("avx512vnni") and cpu_has("avx512vl")):
        pytest.skip("no such instruction")
    narrower = {"avx2": True, "avxvnni": True}
    vector_bits.cache_clear()
    monkeypatch.setattr(vectors, "cpu_features", lambda: narrower)
    try:
        in_panels(monkeypatch)
        assert tile_of_product(BYTE, BYTE, I32).terms == 4
        check_sizes("i8", widen, ("mk", "kn"), breadth(20, 400))
    finally:
        vector_bits.cache_clear()


def _narrow_numbers(rng: np.random.Generator, element: str, shape: tuple[int, ...]) -> np.ndarray:
    if element == "bf16":
        numbers = rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
        special = [np.nan, np.inf, -np.inf, -0.0, 0.0][: numbers.size]
        numbers.reshape(-1)[rng.choice(numbers.size, len(special), replace=False)] = special
        return numbers
    dtype = np.dtype(f"int{element[1:]}")
    limits = np.iinfo(dtype)
    numbers = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    numbers.reshape(-1)[: numbers.size // 2] = limits.min
    return numbers


def test_a_row_with_a_batch_reads_the_matrix_along_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loops of size 1 do not make the row the largest operand, whose order would count."""

    def fail(loops: ReductionLoops) -> None:
        raise AssertionError("the matrix is read down its columns")

    monkeypatch.setattr(ReductionLoops, "_write_in_variables", fail)
    a, b, c = "tensor<1x1x37xf32>", "tensor<37x70xf32>", "tensor<1x1x70xf32>"
    body = f"""  %0 = linalg.generic {{
    indexing_maps = [affine_map<(b, t, n, k) -> (b, t, k)>, affine_map<(b, t, n, k) -> (k, n)>,
                     affine_map<(b, t, n, k) -> (b, t, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  }} ins(%a0, %a1 : {a}, {b}) outs(%a2 : {c}) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }} -> {c}
  return %0 : {c}"""
    check(function([a, b, c], c, body))


NARROW_SUMS = {
    "matmul": """
  %r = linalg.matmul ins(%a0, %a1 : tensor<33x700xT>, tensor<700x33xT>) outs(%a2 : tensor<33x33xT>)
      -> tensor<33x33xT>""",
    "reduce": """
  %v = tensor.empty() : tensor<33xT>
  %z = arith.constant 0.0 : T
  %f = linalg.fill ins(%z : T) outs(%v : tensor<33xT>) -> tensor<33xT>
  %s = linalg.reduce { arith.addf } ins(%a0 : tensor<33x700xT>) outs(%f : tensor<33xT>)
      dimensions = [1]
  %r = linalg.broadcast ins(%s : tensor<33xT>) outs(%a2 : tensor<33x33xT>) dimensions = [0]""",
    "windows": """
  %w = tensor.empty() : tensor<668xi1>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j + k)>,
                                        affine_map<(i, j, k) -> (k)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a0, %w : tensor<33x700xT>, tensor<668xi1>) outs(%a2 : tensor<33x33xT>) {
  ^bb0(%x: T, %o: i1, %t: T):
    %s = arith.addf %x, %t : T
    linalg.yield %s : T
  } -> tensor<33x33xT>""",
}


@pytest.mark.parametrize(
    ("name", "element", "passes"),
    covering(list(NARROW_SUMS), ["f16", "bf16", "f8E5M2"], ["", "compile"]),
)
def test_sums_of_narrow_floats_are_rounded_once(name: str, element: str, passes: str) -> None:
    """All sums are integers that f32 holds, so that their order does not matter."""
    kinds = [f"tensor<{sizes}x{element}>" for sizes in ("33x700", "700x33", "33x33")]
    body = NARROW_SUMS[name].replace("xT>", f"x{element}>").replace(" : T", f" : {element}")
    body = body.replace("%x: T", f"%x: {element}").replace("%t: T", f"%t: {element}")
    text = function(kinds, kinds[2], f"{body}\n  return %r : {kinds[2]}")
    rng, dtype = np.random.default_rng(0), FLOAT_TYPES[element]
    inputs = [
        rng.integers(-1, 4, sizes).astype(dtype) for sizes in ((33, 700), (700, 33), (33, 33))
    ]
    wide = [each.astype(np.float64) for each in inputs]
    expected = {
        "matmul": lambda: wide[2] + wide[0] @ wide[1],
        "reduce": lambda: np.broadcast_to(wide[0].sum(axis=1), (33, 33)),
        "windows": lambda: wide[2] + sliding_window_view(wide[0], 668, axis=1).sum(axis=-1),
    }[name]().astype(dtype)
    for backend in ("native", "interpreter"):
        (found,) = api.compile(text, passes, backend=backend)["main"].run(inputs)
        np.testing.assert_array_equal(found, expected)
