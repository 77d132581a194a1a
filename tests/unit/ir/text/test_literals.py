"""Constants, numbers and locations in spellings of MLIR that xDSL lacks or misreads."""

from __future__ import annotations

import math
import random
import time
from typing import Any

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FusedLoc, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError


def _operation(text: str) -> Operation:
    (operation,) = parse_module(new_context(), Source(text, "test")).ops
    return operation


def _constant(literal: str) -> Any:
    return _operation(f"%0 = arith.constant {literal}").properties["value"]


def _column(literal: str, message: str) -> int:
    with pytest.raises(ParseError, match=message) as caught:
        _constant(literal)
    return caught.value.span.start - len("%0 = arith.constant ")


@pytest.mark.parametrize(
    ("literal", "values"),
    [
        # One byte is one element, for all.
        ('dense<"0x01"> : tensor<3xi1>', (1, 1, 1)),
        ('dense<"0x010001"> : tensor<3xi1>', (1, 0, 1)),
        # Eight truth values a byte, the first in the lowest bit.
        ('dense<"0x0503"> : tensor<10xi1>', (1, 0, 1, 0, 0, 0, 0, 0, 1, 1)),
        ('dense<"0x080F07"> : tensor<3xi4>', (-8, -1, 7)),
        ('dense<"0xF8FF07"> : tensor<3xi4>', (-8, -1, 7)),
        ('dense<"0xFF0F0100"> : tensor<2xi12>', (-1, 1)),
        ('dense<"0xFFFFFF010000"> : tensor<2xi24>', (-1, 1)),
        ('dense<"0x0100FFFF"> : tensor<2xi16>', (1, -1)),
        ("sparse<[[0, 2], [1, 0]], [7, -1]> : tensor<2x3xi32>", (0, 0, 7, -1, 0, 0)),
        ("sparse<[[1], [3]], 2.5> : tensor<4xf32>", (0.0, 2.5, 0.0, 2.5)),
        ("sparse<> : tensor<2xi8>", (0, 0)),
        ("dense<[1.0e40, -1.0e40]> : tensor<2xf32>", (math.inf, -math.inf)),
    ],
)
def test_values(literal: str, values: tuple[float, ...]) -> None:
    constant = _constant(literal)
    assert tuple(int(v) & 1 if "i1>" in literal else v for v in constant.get_values()) == values


def test_one_constant_however_it_is_spelled() -> None:
    assert _constant('dense<"0x0100"> : tensor<2xi1>') == _constant("dense<[1, 0]> : tensor<2xi1>")
    assert _constant('dense<"0x0F00"> : tensor<2xi4>') == _constant("dense<[-1, 0]> : tensor<2xi4>")


@pytest.mark.parametrize("element", ["i1", "i3", "i4", "i8", "i12", "ui8", "i24", "i33", "i64"])
def test_big_constants_are_read_back(element: str) -> None:
    chooser = random.Random(element)
    numbers = [chooser.choice(("true", "false") if element == "i1" else "0123") for _ in range(120)]
    rows = ", ".join(f"[{', '.join(numbers[at : at + 40])}]" for at in (0, 40, 80))
    operation = _operation(f"%0 = arith.constant dense<[{rows}]> : tensor<3x40x{element}>")
    again = _operation(print_operation(operation))
    assert again.properties["value"] == operation.properties["value"]


def test_numbers_beyond_a_type_are_infinite() -> None:
    assert _constant("1.0e40 : f32").value.data == math.inf
    assert _constant("-65536.0 : f16").value.data == -math.inf


def test_arrays_of_float_bits() -> None:
    operation = _operation('"func.return"() {a = array<f32: 0x3F800000, -2.5, 1.0e40>} : () -> ()')
    array = operation.attributes["a"]
    assert isinstance(array, DenseArrayBase)
    assert array.get_values() == (1.0, -2.5, math.inf)


def test_fused_location_with_metadata() -> None:
    location = _operation('"func.return"() : () -> () loc(fused<"made">["a", unknown])').location
    assert isinstance(location, FusedLoc)
    assert location.metadata == StringAttr("made")
    assert isinstance(location.locations, ArrayAttr)
    assert len(location.locations) == 2


@pytest.mark.parametrize(
    ("literal", "message", "column"),
    [
        ("dense<[1, 2, 3]> : tensor<2xi32>", "Shape mismatch", 0),
        ("dense<1.0> : tensor<?xf32>", "static shape", 0),
        ("dense<> : tensor<2xf32>", "at least one element", 0),
        ('dense<"0x000"> : tensor<2xi8>', "hex digits starting with `0x`", 6),
        ('dense<"0x0 00"> : tensor<2xi8>', "hex digits starting with `0x`", 6),
        ('dense<"abc"> : tensor<1xi8>', "hex digits starting with `0x`", 6),
        ('dense<"0x000000"> : tensor<2xi8>', "hex data size is invalid", 0),
        ("sparse<[[0, 3]], 1> : tensor<2x3xi32>", "do not fit", 0),
        ("sparse<[[0, 1]], [1, 2]> : tensor<2x3xi32>", "do not fit", 0),
        ("sparse<[0, 1], 1> : tensor<2x3xi32>", "do not fit", 0),
        ("1.0 : f128", "constants of type f128 are not supported", 4),
        ("dense<1.0> : tensor<2xf80>", "constants of type f80 are not supported", 13),
        ("300 : i8", "out of range", 0),
        ("1.5 : i32", "not valid for integer type", 0),
    ],
)
def test_errors_stand_where_the_mistake_is(literal: str, message: str, column: int) -> None:
    assert _column(literal, message) == column


@pytest.mark.parametrize("literal", ["[0.0, -0.0]", "[-0.0, 0.0]", "0x7FC00000", "-0.0", "[[1.0]]"])
def test_signs_of_zeros_are_printed(literal: str) -> None:
    shape = "1x1" if literal.startswith("[[") else "2"
    operation = _operation(f"%0 = arith.constant dense<{literal}> : tensor<{shape}xf32>")
    again = _operation(print_operation(operation))
    data = operation.properties["value"].data.data  # pyright: ignore
    assert again.properties["value"].data.data == data  # pyright: ignore


def test_big_splats_are_printed_quickly() -> None:
    operation = _operation("%0 = arith.constant dense<2.5> : tensor<8192x8192xf32>")
    start = time.process_time()
    assert "dense<2.500000e+00> : tensor<8192x8192xf32>" in print_operation(operation)
    # Looking at every element in Python would take tens of seconds, at every byte in C one.
    assert time.process_time() - start < 0.5


def test_bytes_as_xdsl_keeps_them() -> None:
    """Its own printer writes four bytes for each i24, where MLIR has three."""
    listed = ", ".join(str(number) for number in range(-60, 60))
    operation = _operation(f'"test.op"() {{v = dense<[{listed}]> : tensor<120xi24>}} : () -> ()')
    assert 'dense<"0x' in str(operation)
    assert str(_operation(str(operation))) == str(operation)
