"""Amounts that are known: runs of bytes, and where they begin and end."""

from __future__ import annotations

import pytest
from mesh_opt.ir.index import IndexOrInt, is_contiguous, is_multiple, reaches_end
from xdsl.dialects.arith import ConstantOp


@pytest.mark.parametrize(
    ("lengths", "sizes", "expected"),
    [
        ((), (), True),
        ((2,), (4,), True),
        ((1, 2), (4, 4), True),
        ((2, 4), (4, 4), True),
        ((1, 1, 3), (4, 4, 4), True),
        ((1, 2, 4), (4, 4, 4), True),
        ((2, 2), (4, 4), False),
        ((2, 1), (4, 4), False),
        ((2, 4, 3), (4, 4, 4), False),
        ((4, 4), (4, 4), True),
    ],
)
def test_is_contiguous(lengths: tuple[int, ...], sizes: tuple[int, ...], expected: bool) -> None:
    assert is_contiguous(lengths, sizes) is expected


UNKNOWN, MULTIPLE_OF_4 = (ConstantOp.from_int_and_width(0, 64).result for _ in range(2))


def divisor(index: IndexOrInt) -> int:
    if isinstance(index, int):
        return index
    return 4 if index is MULTIPLE_OF_4 else 1


@pytest.mark.parametrize(
    ("indices", "sizes", "unit", "expected"),
    [
        ((), (), 2, True),
        ((3,), (9,), 1, True),
        ((4,), (9,), 2, True),
        ((3,), (9,), 2, False),
        ((1, 1), (4, 3), 2, True),
        ((1, 0), (4, 3), 2, False),
        ((UNKNOWN,), (8,), 2, False),
        ((UNKNOWN, 0), (4, 8), 4, True),
        ((UNKNOWN, 2), (4, 8), 4, False),
        ((UNKNOWN, 0), (4, 3), 2, False),
        ((2, 0), (4, UNKNOWN), 2, True),
        ((1, 2), (4, UNKNOWN), 2, False),
        ((1, 0, 2), (4, UNKNOWN, 4), 2, True),
        ((MULTIPLE_OF_4,), (UNKNOWN,), 4, True),
        ((MULTIPLE_OF_4,), (UNKNOWN,), 8, False),
        ((UNKNOWN, 0), (UNKNOWN, MULTIPLE_OF_4), 4, True),
        ((MULTIPLE_OF_4, 2), (UNKNOWN, UNKNOWN), 4, False),
    ],
)
def test_is_multiple(
    indices: tuple[IndexOrInt, ...], sizes: tuple[IndexOrInt, ...], unit: int, expected: bool
) -> None:
    assert is_multiple(indices, sizes, unit, divisor) is expected


@pytest.mark.parametrize(
    ("starts", "lengths", "sizes", "expected"),
    [
        ((), (), (), True),
        ((2,), (3,), (5,), True),
        ((2,), (2,), (5,), False),
        ((1, 0), (3, 3), (4, 3), True),
        ((0, 0), (1, 3), (4, 3), False),
        ((0,), (UNKNOWN,), (UNKNOWN,), True),
        ((1,), (UNKNOWN,), (UNKNOWN,), False),
    ],
)
def test_reaches_end(
    starts: tuple[IndexOrInt, ...],
    lengths: tuple[IndexOrInt, ...],
    sizes: tuple[IndexOrInt, ...],
    expected: bool,
) -> None:
    assert reaches_end(starts, lengths, sizes) is expected
