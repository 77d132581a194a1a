"""Names of the parts of a mesh's axes, and of parts that are one again."""

from __future__ import annotations

import pytest
from mesh_opt.sharding.axis_names import joined_names, sub_axis_names


def test_parts_are_named_by_what_is_major_to_them() -> None:
    names = sub_axis_names(["x", "y"], [2, 8], [2, 2, 2, 2])
    assert names == ["x", "y:(1)2", "y:(2)2", "y:(4)2"]
    assert sub_axis_names(["y:(2)4"], [4], [2, 2]) == ["y:(2)2", "y:(4)2"]
    assert sub_axis_names(["x", "one"], [None, 1], [None, 1]) == ["x", "one"]


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ((1, 2), ("y",)),
        ((0, 1, 2), ("x", "y")),
        ((1,), ("y:(1)2",)),
        ((2, 1), ("y:(2)2", "y:(1)2")),
        ((), ()),
    ],
)
def test_parts_in_a_row_are_one_axis(axes: tuple[int, ...], expected: tuple[str, ...]) -> None:
    assert joined_names(axes, ["x", "y:(1)2", "y:(2)2"], [2, 2, 2]) == expected
