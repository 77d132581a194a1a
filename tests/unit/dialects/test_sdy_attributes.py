"""Meshes and shardings of Shardy as values."""

from __future__ import annotations

import pytest
from mesh_opt.dialects.sdy.attributes import (
    AxisRef,
    DimensionSharding,
    Mesh,
    TensorSharding,
    axes_validation_error,
    parse_sharding,
)
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

MESH = Mesh((("a", 2), ("b", 4), ("c", 16)))


@pytest.mark.parametrize(
    "text",
    [
        "<@m, []>",
        '<@m, [{"a"}, {?}, {}]>',
        '<@m, [{"a", "b":(2)2, ?}p3]>',
        '<@m, [{"a"}], replicated={"b"}, unreduced={"c":(1)4}>',
        '<mesh<["x"=2, "y"=3], device_ids=[5, 4, 3, 2, 1, 0]>, [{"x"}]>',
    ],
)
def test_text_is_read_and_written(text: str) -> None:
    assert str(parse_sharding(Parser(Context(), text))) == text


def test_order_of_axes_lists_does_not_matter() -> None:
    one = parse_sharding(Parser(Context(), '<@m, [{}], replicated={"a"}, unreduced={"b"}>'))
    two = parse_sharding(Parser(Context(), '<@m, [{}], unreduced={"b"}, replicated={"a"}>'))
    assert one == two


@pytest.mark.parametrize("last", ['replicated={"b"}', 'open={"b"}'])
def test_lists_of_axes_are_known_and_appear_once(last: str) -> None:
    with pytest.raises(ParseError, match="expected 'replicated' or 'unreduced', each once"):
        parse_sharding(Parser(Context(), f'<@m, [{{}}], replicated={{"a"}}, {last}>'))


def test_parts_of_an_axis() -> None:
    middle = AxisRef("c", (2, 4))
    assert middle.extent(16) == (2, 8)
    assert AxisRef("c").extent(16) == (1, 16)
    assert axes_validation_error(((AxisRef("c", (1, 2)), middle),), MESH) is not None
    assert axes_validation_error(((middle, AxisRef("c", (1, 2))),), MESH) is None
    assert axes_validation_error(((middle,), (AxisRef("c", (4, 2)),)), MESH) == (
        'overlapping axis refs: "c":(2)4, "c":(4)2'
    )


def test_faults_name_what_is_wrong() -> None:
    def fault(*dimensions: DimensionSharding) -> str | None:
        return TensorSharding("m", dimensions).validation_error(MESH, 2)

    a, b = AxisRef("a"), AxisRef("b")
    assert fault(DimensionSharding((a,)), DimensionSharding((b,))) is None
    assert fault(DimensionSharding((a,)), DimensionSharding((a,))) == 'duplicate axis ref: "a"'
    assert fault(DimensionSharding()) == "sharding doesn't match tensor rank: 1 != 2"
    assert "priority" in str(fault(DimensionSharding(), DimensionSharding(priority=1)))
    assert fault(DimensionSharding((AxisRef("z"),)), DimensionSharding()) == (
        'unknown axis name: "z"'
    )


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (Mesh((("a", 2),), (1, 0)), None),
        (Mesh((), (3,)), None),
        (Mesh((("a", 2), ("a", 2))), "duplicate axis name"),
        (Mesh((("a", 0),)), "at least 1"),
        (Mesh((("a", 2),), (0, 0)), "iota"),
        (Mesh((("a", 2),), (0, 1, 2)), "2 != 3"),
    ],
)
def test_meshes(mesh: Mesh, message: str | None) -> None:
    fault = mesh.validation_error()
    assert (fault is None) if message is None else (message in str(fault))
