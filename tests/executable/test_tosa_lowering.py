"""TOSA as linalg: native code, which is made of linalg, against the interpreter of TOSA."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backend_checks import check
from breadth import sampled

Array = np.ndarray[Any, Any]

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
DTYPES: dict[str, Any] = {**FLOATS, **INTEGERS, "i1": np.bool_}
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -127.5, -128.5, 32767.5, 3e9, -1e19)


def numbers(element: str, shape: tuple[int, ...]) -> Array:
    """Numbers with special ones among them."""
    generator = np.random.default_rng(1)
    dtype = DTYPES[element]
    if element in FLOATS:
        found = np.asarray(generator.standard_normal(shape) * 3)
        found.flat[: len(SPECIAL)] = SPECIAL[: found.size]
        with np.errstate(over="ignore"):
            return found.astype(dtype)
    if element == "i1":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    found = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    found.flat[:4] = (limits.min, limits.max, 0, -1)[: found.size]
    return found


def small(element: str, shape: tuple[int, ...]) -> Array:
    """Small whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(2).integers(-9, 10, shape).astype(DTYPES[element])


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


@dataclass
class Case:
    """An operation on arguments of the function, and on constants behind them."""

    op: str
    operands: list[tuple[tuple[int, ...], str]]
    result: tuple[tuple[int, ...], str]
    attributes: str = ""
    constants: tuple[tuple[str, str], ...] = ()
    """Contents and types of constants."""

    def text(self) -> str:
        given = [f"%a{i}: {tensor(*each)}" for i, each in enumerate(self.operands)]
        names = [f"%a{i}" for i in range(len(given))] + [
            f"%c{i}" for i in range(len(self.constants))
        ]
        types = [tensor(*each) for each in self.operands] + [each for _, each in self.constants]
        lines = [
            f'  %c{i} = "tosa.const"() {{values = dense<{value}> : {kind}}} : () -> {kind}'
            for i, (value, kind) in enumerate(self.constants)
        ]
        result, attributes = tensor(*self.result), f" {{{self.attributes}}}" * bool(self.attributes)
        lines.append(
            f"  %r = tosa.{self.op} {', '.join(names)}{attributes} : ({', '.join(types)})"
            f" -> {result}"
        )
        return "\n".join(
            [
                f"func.func @main({', '.join(given)}) -> {result} {{",
                *lines,
                f"  return %r : {result}",
                "}",
            ]
        )


S, ROW, COLUMN = (3, 7), (1, 7), (3, 1)
SHIFT = (("0", "tensor<1xi8>"),)


def zeros(element: str, *values: int) -> tuple[tuple[str, str], ...]:
    return tuple(
        (str(each) if element[0] == "i" else f"{each}.0", f"tensor<1x{element}>") for each in values
    )


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


@pytest.mark.parametrize("name", sampled(list(CASES), 3))
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


@pytest.mark.parametrize("name", REDUCTIONS)
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


@dataclass
class Windows:
    """A convolution or pooling of an image of 2 x 9 x 8 x 3."""

    op: str
    pad: str = "0, 0, 0, 0"
    stride: str = "1, 1"
    dilation: str = "1, 1"
    weight: tuple[int, ...] = (4, 3, 2, 3)
    result: tuple[int, ...] = (2, 7, 7, 4)
    bias: int = 4
    image: tuple[int, ...] = (2, 9, 8, 3)


WINDOWS = {
    "conv2d": Windows("conv2d"),
    "conv2d padded": Windows("conv2d", "1, 1, 0, 1", "2, 1", result=(2, 5, 8, 4), bias=1),
    "conv2d dilated": Windows("conv2d", "1, 0, 1, 1", "1, 1", "2, 3", result=(2, 6, 7, 4)),
    "conv3d": Windows(
        *("conv3d", "0, 1, 0, 0, 1, 1", "1, 1, 1", "1, 1, 1"),
        *((4, 2, 3, 2, 3), (2, 2, 2, 5, 4)),
        image=(2, 2, 4, 4, 3),
    ),
    "depthwise": Windows("depthwise_conv2d", weight=(3, 2, 3, 2), result=(2, 7, 7, 6), bias=6),
    "depthwise once": Windows(
        *("depthwise_conv2d", "1, 1, 0, 0", "2, 2", "1, 1"), (3, 2, 3, 1), (2, 5, 4, 3), 3
    ),
}
SUMS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i8": "i32"}


