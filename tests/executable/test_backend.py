"""What the numba backend computes is what the interpreter computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.backend import recorder
from mesh_opt.backend.compile import compile_program
from mesh_opt.dialects.diagnostics import OperationError, remarks_to
from mesh_opt.interpreter.compare import compare
from mesh_opt.interpreter.values import dtype_of, is_float_dtype, static_shape

MODELS = Path(__file__).parents[1] / "cases" / "models"

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i1", "i4", "i8", "i12", "i16", "i32", "i64"]


def function(types: list[str], result: str, body: str) -> str:
    arguments = ", ".join(f"%a{i}: {each}" for i, each in enumerate(types))
    return f"func.func @main({arguments}) -> ({result}) {{\n{body}\n}}"


def random_input(kind, rng: np.random.Generator) -> np.ndarray:
    dtype = dtype_of(kind)
    shape = [5 if size < 0 else size for size in static_shape(kind) or ()]
    if is_float_dtype(dtype):
        return np.asarray(rng.standard_normal(shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    width = getattr(getattr(getattr(kind, "element_type", kind), "width", None), "data", 8)
    top = 1 << (min(width, 8) - 1)
    return np.asarray(rng.integers(-top, top, shape)).astype(dtype)


def check(text: str, inputs: list[np.ndarray] | None = None, *, interpreted: bool = False) -> None:
    """The program runs in kernels (unless `interpreted`) and agrees with the interpreter."""
    program = api.compile(text, stages=False)
    main = program["main"]
    rng = np.random.default_rng(7)
    inputs = inputs or [random_input(each, rng) for each in main.argument_types]
    expected = main.reference(inputs)
    compiled = compile_program(program.module)
    remarks = []
    with remarks_to(remarks.append):
        first = compiled.run("main", inputs)
    second = compiled.run("main", inputs)
    for actual in (first, second):
        for got, want in zip(actual, expected, strict=True):
            difference = compare(got, want)
            assert difference.agrees, difference
    names = [each.operation.name for each in remarks if each.category == "backend"]
    assert bool(names) == interpreted, names


def elementwise(name: str, element: str, operands: int = 2) -> str:
    kind = f"tensor<3x5x{element}>"
    names = ", ".join(f"%a{i}" for i in range(operands))
    body = f"  %0 = {name} {names} : {kind}\n  return %0 : {kind}"
    return function([kind] * operands, kind, body)


FLOAT_BINARY = [
    "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf",
]  # fmt: skip
INTEGER_BINARY = [
    "addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui",
]  # fmt: skip
DIVISIONS = ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"]
SHIFTS = ["shli", "shrsi", "shrui"]


@pytest.mark.parametrize("element", FLOATS)
def test_float_arithmetic(element: str) -> None:
    kind = f"tensor<3x5x{element}>"
    lines = [f"  %{n} = arith.{n} %a0, %a1 : {kind}" for n in FLOAT_BINARY]
    lines.append(f"  %negf = arith.negf %a0 : {kind}")
    names = [*FLOAT_BINARY, "negf"]
    lines.append(f"  return {', '.join('%' + n for n in names)} : {', '.join([kind] * len(names))}")
    check(function([kind, kind], ", ".join([kind] * len(names)), "\n".join(lines)))


@pytest.mark.parametrize("element", INTEGERS)
def test_integer_arithmetic(element: str) -> None:
    kind = f"tensor<7x9x{element}>"
    lines = [f"  %{n} = arith.{n} %a0, %a1 : {kind}" for n in INTEGER_BINARY]
    names = ", ".join("%" + n for n in INTEGER_BINARY)
    kinds = ", ".join([kind] * len(INTEGER_BINARY))
    check(function([kind, kind], kinds, "\n".join([*lines, f"  return {names} : {kinds}"])))


@pytest.mark.parametrize("element", ["i4", "i8", "i12", "i32", "i64"])
def test_divisions_and_shifts(element: str) -> None:
    kind = f"tensor<7x9x{element}>"
    names = [*DIVISIONS, *SHIFTS]
    lines = [f"  %{n} = arith.{n} %a0, %a1 : {kind}" for n in DIVISIONS]
    lines += [f"  %{n} = arith.{n} %a0, %a2 : {kind}" for n in SHIFTS]
    kinds = ", ".join([kind] * len(names))
    lines.append(f"  return {', '.join('%' + n for n in names)} : {kinds}")
    rng = np.random.default_rng(3)
    dtype = {"i4": np.int8, "i8": np.int8, "i12": np.int16, "i32": np.int32, "i64": np.int64}
    width = int(element[1:])
    top = 1 << (width - 1)
    left = rng.integers(-top, top, (7, 9)).astype(dtype[element])
    right = rng.integers(1, 7, (7, 9)) * rng.choice([-1, 1], (7, 9))
    amounts = rng.integers(0, width if width < 8 else 7, (7, 9))
    if width == 4:
        amounts = amounts % 4
    inputs = [left, right.astype(dtype[element]), amounts.astype(dtype[element])]
    check(function([kind] * 3, kinds, "\n".join(lines)), inputs)


UNARY_MATH = [
    "exp", "exp2", "expm1", "cbrt", "erf", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh",
    "asinh", "absf", "ceil", "floor", "round", "roundeven", "trunc",
]  # fmt: skip
POSITIVE_MATH = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh"]
UNIT_MATH = ["asin", "acos", "atanh"]


@pytest.mark.parametrize("element", FLOATS)
def test_math_functions(element: str) -> None:
    kind = f"tensor<40x{element}>"
    lines = [f"  %{n} = math.{n} %a0 : {kind}" for n in UNARY_MATH]
    lines += [f"  %{n} = math.{n} %a1 : {kind}" for n in POSITIVE_MATH]
    lines += [f"  %{n} = math.{n} %a2 : {kind}" for n in UNIT_MATH]
    lines += [f"  %{n} = math.{n} %a1, %a0 : {kind}" for n in ("powf", "atan2", "copysign")]
    lines.append(f"  %fma = math.fma %a0, %a1, %a2 : {kind}")
    names = [*UNARY_MATH, *POSITIVE_MATH, *UNIT_MATH, "powf", "atan2", "copysign", "fma"]
    kinds = ", ".join([kind] * len(names))
    lines.append(f"  return {', '.join('%' + n for n in names)} : {kinds}")
    dtype = {"f16": "float16", "f32": "float32", "f64": "float64"}.get(element, "bfloat16")
    rng = np.random.default_rng(5)
    inputs = [
        (rng.standard_normal(40) * 2).astype(dtype),
        (rng.random(40) * 3 + 1).astype(dtype),
        (rng.random(40) * 1.8 - 0.9).astype(dtype),
    ]
    check(function([kind] * 3, kinds, "\n".join(lines)), inputs)


def conversion(source: str, target: str, name: str) -> str:
    kinds = f"tensor<33x{source}>", f"tensor<33x{target}>"
    body = f"""
  %e = tensor.empty() : {kinds[1]}
  %0 = linalg.map ins(%a0 : {kinds[0]}) outs(%e : {kinds[1]}) (%x: {source}, %o: {target}) {{
    %y = arith.{name} %x : {source} to {target}
    linalg.yield %y : {target}
  }}
  return %0 : {kinds[1]}"""
    return function([kinds[0]], kinds[1], body)


@pytest.mark.parametrize(
    ("source", "target", "name"),
    [
        ("f64", "f32", "truncf"),
        ("f64", "f16", "truncf"),
        ("f64", "bf16", "truncf"),
        ("f32", "bf16", "truncf"),
        ("f16", "f64", "extf"),
        ("bf16", "f32", "extf"),
        ("i1", "f32", "uitofp"),
        ("i1", "i32", "extsi"),
        ("i1", "i32", "extui"),
        ("i4", "i32", "extsi"),
        ("i4", "i32", "extui"),
        ("i32", "i4", "trunci"),
        ("i32", "i1", "trunci"),
        ("i64", "bf16", "sitofp"),
        ("i32", "f16", "sitofp"),
        ("i8", "f32", "uitofp"),
        ("f32", "i8", "fptosi"),
        ("f32", "i32", "bitcast"),
        ("bf16", "i16", "bitcast"),
    ],
)
def test_conversions(source: str, target: str, name: str) -> None:
    check(conversion(source, target, name))


def test_halfway_cases_are_rounded_once() -> None:
    """An f64 just above the middle of two f16 rounds up, though its f32 is the middle."""
    values = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 65519.99999999, 1e-8, np.nan])
    check(conversion("f64", "f16", "truncf").replace("33", "5"), [values])


COMPARISONS = """
#id = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<37xf32>, %b: tensor<37xf32>, %c: tensor<37xi8>, %d: tensor<37xi8>)
    -> (tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>) {
  %p = tensor.empty() : tensor<37xi1>
  %q = tensor.empty() : tensor<37xf32>
  %0:4 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id],
                         iterator_types = ["parallel"]}
      ins(%a, %b, %c, %d : tensor<37xf32>, tensor<37xf32>, tensor<37xi8>, tensor<37xi8>)
      outs(%p, %p, %p, %q : tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>) {
    ^bb0(%x: f32, %y: f32, %i: i8, %j: i8, %o0: i1, %o1: i1, %o2: i1, %o3: f32):
      %1 = arith.cmpf olt, %x, %y : f32
      %2 = arith.cmpi ult, %i, %j : i8
      %3 = arith.cmpi sge, %i, %j : i8
      %4 = arith.select %1, %x, %y : f32
      linalg.yield %1, %2, %3, %4 : i1, i1, i1, f32
  } -> (tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<37xi1>, tensor<37xi1>, tensor<37xi1>, tensor<37xf32>
}
"""


def test_comparisons() -> None:
    check(COMPARISONS)


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
    "rows_of_two_loops": ("5x13x70xf32 amk", "70x66xf32 kn", "5x13x66xf32 amn"),
    "depth_of_two_loops": ("65x8x9xf32 mak", "8x9x66xf32 akn", "65x66xf32 mn"),
    "dynamic": ("?x80xf32 mk", "80x?xf32 kn", "?x?xf32 mn"),
}
"""Types of two operands and the result, each with its loops."""


@pytest.mark.parametrize("name", LARGE)
def test_large_product(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that are packed and multiplied in registers, added to what is there."""
    monkeypatch.setattr(recorder, "SMALLEST_PRODUCT", 0)
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
    monkeypatch.setattr(recorder, "SMALLEST_PRODUCT", 0)
    text = matmul(element, "f32")
    for size, larger in (("7", "67"), ("9", "69"), ("33", "73")):
        text = text.replace(f"tensor<{size}x", f"tensor<{larger}x")
    text = text.replace("x9x", "x69x").replace("x33x", "x73x")
    check(text)


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


