"""Loops that set elements of tensors in order: one kernel, as the interpreter runs them."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt import api
from mesh_opt.passes.stablehlo.data_movement import scatter


def loop(body: str, bounds: tuple[int, int, int] = (0, 40, 1), initial: str = "%a1") -> str:
    """A loop that adds an element of `%a2` to one of a tensor, at a place that `body` computes."""
    kind = "tensor<7xf32>"
    low, high, step = bounds
    return function(
        ["tensor<40xi32>", kind, "tensor<40xf32>"],
        f"{kind}, {kind}",
        f"""  %low = arith.constant {low} : index
  %high = arith.constant {high} : index
  %step = arith.constant {step} : index
  %zero = arith.constant 0 : index
  %last = arith.constant 6 : index
  %v = arith.constant -0.0 : f32
  %filled = linalg.fill ins(%v : f32) outs(%a1 : {kind}) -> {kind}
  %0 = scf.for %i = %low to %high step %step iter_args(%t = {initial}) -> ({kind}) {{
    %j = tensor.extract %a0[%i] : tensor<40xi32>
    %k = arith.index_cast %j : i32 to index
    %m = arith.minsi %k, %last : index
    %at = arith.maxsi %m, %zero : index
    %x = tensor.extract %a2[%i] : tensor<40xf32>
    {body}
    scf.yield %n : {kind}
  }}
  return %0, %a1 : {kind}, {kind}""",
    )


ADD = """%old = tensor.extract %t[%at] : tensor<7xf32>
    %s = arith.addf %old, %x : f32
    %n = tensor.insert %s into %t[%at] : tensor<7xf32>"""


@pytest.mark.parametrize(
    "text",
    [
        loop(ADD),
        loop(ADD, initial="%filled"),
        loop(ADD, (3, 38, 9)),
        loop(ADD, (5, 5, 1)),
        # Half of the elements are read where they were set the turn before.
        loop(
            """%b = arith.cmpf olt, %x, %v : f32
    %old = tensor.extract %t[%zero] : tensor<7xf32>
    %s = scf.if %b -> (f32) {
      %other = tensor.extract %t[%at] : tensor<7xf32>
      %p = arith.mulf %other, %x : f32
      scf.yield %p : f32
    } else {
      scf.yield %old : f32
    }
    %n = tensor.insert %s into %t[%at] : tensor<7xf32>"""
        ),
    ],
)
def test_kernel(text: str, written: list[str]) -> None:
    """Updates of one element come in order; the initial values are still there afterwards."""
    rng = np.random.default_rng(5)
    places = rng.integers(-2, 9, 40).astype(np.int32)
    values = (1e8 * rng.standard_normal(40)).astype(np.float32)
    values[[3, 9, 20]] = [np.nan, np.inf, -0.0]
    check(text, [places, np.full(7, 1e-42, np.float32), values])
    assert written


@pytest.mark.parametrize(
    "body",
    [
        # The old tensor is read after it was set.
        """%n = tensor.insert %x into %t[%at] : tensor<7xf32>
    %old = tensor.extract %t[%at] : tensor<7xf32>""",
        # An element of another tensor is set.
        "%n = tensor.insert %x into %a1[%at] : tensor<7xf32>",
        # Two new versions are made of one.
        """%w = tensor.insert %x into %t[%zero] : tensor<7xf32>
    %n = tensor.insert %x into %t[%at] : tensor<7xf32>""",
    ],
)
@pytest.mark.parametrize("size", [7, 17])
def test_no_kernel(body: str, size: int, written: list[str]) -> None:
    """A tensor is not updated in place; if it is small, its elements are variables."""
    rng = np.random.default_rng(5)
    numbers = map(np.float32, (np.ones(size), range(40)))
    text = (
        loop(body).replace("7xf32", f"{size}xf32").replace("constant 6 :", f"constant {size - 1} :")
    )
    check(text, [rng.integers(0, size, 40).astype(np.int32), *numbers])
    assert bool(written) == (size < 16)


@pytest.mark.parametrize(("place", "message"), [(7, "index 7 .* dimension 0"), (6, None)])
def test_unproven_index(place: int, message: str | None, written: list[str]) -> None:
    """An index that is data is checked by the kernel, which says what is wrong with it."""
    text = loop("%n = tensor.insert %x into %t[%k] : tensor<7xf32>")
    inputs = [np.full(40, place, np.int32), np.ones(7, np.float32), np.ones(40, np.float32)]
    if message is None:
        check(text, inputs)
    else:
        main = api.compile(text)["main"]
        with pytest.raises(api.ExecutionError, match=message):
            main.reference(inputs)
        with pytest.raises(api.ExecutionError, match=message):
            main(*inputs)
    assert written


SCATTER = """
func.func @main(%a0: tensor<5x3xf32>, %a1: tensor<9x4x2xi32>, %a2: tensor<9x4xf32>) -> tensor<5x3xf32> {
  %0 = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %s = stablehlo.subtract %new, %old : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<9x4x2xi32>, tensor<9x4xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}"""  # noqa: E501


def test_scatter(written: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Single elements are set in order, those outside of the tensor not at all."""
    rng = np.random.default_rng(6)
    table, places = rng.standard_normal((5, 3)), rng.integers(-2, 6, (9, 4, 2))
    values = rng.standard_normal((9, 4))
    expected = table.astype(np.float32)
    for place, value in zip(places.reshape(-1, 2), np.float32(values).reshape(-1), strict=True):
        column, row = place
        if 0 <= row < 5 and 0 <= column < 3:
            expected[row, column] = value - expected[row, column]
    inputs = [table.astype(np.float32), places.astype(np.int32), values.astype(np.float32)]
    for most in (0, 1 << 20):
        monkeypatch.setattr(scatter, "MAX_SINGLE_ELEMENT_POINTS", most)
        program = api.compile(SCATTER, "spmd")
        np.testing.assert_array_equal(program["main"](*inputs), expected)
        assert bool(written) == (most == 0)
        written.clear()