@pytest.mark.parametrize(("name", "element"), sampled([*product(WINDOWS, SUMS)], 2))
def test_convolutions(name: str, element: str) -> None:
    case, wide = WINDOWS[name], SUMS[element]
    if element == "f16" and "conv3d" in name:
        wide = "f32"
    operands = [(case.image, element), (case.weight, element), ((case.bias,), wide)]
    accumulator = "f32" if element in ("f16", "bf16") else wide
    attributes = (
        f"acc_type = {accumulator}, pad = array<i64: {case.pad}>,"
        f" stride = array<i64: {case.stride}>, dilation = array<i64: {case.dilation}>"
    )
    for zero in (0, 3) if element == "i8" else (0,):
        constants = zeros(element, zero, -zero)
        text = Case(case.op, operands, (case.result, wide), attributes, constants).text()
        check(text, [small(each, shape) for shape, each in operands])


POOLS = {
    "plain": ("3, 2", "1, 1", "0, 0, 0, 0", (2, 7, 7, 3)),
    "padded": ("3, 3", "2, 1", "2, 2, 1, 2", (2, 6, 9, 3)),
}


@pytest.mark.parametrize(
    ("name", "element"), sampled([*product(POOLS, ("f16", "bf16", "f32", "i8", "i16"))], 2)
)
def test_poolings(name: str, element: str) -> None:
    kernel, stride, pad, result = POOLS[name]
    image = ((2, 9, 8, 3), element)
    attributes = (
        f"kernel = array<i64: {kernel}>, stride = array<i64: {stride}>, pad = array<i64: {pad}>"
    )
    modes = ("PROPAGATE", "IGNORE") if element in FLOATS else ("PROPAGATE",)
    for mode in modes:
        given = numbers(element, image[0])
        if element in FLOATS:
            given[1, :4] = np.nan
        text = Case(
            "max_pool2d", [image], (result, element), f"{attributes}, nan_mode = {mode}"
        ).text()
        check(text, [given])
    accumulator = "f32" if element in FLOATS else "i32"
    for zero in (0, 3) if element == "i8" else (0,):
        constants = zeros(element, zero, -zero)
        attributes_ = f"{attributes}, acc_type = {accumulator}"
        text = Case("avg_pool2d", [image], (result, element), attributes_, constants).text()
        check(text, [small(element, image[0]) if element in FLOATS else numbers(element, image[0])])


@pytest.mark.parametrize("element", SUMS)
def test_products(element: str) -> None:
    wide = SUMS[element]
    operands = [((2, 5, 6), element), ((2, 6, 7), element)]
    for zero in (0, 3) if element == "i8" else (0,):
        text = Case(
            "matmul", operands, ((2, 5, 7), wide), constants=zeros(element, zero, -zero)
        ).text()
        check(text, [small(each, shape) for shape, each in operands])


OPEN = {
    "conv2d": ("conv2d", "stride = array<i64: 2, 1>", (4, 3, 2, 3), 4),
    "depthwise": ("depthwise_conv2d", "stride = array<i64: 1, 1>", (3, 2, 3, 2), 6),
    "average": ("avg_pool2d", "stride = array<i64: 1, 1>", (), 3),
    "maximum": ("max_pool2d", "stride = array<i64: 2, 2>", (), 3),
}


@pytest.mark.parametrize("image", [(2, 9, 8), (1, 3, 2), (2, 2, 2), (0, 5, 4)])
@pytest.mark.parametrize("name", OPEN)
def test_windows_of_unknown_images(name: str, image: tuple[int, ...]) -> None:
    """Images of a height for which no window fits have no windows."""
    op, attributes, weight, channels = OPEN[name]
    operands = [((-1, -1, -1, 3), "f32")]
    attributes += ", pad = array<i64: 0, 0, 0, 1>"
    constants = zeros("f32", 0, 0)
    if weight:
        operands += [(weight, "f32"), ((channels,), "f32")]
        attributes += ", acc_type = f32, dilation = array<i64: 1, 1>"
    else:
        attributes += ", kernel = array<i64: 3, 2>"
        attributes += ", acc_type = f32" * (name == "average")
        constants = constants if name == "average" else ()
    result = ((-1, -1, -1, channels), "f32")
    text = Case(op, operands, result, attributes, constants).text().replace("-1x", "?x")
    check(
        text, [small("f32", shape) for shape in ((*image, 3), *(each for each, _ in operands[1:]))]
    )


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
