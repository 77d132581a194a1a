"""Kernels that compute the same share their code, whatever they are bound to."""

from __future__ import annotations

import re

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.runtime.abi.errors import ExecutionError

SIMILAR = """
func.func @main(%a: tensor<70x64xf32>, %b: tensor<64x80xf32>, %c: tensor<70x64xf32>)
    -> (tensor<70x80xf32>, tensor<70x80xf32>, tensor<70x80xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70x80xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<70x80xf32>) -> tensor<70x80xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<70x64xf32>, tensor<64x80xf32>)
      outs(%i : tensor<70x80xf32>) -> tensor<70x80xf32>
  %1 = linalg.matmul ins(%c, %b : tensor<70x64xf32>, tensor<64x80xf32>)
      outs(%i : tensor<70x80xf32>) -> tensor<70x80xf32>
  %k = arith.constant dense<2.0> : tensor<70x80xf32>
  %two = arith.mulf %0, %k : tensor<70x80xf32>
  %l = arith.constant dense<3.0> : tensor<70x80xf32>
  %three = arith.mulf %1, %l : tensor<70x80xf32>
  %again = arith.mulf %two, %l : tensor<70x80xf32>
  return %two, %three, %again : tensor<70x80xf32>, tensor<70x80xf32>, tensor<70x80xf32>
}
"""


def kernels(program: api.Program) -> list[str]:
    """The kernels that a program runs, in their order."""
    return re.findall(r"run @([\w.]+),", program.host_code)


@pytest.mark.parametrize("smallest", [0, 1 << 19], ids=["panels", "loops"])
def test_operands_do_not_matter_and_constants_do(
    smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesh_opt.codegen.host_code.kernel_steps.MIN_PANEL_PRODUCT", smallest)
    monkeypatch.setattr("mesh_opt.codegen.kernels.products.register_tiles.SMALL_OPERAND", 0)
    program = api.compile(SIMILAR)
    *products, two, three, again = kernels(program)
    half = len(products) // 2
    assert products[:half] == products[half:] and (half > 1) == (smallest == 0)
    assert two != three and three == again
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(each) for each in ((70, 64), (64, 80), (70, 64)))
    found = program.main(*(each.astype(np.float32) for each in (a, b, c)))
    for actual, expected in zip(found, (2 * a @ b, 3 * c @ b, 6 * a @ b), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4)


def gather(name: str, indices: str) -> str:
    return f"""
  %{name} = linalg.generic {{
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%{indices} : tensor<3xindex>) outs(%e : tensor<3xf32>) {{
  ^bb0(%k: index, %o: f32):
    %x = tensor.extract %t[%k] : tensor<4xf32>
    linalg.yield %x : f32
  }} -> tensor<3xf32>"""


@pytest.mark.parametrize("wrong", [0, 1])
def test_each_fails_where_it_stands(wrong: int) -> None:
    program = api.compile(f"""
func.func @main(%t: tensor<4xf32>, %i: tensor<3xindex>, %j: tensor<3xindex>)
    -> (tensor<3xf32>, tensor<3xf32>) {{
  %e = tensor.empty() : tensor<3xf32>{gather("a", "i")}{gather("b", "j")}
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}}""")
    indices = [np.array([0, 1, 2]), np.array([0, 1, 2])]
    assert [each.tolist() for each in program.main(np.arange(4, dtype=np.float32), *indices)] == [
        [0, 1, 2],
        [0, 1, 2],
    ]
    indices[wrong] = np.array([0, 9, 2])
    with pytest.raises(ExecutionError, match=rf":{9 + 7 * wrong}:.*has index 9"):
        program.main(np.arange(4, dtype=np.float32), *indices)