TOSA_FLOAT = ["ceil", "cos", "erf", "exp", "floor", "reciprocal", "sigmoid", "sin", "tanh", "abs"]


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_tosa_on_floats(element: str) -> None:
    """Elementwise operations, with an operand broadcast along a dimension."""
    kind, row = f"tensor<3x7x{element}>", f"tensor<1x7x{element}>"
    lines = [f"  %{n} = tosa.{n} %a0 : ({kind}) -> {kind}" for n in TOSA_FLOAT]
    pairs = ["add", "sub", "maximum", "minimum"]
    lines += [f"  %{n} = tosa.{n} %a0, %a1 : ({kind}, {row}) -> {kind}" for n in pairs]
    names = [*TOSA_FLOAT, *pairs, "clamp", "cast"]
    lines.append(
        f"  %clamp = tosa.clamp %a0 {{min_val = -0.5 : {element}, max_val = 0.5 : {element}}}"
        f" : ({kind}) -> {kind}"
    )
    lines.append(f"  %cast = tosa.cast %a0 : ({kind}) -> tensor<3x7xi8>")
    kinds = ", ".join([kind] * (len(names) - 1) + ["tensor<3x7xi8>"])
    lines.append(f"  return {', '.join('%' + n for n in names)} : {kinds}")
    check(function([kind, row], kinds, "\n".join(lines)))


