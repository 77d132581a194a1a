"""Convolutions, poolings and resizes of TOSA: native code against the interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from backend_checks import check
from breadth import sampled
from mesh_opt import api
from tosa_cases import FLOATS, SUMS, Case, numbers, small, tensor, zeros


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


@pytest.mark.parametrize(("name", "element"), sampled([*product(WINDOWS, SUMS)], 4))
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


TRANSPOSED = {
    "plain": ("0, 0, 0, 0", "1, 1", (2, 7, 6, 4)),
    "strides": ("1, -1, 0, 2", "2, 3", (2, 11, 16, 4)),
    "cropped": ("-2, 0, -1, 1", "3, 1", (2, 13, 6, 4)),
}


@pytest.mark.parametrize(("name", "element"), sampled([*product(TRANSPOSED, SUMS)], 2))
def test_transposed_convolutions(name: str, element: str) -> None:
    pad, stride, result = TRANSPOSED[name]
    wide = SUMS[element]
    operands = [((2, 5, 5, 3), element), ((4, 3, 2, 3), element), ((4,), wide)]
    accumulator = "f32" if element in ("f16", "bf16") else wide
    attributes = (
        f"acc_type = {accumulator}, out_pad = array<i64: {pad}>, stride = array<i64: {stride}>"
    )
    for zero in (0, 3) if element == "i8" else (0,):
        constants = zeros(element, zero, -zero)
        text = Case("transpose_conv2d", operands, (result, wide), attributes, constants).text()
        check(text, [small(each, shape) for shape, each in operands])


RESIZES = {
    "doubled": ("4, 2, 4, 2", "-1, -1", "1, 1", (10, 14)),
    "to corners": ("2, 1, 3, 1", "0, 0", "0, 0", (9, 19)),
    "smaller": ("2, 4, 1, 2", "0, 1", "0, -1", (3, 3)),
    "outside": ("3, 1, 2, 1", "-3, -2", "2, 1", (18, 16)),
}


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("name", RESIZES)
def test_resizes(name: str, mode: str) -> None:
    """Of f32, narrower floats, and integers, whose products become wider."""
    scale, offset, border, size = RESIZES[name]
    wider = {"i8": "i32", "i16": "i48"} if mode == "BILINEAR" else {}
    for element in ("f32", "bf16", "i8", "i16"):
        kinds = (2, 5, 7, 3), (2, *size, 3)
        image, result = tensor(kinds[0], element), tensor(kinds[1], wider.get(element, element))
        text = f"""
func.func @main(%a: {image}) -> {result} {{
  %s = tosa.const_shape {{values = dense<[{scale}]> : tensor<4xindex>}} : () -> !tosa.shape<4>
  %o = tosa.const_shape {{values = dense<[{offset}]> : tensor<2xindex>}} : () -> !tosa.shape<2>
  %b = tosa.const_shape {{values = dense<[{border}]> : tensor<2xindex>}} : () -> !tosa.shape<2>
  %r = tosa.resize %a, %s, %o, %b {{mode = {mode}}}
      : ({image}, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> {result}
  return %r : {result}
}}"""
        check(text, [small(element, kinds[0])])


DYNAMIC = {
    "fft2d": (
        "%r:2 = tosa.fft2d %a, %a {inverse = false} : (tensor<?x4x?xf32>, tensor<?x4x?xf32>)"
        " -> (tensor<?x4x?xf32>, tensor<?x4x?xf32>)",
        "tensor<?x4x?xf32>",
        (2, 4, 8),
    ),
    "rfft2d": (
        "%r:2 = tosa.rfft2d %a : (tensor<?x4x?xf32>) -> (tensor<?x4x?xf32>, tensor<?x4x?xf32>)",
        "tensor<?x4x?xf32>",
        (2, 4, 8),
    ),
    "resize": (
        """%s = tosa.const_shape {values = dense<[3, 1, 2, 1]> : tensor<4xindex>}
      : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<[-3, -2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.const_shape {values = dense<[2, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %r = tosa.resize %a, %s, %o, %b {mode = BILINEAR} : (tensor<?x?x?x?xf32>, !tosa.shape<4>,
      !tosa.shape<2>, !tosa.shape<2>) -> tensor<?x?x?x?xf32>""",
        "tensor<?x?x?x?xf32>",
        (2, 5, 7, 3),
    ),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_storage_of_what_the_interpreter_runs(name: str) -> None:
    """The sizes of results follow from those of operands."""
    operation, kind, sizes = DYNAMIC[name]
    count = 1 + (":2" in operation)
    results = ", ".join(["%r"] if count == 1 else ["%r#0", "%r#1"]), ", ".join([kind] * count)
    text = f"""
func.func @main(%a: {kind}) -> ({results[1]}) {{
  {operation}
  return {results[0]} : {results[1]}
}}"""
    image = small("f32", sizes)
    expected = api.compile(text)["main"].reference([image])
    found = api.compile(text, "compile")["main"](image)
    for got, want in zip(found if count > 1 else (found,), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
