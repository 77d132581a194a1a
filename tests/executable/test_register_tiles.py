"""Sums of products in registers, and rows combined together: kernels against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function, random_input
from breadth import sampled
from mesh_opt import api
from mesh_opt.codegen.host_code import kernel_steps
from mesh_opt.codegen.kernels.products import panels as panel_products
from mesh_opt.codegen.kernels.products import register_tiles, tile_shapes
from mesh_opt.codegen.kernels.reductions import nests as reduction_loops
from mesh_opt.codegen.microkernels import vectors
from mesh_opt.codegen.microkernels.products import tile_of
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.abi.private_cache import CACHE_VARIABLE

Types = list[str]


def product(types: Types, loops: str, operands: Types, body: Types = (), fill: str = "") -> str:
    """A generic sum of products; `operands` are the loops of the operands and of the result.

    A fill takes the place of the last argument as initial values.
    """
    result, total = types[2], types[2].rstrip(">").split("x")[-1]
    kinds = [each.rstrip(">").split("x")[-1] for each in types[:2]]
    maps = ", ".join(f"affine_map<({', '.join(loops)}) -> ({each})>" for each in operands)
    parallel = [any(loop in part for part in operands[2].split(", ")) for loop in loops]
    iterators = ", ".join('"parallel"' if each else '"reduction"' for each in parallel)
    suffix = "f" if total.startswith("f") else "i"
    lines, factors = [], ["%x", "%y"]
    for number, (kind, widen) in enumerate(zip(kinds, body, strict=False)):
        lines.append(f"%w{number} = arith.{widen} {factors[number]} : {kind} to {total}")
        factors[number] = f"%w{number}"
    initial, before = "%a2", ""
    if fill:
        before = f"""  %v = arith.constant {fill} : {total}
  %f = linalg.fill ins(%v : {total}) outs(%a2 : {result}) -> {result}"""
        initial = "%f"
    text = "\n      ".join(lines)
    return function(
        types,
        result,
        f"""{before}
  %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins(%a0, %a1 : {types[0]}, {types[1]}) outs({initial} : {result}) {{
    ^bb0(%x: {kinds[0]}, %y: {kinds[1]}, %o: {total}):
      {text}
      %p = arith.mul{suffix} {factors[0]}, {factors[1]} : {total}
      %s = arith.add{suffix} %o, %p : {total}
      linalg.yield %s : {total}
  }} -> {result}
  return %0 : {result}""",
    )


def tensors(*each: str) -> Types:
    return [f"tensor<{kind}>" for kind in each]


MATRICES = ["m, k", "k, n", "m, n"]

TILES = {
    "every_rest": (tensors("19x7xf32", "7x39xf32", "19x39xf32"), "mnk", MATRICES, (), ""),
    "filled": (tensors("20x17xf64", "17x23xf64", "20x23xf64"), "mnk", MATRICES, (), "-0.0"),
    "narrow_row": (tensors("64x5xf32", "5x3xf32", "64x3xf32"), "mnk", MATRICES, (), ""),
    "one_term": (tensors("37x1xf32", "1x16xf32", "37x16xf32"), "mnk", MATRICES, (), ""),
    "bf16": (tensors("19x9xbf16", "9x33xbf16", "19x33xf32"), "mnk", MATRICES, ("extf", "extf"), ""),
    "f16_f32": (tensors("19x9xf16", "9x33xf32", "19x33xf32"), "mnk", MATRICES, ("extf",), ""),
    "signs": (tensors("18x9xi8", "9x33xi8", "18x33xi32"), "mnk", MATRICES, ("extsi", "extui"), ""),
    "pairs": (
        tensors("19x10xi8", "10x23xi8", "19x23xi32"),
        "mnk",
        MATRICES,
        ("extsi", "extsi"),
        "",
    ),
    "pairs_of_two_signs": (
        tensors("25x6xi8", "6x17xi16", "25x17xi32"),
        "mnk",
        MATRICES,
        ("extui", "extsi"),
        "",
    ),
    "pairs_of_columns": (
        tensors("10x19xi8", "10x23xi8", "19x23xi32"),
        "mnk",
        ["k, m", "k, n", "m, n"],
        ("extsi", "extsi"),
        "",
    ),
    "wrapping": (tensors("20x3xi32", "3x9xi32", "20x9xi32"), "mnk", MATRICES, (), "7"),
    "left_columns": (
        tensors("11x25xf32", "11x18xf32", "25x18xf32"),
        "mnk",
        ["k, m", "k, n", "m, n"],
        (),
        "",
    ),
    "transposed": (
        tensors("19x7xf32", "39x7xf32", "19x39xf32"),
        "mnk",
        ["m, k", "n, k", "m, n"],
        (),
        "-0.0",
    ),
    "transposed_few_terms": (
        tensors("2x6x16xbf16", "2x21x16xf32", "2x6x21xf32"),
        "bmnk",
        ["b, m, k", "b, n, k", "b, m, n"],
        ("extf",),
        "",
    ),
    "transposed_in_the_middle": (
        tensors("3x5x14x4xi8", "3x17x5x4xi16", "3x14x17xi32"),
        "bmnkj",
        ["b, k, m, j", "b, n, k, j", "b, m, n"],
        ("extui", "extsi"),
        "3",
    ),
    "batch": (
        tensors("3x19x6xf32", "3x6x17xf32", "3x19x17xf32"),
        "bmnk",
        ["b, m, k", "b, k, n", "b, m, n"],
        (),
        "",
    ),
    "window": (
        tensors("2x9x11x3xf32", "3x2x3x10xf32", "2x7x5x10xf32"),
        "nhwfabc",
        ["n, h + a, w * 2 + b * 2, c", "a, b, c, f", "n, h, w, f"],
        (),
        "0.0",
    ),
    "window_along_rows": (
        tensors("2x3x9x29xf32", "19x3x2x3xf32", "2x19x7x25xf32"),
        "nfhwcab",
        ["n, c, h + a, w + b * 2", "f, c, a, b", "n, f, h, w"],
        (),
        "0.0",
    ),
    "window_of_two_rows": (
        tensors("1x3x9x29xf32", "2x3x2x3xf32", "1x2x8x27xf32"),
        "nfhwcab",
        ["n, c, h + a, w + b", "f, c, a, b", "n, f, h, w"],
        (),
        "0.0",
    ),
    "window_of_each_channel": (
        tensors("2x3x9x29xf32", "3x2x3xf32", "2x3x8x27xf32"),
        "nchwab",
        ["n, c, h + a, w + b", "c, a, b", "n, c, h, w"],
        (),
        "0.0",
    ),
    "strided_window_along_rows": (
        tensors("2x3x9x51xf16", "19x3x2x3xf16", "2x19x4x23xf32"),
        "nfhwcab",
        ["n, c, h * 2 + a, w * 2 + b * 3", "f, c, a, b", "n, f, h, w"],
        ("extf", "extf"),
        "",
    ),
    "strided_window_of_integers": (
        tensors("2x9x51xi8", "19x2x3x2xi8", "19x4x23xi32"),
        "fhwcab",
        ["c, h * 2 + a, w * 2 + b", "f, c, a, b", "f, h, w"],
        ("extsi", "extui"),
        "5",
    ),
    "strided_window_of_every_rest": (
        tensors("3x9x43xf32", "37x3x2x3xf32", "37x4x21xf32"),
        "fhwcab",
        ["c, h * 2 + a, w * 2 + b", "f, c, a, b", "f, h, w"],
        (),
        "-0.0",
    ),
    "strided_window_of_bf16": (
        tensors("2x2x63xbf16", "19x2x1x3xf32", "19x1x31xf32"),
        "fhwcab",
        ["c, h * 2 + a, w * 2 + b", "f, c, a, b", "f, h, w"],
        ("extf",),
        "",
    ),
    "window_of_one_pixel": (
        tensors("2x9x5x7xf32", "29x9x1x1xf32", "2x29x5x7xf32"),
        "nfhwcab",
        ["n, c, h + a, w + b", "f, c, a, b", "n, f, h, w"],
        (),
        "0.0",
    ),
    "window_of_one_strided_pixel": (
        tensors("2x9x5x7xf64", "29x9x1x1xf64", "2x29x3x4xf64"),
        "nfhwcab",
        ["n, c, h * 2 + a, w * 2 + b", "f, c, a, b", "n, f, h, w"],
        (),
        "",
    ),
    "window_of_the_image": (
        tensors("20x3x4x5xf32", "3x4x5x17xf32", "20x1x1x17xf32"),
        "nhwfcab",
        ["n, c, h + a, w + b", "c, a, b, f", "n, h, w, f"],
        (),
        "",
    ),
    "chunks_of_terms": (
        tensors("140x5x11xf32", "23x140x3x3xf32", "23x3x9xf32"),
        "fhwcab",
        ["c, h + a, w + b", "f, c, a, b", "f, h, w"],
        (),
        "-0.0",
    ),
    "chunks_of_pairs": (
        tensors("1x22x3x260xi8", "3x3x260x17xi8", "1x20x1x17xi32"),
        "nhwfabc",
        ["n, h + a, w + b, c", "a, b, c, f", "n, h, w, f"],
        ("extsi", "extsi"),
        "",
    ),
    "chunks_of_transposed_columns": (
        tensors("13x1200xf32", "9x1200xf32", "13x9xf32"),
        "mnk",
        ["m, k", "n, k", "m, n"],
        (),
        "",
    ),
    "chunks_of_one_term": (
        tensors("22x1x1300xf64", "3x1300x9xf64", "20x1x9xf64"),
        "hwfac",
        ["h + a, w, c", "a, c, f", "h, w, f"],
        (),
        "",
    ),
    "few_columns": (tensors("17x1031xf32", "1031x13xf32", "17x13xf32"), "mnk", MATRICES, (), ""),
    "few_columns_of_a_batch": (
        tensors("2x7x1033xf64", "1033x2x15xf64", "2x7x15xf64"),
        "bmnk",
        ["b, m, k", "k, b, n", "b, m, n"],
        (),
        "-0.0",
    ),
    "depthwise": (
        tensors("1x9x9x11xf32", "3x3x11xf32", "1x7x7x11xf32"),
        "nhwcab",
        ["n, h + a, w + b, c", "a, b, c", "n, h, w, c"],
        (),
        "",
    ),
}


@pytest.mark.parametrize("name", sampled(list(TILES), 2))
def test_tiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[register_tiles.RegisterTiles] = []
    write = register_tiles.RegisterTiles.write
    monkeypatch.setattr(
        register_tiles.RegisterTiles, "write", lambda self: written.append(self) or write(self)
    )
    check(product(*TILES[name]))
    assert written
    assert any(each.chunk for each in written) == name.startswith("chunks")


def test_pixels_of_an_image_are_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 7 would fill no vectors; neither would the window's loops do anything."""
    written: list[register_tiles.RegisterTiles] = []
    write = register_tiles.RegisterTiles.write
    monkeypatch.setattr(
        register_tiles.RegisterTiles, "write", lambda self: written.append(self) or write(self)
    )
    check(product(*TILES["window_of_one_pixel"]))
    assert {each.sizes[each.row] for each in written} == {35}


