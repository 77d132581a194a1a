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


OPEN = """func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  return %x : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (f"--input={'9' * 5000}x2xf32=1", "has type '9"),
        (f"--input={'9' * 3000}x{'9' * 3000}xf32=1", "has type '9"),
        (f"--grid-shape={'9' * 5000}", "is not a shape such as 2x4"),
        (f"--random-extent={'9' * 4000}", "takes an integer of at most 64 bits, not '9"),
        (f"--workers={'9' * 4000}", "takes an integer of at most 64 bits, not '9"),
        ("--workers=100000", "--workers must be at most 4096, found 100000"),
    ],
)
def test_numbers_of_thousands_of_digits(option: str, message: str) -> None:
    code, errors = run(OPEN, option, "--random-inputs=0")
    assert code == 1
    assert message in errors
    assert "internal error" not in errors


def test_shapes_of_too_many_dimensions() -> None:
    rank = 300
    program = f"func.func @main(%x: tensor<{'?x' * rank}f32>) {{ return }}"
    extent = "9" * 18
    for option in (f"--input={f'{extent}x' * rank}f32=1", f"--random-extent={extent}"):
        code, errors = run(program, option, "--random-inputs=0")
        assert code == 1
        assert "more than 64 dimensions" in errors
