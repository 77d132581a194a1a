"""Which dimensions rank-reducing slices keep."""

from __future__ import annotations

import pytest
from mesh_opt.ir.attribute_access import kept_dimensions
from xdsl.dialects.builtin import DYNAMIC_INDEX


@pytest.mark.parametrize(
    ("sizes", "shape", "kept"),
    [
        ((4, 8), (4, 8), (0, 1)),
        ((1, 8), (8,), (1,)),
        ((1, 1, 4), (1, 4), (0, 2)),
        ((1, 4, 1), (4, 1), (1, 2)),
        ((1, DYNAMIC_INDEX), (-1,), (1,)),
        ((1, 1), (), ()),
        ((2, 8), (8,), None),
        ((1, 8), (8, 1), None),
        ((DYNAMIC_INDEX, 8), (8,), None),
        ((1, 8), (-1,), None),
    ],
)
def test_kept_dimensions(
    sizes: tuple[int, ...], shape: tuple[int, ...], kept: tuple[int, ...] | None
) -> None:
    assert kept_dimensions(sizes, shape) == kept
