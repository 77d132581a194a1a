"""The tosa dialect against NumPy and the specification's examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]


def _type(array: Array, element: str) -> str:
    return "tensor<" + "".join(f"{n}x" for n in array.shape) + element + ">"


_ELEMENTS = {
    np.dtype(np.float32): "f32",
    np.dtype(np.int32): "i32",
    np.dtype(np.int8): "i8",
    np.dtype(np.bool_): "i1",
}


@pytest.fixture
def call(execute: Any) -> Callable[..., Array]:
    """`call(name, inputs, output, attributes)`: one operation, in its generic form."""

    def run_operation(name: str, inputs: list[Array], output: Array, attributes: str = "") -> Array:
        types = [_type(each, _ELEMENTS[each.dtype]) for each in inputs]
        result = _type(output, _ELEMENTS[output.dtype])
        names = [f"%a{i}" for i in range(len(inputs))]
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
        text = f"""
        func.func @f({arguments}) -> {result} {{
          %r = "tosa.{name}"({", ".join(names)}) {attributes} : ({", ".join(types)}) -> {result}
          return %r : {result}
        }}"""
        (got,) = execute(text, *inputs)
        return got

    return run_operation


def _random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype) == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if np.dtype(dtype).kind == "i":
        return generator.integers(-20, 21, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("abs", np.abs),
        ("ceil", np.ceil),
        ("cos", np.cos),
        ("erf", np.vectorize(math.erf)),
        ("exp", np.exp),
        ("floor", np.floor),
        ("reciprocal", lambda x: 1 / x),
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x.astype(np.float64)))),
        ("sin", np.sin),
        ("tanh", np.tanh),
        ("identity", lambda x: x),
    ],
)
def test_functions(call: Any, name: str, reference: Any) -> None:
    x = _random(3, 4) * 3
    np.testing.assert_allclose(call(name, [x], x), reference(x), rtol=1e-5)


def test_sigmoid_does_not_overflow(call: Any) -> None:
    x = np.float32([-1000, 1000])
    assert call("sigmoid", [x], x).tolist() == [0, 1]


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((1, 1), (3, 4))])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize(
    ("name", "reference"),
    [("add", np.add), ("sub", np.subtract), ("maximum", np.maximum), ("minimum", np.minimum)],
)
def test_broadcasting(call: Any, shapes: Any, dtype: Any, name: str, reference: Any) -> None:
    a, b = (_random(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes))
    np.testing.assert_array_equal(call(name, [a, b], np.zeros((3, 4), dtype)), reference(a, b))


def test_products_shift_and_round(call: Any) -> None:
    a, b = np.int32([7, -7, 100]), np.int32([3, 3, 100])
    assert call("mul", [a, b, np.int8([0])], a).tolist() == [21, -21, 10000]
    assert call("mul", [a, b, np.int8([2])], a).tolist() == [5, -5, 2500]
    x = _random(3)
    np.testing.assert_array_equal(call("mul", [x, x, np.int8([0])], x), x * x)


def test_integer_operations(call: Any) -> None:
    a, b = _random(5, dtype=np.int32), np.int32([1, 2, -3, 4, 5])
    expected = [int(x / y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert call("intdiv", [a, b], a).tolist() == expected
    for name, reference in (
        ("bitwise_and", np.bitwise_and),
        ("bitwise_or", np.bitwise_or),
        ("bitwise_xor", np.bitwise_xor),
    ):
        np.testing.assert_array_equal(call(name, [a, b], a), reference(a, b))
    np.testing.assert_array_equal(call("bitwise_not", [a], a), ~a)
    shift = np.int32([0, 1, 2, 3, 4])
    np.testing.assert_array_equal(call("logical_left_shift", [a, shift], a), a << shift)
    right = call("arithmetic_right_shift", [a, shift], a, "<{round = false}>")
    np.testing.assert_array_equal(right, a >> shift)
    rounded = call("arithmetic_right_shift", [a, shift], a, "<{round = true}>")
    np.testing.assert_array_equal(rounded, np.floor(a / 2.0**shift + 0.5))
    logical = call("logical_right_shift", [a, shift], a)
    np.testing.assert_array_equal(
        logical.view(np.uint32), a.view(np.uint32) >> shift.astype(np.uint32)
    )
    assert call("clz", [np.int32([0, 1, -1, 255])], np.zeros(4, np.int32)).tolist() == [
        32,
        31,
        0,
        24,
    ]


def test_logic_and_comparisons(call: Any) -> None:
    p, q = _random(6, dtype=np.bool_), _random(6, dtype=np.bool_, seed=1)
    np.testing.assert_array_equal(call("logical_and", [p, q], p), p & q)
    np.testing.assert_array_equal(call("logical_or", [p, q], p), p | q)
    np.testing.assert_array_equal(call("logical_xor", [p, q], p), p ^ q)
    np.testing.assert_array_equal(call("logical_not", [p], p), ~p)
    a, b = _random(6), _random(6, seed=1)
    for name, reference in (
        ("equal", np.equal),
        ("greater", np.greater),
        ("greater_equal", np.greater_equal),
    ):
        np.testing.assert_array_equal(call(name, [a, b], p), reference(a, b))
    np.testing.assert_array_equal(call("select", [p, a, b], a), np.where(p, a, b))


def test_negate_with_zero_points(call: Any) -> None:
    x = np.int8([0, 100, -128])
    result = call("negate", [x, np.int8([5]), np.int8([-5])], x)
    assert result.tolist() == [0, -100, 127]
    y = _random(3)
    zero = np.zeros(1, np.float32)
    np.testing.assert_array_equal(call("negate", [y, zero, zero], y), -y)


def test_clamp_and_nan(call: Any) -> None:
    x = np.float32([-3, 0.5, 9, np.nan])
    bounds = "min_val = -1.0 : f32, max_val = 1.0 : f32"
    kept = call("clamp", [x], x, f"<{{{bounds}}}>")
    np.testing.assert_array_equal(kept, np.float32([-1, 0.5, 1, np.nan]))
    n = np.int8([-50, 3, 50])
    clamped = call("clamp", [n], n, "<{min_val = -4 : i8, max_val = 4 : i8}>")
    assert clamped.tolist() == [-4, 3, 4]


def test_ignored_nan(call: Any) -> None:
    nan, inf = np.nan, np.inf
    x = np.float32([[1, nan, 3, nan], [nan, nan, nan, nan], [nan, -inf, inf, 1]])
    y = np.float32([[nan, 2, 4, nan], [nan, 5, nan, -inf], [nan, nan, 1, 2]])
    mode = "nan_mode = #tosa.nan_mode<IGNORE>"
    np.testing.assert_array_equal(call("maximum", [x, y], x, f"<{{{mode}}}>"), np.fmax(x, y))
    np.testing.assert_array_equal(call("minimum", [x, y], x, f"<{{{mode}}}>"), np.fmin(x, y))
    for axis, expected in ((1, [2, 0, 2]), (0, [0, 2, 2, 2])):
        out = np.zeros(len(expected), np.int32)
        found = call("argmax", [x], out, f"<{{axis = {axis} : i32, {mode}}}>")
        assert found.tolist() == expected


@pytest.mark.parametrize(
    ("values", "dtype", "target", "expected"),
    [
        ([1.5, 2.5, -1.5, 300.0, -300.0, np.nan], np.float32, np.int8, [2, 2, -2, 127, -128, 0]),
        ([1e10, -1e10, np.inf], np.float32, np.int32, [2**31 - 1, -(2**31), 2**31 - 1]),
        ([3, -3], np.int32, np.float32, [3.0, -3.0]),
        ([300, -1], np.int32, np.int8, [44, -1]),
        ([0, 5], np.int32, np.bool_, [False, True]),
        ([True, False], np.bool_, np.int32, [1, 0]),
        ([True, False], np.bool_, np.float32, [1.0, 0.0]),
        ([0.0, 0.25], np.float32, np.bool_, [False, True]),
    ],
)
def test_casts(call: Any, values: Any, dtype: Any, target: Any, expected: Any) -> None:
    x = np.array(values, dtype)
    assert call("cast", [x], np.zeros(x.shape, target)).tolist() == expected


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reductions(call: Any, axis: int) -> None:
    x, p = _random(2, 3, 4), _random(2, 3, 4, dtype=np.bool_)
    shape = [2, 3, 4]
    shape[axis] = 1
    out = np.zeros(shape, np.float32)
    attribute = f"<{{axis = {axis} : i32}}>"
    for name, reference in (
        ("reduce_sum", np.sum),
        ("reduce_max", np.max),
        ("reduce_min", np.min),
        ("reduce_product", np.prod),
    ):
        expected = reference(x, axis=axis, keepdims=True)
        np.testing.assert_allclose(call(name, [x], out, attribute), expected, rtol=1e-5)
    for name, reference in (("reduce_all", np.all), ("reduce_any", np.any)):
        result = call(name, [p], out.astype(np.bool_), attribute)
        np.testing.assert_array_equal(result, reference(p, axis=axis, keepdims=True))
    index = call("argmax", [x], np.zeros([n for n in shape if n != 1], np.int32), attribute)
    np.testing.assert_array_equal(index, x.argmax(axis=axis))


def test_gather_and_scatter(call: Any) -> None:
    values, indices = _random(2, 5, 3), np.int32([[4, 0], [1, 1]])
    gathered = call("gather", [values, indices], np.zeros((2, 2, 3), np.float32))
    np.testing.assert_array_equal(gathered, np.stack([values[b][indices[b]] for b in range(2)]))
    updates = _random(2, 2, 3, seed=1)
    places = np.int32([[4, 0], [1, 2]])
    scattered = call("scatter", [values, places, updates], values)
    expected = values.copy()
    for batch in range(2):
        expected[batch, places[batch]] = updates[batch]
    np.testing.assert_array_equal(scattered, expected)


def test_matmul(call: Any) -> None:
    a, b = _random(2, 3, 4), _random(2, 4, 5)
    zero = np.zeros(1, np.float32)
    result = call("matmul", [a, b, zero, zero], np.zeros((2, 3, 5), np.float32))
    np.testing.assert_allclose(result, a @ b, rtol=1e-5)
    m, n = _random(2, 3, 4, dtype=np.int8), _random(2, 4, 5, dtype=np.int8)
    points = [np.int8([2]), np.int8([-3])]
    result = call("matmul", [m, n, *points], np.zeros((2, 3, 5), np.int32))
    np.testing.assert_array_equal(result, (m.astype(int) - 2) @ (n.astype(int) + 3))


def _convolution(x: Array, w: Array, pad: Any, stride: Any, dilation: Any) -> Array:
    x = np.pad(x, ((0, 0), pad[:2], pad[2:], (0, 0))).astype(np.float64)
    outputs, kh, kw, _ = w.shape
    oh = (x.shape[1] - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (x.shape[2] - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    result = np.zeros((x.shape[0], oh, ow, outputs))
    for y, z, i, j in np.ndindex(oh, ow, kh, kw):
        pixel = x[:, y * stride[0] + i * dilation[0], z * stride[1] + j * dilation[1]]
        result[:, y, z] += pixel @ w[:, i, j].T
    return result


@pytest.mark.parametrize(
    ("pad", "stride", "dilation"),
    [((0, 0, 0, 0), (1, 1), (1, 1)), ((1, 1, 0, 1), (2, 1), (1, 2))],
)
def test_convolutions(call: Any, pad: Any, stride: Any, dilation: Any) -> None:
    x, w, bias = _random(2, 7, 8, 3), _random(4, 3, 2, 3, seed=1), _random(4, seed=2)
    zero = np.zeros(1, np.float32)
    expected = _convolution(x, w, pad, stride, dilation) + bias
    lists = (
        f"pad = array<i64: {str(pad)[1:-1]}>, stride = array<i64: {str(stride)[1:-1]}>,"
        f" dilation = array<i64: {str(dilation)[1:-1]}>, acc_type = f32"
    )
    out = np.zeros(expected.shape, np.float32)
    result = call("conv2d", [x, w, bias, zero, zero], out, f"<{{{lists}}}>")
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    depthwise = _random(3, 2, 3, 2, seed=3)
    bias = _random(6, seed=4)
    parts = [
        _convolution(
            x[..., c : c + 1],
            depthwise[:, :, c, :, None].transpose(2, 0, 1, 3),
            pad,
            stride,
            dilation,
        )
        for c in range(3)
    ]
    expected = np.concatenate(parts, axis=-1) + bias
    out = np.zeros(expected.shape, np.float32)
    result = call("depthwise_conv2d", [x, depthwise, bias, zero, zero], out, f"<{{{lists}}}>")
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_pooling(call: Any) -> None:
    x = _random(1, 4, 4, 2)
    lists = "kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>"
    windows = x.reshape(1, 2, 2, 2, 2, 2)
    out = np.zeros((1, 2, 2, 2), np.float32)
    result = call("max_pool2d", [x], out, f"<{{{lists}}}>")
    np.testing.assert_array_equal(result, windows.max(axis=(2, 4)))
    lists = lists.replace("2, 2>, stride", "3, 3>, stride").replace("0, 0, 0, 0", "1, 0, 1, 0")
    zero = np.zeros(1, np.float32)
    result = call("avg_pool2d", [x, zero, zero], out, f"<{{{lists}, acc_type = f32}}>")
    # The first window covers four elements, and padding does not count.
    np.testing.assert_allclose(result[0, 0, 0], x[0, :2, :2].mean(axis=(0, 1)), rtol=1e-6)
    np.testing.assert_allclose(result[0, 1, 1], x[0, 1:, 1:].mean(axis=(0, 1)), rtol=1e-6)


def test_rescale(call: Any) -> None:
    x = np.int32([0, 100, -100, 1000])
    # 1073741824 / 2^31 is one half.
    zero_in, zero_out = np.int32([0]), np.int8([3])
    result = call(
        "rescale",
        [x, np.int32([1 << 30]), np.int8([31]), zero_in, zero_out],
        np.zeros(4, np.int8),
        "<{scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel = false,"
        " input_unsigned = false, output_unsigned = false}>",
    )
    assert result.tolist() == [3, 53, -47, 127]


def test_zero_points_of_unsigned_numbers_have_no_sign(call: Any) -> None:
    half, shift = np.int32([1 << 30]), np.int8([30])
    x = np.int8([-128, -1, 0, 127])
    template = (
        "<{{scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel = false,"
        " input_unsigned = {}, output_unsigned = {}}}>"
    )
    # -56 is 200.
    unsigned = call(
        "rescale",
        [x, half, shift, np.int8([-56]), np.int8([0])],
        x,
        template.format("true", "false"),
    )
    assert unsigned.tolist() == [-72, 55, -128, -73]
    signed = call(
        "rescale",
        [x, half, shift, np.int8([0]), np.int8([-56])],
        x,
        template.format("false", "true"),
    )
    assert signed.view(np.uint8).tolist() == [72, 199, 200, 255]


def test_averages_of_integers(call: Any) -> None:
    lists = "kernel = array<i64: 1, 2>, stride = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>"
    x = np.int8([1, -2, 5, 6, 127, 127]).reshape(1, 1, 6, 1)
    out = np.zeros((1, 1, 5, 1), np.int8)

    def averages(source: int, target: int) -> list[int]:
        zeros = [np.int8([source]), np.int8([target])]
        return (
            call("avg_pool2d", [x, *zeros], out, f"<{{{lists}, acc_type = i32}}>").ravel().tolist()
        )

    # Halves go away from zero, as the specification's reciprocal is rounded up.
    assert averages(0, 0) == [-1, 2, 6, 67, 127]
    assert averages(-1, 1) == [2, 4, 8, 69, 127]
    assert averages(1, -1) == [-3, 0, 4, 65, 125]


def test_convolutions_of_other_kinds(call: Any) -> None:
    zero = np.zeros(1, np.float32)
    x, w, bias = _random(1, 4, 5, 6, 2), _random(3, 2, 2, 3, 2, seed=1), _random(3, seed=2)
    lists = (
        "pad = array<i64: 0, 1, 1, 1, 0, 0>, stride = array<i64: 1, 2, 3>,"
        " dilation = array<i64: 1, 2, 1>, acc_type = f32"
    )
    padded = np.pad(x, ((0, 0), (0, 1), (1, 1), (0, 0), (0, 0)))
    expected = np.zeros((1, 4, 3, 2, 3)) + bias
    for d, y, z, i, j, k in np.ndindex(4, 3, 2, 2, 2, 3):
        expected[0, d, y, z] += w[:, i, j, k] @ padded[0, d + i, y * 2 + j * 2, z * 3 + k]
    out = np.zeros(expected.shape, np.float32)
    result = call("conv3d", [x, w, bias, zero, zero], out, f"<{{{lists}}}>")
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)

    x, w = _random(1, 3, 2, 2), _random(3, 2, 3, 2, seed=1)
    full = np.zeros((1, 3 * 2, 2 * 1 + 2, 3))
    for y, z, i, j in np.ndindex(3, 2, 2, 3):
        full[0, y * 2 + i, z * 1 + j] += w[:, i, j] @ x[0, y, z]
    expected = np.pad(full, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :, 1:] + bias
    lists = "out_pad = array<i64: 1, 0, -1, 0>, stride = array<i64: 2, 1>, acc_type = f32"
    out = np.zeros(expected.shape, np.float32)
    result = call("transpose_conv2d", [x, w, bias, zero, zero], out, f"<{{{lists}}}>")
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
