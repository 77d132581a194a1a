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

UNFUSED = 0.2
"""What is added where products are rounded before they are added."""

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-42, -1e-42]
PAYLOADS = np.array([0x7FC00003, 0x7FFFFFFF, 0xFFC00002], np.uint32).view(np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    reference, points = FUNCTIONS[name]
    inputs = np.concatenate([points.astype(np.float32), np.float32(SPECIAL), PAYLOADS])
    kind = f"tensor<{len(inputs)}xf32>"
    text = f"""
func.func @main(%a: {kind}) -> {kind} {{
  %0 = math.{name} %a : {kind}
  return %0 : {kind}
}}"""
    (found,) = CompiledProgram(api.compile(text, stages=False).module).run("main", [inputs])
    with np.errstate(all="ignore"):
        wanted = reference(inputs.astype(np.float64))
        exact = wanted.astype(np.float32)
        unit = np.spacing(np.abs(exact))
        error = np.abs(found.astype(np.float64) - wanted) / unit
    is_plain = np.isfinite(exact)
    assert np.array_equal(np.isnan(found), np.isnan(exact))
    assert np.array_equal(found[np.isinf(exact)], exact[np.isinf(exact)])
    assert np.array_equal(np.signbit(found[exact == 0]), np.signbit(exact[exact == 0]))
    worst = np.argmax(np.where(is_plain, error, 0))
    most = MOST.get(name, 1) + (0 if cpu_has("fma") else UNFUSED)
    assert error[worst] < most, (inputs[worst], found[worst], wanted[worst])


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
    program = CompiledProgram(api.compile(text, stages=False).module)
    (wide,) = program.run("widen", [halves])
    (narrow,) = program.run("narrow", [given])
    np.testing.assert_array_equal(wide, floats)
    np.testing.assert_array_equal(narrow, rounded)
    assert np.array_equal(np.signbit(narrow), np.signbit(rounded))
