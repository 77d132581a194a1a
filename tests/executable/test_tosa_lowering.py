"""TOSA as linalg: native code, which is made of linalg, against the interpreter of TOSA."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from backend_checks import check
from breadth import sampled
from mesh_opt import api
from tosa_cases import DTYPES, FLOATS, INTEGERS, SUMS, Case, numbers, small, tensor, zeros

S, ROW, COLUMN = (3, 7), (1, 7), (3, 1)
SHIFT = (("0", "tensor<1xi8>"),)


def elementwise() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for f in FLOATS:
        both = [(S, f), (ROW, f)]
        for name in "ceil floor exp log sigmoid tanh rsqrt reciprocal erf sin cos abs".split():
            found[f"{name} {f}"] = Case(name, [(S, f)], (S, f))
        for name in "add sub maximum minimum pow".split():
            found[f"{name} {f}"] = Case(name, both, (S, f))
        for name in ("maximum", "minimum"):
            found[f"{name} {f} ignoring NaN"] = Case(name, both, (S, f), "nan_mode = IGNORE")
        for name in ("equal", "greater", "greater_equal"):
            found[f"{name} {f}"] = Case(name, [(S, f), (COLUMN, f)], (S, "i1"))
        found[f"mul {f}"] = Case("mul", both, (S, f), constants=SHIFT)
        found[f"negate {f}"] = Case("negate", [(S, f)], (S, f), constants=zeros(f, 0, 0))
        for mode in ("PROPAGATE", "IGNORE"):
            bounds = f"min_val = -1.0 : {f}, max_val = 1.5 : {f}, nan_mode = {mode}"
            found[f"clamp {f} {mode}"] = Case("clamp", [(S, f)], (S, f), bounds)
        for target in (*INTEGERS, *FLOATS, "i1"):
            found[f"cast {f} {target}"] = Case("cast", [(S, f)], (S, target))
    for i in INTEGERS:
        both = [(COLUMN, i), (ROW, i)]
        for name in "add sub maximum minimum bitwise_and bitwise_or bitwise_xor".split():
            found[f"{name} {i}"] = Case(name, both, (S, i))
        for name in ("abs", "bitwise_not", "clz"):
            found[f"{name} {i}"] = Case(name, [(S, i)], (S, i))
        for name in ("equal", "greater", "greater_equal"):
            found[f"{name} {i}"] = Case(name, both, (S, "i1"))
        found[f"clamp {i}"] = Case(
            "clamp", [(S, i)], (S, i), f"min_val = -3 : {i}, max_val = 9 : {i}"
        )
        for zero in (0, 5):
            found[f"negate {i} {zero}"] = Case(
                "negate", [(S, i)], (S, i), constants=zeros(i, zero, -zero)
            )
        for target in (*INTEGERS, *FLOATS, "i1"):
            found[f"cast {i} {target}"] = Case("cast", [(S, i)], (S, target))
        found[f"select {i}"] = Case("select", [(ROW, "i1"), (S, i), (COLUMN, i)], (S, i))
    for name in ("logical_and", "logical_or", "logical_xor"):
        found[name] = Case(name, [(S, "i1"), (ROW, "i1")], (S, "i1"))
    found["logical_not"] = Case("logical_not", [(S, "i1")], (S, "i1"))
    found["mul i8"] = Case("mul", [(S, "i8"), (ROW, "i8")], (S, "i32"), constants=SHIFT)
    found["mul i16"] = Case("mul", [(S, "i16"), (S, "i16")], (S, "i32"), constants=SHIFT)
    for shift in (0, 1, 7, 31):
        by = ((str(shift), "tensor<1xi8>"),)
        found[f"mul i32 {shift}"] = Case("mul", [(S, "i32"), (S, "i32")], (S, "i32"), constants=by)
    for target in ("i8", "i16", "i32"):
        for mode in ("SINGLE_ROUND", "DOUBLE_ROUND"):
            for sign in ("false", "true"):
                found[f"rescale {target} {mode} {sign}"] = Case(
                    "rescale",
                    [(S, "i32")],
                    (S, target),
                    f"scale32 = true, rounding_mode = {mode}, per_channel = true,"
                    f" input_unsigned = false, output_unsigned = {sign}",
                    (
                        ("[1073741824, 2, 1, 2147483647, 3, 77777, 1610612736]", "tensor<7xi32>"),
                        ("[30, 12, 2, 40, 35, 20, 33]", "tensor<7xi8>"),
                        *zeros("i32", 3),
                        *zeros(target, 5),
                    ),
                )
    return found


CASES = elementwise()


@pytest.mark.parametrize("name", sampled(list(CASES), 5))
def test_elementwise(name: str) -> None:
    case = CASES[name]
    check(case.text(), [numbers(element, shape) for shape, element in case.operands])


@pytest.mark.parametrize("round_", ["false", "true"])
@pytest.mark.parametrize("element", INTEGERS)
def test_shifts(element: str, round_: str) -> None:
    kind = tensor(S, element)
    text = f"""
