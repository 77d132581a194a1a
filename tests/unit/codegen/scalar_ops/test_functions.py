"""Elementary functions of generated kernels are right to a few units in the last place."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.microkernels.vectors import cpu_has
from scipy import special

FUNCTIONS = {
    "exp": (np.exp, np.linspace(-105, 90, 20011)),
    "log": (np.log, np.concatenate([np.geomspace(1e-44, 3e38, 20011), [0.0, -1.0]])),
    "expm1": (
        np.expm1,
        np.concatenate(
            [np.linspace(-110, 90, 20011), np.geomspace(1e-44, 1), np.linspace(-2, 2, 9999)]
        ),
    ),
    "log1p": (
        np.log1p,
        np.concatenate(
            [np.geomspace(1e-44, 3e38, 20011), -np.geomspace(1e-44, 0.999, 9999), [-2.0]]
        ),
    ),
    "tanh": (np.tanh, np.linspace(-12, 12, 20011)),
    "erf": (special.erf, np.linspace(-6, 6, 20011)),
}
MOST = {"tanh": 1.4, "expm1": 1.5, "log1p": 1.5}
"""The error that is stated, in units in the last place; that of the others is 1."""

_ALL = np.random.default_rng(0).integers(0, 1 << 32, 20011, np.uint32).view(np.float32)
"""Numbers of all sizes."""

IN_DOUBLES = {
    "sin": (np.sin, 100),
    "cos": (np.cos, 100),
    "tan": (np.tan, 100),
    "asin": (np.arcsin, 1),
    "acos": (np.arccos, 1),
    "atan": (np.arctan, 4),
    "sinh": (np.sinh, 90),
    "cosh": (np.cosh, 90),
    "asinh": (np.arcsinh, 4),
    "acosh": (np.arccosh, 4),
    "atanh": (np.arctanh, 1),
    "exp2": (np.exp2, 150),
    "log2": (np.log2, 4),
    "log10": (np.log10, 1000),
    "cbrt": (np.cbrt, 30),
}
"""Functions that are off by 0.51 units at most, and how far from 0 numbers are looked at."""

IN_F64 = {
    "exp": (np.exp, 746, 1),
    "log": (np.log, 1000, 1),
    "expm1": (np.expm1, 711, 2.5),
    "log1p": (np.log1p, 3, 1.5),
    "tanh": (np.tanh, 25, 2.5),
    "sinh": (np.sinh, 711, 2.5),
    "cosh": (np.cosh, 711, 1.5),
    "atan": (np.arctan, 5, 2.5),
    "asin": (np.arcsin, 1, 2.5),
    "acos": (np.arccos, 1, 2.5),
}
"""Functions of `f64`, how far from 0 numbers are looked at, and the error that is stated."""

_ALL_F64 = np.random.default_rng(0).integers(0, 1 << 64, 20011, np.uint64).view(np.float64)
SPECIAL_F64 = np.float64([5e-324, -1e-310, 709.8, 710.4, 710.5, -745.2, -746, 2.0**-1022, 1e308])

UNFUSED = 0.2
"""What is added where products are rounded before they are added."""

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-42, -1e-42]
PAYLOADS = np.array([0x7FC00003, 0x7FFFFFFF, 0xFFC00002], np.uint32).view(np.float32)


def check(
    found: np.ndarray, wanted: np.ndarray, inputs: tuple[np.ndarray, ...], most: float
) -> None:
    """Compare with exact results: signs, infinities, and errors in units in the last place."""
    with np.errstate(all="ignore"):
        exact = wanted.astype(found.dtype)
        unit = np.spacing(np.abs(exact)).astype(wanted.dtype)
        error = np.abs(found.astype(wanted.dtype) - wanted) / unit
    assert np.array_equal(np.isnan(found), np.isnan(exact))
    assert np.array_equal(found[np.isinf(exact)], exact[np.isinf(exact)])
    assert np.array_equal(np.signbit(found[exact == 0]), np.signbit(exact[exact == 0]))
    worst = np.argmax(np.where(np.isfinite(exact), error, 0))
    where = [each[worst] for each in inputs]
    assert error[worst] < most, (where, found[worst], wanted[worst])


def run(name: str, *inputs: np.ndarray, dialect: str = "math") -> np.ndarray:
    kind = f"tensor<{len(inputs[0])}xf{8 * inputs[0].itemsize}>"
    names = [f"%{number}" for number in range(len(inputs))]
    arguments = ", ".join(f"{each}: {kind}" for each in names)
    text = f"""
