"""Odd input to the tools gets a short answer that says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.interpreter.storage import Resource
from mesh_opt.runtime.abi.compare import compare
from tool_runs import Result, mesh_opt, mesh_run


def opt(text: str, *options: str) -> Result:
    return mesh_opt(*options, text=text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"func.func @f() {{\n  %0 = arith.constant {'1' * 5000} : i32\n  return\n}}",
            "<stdin>:2:23: error: integer constant out of range",
        ),
        (
            "func.func private @f(tensor<99999999999999999999999xf32>)",
            "<stdin>:1:29: error: invalid dimension: it does not fit into 64 bits",
        ),
    ],
)
def test_numbers_that_are_too_large(text: str, message: str) -> None:
    code, _, errors = opt(text)
    assert code == 1
    assert errors.startswith(message)


def test_long_sums_are_printed() -> None:
    terms = " + ".join(["d0"] * 500 + ["-d1", "3", "-4"])
    text = f"func.func private @f() attributes {{m = affine_map<(d0, d1) -> ({terms})>}}"
    code, printed, _ = opt(text)
    assert code == 0
    assert printed.count("d0 + d0") >= 200
    assert opt(printed)[1] == printed


def test_remarks_of_no_category() -> None:
    code, _, errors = opt("module {}", "--remarks=sharding", "--remarks=nonsense")
    assert code == 1
    assert "'nonsense', but sharding, encoding, dispatch, backend, all" in errors


def test_names_are_shown_without_control_characters() -> None:
    text = 'func.func @"a\\1Bb"(%x: f32) -> f32 { return %x : f32 }'
    code, output, _ = mesh_run("-", "--input=f32=1", text=text)
    assert code == 0
    assert output.startswith("EXEC @a\\1Bb\n")


def test_one_input_is_no_plural() -> None:
    text = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
    code, _, errors = mesh_run("-", text=text)
    assert code == 1
    assert "@f takes 1 input, got 0" in errors


def test_errors_are_shown_without_control_characters() -> None:
    text = 'func.func @"a\\1Bb"(%x: f32) -> f32 { return %x : f32 }'
    code, _, errors = mesh_run("-", text=text)
    assert code == 1
    assert "@a\\1Bb takes" in errors


def test_rank_0_is_no_shape() -> None:
    with pytest.raises(ValueError, match="has rank 0, expected 2"):
        compare(np.zeros(()), np.zeros((2,)))


def test_arrays_are_not_compared_with_resources() -> None:
    resource = Resource(np.zeros(2, np.uint8))
    with pytest.raises(ValueError, match="is a resource, expected an array"):
        compare(resource, np.zeros(2))
