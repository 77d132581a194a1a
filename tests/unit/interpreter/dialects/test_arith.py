"""The arith dialect against Python's exact integers and NumPy's floats."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.interpreter.numbers import to_float
from mesh_opt.interpreter.run import run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.runtime.abi.values import from_integer, signed
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import IntegerType

WIDTHS = [1, 3, 8, 16, 32, 64]


def _unary_or_binary(name: str, operand: str, result: str, count: int, attributes: str = "") -> Any:
    operands = ", ".join(f"%a{i}" for i in range(count))
    arguments = ", ".join(f"%a{i}: {operand}" for i in range(count))
    types = ", ".join([operand] * count)
    return f"""
    func.func @f({arguments}) -> {result} {{
      %r = "arith.{name}"({operands}) {attributes} : ({types}) -> {result}
      return %r : {result}
    }}"""


_modules: dict[str, Any] = {}


def _run(text: str, *inputs: Any) -> Any:
    module = _modules.get(text)
    if module is None:
        module = _modules[text] = parse_module(new_context(True), Source(text, "test"))
    return run(module, "f", [np.asarray(each) for each in inputs])[0]


def _to_unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def _to_signed(value: int, width: int) -> int:
    low = _to_unsigned(value, width)
    return low - (1 << width) if low >> (width - 1) else low


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": max,
    "minsi": min,
    "divsi": _truncated,
    "remsi": lambda a, b: a - _truncated(a, b) * b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "shrsi": lambda a, b: a >> b,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "maxui": max,
    "minui": min,
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "shli": lambda a, b: a << b,
    "shrui": lambda a, b: a >> b,
}


def _integer_pairs(name: str, width: int) -> list[tuple[int, int]]:
    """Pairs that the operation is defined for: numbers at the ends of the range, and any others."""
    is_signed = name in SIGNED
    convert = _to_signed if is_signed else _to_unsigned
    lowest, top = -(1 << (width - 1)), (1 << width) - 1
    ends = {convert(end + step, width) for end in (lowest, 0, top // 2) for step in (-1, 0, 1, 2)}
    generator = random.Random(f"{name} {width}")
    others = [convert(generator.randint(lowest, top), width) for _ in range(120)]
    pairs = [*product(sorted(ends), repeat=2), *zip(others[::2], others[1::2], strict=True)]
    if name in ("shli", "shrsi", "shrui"):
        pairs = [(left, _to_unsigned(right, width) % width) for left, right in pairs]
        pairs = [pair for pair in pairs if not (is_signed and pair[1] >> (width - 1))]
    if "div" in name or "rem" in name:
        pairs = [pair for pair in pairs if pair[1] and (not is_signed or pair != (lowest, -1))]
    return pairs


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("width", WIDTHS)
def test_integer_operations_are_exact(name: str, width: int) -> None:
    """On tensors of all pairs, and on one pair of numbers."""
    element = IntegerType(width)
    pairs = _integer_pairs(name, width)
    expected = [_to_signed({**SIGNED, **UNSIGNED}[name](*pair), width) for pair in pairs]
    inputs = [
        np.array([from_integer(n, element) for n in side]) for side in zip(*pairs, strict=True)
    ]
    tensor = f"tensor<{len(pairs)}xi{width}>"
    found = _run(_unary_or_binary(name, tensor, tensor, 2), *inputs)
    assert [int(signed(each, width)) for each in found] == expected
    text = _unary_or_binary(name, f"i{width}", f"i{width}", 2)
    found = _run(text, *(each[-1] for each in inputs))
    assert int(signed(found, width)) == expected[-1]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("predicate", range(10))
def test_integer_comparisons(width: int, predicate: int) -> None:
    compare = [
        lambda a, b: a == b,
        lambda a, b: a != b,
        *[lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b] * 2,
    ][predicate]
    convert = _to_signed if predicate < 6 else _to_unsigned
    values = {0, 1, -1, (1 << (width - 1)) - 1, -(1 << (width - 1))}
    text = _unary_or_binary("cmpi", f"i{width}", "i1", 2, f"<{{predicate = {predicate} : i64}}>")
    for left in values:
        for right in values:
            inputs = (from_integer(each, IntegerType(width)) for each in (left, right))
            expected = compare(convert(left, width), convert(right, width))
            assert bool(_run(text, *inputs)) == expected


@pytest.mark.parametrize(
    ("name", "left", "right", "message"),
    [
        ("divsi", 1, 0, "divides by zero"),
        ("remui", 1, 0, "divides by zero"),
        ("divsi", -128, -1, "overflows"),
        ("floordivsi", -128, -1, "overflows"),
    ],
)
def test_undefined_behaviour_is_an_error(
    execute_error: Any, name: str, left: int, right: int, message: str
) -> None:
    text = _unary_or_binary(name, "i8", "i8", 2)
    error = execute_error(text, np.int8(left), np.int8(right))
    assert message in error.message
    assert error.operation.name == f"arith.{name}"


def test_the_remainder_of_the_lowest_by_minus_one_is_zero() -> None:
    assert _run(_unary_or_binary("remsi", "i8", "i8", 2), np.int8(-128), np.int8(-1)) == 0


def test_division_by_zero_in_one_element_of_a_tensor(execute_error: Any) -> None:
    text = _unary_or_binary("divsi", "tensor<2xi32>", "tensor<2xi32>", 2)
    error = execute_error(text, np.int32([4, 4]), np.int32([2, 0]))
    assert "divides by zero" in error.message


@pytest.mark.parametrize(
    ("name", "source", "target", "value", "expected"),
    [
        ("extsi", "i1", "i8", True, -1),
        ("extui", "i1", "i8", True, 1),
        ("extui", "i8", "i32", np.int8(-1), 255),
        ("extsi", "i4", "i32", np.int8(-3), -3),
        ("extui", "i4", "i32", np.int8(-3), 13),
        ("trunci", "i32", "i8", np.int32(300), 44),
        ("trunci", "i32", "i1", np.int32(3), True),
        ("index_cast", "i32", "index", np.int32(-5), -5),
        ("index_castui", "i8", "index", np.int8(-1), 255),
        ("index_cast", "index", "i8", np.int64(257), 1),
        ("sitofp", "i8", "f32", np.int8(-2), -2.0),
        ("uitofp", "i8", "f32", np.int8(-2), 254.0),
        ("uitofp", "i1", "f32", True, 1.0),
        ("sitofp", "i1", "f32", True, -1.0),
        ("fptosi", "f32", "i8", np.float32(-2.9), -2),
        ("fptoui", "f32", "i8", np.float32(200.9), -56),
        ("bitcast", "f32", "i32", np.float32(1.0), 0x3F800000),
        ("bitcast", "i16", "bf16", np.int16(0x3F80), 1.0),
        ("bitcast", "f4E2M1FN", "i4", ml_dtypes.float4_e2m1fn(-6.0), -1),
        ("bitcast", "i6", "f6E2M3FN", np.int8(-4), -6.0),
        ("extf", "f16", "f64", np.float16(0.1), float(np.float16(0.1))),
        ("truncf", "f32", "bf16", np.float32(1.01), float(ml_dtypes.bfloat16(1.01))),
    ],
)
def test_conversions(name: str, source: str, target: str, value: Any, expected: Any) -> None:
    result = _run(_unary_or_binary(name, source, target, 1), value)
    assert result.item() == expected


def test_bits_of_a_complex_number() -> None:
    text = _unary_or_binary("bitcast", "complex<f32>", "i64", 1).replace("arith.", "complex.")
    assert _run(text, np.complex64(1 - 2j)).item() == -(1 << 62) + 0x3F800000
    text = _unary_or_binary("bitcast", "i64", "complex<f32>", 1).replace("arith.", "complex.")
    assert _run(text, np.int64(0x3F800000)).item() == 1


def test_out_of_range_float_to_integer() -> None:
    text = _unary_or_binary("fptosi", "tensor<3xf32>", "tensor<3xi8>", 1)
    result = _run(text, np.float32([1.5, 1000.0, np.nan]))
    assert result[0] == 1


def test_shifting_by_the_width_is_not_an_error() -> None:
    text = _unary_or_binary("shli", "tensor<2xi8>", "tensor<2xi8>", 2)
    assert _run(text, np.int8([1, 1]), np.int8([3, 8]))[0] == 8


@given(st.floats(min_value=-1e30, max_value=1e30))
def test_rounding_to_bf16_happens_once(value: float) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16)
    rounded = float(to_float(np.asarray(value), dtype))
    near = int(np.asarray(value).astype(dtype).view(np.uint16))
    neighbours = [
        float(np.uint16(bits).view(dtype)) for bits in (near - 1, near, near + 1) if bits >= 0
    ]
    distances = [
        abs(Fraction(each) - Fraction(value)) for each in neighbours if math.isfinite(each)
    ]
    assert abs(Fraction(rounded) - Fraction(value)) == min(distances)


def test_rounding_twice_would_be_wrong() -> None:
    # Just above the middle of two bf16 numbers, by less than f32 can tell.
    value = np.asarray(1 + 2**-8 + 2**-40)
    assert float(to_float(value, np.dtype(ml_dtypes.bfloat16))) == 1 + 2**-7
    assert float(value.astype(np.float32).astype(ml_dtypes.bfloat16)) == 1.0


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64", "f8E4M3FN"])
@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf", "maximumf", "minimumf"])
def test_float_operations_round_in_their_type(name: str, kind: str) -> None:
    from mesh_opt.runtime.abi.arrays import FLOAT_TYPES

    dtype = FLOAT_TYPES[kind]
    generator = np.random.default_rng(1)
    left, right = (generator.standard_normal(50).astype(dtype) for _ in range(2))
    result = _run(
        _unary_or_binary(name, f"tensor<50x{kind}>", f"tensor<50x{kind}>", 2), left, right
    )
    exact = {
        "addf": np.add,
        "subf": np.subtract,
        "mulf": np.multiply,
        "divf": np.divide,
        "maximumf": np.maximum,
        "minimumf": np.minimum,
    }[name](left.astype(np.float64), right.astype(np.float64))
    assert result.dtype == dtype
    np.testing.assert_array_equal(
        result.astype(np.float64), to_float(exact, dtype).astype(np.float64)
    )


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("maximumf", NAN, 1.0, NAN),
        ("minimumf", 1.0, NAN, NAN),
        ("maxnumf", NAN, 1.0, 1.0),
        ("minnumf", 1.0, NAN, 1.0),
        ("maximumf", -0.0, 0.0, 0.0),
        ("maximumf", 0.0, -0.0, 0.0),
        ("maximumf", -0.0, -0.0, -0.0),
        ("minimumf", 0.0, -0.0, -0.0),
        ("minimumf", -0.0, 0.0, -0.0),
        ("minimumf", 0.0, 0.0, 0.0),
        ("remf", 5.5, -2.0, 1.5),
        ("remf", -5.5, 2.0, -1.5),
        ("divf", 1.0, 0.0, INF),
    ],
)
def test_special_floats(name: str, left: float, right: float, expected: float) -> None:
    result = _run(_unary_or_binary(name, "f32", "f32", 2), np.float32(left), np.float32(right))
    assert np.array_equal(result, np.float32(expected), equal_nan=True)
    assert np.signbit(result) == np.signbit(np.float32(expected)) or math.isnan(expected)


def test_all_float_predicates() -> None:
    values = np.float32([1, 2, NAN])
    ordered = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 6: "<>"}
    for left in values:
        for right in values:
            unordered = bool(np.isnan(left) or np.isnan(right))
            outcomes = {
                "==": left == right,
                ">": left > right,
                ">=": left >= right,
                "<": left < right,
                "<=": left <= right,
                "<>": left < right or left > right,
            }
            for predicate in range(16):
                text = _unary_or_binary(
                    "cmpf", "f32", "i1", 2, f"<{{predicate = {predicate} : i64}}>"
                )
                if predicate in ordered:
                    expected = outcomes[ordered[predicate]]
                elif 8 <= predicate <= 13:
                    expected = unordered or outcomes[ordered[predicate - 7]]
                else:
                    expected = {0: False, 7: not unordered, 14: unordered, 15: True}[predicate]
                assert bool(_run(text, left, right)) == bool(expected), predicate


def test_extended_products_and_sums(execute: Any) -> None:
    text = """
    func.func @f(%a: i8, %b: i8) -> (i8, i8, i8, i8, i8, i1) {
      %sl, %sh = arith.mulsi_extended %a, %b : i8
      %ul, %uh = arith.mului_extended %a, %b : i8
      %s, %o = arith.addui_extended %a, %b : i8, i1
      return %sl, %sh, %ul, %uh, %s, %o : i8, i8, i8, i8, i8, i1
    }"""
    low, high, unsigned_low, unsigned_high, total, overflow = execute(
        text, np.int8(-3), np.int8(100)
    )
    assert (int(high) << 8) + (int(low) & 255) == -300
    assert ((int(unsigned_high) & 255) << 8) + (int(unsigned_low) & 255) == 253 * 100
    assert (int(total) & 255) == (253 + 100) & 255
    assert bool(overflow)


def test_select(execute: Any) -> None:
    text = """
    func.func @f(%c: i1, %a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %0 = arith.select %c, %a, %b : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    inputs = np.float32([1, 2]), np.float32([3, 4])
    assert execute(text, np.bool_(False), *inputs)[0].tolist() == [3, 4]
    assert execute(text, np.bool_(True), *inputs)[0].tolist() == [1, 2]


def test_tensors_do_not_broadcast(execute_error: Any) -> None:
    text = _unary_or_binary("addf", "tensor<?xf32>", "tensor<?xf32>", 2)
    error = execute_error(text, np.zeros(1, np.float32), np.zeros(3, np.float32))
    assert "operands of shapes 1 and 3" in error.message
