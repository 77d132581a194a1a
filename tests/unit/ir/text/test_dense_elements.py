"""Elements of dense constants that are written as bits."""

from __future__ import annotations

import math

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.utils.exceptions import ParseError


def _values(literal: str) -> tuple[object, ...]:
    text = f"%0 = arith.constant dense<{literal}\n"
    (constant,) = parse_module(new_context(), Source(text, "test")).ops
    return tuple(constant.properties["value"].get_values())


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("0xFF800000> : tensor<2xf32>", (-math.inf, -math.inf)),
        ("[0x3F80, 0xFF80]> : tensor<2xbf16>", (1.0, -math.inf)),
        ("[0x10, 7]> : tensor<2xi32>", (16, 7)),
        ("[(0x3F800000, 0x7F800000)]> : tensor<1xcomplex<f32>>", ((1.0, math.inf),)),
        ("[16, -1.5]> : tensor<2xf32>", (16.0, -1.5)),
    ],
)
def test_hexadecimal_elements_of_floats_are_bits(
    literal: str, expected: tuple[object, ...]
) -> None:
    assert _values(literal) == expected


def test_bits_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ParseError, match="out of range for f16"):
        _values("0xFF800000> : tensor<2xf16>")