func.func @main({arguments}) -> {kind} {{
  %result = {dialect}.{name} {", ".join(names)} : {kind}
  return %result : {kind}
}}"""
    program = CompiledProgram(api.compile(text).module)
    (found,) = program.run("main", list(inputs))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    reference, points = FUNCTIONS[name]
    inputs = np.concatenate([points.astype(np.float32), np.float32(SPECIAL), PAYLOADS])
    with np.errstate(all="ignore"):
        wanted = reference(inputs.astype(np.float64))
    most = MOST.get(name, 1) + (0 if cpu_has("fma") else UNFUSED)
    check(run(name, inputs), wanted, (inputs,), most)


@pytest.mark.parametrize("name", IN_DOUBLES)
def test_function_in_doubles(name: str) -> None:
    reference, limit = IN_DOUBLES[name]
    # The number that is nearest to a multiple of pi / 2 is 16367173 * 2^72.
    points = np.concatenate([np.linspace(-limit, limit, 20011), [16367173 * 2.0**72]])
    inputs = np.concatenate([points.astype(np.float32), _ALL, np.float32(SPECIAL), PAYLOADS])
    with np.errstate(all="ignore"):
        wanted = reference(inputs.astype(np.longdouble))
    check(run(name, inputs), wanted, (inputs,), 0.51)


@pytest.mark.parametrize("name", IN_F64)
def test_function_of_f64(name: str) -> None:
    reference, limit, most = IN_F64[name]
    points = [np.linspace(-limit, limit, 20011), np.linspace(-1, 1, 9999)]
    small = np.geomspace(1e-20, 1, 999)
    inputs = np.concatenate([*points, small, -small, _ALL_F64, SPECIAL_F64, SPECIAL])
    with np.errstate(all="ignore"):
        wanted = reference(inputs.astype(np.longdouble))
    check(run(name, inputs), wanted, (inputs,), most)


def test_angles_of_f64() -> None:
    rng = np.random.default_rng(0)
    wild = np.concatenate([SPECIAL, SPECIAL_F64, _ALL_F64[:50]])
    left = np.concatenate([np.repeat(wild, len(wild)), rng.normal(0, 1, 20011)])
    right = np.concatenate([np.tile(wild, len(wild)), rng.normal(0, 1, 20011)])
    wanted = np.arctan2(left.astype(np.longdouble), right.astype(np.longdouble))
    check(run("atan2", left, right), wanted, (left, right), 2.5)


@pytest.mark.parametrize(("name", "reference"), [("atan2", np.arctan2), ("powf", np.power)])
def test_function_of_two(name: str, reference: np.ufunc) -> None:
    rng = np.random.default_rng(0)
    wild = np.concatenate([np.float32(SPECIAL), np.arange(-3, 4, 0.5, np.float32), _ALL[:50]])
    left = np.concatenate([np.repeat(wild, len(wild)), rng.gamma(1, 1, 20011).astype(np.float32)])
    right = np.concatenate([np.tile(wild, len(wild)), rng.normal(0, 20, 20011).astype(np.float32)])
    with np.errstate(all="ignore"):
        wanted = reference(left.astype(np.longdouble), right.astype(np.longdouble))
    check(run(name, left, right), wanted, (left, right), 0.51)


def test_remainders() -> None:
    """They are exact, for all sizes of quotients."""
    rng = np.random.default_rng(0)
    wild = np.concatenate([np.float32(SPECIAL), np.arange(-3, 4, 0.5, np.float32), _ALL[:50]])
    with np.errstate(all="ignore"):
        multiples = _ALL * rng.integers(1, 99, len(_ALL), np.int32).astype(np.float32)
    left = np.concatenate([np.repeat(wild, len(wild)), _ALL, multiples, _ALL])
    right = np.concatenate([np.tile(wild, len(wild)), _ALL[::-1], _ALL, multiples])
    with np.errstate(all="ignore"):
        wanted = np.fmod(left, right)
    found = run("remf", left, right, dialect="arith")
    np.testing.assert_array_equal(found, wanted)
    assert np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


def test_integer_powers() -> None:
    """An exponent of 25 bits is odd although no `f32` is."""
    text = """
