"""GSPMD's strings against the arrays of devices that they stand for."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from mesh_opt.sharding.gspmd_strings import parse_mhlo_sharding

ASSIGNMENTS = [
    ([8], [8]),
    ([2, 4], [8]),
    ([2, 2, 2], [8]),
    ([4, 2], [2, 4]),
    ([2, 3, 2], [2, 2, 3]),
    ([4, 1, 3], [3, 2, 2]),
    ([1, 1], [1]),
]


def _text(tiles: list[int], shape: list[int], order: tuple[int, ...]) -> str:
    numbers = ",".join(map(str, tiles))
    moved = "" if order == tuple(sorted(order)) else f"T({','.join(map(str, order))})"
    return f"devices=[{numbers}]<=[{','.join(map(str, shape))}]{moved}"


@pytest.mark.parametrize(("tiles", "shape"), ASSIGNMENTS)
@pytest.mark.parametrize("replicated", [False, True])
def test_every_device_is_where_the_array_has_it(
    tiles: list[int], shape: list[int], replicated: bool
) -> None:
    kept = tiles[:-1] if replicated else tiles
    for order in permutations(range(len(shape))):
        text = _text(tiles, shape, order) + " last_tile_dim_replicate" * replicated
        devices = np.arange(np.prod(shape)).reshape(shape).transpose(order).reshape(tiles)
        listed = f"devices=[{','.join(map(str, tiles))}]{','.join(map(str, devices.ravel()))}"
        listed += " last_tile_dim_replicate" * replicated
        try:
            found = parse_mhlo_sharding(f"{{{text}}}", len(kept))
        except ValueError as problem:
            # Digits that begin in the middle of another: 3 x 2 devices as 2 x 3, transposed.
            assert "not a transposition of an array" in str(problem)
            assert [shape[axis] for axis in order] != tiles
            continue
        assert found is not None and found.devices == devices.size
        assert parse_mhlo_sharding(f"{{{listed}}}", len(kept)) == found
        for point in np.ndindex(*tiles):
            for position, digits in zip(point, found.dimensions, strict=False):
                expected = 0
                for stride, size in digits:
                    expected = expected * size + int(devices[point]) // stride % size
                assert position == expected


def test_shardings_without_effect() -> None:
    assert parse_mhlo_sharding("", 2) is None
    assert parse_mhlo_sharding("{unknown}", 2) is None
    found = parse_mhlo_sharding("{replicated}", 2)
    assert found is not None and found.dimensions == ((), ()) and found.devices == 0


def test_which_devices_are_manual() -> None:
    found = parse_mhlo_sharding("{manual}", 2)
    assert found is not None and found.manual == () and found.devices == 0
    text = "{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}"
    found = parse_mhlo_sharding(text, 2)
    assert found is not None and found.manual == ((2, 2),)
    assert found.dimensions == (((4, 2),), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{maximal device=0}", "on a single device"),
        ("{devices=[2,1,4]<=[8] last_tile_dims={maximal}}", "expected manual or replicated"),
        ("{devices=[2]<=[2]}", "splits 1 dimensions of a tensor of rank 2"),
        ("{devices=[2,2]<=[8]}", "not a transposition of 4 numbers"),
        ("{devices=[2,2]<=[2,2]T(1,1)}", "not a transposition of 4 numbers"),
        ("{devices=[2,2]0,1,2,2}", "must name each of 4 devices once"),
        ("{devices=[2,2]0,3,1,2}", "not a transposition of an array"),
        ("{devices=[2,2]3,2,1,0}", "not a transposition of an array"),
        ("{devices=[0,2]<=[0]}", "for 0 devices"),
        ("{devices=[99999999,99999999]<=[1]}", "expected 1 to 1048576"),
        ("{{replicated}, {replicated}}", "expected '{replicated}' or"),
    ],
)
def test_rejected_shardings(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("{", r"\{")):
        parse_mhlo_sharding(text, 2)
