"""mesh-run on sizes that are negative, or that nobody can hold: an error, on every backend."""

from __future__ import annotations

import re

import pytest
from tool_runs import mesh_run

BACKENDS = ("interpreter", "native")

EMPTY = """func.func @main(%n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
"""

SPLAT = """func.func @main(%n: index, %x: f32) -> tensor<?xf32> {
  %e = tensor.splat %x[%n] : tensor<?xf32>
  return %e : tensor<?xf32>
}
"""

STATIC = """func.func @main() -> tensor<2xf32> {
  %e = tensor.empty() : tensor<4611686018427387904x4xf32>
  %s = tensor.extract_slice %e[0, 0] [1, 2] [1, 1]
    : tensor<4611686018427387904x4xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}
"""

ARGUMENT = "func.func @main(%x: tensor<4611686018427387904x4xf32>) { return }"


def run(program: str, *arguments: str) -> tuple[int, str]:
    code, _, errors = mesh_run("-", *arguments, text=program)
    return code, errors


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("program", "arguments"), [(EMPTY, ("--input=-5",)), (SPLAT, ("--input=-5", "--input=1"))]
)
def test_negative(program: str, arguments: tuple[str, ...], backend: str) -> None:
    code, errors = run(program, *arguments, f"--backend={backend}")
    assert code == 1
    assert "<stdin>:2:8: error" in errors
    assert "has the negative size -5" in errors


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (EMPTY, ("--input=9223372036854775807",)),
        (EMPTY, ("--input=2305843009213693952",)),
        (STATIC, ()),
    ],
)
def test_too_much(program: str, arguments: tuple[str, ...], backend: str) -> None:
    code, errors = run(program, *arguments, f"--backend={backend}")
    assert code == 1
    assert "internal error" not in errors
    assert re.search(
        r"<stdin>:\d+:\d+: error: .*(is out of memory|which is too large for memory)", errors
    ), errors


def test_random_inputs_that_cannot_be_held() -> None:
    code, errors = run(ARGUMENT, "--random-inputs=0")
    assert code == 1
    assert "argument 0 has 18446744073709551616 elements, more than can be held" in errors