func.func @main(%x: tensor<3xf32>, %n: tensor<3xi32>) -> tensor<3xf32> {
  %0 = math.fpowi %x, %n : tensor<3xf32>, tensor<3xi32>
  return %0 : tensor<3xf32>
}"""
    program = CompiledProgram(api.compile(text).module)
    inputs = [np.float32([-1, -1, 2]), np.int32([(1 << 24) + 1, 1 << 24, -3])]
    (found,) = program.run("main", inputs)
    assert found.tolist() == [-1, 1, 0.125]


@pytest.mark.parametrize(
    ("name", "reference"),
    [("log", np.log), ("sqrt", np.sqrt), ("sine", np.sin), ("tanh", np.tanh)],
)
def test_complex_function(name: str, reference: np.ufunc) -> None:
    rng = np.random.default_rng(0)
    # Of a number on the unit circle, the logarithm of the size is much smaller than the parts.
    circle = np.exp(1j * rng.uniform(0, 7, 9999))
    near = circle * (1 + 1e-5 * rng.normal(size=len(circle)))
    wild = np.float32(SPECIAL)
    parts = np.repeat(wild, len(wild)), np.tile(wild, len(wild))
    inputs = np.concatenate([np.complex64([*circle, *near]), np.empty(len(parts[0]) + 10005, "F")])
    inputs[-len(parts[0]) :].real, inputs[-len(parts[0]) :].imag = parts
    random = inputs[2 * len(circle) : -len(parts[0])]
    random.real, random.imag = _ALL[:10005], _ALL[10005:20010]
    kind = f"tensor<{len(inputs)}xcomplex<f32>>"
    text = f"""
func.func @main(%a: {kind}) -> {kind} {{
  %0 = stablehlo.{name} %a : {kind}
  return %0 : {kind}
}}"""
    (found,) = CompiledProgram(api.compile(text).module).run("main", [inputs])
    with np.errstate(all="ignore"):
        wanted = reference(inputs.astype(np.clongdouble))
    check(found.real, wanted.real, (inputs,), 0.51)
    check(found.imag, wanted.imag, (inputs,), 0.51)


def test_complex_exponential() -> None:
    parts = np.float32([*SPECIAL, 100, -100, 88.9, 3.1415927, 1.5707964, 1e10])
    inputs = np.empty((len(parts), len(parts)), np.complex64)
    inputs.real, inputs.imag = parts[:, None], parts
    kind = f"tensor<{len(parts)}x{len(parts)}xcomplex<f32>>"
    text = f"""
func.func @main(%a: {kind}) -> {kind} {{
  %0 = stablehlo.exponential %a : {kind}
  return %0 : {kind}
}}"""
    (found,) = CompiledProgram(api.compile(text).module).run("main", [inputs])
    with np.errstate(all="ignore"):
        wanted = np.exp(inputs.astype(np.clongdouble))
    # The sign of such a 0 is nowhere said.
    is_none = np.isneginf(inputs.real) & ~np.isfinite(inputs.imag)
    assert not found[is_none].any()
    found[is_none] = wanted[is_none]
    for one, other in ((found.real, wanted.real), (found.imag, wanted.imag)):
        check(one.ravel(), other.ravel(), (inputs.ravel(),), 0.51)


def test_half_precision() -> None:
    """All `f16` as `f32`, and those next to what lies between two, with NaN and infinity."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        floats = halves.astype(np.float32)
        bits = floats.view(np.uint32)
        near = np.concatenate([bits + step for step in (0xFFF, 0x1000, 0x1001, 0x2001)])
        given = np.concatenate([floats, near.view(np.float32)])
        rounded = given.astype(np.float16)
    count = len(given)
    text = f"""
func.func @widen(%a: tensor<65536xf16>) -> tensor<65536xf32> {{
  %0 = arith.extf %a : tensor<65536xf16> to tensor<65536xf32>
  return %0 : tensor<65536xf32>
}}
func.func @narrow(%a: tensor<{count}xf32>) -> tensor<{count}xf16> {{
  %0 = arith.truncf %a : tensor<{count}xf32> to tensor<{count}xf16>
  return %0 : tensor<{count}xf16>
}}"""
    program = CompiledProgram(api.compile(text).module)
    (wide,) = program.run("widen", [halves])
    (narrow,) = program.run("narrow", [given])
    np.testing.assert_array_equal(wide, floats)
    np.testing.assert_array_equal(narrow, rounded)
    assert np.array_equal(np.signbit(narrow), np.signbit(rounded))
