"""Amounts that are known: runs of bytes."""

from __future__ import annotations

import pytest
from mesh_opt.passes.stream.index_amounts import is_contiguous


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