def test_tosa_on_integers() -> None:
    kind = "tensor<3x7xi32>"
    pairs = ["add", "sub", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"]
    lines = [f"  %{n} = tosa.{n} %a0, %a1 : ({kind}, {kind}) -> {kind}" for n in pairs]
    compared = ["equal", "greater", "greater_equal"]
    flags = "tensor<3x7xi1>"
    lines += [f"  %{n} = tosa.{n} %a0, %a1 : ({kind}, {kind}) -> {flags}" for n in compared]
    lines.append(f"  %s = tosa.select %greater, %a0, %a1 : ({flags}, {kind}, {kind}) -> {kind}")
    lines.append(f"  %c = tosa.cast %greater : ({flags}) -> tensor<3x7xf32>")
    kinds = ", ".join([kind] * len(pairs) + [flags] * 3 + [kind, "tensor<3x7xf32>"])
    names = ", ".join("%" + n for n in [*pairs, *compared, "s", "c"])
    check(function([kind, kind], kinds, "\n".join([*lines, f"  return {names} : {kinds}"])))


TOSA_PROGRAMS = {
    "reductions": """
func.func @main(%a: tensor<3x5xf32>, %b: tensor<3x5xi32>) -> (tensor<3x1xf32>, tensor<1x5xf32>,
    tensor<3x1xi32>) {
  %0 = tosa.reduce_sum %a {axis = 1 : i32} : (tensor<3x5xf32>) -> tensor<3x1xf32>
  %1 = tosa.reduce_max %a {axis = 0 : i32} : (tensor<3x5xf32>) -> tensor<1x5xf32>
  %2 = tosa.reduce_sum %b {axis = 1 : i32} : (tensor<3x5xi32>) -> tensor<3x1xi32>
  return %0, %1, %2 : tensor<3x1xf32>, tensor<1x5xf32>, tensor<3x1xi32>
}""",
    "movements": """
func.func @main(%a: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x6xf32>, tensor<2x3xf32>,
    tensor<1x2xf32>, tensor<4x4xf32>, tensor<6x1xf32>, tensor<2x6xf32>) {
  %s = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %z = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %p = tosa.const_shape {values = dense<[1, 1, 0, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() {values = dense<2.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %n = tosa.const_shape {values = dense<[6, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %m = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.transpose %a {perms = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = tosa.concat %a, %a {axis = 1 : i32}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = tosa.reverse %a {axis = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = tosa.slice %a, %s, %z
      : (tensor<2x3xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x2xf32>
  %4 = tosa.pad %a, %p, %v
      : (tensor<2x3xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<4x4xf32>
  %5 = tosa.reshape %a, %n : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<6x1xf32>
  %6 = tosa.tile %a, %m : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<2x6xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x2xf32>, tensor<2x6xf32>, tensor<2x3xf32>,
      tensor<1x2xf32>, tensor<4x4xf32>, tensor<6x1xf32>, tensor<2x6xf32>
}""",
    "matmul": """
func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = tosa.matmul %a, %b, %z, %z
      : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}""",
    "matmul_with_zero_points": """
func.func @main(%a: tensor<1x3x4xi8>, %b: tensor<1x4x5xi8>) -> tensor<1x3x5xi32> {
  %y = "tosa.const"() {values = dense<3> : tensor<1xi8>} : () -> tensor<1xi8>
  %z = "tosa.const"() {values = dense<-5> : tensor<1xi8>} : () -> tensor<1xi8>
  %0 = tosa.matmul %a, %b, %y, %z
      : (tensor<1x3x4xi8>, tensor<1x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x3x5xi32>
  return %0 : tensor<1x3x5xi32>
}""",
}


@pytest.mark.parametrize("name", TOSA_PROGRAMS)
def test_tosa_program(name: str) -> None:
    check(TOSA_PROGRAMS[name])


def test_what_has_no_kernel_runs_in_the_interpreter() -> None:
    text = """
func.func @main(%a: tensor<3x4xf32>) -> tensor<3xi32> {
  %0 = math.tanh %a : tensor<3x4xf32>
  %1 = tosa.argmax %0 {axis = 1 : i32} : (tensor<3x4xf32>) -> tensor<3xi32>
  return %1 : tensor<3xi32>
}"""
    check(text, interpreted=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    check(PROGRAMS[name])


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
    compiled = compile_program(api.compile(text, stages=False).module)
    (result,) = compiled.run(name, [np.zeros(3, np.float32)])
    assert np.array_equal(result, np.ones(3, np.float32))


@pytest.mark.parametrize("name", ["mlp", "transformer_block"])
def test_model(name: str) -> None:
    stored = np.load(MODELS / f"{name}.npz")
    inputs = [stored[f"in{i}"] for i in range(len(stored.files) - 1)]
    compiled = compile_program(api.compile(MODELS / f"{name}.mlir", stages=False).module)
    (result,) = compiled.run("main", inputs)
    assert np.abs(result - stored["out0"]).max() < 1e-5


def test_results_do_not_change_with_later_calls() -> None:
    compiled = compile_program(api.compile(PROGRAMS["row_sum"], stages=False).module)
    ones = np.ones((5, 37), np.float32)
    (first,) = compiled.run("main", [ones])
    compiled.run("main", [ones * 2])
    assert np.array_equal(first, np.full(5, 37, np.float32))


def test_workers_share_a_dispatch() -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((16, 32)), rng.standard_normal((32, 64))]
    inputs = [each.astype(np.float32) for each in [*inputs, rng.standard_normal((64, 32))]]
    program = api.compile(MODELS / "mlp.mlir", stages=False)
    (alone,) = compile_program(program.module).run("main", inputs)
    (shared,) = compile_program(program.module, workers=3).run("main", inputs)
    assert np.array_equal(alone, shared)


FAILURES = {
    "sizes_disagree": (
        """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}""",
        [np.zeros(3, np.float32), np.zeros(4, np.float32)],
        "shapes",
    ),
    "loops_disagree": (
        """
func.func @main(%a: tensor<?x4xf32>, %b: tensor<?x5xf32>, %c: tensor<?x5xf32>)
    -> tensor<?x5xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x4xf32>, tensor<?x5xf32>)
      outs(%c : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}""",
        [np.zeros((3, 4), np.float32), np.zeros((6, 5), np.float32), np.zeros((3, 5), np.float32)],
        "iterations",
    ),
    "slice_beyond": (
        """
func.func @main(%a: tensor<4xf32>, %i: index) -> tensor<2xf32> {
  %0 = tensor.extract_slice %a[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
  %1 = math.exp %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}""",
        [np.zeros(4, np.float32), np.int64(3)],
        "takes 2 elements from 3",
    ),
    "index_beyond": (
        """
#id = affine_map<(d0) -> (d0)>
func.func @main(%t: tensor<9xf32>, %k: tensor<5xindex>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%k : tensor<5xindex>) outs(%e : tensor<5xf32>) {
    ^bb0(%i: index, %o: f32):
      %v = tensor.extract %t[%i] : tensor<9xf32>
      linalg.yield %v : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}""",
        [np.zeros(9, np.float32), np.array([0, 1, -1, 3, 1 << 40])],
        "not in the tensor",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_would_leave_a_tensor_is_a_located_error(name: str) -> None:
    text, inputs, message = FAILURES[name]
    compiled = compile_program(api.compile(text, stages=False).module)
    with pytest.raises(OperationError, match=message):
        compiled.run("main", inputs)
