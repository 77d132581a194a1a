"""Which indices count along a dimension, from the operations that make them."""

from __future__ import annotations

import pytest
from mesh_opt.passes.stablehlo.data_movement.progressions import Progression, index_progression
from parsing import parse_program
from xdsl.ir import SSAValue


def last_value(body: str, arguments: str = "") -> SSAValue:
    """What the last line of a function's body makes."""
    module = parse_program(f"func.func @f({arguments}) {{\n{body}\n  return\n}}")
    found = [op.results[0] for op in module.walk() if op.results]
    return found[-1]


def progression(value: SSAValue) -> Progression | None:
    """Of a tensor of numbers that are index vectors of one component each."""
    return index_progression(value, value.type.get_num_dims(), 0)


def splat(name: str, number: int, size: str = "8x") -> str:
    return f"{name} = stablehlo.constant dense<{number}> : tensor<{size}i32>"


IOTA = "%i = stablehlo.iota dim = 0 : tensor<8xi32>"
COMPARED = "(tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%r = stablehlo.add %i, %c : tensor<8xi32>", Progression(3, 1, 0, 8)),
        ("%r = stablehlo.subtract %c, %i : tensor<8xi32>", Progression(3, -1, 0, 8)),
        ("%r = stablehlo.subtract %i, %i : tensor<8xi32>", Progression(0)),
        ("%r = stablehlo.multiply %i, %c : tensor<8xi32>", Progression(0, 3, 0, 8)),
        ("%r = stablehlo.multiply %i, %i : tensor<8xi32>", None),
        ("%r = stablehlo.maximum %i, %z : tensor<8xi32>", Progression(0, 1, 0, 8)),
        ("%r = stablehlo.maximum %i, %c : tensor<8xi32>", None),
        ("%r = stablehlo.clamp %z, %i, %m : tensor<8xi32>", Progression(0, 1, 0, 8)),
        ("%r = stablehlo.clamp %z, %i, %c : tensor<8xi32>", None),
        (f"%r = stablehlo.compare LT, %i, %z, SIGNED : {COMPARED}", Progression(0)),
        (f"%r = stablehlo.compare GE, %m, %i, SIGNED : {COMPARED}", Progression(1)),
        (f"%r = stablehlo.compare LT, %i, %c, SIGNED : {COMPARED}", None),
        (f"%r = stablehlo.compare EQ, %i, %c, SIGNED : {COMPARED}", None),
        (
            "%r = stablehlo.slice %i [1:8:3] : (tensor<8xi32>) -> tensor<3xi32>",
            Progression(1, 3, 0, 3),
        ),
        (
            "%r = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<8xi32>) -> tensor<4x8xi32>",
            Progression(0, 1, 1, 8),
        ),
        (
            "%r = stablehlo.reshape %i : (tensor<8xi32>) -> tensor<1x8x1xi32>",
            Progression(0, 1, 1, 8),
        ),
        ("%r = stablehlo.reshape %i : (tensor<8xi32>) -> tensor<2x4xi32>", None),
        (
            "%r = stablehlo.convert %i : (tensor<8xi32>) -> tensor<8xi64>",
            Progression(0, 1, 0, 8),
        ),
        ("%r = stablehlo.convert %i : (tensor<8xi32>) -> tensor<8xi2>", None),
        ("%r = stablehlo.convert %i : (tensor<8xi32>) -> tensor<8xf32>", None),
        ("%r = stablehlo.add %a, %i : tensor<8xi32>", None),
        (
            "%o = stablehlo.iota dim = 0 : tensor<1xi32>\n"
            "%s = stablehlo.reshape %o : (tensor<1xi32>) -> tensor<i32>\n"
            "%r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<3xi32>",
            Progression(0),
        ),
        (
            "%s = stablehlo.slice %i [2:3] : (tensor<8xi32>) -> tensor<1xi32>\n"
            "%r = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xi32>) -> tensor<3xi32>",
            Progression(2),
        ),
        ("%r = stablehlo.constant dense<[4, 2, 0]> : tensor<3xi32>", Progression(4, -2, 0, 3)),
        ("%r = stablehlo.constant dense<[4, 2, 1]> : tensor<3xi32>", None),
        ("%r = stablehlo.constant dense<255> : tensor<3xui8>", Progression(255)),
    ],
)
def test_operations(line: str, expected: Progression | None) -> None:
    lines = [IOTA, splat("%c", 3), splat("%z", 0), splat("%m", 7), line]
    assert progression(last_value("\n".join(lines), "%a: tensor<8xi32>")) == expected


def test_wrapped_index() -> None:
    """What JAX writes of `jnp.arange(8)` as an index of a dimension of 8."""
    text = f"""
    {IOTA}
    {splat("%z", 0)}
    {splat("%n", 8)}
    %l = stablehlo.compare LT, %i, %z, SIGNED : {COMPARED}
    %w = stablehlo.add %i, %n : tensor<8xi32>
    %r = stablehlo.select %l, %w, %i : tensor<8xi1>, tensor<8xi32>"""
    assert progression(last_value(text)) == Progression(0, 1, 0, 8)


def test_numbers_of_index_vectors() -> None:
    """Joined and bounded vectors: the first number counts, the second is given, the third is 0."""
    text = f"""
    {IOTA}
    %j = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    {splat("%z", 0, "8x1x")}
    %v = stablehlo.concatenate %j, %a, %z, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x3xi32>
    {splat("%l", 0, "8x3x")}
    %h = stablehlo.constant dense<[7, 5, 0]> : tensor<3xi32>
    %b = stablehlo.broadcast_in_dim %h, dims = [1] : (tensor<3xi32>) -> tensor<8x3xi32>
    %r = stablehlo.clamp %l, %v, %b : tensor<8x3xi32>"""  # noqa: E501
    vectors = last_value(text, "%a: tensor<8x1xi32>")
    assert index_progression(vectors, 1, 0) == Progression(0, 1, 0, 8)
    assert index_progression(vectors, 1, 1) is None
    assert index_progression(vectors, 1, 2) == Progression(0)
