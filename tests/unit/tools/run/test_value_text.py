"""Arrays as text: what iree-run-module writes, read back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.runtime.abi.values import plain_type
from mesh_opt.tools.run.value_text import TextError, format_result, parse_raw, parse_value
from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float8E4M3FNType,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)

NAN, INF = np.nan, np.inf


def _text(values: Any, element: Any, dtype: Any, maximum: int = 1024) -> str:
    array = np.array(values, dtype)
    header, _, text = format_result(
        3, array, plain_type(TensorType(element, array.shape)), maximum
    ).partition("\n")
    assert header == "result[3]: hal.buffer_view"
    return text


# Every expectation was printed by iree-run-module 3.13.
@pytest.mark.parametrize(
    ("values", "element", "dtype", "expected"),
    [
        ([[12] * 3, [30] * 3], f32, np.float32, "2x3xf32=[12 12 12][30 30 30]"),
        ([1.5, 2, 1e10, 1e-10, 1234567.8], f32, np.float32, "5xf32=1.5 2 1E+10 1E-10 1.23457E+06"),
        ([-0.0, NAN, INF, -INF, 0.1], f32, np.float32, "5xf32=-0 NAN INF -INF 0.1"),
        ([1e-45, 3.4028235e38, 9.9999999], f32, np.float32, "3xf32=1.4013E-45 3.40282E+38 10"),
        ([0.1, 1e-7], f16, np.float16, "2xf16=0.0999756 1.19209E-07"),
        ([1e5, 1e6, -2.5e300], f64, np.float64, "3xf64=100000 1E+06 -2.5E+300"),
        ([3.14159, 1e30], BFloat16Type(), ml_dtypes.bfloat16, "2xbf16=3.14062 1.00026E+30"),
        ([0.1, 448], Float8E4M3FNType(), ml_dtypes.float8_e4m3fn, "2xf8E4M3FN=0.101562 448"),
        ([[[-1, -1]] * 2] * 2, i8, np.int8, "2x2x2xi8=[[-1 -1][-1 -1]][[-1 -1][-1 -1]]"),
        ([[True, False]] * 2, i1, np.bool_, "2x2xi1=[01 00][01 00]"),
        (-1.5, f32, np.float32, "f32=-1.5"),
        (np.zeros((0, 3)), f32, np.float32, "0x3xf32="),
        (np.zeros((2, 0)), f32, np.float32, "2x0xf32=[][]"),
        ([1, 2], IndexType(), np.int64, "2xi64=1 2"),
    ],
)
def test_tensors(values: Any, element: Any, dtype: Any, expected: str) -> None:
    assert _text(values, element, dtype) == expected


@pytest.mark.parametrize(
    ("values", "maximum", "expected"),
    [
        ([[1, 2, 3, 4, 5]] * 2, 3, "2x5xi32=[1 2 3...][...]"),
        ([[1, 2]] * 2, 3, "2x2xi32=[1 2][1...]"),
        ([[1, 2]] * 2, 2, "2x2xi32=[1 2][...]"),
        ([1, 2], 0, "2xi32=..."),
        (1, 0, "i32=..."),
        ([[]] * 2, 0, "2x0xi32=[][]"),
    ],
)
def test_long_tensors_are_cut(values: Any, maximum: int, expected: str) -> None:
    assert _text(values, i32, np.int32, maximum) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (np.float32(2.1), f32, "f32=2.1"),
        (np.float64(2.1), f64, "f64=2.1"),
        (np.int64(-5), i64, "i64=-5"),
        (np.int8(-3), i8, "i32=-3"),
        (np.bool_(True), i1, "i32=1"),
        (np.int64(7), IndexType(), "i64=7"),
    ],
)
def test_scalars(value: Any, kind: Any, expected: str) -> None:
    assert format_result(4, np.asarray(value), plain_type(kind)) == f"result[4]: {expected}"


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("2x3xf32=1,2,3,4,5,6", TensorType(f32, [2, 3]), [[1, 2, 3], [4, 5, 6]]),
        ("2x2xi32=[1 2][3 4]", TensorType(i32, [-1, 2]), [[1, 2], [3, 4]]),
        ("2x2xi32=[[1,2],[3,4]]", TensorType(i32, [2, 2]), [[1, 2], [3, 4]]),
        ("2x2xf32=1", TensorType(f32, [2, 2]), [[1, 1], [1, 1]]),
        ("3xf32", TensorType(f32, [-1]), [0, 0, 0]),
        ("f32=2.5", TensorType(f32, []), 2.5),
        ("f32=2.5", f32, 2.5),
        ("-3", i32, -3),
        ("nan", f32, NAN),
        ("3xf32=nan -inf INF", TensorType(f32, [3]), [NAN, -INF, INF]),
        ("2xi32=4294967295 0x10", TensorType(i32, [2]), [-1, 16]),
        ("3xi1=01 0 true", TensorType(i1, [3]), [True, False, True]),
        ("2xui8=255", TensorType(IntegerType(8, Signedness.UNSIGNED), [2]), [255, 255]),
        ("2xi4=-8 15", TensorType(IntegerType(4), [2]), [-8, -1]),
        ("2xcomplex<f32>=1+2j 3", TensorType(ComplexType(f32), [2]), [1 + 2j, 3]),
        ("2xi64=5", TensorType(IndexType(), [2]), [5, 5]),
        ("2xindex=5", TensorType(IndexType(), [2]), [5, 5]),
        ("0x2xf32=", TensorType(f32, [-1, 2]), []),
    ],
)
def test_reading(text: str, kind: Any, expected: Any) -> None:
    array = parse_value(text, plain_type(kind))
    np.testing.assert_array_equal(array, np.array(expected, array.dtype).reshape(array.shape))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("4xf32=1 2 3", TensorType(f32, [4]), "has 3 elements, expected 4"),
        ("4xi32=1", TensorType(f32, [4]), "is of type i32, expected 4xf32"),
        ("3xf32=1", TensorType(f32, [4]), "has shape 3, expected 4xf32"),
        ("4xf32=1 2 x 4", TensorType(f32, [4]), "'x' is not a valid f32"),
        ("2xi8=300", TensorType(i8, [2]), "300 does not fit i8"),
        ("2xi8=1.5", TensorType(i8, [2]), "'1.5' is not a valid i8"),
        ("2xi8=1_0", TensorType(i8, [2]), "'1_0' is not a valid i8"),
        ("2xf32=\uff11", TensorType(f32, [2]), "'\uff11' is not a valid f32"),
        ("4yf32=1", TensorType(f32, [4]), "has type '4yf32'"),
        ("1", TensorType(f32, [4]), "has rank 0, expected 4xf32"),
        ("", f32, ""),
    ],
)
def test_text_that_is_no_such_value(text: str, kind: Any, message: str) -> None:
    if not message:
        assert parse_value(text, plain_type(kind)) == 0
        return
    with pytest.raises(TextError, match=message):
        parse_value(text, plain_type(kind))


def test_raw_bytes() -> None:
    kind = TensorType(f32, [-1])
    data = np.float32([1, 2]).tobytes()
    assert parse_raw("2xf32", plain_type(kind), len(data), lambda: data).tolist() == [1, 2]
    with pytest.raises(TextError, match="has 8 bytes, expected 12"):
        parse_raw("3xf32", plain_type(kind), len(data), lambda: pytest.fail("is read"))


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=1, max_size=8))
def test_integers_survive(values: list[int]) -> None:
    kind = TensorType(i32, [len(values)])
    array = np.array(values, np.int32)
    text = format_result(0, array, plain_type(kind)).partition("\n")[2]
    np.testing.assert_array_equal(parse_value(text, plain_type(kind)), array)
