"""Short arrays of integers are made and read once, with the values that xDSL gives."""

from __future__ import annotations

from typing import Any

import mesh_opt.ir.text.dense_literals  # noqa: F401
import pytest
from mesh_opt.ir.text.xdsl_compat.integer_arrays import SHORT_BYTES
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, Signedness, f32, i8, i32, i64

Array: Any = DenseArrayBase


@pytest.mark.parametrize("width", [1, 3, 8, 16, 32, 64])
@pytest.mark.parametrize("signedness", list(Signedness))
def test_values(width: int, signedness: Signedness) -> None:
    element = IntegerType(width, signedness)
    is_signed = signedness is Signedness.SIGNED
    low = -(1 << width - 1) if is_signed else 0
    high = (1 << width - is_signed) - 1
    given = (low, high, 0, low, high)
    array = Array.from_list(element, given)
    assert array.elt_type == element
    assert array.get_values() == tuple(array.iter_values())
    assert array is Array.from_list(element, list(given))
    assert array == Array(element, array.data)


def test_types_are_told_apart() -> None:
    arrays = [Array.from_list(each, [1, 2]) for each in (i8, i32, i64)]
    assert [each.elt_type for each in arrays] == [i8, i32, i64]
    unsigned = IntegerType(8, Signedness.UNSIGNED)
    data = Array.from_list(unsigned, [255]).data
    assert Array(unsigned, data).get_values() == (255,)
    assert Array(i8, data).get_values() == (-1,)


def test_other_arrays() -> None:
    long = tuple(range(SHORT_BYTES))
    assert Array.from_list(i64, long).get_values() == long
    assert Array.from_list(f32, [0.5]).get_values() == (0.5,)
    assert Array.from_list(i64, []).get_values() == ()
    with pytest.raises(ValueError, match="out of range"):
        Array.from_list(i8, [256])
