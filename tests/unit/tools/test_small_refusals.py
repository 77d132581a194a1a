"""Odd input to the tools gets a short answer that says what is wrong."""

from __future__ import annotations

import io

import numpy as np
import pytest
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.tools import mesh_run
from mesh_opt.tools.mesh_opt import main


def opt(text: str, *options: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main(list(options), io.StringIO(text), stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


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
    stdout, stderr = io.StringIO(), io.StringIO()
    assert mesh_run.main(["-", "--input=f32=1"], io.StringIO(text), stdout, stderr) == 0
    assert stdout.getvalue().startswith("EXEC @a\\1Bb\n")


def test_one_input_is_no_plural() -> None:
    text = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
    stderr = io.StringIO()
    assert mesh_run.main(["-"], io.StringIO(text), io.StringIO(), stderr) == 1
    assert "@f takes 1 input, got 0" in stderr.getvalue()


def test_errors_are_shown_without_control_characters() -> None:
    text = 'func.func @"a\\1Bb"(%x: f32) -> f32 { return %x : f32 }'
    stderr = io.StringIO()
    assert mesh_run.main(["-"], io.StringIO(text), io.StringIO(), stderr) == 1
    assert "@a\\1Bb takes" in stderr.getvalue()


def test_rank_0_is_no_shape() -> None:
    with pytest.raises(ValueError, match="has rank 0, expected 2"):
        compare(np.zeros(()), np.zeros((2,)))