func.func @main(%a: {kind}, %b: {kind}) -> ({kind}, {kind}, {kind}) {{
  %0 = tosa.arithmetic_right_shift %a, %b {{round = {round_}}} : ({kind}, {kind}) -> {kind}
  %1 = tosa.logical_right_shift %a, %b : ({kind}, {kind}) -> {kind}
  %2 = tosa.logical_left_shift %a, %b : ({kind}, {kind}) -> {kind}
  return %0, %1, %2 : {kind}, {kind}, {kind}
}}"""
    amounts = np.random.default_rng(0).integers(0, int(element[1:]), S)
    check(text, [numbers(element, S), amounts.astype(DTYPES[element])])


@pytest.mark.parametrize("element", ["i8", "i16"])
def test_tables_and_gathers(element: str) -> None:
    entries, wide = (256, "i8") if element == "i8" else (513, "i32")
    table = tensor((entries,), element)
    kind = tensor(S, element)
    text = f"""
func.func @main(%a: {kind}, %t: {table}, %v: tensor<2x5x3xf32>, %i: tensor<2x4xi32>)
    -> (tensor<3x7x{wide}>, tensor<2x4x3xf32>) {{
  %0 = tosa.table %a, %t : ({kind}, {table}) -> tensor<3x7x{wide}>
  %1 = tosa.gather %v, %i : (tensor<2x5x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>
  return %0, %1 : tensor<3x7x{wide}>, tensor<2x4x3xf32>
}}"""
    given = [numbers(element, S), numbers(element, (entries,)), small("f32", (2, 5, 3))]
    check(text, [*given, np.array([[4, 0, 3, 3], [1, 2, 0, 4]], np.int32)])


REDUCTIONS = {
    **{f"{n} {e}": (n, e, "") for n in ("sum", "product", "max", "min") for e in FLOATS},
    **{f"{n} {e}": (n, e, "") for n in ("sum", "product", "max", "min") for e in INTEGERS},
    **{f"{n} {e} ignoring NaN": (n, e, "IGNORE") for n in ("max", "min") for e in FLOATS},
    **{n: (n, "i1", "") for n in ("all", "any")},
}


@pytest.mark.parametrize("name", sampled(list(REDUCTIONS), 3))
def test_reductions(name: str) -> None:
    op, element, mode = REDUCTIONS[name]
    mode = f", nan_mode = {mode}" if mode else ""
    for shape in ("3x9", "?x?"):
        one = shape.replace("9", "1")
        kind, row = f"tensor<{shape}x{element}>", f"tensor<1x{shape[2:]}x{element}>"
        column = f"tensor<{one}x{element}>"
        text = f"""
func.func @main(%a: {kind}) -> ({column}, {row}) {{
  %0 = tosa.reduce_{op} %a {{axis = 1 : i32{mode}}} : ({kind}) -> {column}
  %1 = tosa.reduce_{op} %a {{axis = 0 : i32{mode}}} : ({kind}) -> {row}
  return %0, %1 : {column}, {row}
}}"""
        given = small(element, (3, 9)) if op in ("sum", "product") else numbers(element, (3, 9))
        if op in ("max", "min") and element in FLOATS:
            given[2] = np.nan
        check(text, [given])


@pytest.mark.parametrize("element", SUMS)
def test_products(element: str) -> None:
    wide = SUMS[element]
    operands = [((2, 5, 6), element), ((2, 6, 7), element)]
    for zero in (0, 3) if element == "i8" else (0,):
        text = Case(
            "matmul", operands, ((2, 5, 7), wide), constants=zeros(element, zero, -zero)
        ).text()
        check(text, [small(each, shape) for shape, each in operands])


@pytest.mark.parametrize("shape", [(2, 8, 4), (1, 2, 16)])
def test_fourier_transforms(shape: tuple[int, ...]) -> None:
    kind, half = tensor(shape, "f32"), tensor((*shape[:2], shape[2] // 2 + 1), "f32")
    results = ", ".join([kind] * 4 + [half] * 2)
    text = f"""
func.func @main(%a: {kind}, %b: {kind}) -> ({results}) {{
  %0, %1 = tosa.fft2d %a, %b {{inverse = false}} : ({kind}, {kind}) -> ({kind}, {kind})
  %2, %3 = tosa.fft2d %a, %b {{inverse = true}} : ({kind}, {kind}) -> ({kind}, {kind})
  %4, %5 = tosa.rfft2d %a : ({kind}) -> ({half}, {half})
  return %0, %1, %2, %3, %4, %5 : {results}
}}"""
    check(text)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "i8", "i16"])
def test_argmax(element: str) -> None:
    """The first of equal numbers; NaN is the largest or ignored, also where all are NaN or -inf."""
    given = numbers(element, (5, 9))
    if element in FLOATS:
        given[1], given[2], given[3, 4:6] = np.nan, -np.inf, np.nan
        given[4, :2] = np.nan, -np.inf
    else:
        given[1], given[2, 3:5] = given.min(), given.max()
    kind = tensor((5, 9), element)
    modes = ("PROPAGATE", "IGNORE") if element in FLOATS else ("PROPAGATE",)
    for mode, axis in product(modes, (0, 1)):
        result = tensor((9 if axis == 0 else 5,), "i32")
        text = f"""
func.func @main(%a: {kind}) -> {result} {{
  %0 = tosa.argmax %a {{axis = {axis} : i32, nan_mode = {mode}}} : ({kind}) -> {result}
  return %0 : {result}
}}"""
        check(text, [given])


def test_division() -> None:
    """It is rounded towards zero, and wraps for the least integer and -1."""
    least = np.iinfo(np.int32).min
    left = np.array([7, -7, 7, least, least, 0], np.int32)
    text = Case("intdiv", [((6,), "i32"), ((6,), "i32")], ((6,), "i32")).text()
    check(text, [left, np.array([2, 2, -2, -1, 1, -5], np.int32)])


def test_scales() -> None:
    """Of tensors, and of numbers in the body of another operation."""
    kind = "tensor<64xi32>"
    text = f"""
#all = affine_map<(d0) -> (d0)>
func.func @main(%a: {kind}) -> ({kind}, {kind}, {kind}) {{
  %m = "tosa.const"() {{values = dense<1234567> : tensor<64xi32>}} : () -> {kind}
  %s = "tosa.const"() {{values = dense<33> : tensor<64xi8>}} : () -> tensor<64xi8>
  %0 = tosa.apply_scale %a, %m, %s {{rounding_mode = DOUBLE_ROUND}}
      : ({kind}, {kind}, tensor<64xi8>) -> {kind}
  %1 = tosa.apply_scale %a, %m, %s {{rounding_mode = SINGLE_ROUND}}
      : ({kind}, {kind}, tensor<64xi8>) -> {kind}
  %e = tensor.empty() : {kind}
  %2 = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel"]}}
      ins(%a : {kind}) outs(%e : {kind}) {{
  ^bb0(%x: i32, %old: i32):
    %factor = arith.constant 2000000000 : i32
    %amount = arith.constant 40 : i8
    %y = tosa.apply_scale %x, %factor, %amount {{rounding_mode = DOUBLE_ROUND}}
        : (i32, i32, i8) -> i32
    linalg.yield %y : i32
  }} -> {kind}
  return %0, %1, %2 : {kind}, {kind}, {kind}
}}"""
    check(text, [numbers("i32", (64,))])


SCATTER = """
func.func @main(%a: tensor<2x5x7xf32>, %i: tensor<2x3xi32>, %b: tensor<2x3x7xf32>)
    -> tensor<2x5x7xf32> {
  %0 = tosa.scatter %a, %i, %b
      : (tensor<2x5x7xf32>, tensor<2x3xi32>, tensor<2x3x7xf32>) -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}"""


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[4, 0, 2], [1, 2, 3]], None),
        ([[4, 0, 2], [1, 2, 1]], "writes a row twice"),
        ([[4, 0, 5], [1, 2, 3]], "has index 5 in dimension 1, which has extent 5"),
    ],
)
def test_scatters(rows: list[list[int]], message: str | None) -> None:
    given = [small("f32", (2, 5, 7)), np.array(rows, np.int32), small("f32", (2, 3, 7))]
    if message is None:
        return check(SCATTER, given)
    main = api.compile(SCATTER)["main"]
    with pytest.raises(api.ExecutionError, match=message):
        main(*given)
    with pytest.raises(api.ExecutionError):
        main.reference(given)


def test_what_linalg_does_not_compute_stays() -> None:
    """Unsigned elements, and lists of sizes that are computed."""
    text = """
func.func @main(%a: tensor<2xui8>, %b: tensor<2x3xf32>, %c: tensor<6xf32>)
    -> (tensor<2xui8>, tensor<?xf32>) {
  %0 = tosa.identity %a : (tensor<2xui8>) -> tensor<2xui8>
  %n = tosa.dim %c {axis = 0 : i32} : (tensor<6xf32>) -> !tosa.shape<1>
  %1 = tosa.reshape %b, %n : (tensor<2x3xf32>, !tosa.shape<1>) -> tensor<?xf32>
  return %0, %1 : tensor<2xui8>, tensor<?xf32>
}"""
    check(
        text,
        [np.array([1, 255], np.uint8), small("f32", (2, 3)), small("f32", (6,))],
        interpreted=True,
    )
