"""Matrix products of all element types, small and tiled: kernels against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt.codegen.compile import GUARD_VARIABLE
from mesh_opt.codegen.host_code import kernel_steps
from mesh_opt.codegen.kernels import contractions


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
}
"""Types of two operands and the result, each with its loops."""


def in_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every product be packed, however small it is, between guards."""
    monkeypatch.setenv(GUARD_VARIABLE, "1")
    monkeypatch.setattr(kernel_steps, "SMALLEST_PRODUCT", 0)
    monkeypatch.setattr(contractions, "gains_from_panels", lambda contraction, is_inline: True)


@pytest.mark.parametrize("name", LARGE)
def test_large_product(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that are packed and multiplied in registers, added to what is there."""
    in_panels(monkeypatch)
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
    if name == "dynamic":
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


INTEGERS = {
    "signed": ("i8", "extsi", "61x83 mk", "83x70 kn"),
    "unsigned": ("i8", "extui", "61x83 mk", "83x70 kn"),
    "wide": ("i16", "extsi", "61x83 mk", "83x70 kn"),
    "wide_and_unsigned": ("i16", "extui", "61x82 mk", "82x70 kn"),
    # Full panels only, the last of which ends where its memory does.
    "transposed": ("i8", "extsi", "60x96 km", "70x96 nk"),
    "dynamic": ("i8", "extsi", "?x83 mk", "83x? kn"),
}
"""Elements, how they are widened, and two operands with their loops."""


@pytest.mark.parametrize("name", INTEGERS)
def test_large_product_of_integers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of terms, the least numbers among them: -32768 twice is more than a sum can hold."""
    in_panels(monkeypatch)
    element, widen, *operands = INTEGERS[name]
    shapes, used = zip(*(each.split() for each in operands), strict=True)
    if name == "transposed":
        shapes = ("96x60", "70x96")
    rows, columns = ("?", "?") if name == "dynamic" else (operands[0][:2], 70)
    tensors = [f"tensor<{each}x{element}>" for each in shapes]
    tensors.append(f"tensor<{rows}x{columns}xi32>")
    maps = ", ".join(f"affine_map<(m, n, k) -> ({', '.join(each)})>" for each in (*used, "mn"))
    body = f"""
  %0 = linalg.generic {{indexing_maps = [{maps}],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a0, %a1 : {tensors[0]}, {tensors[1]}) outs(%a2 : {tensors[2]}) {{
    ^bb0(%x: {element}, %y: {element}, %o: i32):
      %l = arith.{widen} %x : {element} to i32
      %r = arith.{widen} %y : {element} to i32
      %p = arith.muli %l, %r : i32
      %s = arith.addi %o, %p : i32
      linalg.yield %s : i32
  }} -> {tensors[2]}
  return %0 : {tensors[2]}"""
    rng = np.random.default_rng(1)
    dtype = np.dtype(f"int{element[1:]}")
    limits = np.iinfo(dtype)
    sizes = [tuple(map(int, each.replace("?", "67").split("x"))) for each in shapes]
    inputs = [rng.integers(limits.min, limits.max, each, dtype, endpoint=True) for each in sizes]
    for array in inputs:
        array.reshape(-1)[: array.size // 2] = limits.min
    result = (67, 67) if name == "dynamic" else (int(rows), 70)
    inputs.append(rng.integers(-9, 9, result, np.int32))
    check(function(tensors, tensors[2], body), inputs)