@pytest.mark.parametrize("rows", [13, 18, 25, 192, 230])
def test_tiles_of_one_vector(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have enough sums to hide the latency of one, and every row is in one of them."""
    counts: set[int] = set()
    tile_of_sums = register_tiles.RegisterTiles._tile_of_sums

    def record(self, points, shape, scratch):
        counts.add(len(points) * shape.vectors)
        tile_of_sums(self, points, shape, scratch)

    monkeypatch.setattr(register_tiles.RegisterTiles, "_tile_of_sums", record)
    lanes = tile_of(F32).lanes
    types = tensors(f"{rows}x13xf32", f"13x{lanes}xf32", f"{rows}x{lanes}xf32")
    check(product(types, "mnk", MATRICES))
    most = -(-tile_shapes.SUMS_AT_ONCE // tile_of(F32).rows) * tile_of(F32).rows
    assert max(counts) > most // 2


@pytest.mark.parametrize("rows", [400, 1153])
def test_pieces_of_rows_are_even(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of work are as few as before, and none is much shorter than the others."""
    pieces: list[tuple[int, int]] = []
    even = register_tiles.even_part

    def record(size, most, multiple):
        pieces.append((most, even(size, most, multiple)))
        return pieces[-1][1]

    monkeypatch.setattr(register_tiles, "even_part", record)
    check(product(tensors(f"{rows}x9xf32", "9x33xf32", f"{rows}x33xf32"), "mnk", MATRICES))
    assert pieces
    for most, piece in pieces:
        count = -(-rows // most)
        assert -(-rows // piece) == count
        assert piece <= most and piece - rows / count < 12


@pytest.mark.parametrize("has_instruction", [True, False])
def test_pairs_of_extremes(has_instruction: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of pairs wrap as the sums of their terms do, on CPUs without the instruction, too."""
    if not has_instruction:
        monkeypatch.setenv(CACHE_VARIABLE, "")
        monkeypatch.setattr(vectors, "_PAIR_PRODUCTS", {})
    rows = 20 + has_instruction
    types = tensors(f"{rows}x4xi16", "4x16xi16", f"{rows}x16xi32")
    least = np.iinfo(np.int16).min
    rng = np.random.default_rng(3)
    inputs = [np.full((rows, 4), least), np.full((4, 16), least), rng.integers(-9, 9, (rows, 16))]
    inputs[1][:, 3:] = rng.integers(least, -least, (4, 13))
    text = product(types, "mnk", MATRICES, ["extsi", "extsi"])
    check(text, [each.astype(np.int16) for each in inputs[:2]] + [inputs[2].astype(np.int32)])


@pytest.mark.parametrize("is_transposed", [False, True])
def test_open_sizes(is_transposed: bool) -> None:
    """One kernel for all sizes of rows and columns."""
    rng = np.random.default_rng(1)
    right, place = ("?x19xf32", "n, k") if is_transposed else ("19x?xf32", "k, n")
    several = [
        [
            rng.standard_normal(each, np.float32)
            for each in ((m, 19), (n, 19) if is_transposed else (19, n), (m, n))
        ]
        for m, n in ((0, 0), (1, 1), (6, 16), (7, 31), (200, 130))
    ]
    maps = ["m, k", place, "m, n"]
    check(product(tensors("?x19xf32", right, "?x?xf32"), "mnk", maps), *several)


THIN = {
    "few_rows": (tensors("5x131xf32", "131x2003xf32", "5x2003xf32"), "mnk", MATRICES),
    "one_row": (tensors("1x131xf64", "131x2003xf64", "1x2003xf64"), "mnk", MATRICES),
    "one_column": (tensors("2003x131xf32", "131x1xf32", "2003x1xf32"), "mnk", MATRICES),
    **{
        f"{rows}_rows_transposed": (
            tensors(f"{rows}x131xf32", "2003x131xf32", f"{rows}x2003xf32"),
            "mnk",
            ["m, k", "n, k", "m, n"],
        )
        for rows in (2, 3, 4, 5, 7)
    },
}


@pytest.mark.parametrize("name", THIN)
def test_thin_products(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that read a large operand once, in its order: no panels, no strips."""
    monkeypatch.setattr(kernel_steps, "MIN_PANEL_PRODUCT", 0)
    monkeypatch.setattr(register_tiles, "SMALL_OPERAND", 0)
    monkeypatch.setattr(reduction_loops, "LARGE_OPERAND", 0)
    monkeypatch.setattr(panel_products, "PanelProduct", None)
    check(product(*THIN[name]))


@pytest.mark.parametrize("columns", [13, 21])
def test_special_numbers(columns: int) -> None:
    """NaN, infinities and zeros with a sign, in whole tiles and in what is left of them."""
    rng = np.random.default_rng(2)
    types = tensors("21x8xf32", f"8x{columns}xf32", f"21x{columns}xf32")
    text = product(types, "mnk", MATRICES)
    inputs = [random_input(each, rng) for each in api.compile(text)["main"].argument_types]
    for array in inputs:
        flat = array.reshape(-1)
        places = rng.choice(flat.size, 6, replace=False)
        flat[places] = [np.nan, np.inf, -np.inf, -0.0, 0.0, np.float32(1e-42)]
    check(text, inputs)


def test_column_sums_of_every_rest() -> None:
    """Several terms at a time, and those that are left; the maximum keeps its order."""
    kind = "tensor<19x1031xf32>"
    body = f"""
  %0 = linalg.reduce ins(%a0 : {kind}) outs(%a1 : tensor<1031xf32>) dimensions = [0]
    (%x: f32, %y: f32) {{
      %s = arith.maximumf %x, %y : f32
      linalg.yield %s : f32
    }}
  return %0 : tensor<1031xf32>"""
    check(function([kind, "tensor<1031xf32>"], "tensor<1031xf32>", body))


@pytest.mark.parametrize("columns", [1, 7, 16, 17])
@pytest.mark.parametrize("name", ["addf", "maximumf"])
def test_row_results_of_a_large_operand(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four long rows at once; of short ones the results are vectors."""
    monkeypatch.setattr(reduction_loops, "LARGE_OPERAND", 0)
    kind, rows = f"tensor<39x{columns}xf32>", "tensor<39xf32>"
    body = f"""
  %0 = linalg.reduce {{ arith.{name} }} ins(%a0 : {kind}) outs(%a1 : {rows}) dimensions = [1]
  return %0 : {rows}"""
    rng = np.random.default_rng(3)
    inputs = [rng.standard_normal(each).astype(np.float32) for each in ((39, columns), (39,))]
    inputs[0].reshape(-1)[::9] = np.resize([np.nan, np.inf, -0.0, 1e-42], (39 * columns + 8) // 9)
    check(function([kind, rows], rows, body), inputs)
