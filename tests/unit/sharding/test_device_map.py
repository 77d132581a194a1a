"""Which devices hold which part of a tensor, and the pictures of that."""

from __future__ import annotations

import re

from mesh_opt.sharding.device_map import MAX_CELLS, device_map, draw_html, draw_text, listed_devices
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import Partial, ReductionKind, Sharding

GRID = Grid("g", (2, 3))


def cells(shape: tuple[int | None, ...], *axes: tuple[int, ...]) -> object:
    picture = device_map(shape, Sharding(GRID, axes))
    assert picture is not None
    return picture.cells


def test_two_dimensions() -> None:
    assert cells((4, 6), (0,), (1,)) == (((0,), (1,), (2,)), ((3,), (4,), (5,)))
    assert cells((4, 6), (1,), (0,)) == (((0,), (3,)), ((1,), (4,)), ((2,), (5,)))
    assert cells((4, 6), (), (1,)) == (((0, 3), (1, 4), (2, 5)),)
    assert cells((4, 6), (0,), ()) == (((0, 1, 2),), ((3, 4, 5),))
    # The first of several axes is the slowest.
    assert cells((12, 6), (1, 0), ()) == (((0,),), ((3,),), ((1,),), ((4,),), ((2,),), ((5,),))


def test_other_ranks() -> None:
    assert cells(()) == (((0, 1, 2, 3, 4, 5),),)
    assert cells((6,), (1,)) == (((0, 3), (1, 4), (2, 5)),)
    assert cells((2, 5, 3), (0,), (), (1,)) == (((0,), (1,), (2,)), ((3,), (4,), (5,)))
    picture = device_map((2, 5, 3), Sharding(GRID, ((0,), (), (1,))))
    assert picture is not None
    assert picture.rows == ("d0 0:1", "d0 1:2") and picture.columns[0] == "d2 0:1"


def test_parts_that_differ() -> None:
    picture = device_map((7, 6), Sharding(GRID, ((1,), ()), offsets=((0, 1, 4, 7), None)))
    assert picture is not None and picture.rows == ("0:1", "1:4", "4:7")
    picture = device_map((7, 6), Sharding(GRID, ((1,), ())))
    assert picture is not None and picture.rows == ("0:2", "2:4", "4:7")
    picture = device_map((None, 6), Sharding(GRID, ((0,), ())))
    assert picture is not None and picture.rows == ("part 0", "part 1")


def test_captions() -> None:
    def caption(*axes: tuple[int, ...], partials: tuple[Partial, ...] = ()) -> str:
        picture = device_map((4, 6), Sharding(GRID, axes, partials))
        assert picture is not None
        return picture.caption.partition(": ")[2]

    assert caption((0,), (1,)) == "6 parts"
    assert caption((0,), ()) == "2 parts, 3 copies of each"
    assert caption((), ()) == "whole on each"
    partial = Partial(ReductionKind.SUM, (1,))
    assert caption((0,), (), partials=(partial,)) == "parts still to be combined (sum)"


def test_grids_without_a_map() -> None:
    assert device_map((4,), Sharding(Grid("g", (None,)), ((0,),))) is None
    assert device_map((4,), Sharding(Grid("g", (0,)), ((),))) is None
    assert device_map((4,), Sharding(Grid("g", (1 << 40,)), ((0,),))) is None


def test_numbers_of_devices() -> None:
    assert listed_devices([0]) == "0"
    assert listed_devices([0, 1]) == "0,1"
    assert listed_devices([0, 1, 2, 5, 7, 8, 9, 10]) == "0-2,5,7-10"


def test_text() -> None:
    picture = device_map((4, 6), Sharding(GRID, ((0,), (1,))))
    assert picture is not None
    plain = draw_text(picture)
    assert plain == (
        "4x6 by @g [[0], [1]] on 6 devices: 6 parts\n"
        "       0:2     2:4     4:6\n"
        "    ┌───────┬───────┬───────┐\n"
        "0:2 │   0   │   1   │   2   │\n"
        "    ├───────┼───────┼───────┤\n"
        "2:4 │   3   │   4   │   5   │\n"
        "    └───────┴───────┴───────┘\n"
    )
    colored = draw_text(picture, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert len(set(re.findall(r"48;5;\d+", colored))) == 6


def test_html() -> None:
    picture = device_map((4, 6), Sharding(GRID, ((0,), (1,))))
    assert picture is not None
    page = draw_html(picture)
    assert [re.sub("<.*?>", "", cell) for cell in re.findall("<td style.*?</td>", page)] == list(
        "012345"
    )
    assert len(set(re.findall(r"background:(hsl\(.*?\))", page))) == 6


def test_many_parts_are_not_drawn() -> None:
    picture = device_map((4096,), Sharding(Grid("g", (4 * MAX_CELLS,)), ((0,),)))
    assert picture is not None
    assert draw_text(picture) == f"{picture.caption}\n"
    assert "<table" not in draw_html(picture)
