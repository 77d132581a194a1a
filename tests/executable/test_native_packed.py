"""Products of packed operands, packing and unpacking: kernels compute what the interpreter does."""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np
import pytest
from backend_checks import random_input
from breadth import covering
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.explain import explain_kernels
from mesh_opt.codegen.microkernels.mmt4d import Mmt4dTile, blocks
from mesh_opt.ir.diagnostics import Remark, remarks_to
from mesh_opt.runtime.abi.elements import element_by_name

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i4": np.int8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


def check(text: str, dtypes: list[str]) -> None:
    """The program runs in kernels and gives exactly what the interpreter does."""
    main = api.compile(text)["main"]
    rng = np.random.default_rng(1)
    inputs = []
    for kind, name in zip(main.argument_types, dtypes, strict=True):
        shape = [5 if size < 0 else size for size in kind.get_shape()]
        inputs.append(rng.integers(-3, 4, shape).astype(DTYPES[name]))
    remarks = []
    with remarks_to(remarks.append):
        explain_kernels(main.program.module)
    (found,) = CompiledProgram(main.program.module).run("main", inputs)
    (wanted,) = main.reference(inputs)
    np.testing.assert_array_equal(found, wanted)
    assert not [each for each in remarks if each.category == "backend"]


def mmt4d(tile: tuple[int, int, int], types: tuple[str, str, str], batch: str = "") -> str:
    rows, columns, depth = tile
    left = f"tensor<{batch}3x5x{rows}x{depth}x{types[0]}>"
    right = f"tensor<{batch}2x5x{columns}x{depth}x{types[1]}>"
    out = f"tensor<{batch}3x2x{rows}x{columns}x{types[2]}>"
    name = "batch_mmt4d" if batch else "mmt4d"
    return f"""func.func @main(%l: {left}, %r: {right}, %o: {out}) -> {out} {{
      %0 = linalg.{name} ins(%l, %r : {left}, {right}) outs(%o : {out}) -> {out}
      return %0 : {out}
    }}"""


FLOAT = ("f32", "f32", "f32")


@pytest.mark.parametrize("types", [FLOAT, ("bf16", "bf16", "f32"), ("f64", "f64", "f64")])
@pytest.mark.parametrize("batch", ["", "2x"])
def test_tiles_of_another_machine(types: tuple[str, str, str], batch: str) -> None:
    """Large products in tiles that do not fill vectors here; the sums start from given numbers."""
    text = mmt4d((8, 4, 2), types, batch)
    for few, many in (("3x5x8", "13x40x8"), ("2x5x4", "27x40x4"), ("3x2x8", "13x27x8")):
        text = text.replace(few, many)
    check(text, [types[0], types[1], types[2]])


@pytest.mark.parametrize(
    ("tile", "types"),
    [
        ((16, 16, 1), FLOAT),
        ((8, 8, 1), FLOAT),
        ((8, 4, 1), FLOAT),
        ((6, 16, 1), FLOAT),
        ((1, 12, 1), FLOAT),
        ((2, 1, 1), FLOAT),
        ((8, 8, 4), FLOAT),
        ((16, 16, 16), FLOAT),
        ((4, 4, 3), FLOAT),
        ((8, 8, 1), ("f64", "f64", "f64")),
        ((16, 16, 1), ("f16", "f16", "f32")),
        ((16, 16, 1), ("f16", "f16", "f16")),
        ((16, 16, 2), ("bf16", "bf16", "f32")),
        ((16, 16, 1), ("bf16", "bf16", "bf16")),
        ((16, 16, 2), ("i8", "i8", "i32")),
        ((8, 8, 8), ("i8", "i8", "i32")),
        ((16, 16, 2), ("i16", "i16", "i32")),
        ((8, 32, 8), ("i8", "i4", "i32")),
        ((4, 4, 1), ("i32", "i32", "i64")),
    ],
    ids=str,
)
def test_mmt4d(tile: tuple[int, int, int], types: tuple[str, str, str]) -> None:
    check(mmt4d(tile, types), list(types))


@pytest.mark.parametrize("types", [FLOAT, ("i8", "i8", "i32")], ids=str)
def test_batches(types: tuple[str, str, str]) -> None:
    check(mmt4d((8, 16, 2), types, "3x"), list(types))


