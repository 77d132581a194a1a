"""Elements of dense constants that are written as bits, or are wider than 64 bits."""

from __future__ import annotations

import math

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import IntegerType
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
        ('"0x"> : tensor<0xf32>', ()),
    ],
)
def test_hexadecimal_elements_of_floats_are_bits(
    literal: str, expected: tuple[object, ...]
) -> None:
    assert _values(literal) == expected


def test_bits_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ParseError, match="out of range for f16"):
        _values("0xFF800000> : tensor<2xf16>")


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (f"[1, {-(2**127)}]> : tensor<2xi128>", (1, -(2**127))),
        (f"{2**128 - 1}> : tensor<2xui128>", (2**128 - 1, 2**128 - 1)),
        (f"[{2**71 - 1}, -5]> : tensor<2xi72>", (2**71 - 1, -5)),
        (f'"0x{1:0<32}{2:0>2}{"":0<30}"> : tensor<2xi128>', (16, 2)),
    ],
)
def test_integers_above_64_bits(literal: str, expected: tuple[object, ...]) -> None:
    assert _values(literal) == expected


def test_integers_above_64_bits_that_do_not_fit() -> None:
    with pytest.raises(ParseError, match="out of range for type i128"):
        _values(f"{2**128}> : tensor<2xi128>")


def test_bytes_that_are_no_whole_integers_above_64_bits() -> None:
    with pytest.raises(ValueError, match="15 bytes are not whole elements of 16 bytes"):
        tuple(IntegerType(128).iter_unpack(bytes(15)))
    with pytest.raises(ValueError, match="found 1 elements, expected 2"):
        IntegerType(128).unpack(bytes(16), 2)
