"""Integers of any width, and contents that nobody has defined."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.runtime.abi.arrays import UnsupportedType, count_undefined, shape_fits, wrap
from mesh_opt.runtime.abi.values import dtype_of, from_integer, signed, undefined, unsigned
from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float8E4M3FNType,
    IndexType,
    IntegerType,
    NoneType,
    Signedness,
    TensorType,
    f16,
    f32,
    f64,
)


@given(st.integers(1, 64), st.integers(-(1 << 63), (1 << 63) - 1))
def test_wrap_keeps_the_low_bits(width: int, value: int) -> None:
    wrapped = wrap(np.array([value]), width)
    low = value & ((1 << width) - 1)
    as_signed = low - (1 << width) if low >> (width - 1) else low
    assert int(signed(wrapped, width)[0]) == as_signed
    assert int(unsigned(wrapped, width)[0]) == low
    assert from_integer(value, IntegerType(width)) == wrapped[0]


def test_containers() -> None:
    assert dtype_of(IntegerType(1)) == np.bool_
    assert dtype_of(IntegerType(4)) == np.int8
    assert dtype_of(IntegerType(17)) == np.int32
    assert dtype_of(IntegerType(8, Signedness.UNSIGNED)) == np.uint8
    assert dtype_of(IndexType()) == np.int64
    assert dtype_of(TensorType(BFloat16Type(), [2])) == ml_dtypes.bfloat16
    assert dtype_of(Float8E4M3FNType()) == ml_dtypes.float8_e4m3fn
    assert dtype_of(ComplexType(f32)) == np.complex64


@pytest.mark.parametrize("bad", [IntegerType(65), NoneType(), ComplexType(f16)])
def test_types_that_hold_no_numbers(bad: object) -> None:
    with pytest.raises(UnsupportedType):
        dtype_of(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("element", [f16, f32, f64])
def test_undefined_floats_are_marked_and_stay_marked(element: object) -> None:
    array = undefined((3,), element)  # type: ignore[arg-type]
    assert np.isnan(array).all()
    assert count_undefined(array) == 3
    assert count_undefined(array + array.dtype.type(1)) == 3
    assert count_undefined(-array) == 3
    assert count_undefined(np.full_like(array, np.nan)) == 0


def test_undefined_integers_fit_their_width() -> None:
    assert undefined((2,), IntegerType(3)).tolist() == [-3, -3]
    assert undefined((), IntegerType(1)).dtype == np.bool_


def test_shapes_with_open_extents() -> None:
    assert shape_fits((2, 3), (2, -1))
    assert not shape_fits((2, 3), (3, -1))
    assert not shape_fits((2,), (2, -1))