def test_many_panels() -> None:
    """More panels than a tile of work has, on both sides."""
    types = ["f32"] * 3
    left, right, out = "tensor<35x2x8x1xf32>", "tensor<40x2x16x1xf32>", "tensor<35x40x8x16xf32>"
    text = f"""func.func @main(%l: {left}, %r: {right}, %o: {out}) -> {out} {{
      %0 = linalg.mmt4d ins(%l, %r : {left}, {right}) outs(%o : {out}) -> {out}
      return %0 : {out}
    }}"""
    check(text, types)


def test_dynamic_panels() -> None:
    left, right, out = "tensor<?x?x8x1xf32>", "tensor<?x?x8x1xf32>", "tensor<?x?x8x8xf32>"
    text = f"""func.func @main(%l: {left}, %r: {right}, %o: {out}) -> {out} {{
      %0 = linalg.mmt4d ins(%l, %r : {left}, {right}) outs(%o : {out}) -> {out}
      return %0 : {out}
    }}"""
    check(text, ["f32"] * 3)


@pytest.mark.parametrize(
    ("shape", "positions", "tiles", "permutation"),
    [
        ((16, 6), (0, 1), (8, 1), (0, 1)),
        ((17, 6), (0, 1), (8, 1), (0, 1)),
        ((6, 19), (1, 0), (8, 1), (1, 0)),
        ((6, 19), (1, 0), (8, 4), (1, 0)),
        ((6, 19), (1, 0), (8, 4), (0, 1)),
        ((3, 6, 19), (1, 2), (4, 2), (0, 2, 1)),
        ((7,), (0,), (4,), (0,)),
        ((5, 7), (0,), (4,), (1, 0)),
        ((5, 7), (1,), (4,), (1, 0)),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_dynamic", [False, True], ids=["static", "dynamic"])
def test_pack_and_unpack(
    shape: tuple[int, ...],
    positions: tuple[int, ...],
    tiles: tuple[int, ...],
    permutation: tuple[int, ...],
    is_dynamic: bool,
) -> None:
    outer = list(shape)
    for position, tile in zip(positions, tiles, strict=True):
        outer[position] = -(-shape[position] // tile)
    packed = [*(outer[each] for each in permutation), *tiles]
    plain_shape: list[object] = ["?"] * len(shape) if is_dynamic else list(shape)
    packed_shape: list[object] = (
        [*["?"] * len(shape), *tiles] if is_dynamic else list[object](packed)
    )
    plain_type = f"tensor<{'x'.join(map(str, plain_shape))}xf32>"
    packed_type = f"tensor<{'x'.join(map(str, packed_shape))}xf32>"
    how = (
        f"outer_dims_perm = {list(permutation)} inner_dims_pos = {list(positions)}"
        f" inner_tiles = {list(tiles)}"
    )
    pack = f"""func.func @main(%a: {plain_type}, %into: {packed_type}) -> {packed_type} {{
      %z = arith.constant 7.0 : f32
      %0 = linalg.pack %a padding_value(%z : f32) {how} into %into : {plain_type} -> {packed_type}
      return %0 : {packed_type}
    }}"""
    unpack = f"""func.func @main(%a: {packed_type}, %into: {plain_type}) -> {plain_type} {{
      %0 = linalg.unpack %a {how} into %into : {packed_type} -> {plain_type}
      return %0 : {plain_type}
    }}"""
    values = np.arange(prod(shape), dtype=np.float32).reshape(shape)
    tiled = np.zeros(packed, np.float32)
    for text, inputs in ((pack, [values, tiled]), (unpack, [None, np.zeros(shape, np.float32)])):
        main = api.compile(text)["main"]
        given = [tiled if each is None else each for each in inputs]
        (found,) = CompiledProgram(main.program.module).run("main", given)
        np.testing.assert_array_equal(found, main.reference(given)[0])
        tiled = found
    np.testing.assert_array_equal(tiled, values)


def test_producers_are_packed_on_the_way() -> None:
    text = """func.func @main(%a: tensor<9x6xf32>) -> tensor<2x6x8x1xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x6x8x1xf32>
      %s = arith.addf %a, %a : tensor<9x6xf32>
      %0 = linalg.pack %s padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 1]
        into %e : tensor<9x6xf32> -> tensor<2x6x8x1xf32>
      return %0 : tensor<2x6x8x1xf32>
    }"""
    program = CompiledProgram(api.compile(text).module)
    program.run("main", [np.ones((9, 6), np.float32)])
    assert program.device_statistics[0].dispatches == 1
    check(text, ["f32"])


@pytest.mark.parametrize(("rows", "columns", "depth"), [(16, 16, 1), (7, 32, 1), (16, 16, 16)])
def test_blocks_cover_a_tile_once(rows: int, columns: int, depth: int) -> None:
    f32 = element_by_name("f32")
    tile = Mmt4dTile(f32, f32, f32, rows, columns, depth)
    vectors = columns * depth // tile.lanes
    covered = [(row, part) for block, parts in blocks(tile) for row in block for part in parts]
    assert sorted(covered) == [(row, part) for row in range(rows) for part in range(vectors)]


@pytest.mark.parametrize(
    ("element", "sizes"),
    covering(
        ["i1", "i2", "i3", "i4", "ui4", "f4E2M1FN"],
        ["1", "7", "5x3", "33000", "?x3", "0"],
        meeting=1,
    ),
)
def test_elements_of_less_than_a_byte_in_resources(element: str, sizes: str) -> None:
    """They are packed where they are stored, whole bytes by vectors and the last one alone."""
    kind = f"tensor<{sizes}x{element}>"
    wide = f"tensor<{sizes}x{'f32' if element[0] == 'f' else 'i32'}>"
    text = f"""func.func @main(%a: {kind}, %b: {kind}) -> ({kind}, {wide}) {{
      %0 = stablehlo.maximum %a, %b : {kind}
      %1 = stablehlo.convert %0 : ({kind}) -> {wide}
      return %0, %1 : {kind}, {wide}
    }}"""
    program = api.compile(text, "compile")
    remarks: list[Remark] = []
    with remarks_to(remarks.append):
        explain_kernels(program.module)
    assert not [each for each in remarks if each.category == "backend"]
    rng = np.random.default_rng(0)
    inputs = [random_input(each, rng) for each in program.main.argument_types]
    if element == "ui4":
        inputs = [each & 15 for each in inputs]
    for got, want in zip(program.main.run(inputs), program.main.reference(inputs), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("second", ["%x", "%y"])
@pytest.mark.parametrize("order", ["", "outer_dims_perm = [1, 0] "])
def test_two_results_of_one_shape_are_both_packed(second: str, order: str) -> None:
    matrix, packed = "tensor<16x15xf32>", "tensor<2x2x8x8xf32>"
    positions = "[1, 0]" if order else "[0, 1]"
    text = f"""func.func @main(%x: {matrix}, %y: {matrix}) -> ({packed}, {packed}) {{
      %c = arith.constant 2.0 : f32
      %e = tensor.empty() : {packed}
      %0 = linalg.pack %x padding_value(%c : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 8]
        into %e : {matrix} -> {packed}
      %1 = linalg.pack {second} padding_value(%c : f32) {order}inner_dims_pos = {positions}
        inner_tiles = [8, 8] into %e : {matrix} -> {packed}
      return %0, %1 : {packed}, {packed}
    }}"""
    main = api.compile(text)["main"]
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((16, 15), dtype=np.float32) for _ in range(2)]
    for found, wanted in zip(main.run(inputs), main.reference(inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_two_results_of_one_shape_are_both_unpacked() -> None:
    matrix, packed = "tensor<16x15xf32>", "tensor<2x2x8x8xf32>"
    text = f"""func.func @main(%x: {packed}) -> ({matrix}, {matrix}) {{
      %e = tensor.empty() : {matrix}
      %0 = linalg.unpack %x inner_dims_pos = [0, 1] inner_tiles = [8, 8]
        into %e : {packed} -> {matrix}
      %1 = linalg.unpack %x outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 8]
        into %e : {packed} -> {matrix}
      return %0, %1 : {matrix}, {matrix}
    }}"""
    main = api.compile(text)["main"]
    x = np.random.default_rng(1).standard_normal((2, 2, 8, 8), dtype=np.float32)
    for found, wanted in zip(main.run([x]), main.reference([x]), strict=True):
        np.testing.assert_array_equal(found, wanted)
