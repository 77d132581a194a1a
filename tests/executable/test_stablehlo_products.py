"""Contractions of complex numbers in StableHLO, by real and imaginary parts if they are large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from breadth import sampled
from mesh_opt import api

OPERANDS = {
    "both": ("complex<f32>", "complex<f32>"),
    "left": ("complex<f32>", "f32"),
    "right": ("f64", "complex<f64>"),
}


def some(shape: tuple[int, ...], element: str, rng: np.random.Generator) -> Any:
    parts = rng.standard_normal((2, *shape)).astype("f4" if "f32" in element else "f8")
    return parts[0] + 1j * parts[1] if element.startswith("complex") else parts[0]


@pytest.mark.parametrize("name", sampled(list(OPERANDS), 2))
def test_large_complex_products(name: str) -> None:
    """A batch of a^T b, on one device and with the depth split over two."""
    left, right = OPERANDS[name]
    result = next(each for each in (left, right) if "complex" in each)
    types = f"tensor<2x120x75x{left}>", f"tensor<2x120x64x{right}>"
    split = '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}'
    rng = np.random.default_rng(0)
    given = [some((2, 120, n), each, rng) for n, each in ((75, left), (64, right))]
    wide = [each.astype(np.complex128) for each in given]
    expected = np.einsum("bij,bik->bjk", *wide)
    bound = 1e-6 if "f32" in result else 1e-14
    for sharding, pipeline in (("", "spmd"), (split, "spmd"), ("", "compile")):
        text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: {types[0]} {sharding}, %b: {types[1]} {sharding}) -> tensor<2x75x64x{result}> {{
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : ({", ".join(types)}) -> tensor<2x75x64x{result}>
  return %0 : tensor<2x75x64x{result}>
}}"""  # noqa: E501
        program = api.compile(text, pipeline)
        assert "complex.mul" not in program.stages[-1].text
        (found,) = program["main"].run(given)
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound * 120)
