"""Products of a large matrix and a few columns, whose sums have many terms."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt.codegen.kernels.elements.kernel_text import TileCount
from mesh_opt.codegen.kernels.products.deep import DeepProduct

ORDERS = {
    "a*b": ("ik", "kj", "ij"),
    "a*b^T": ("ik", "jk", "ij"),
    "(a*b)^T": ("ik", "kj", "ji"),
    "b^T*a^T": ("kj", "ik", "ji"),
    "a^T*b": ("ki", "kj", "ij"),
}
"""The indices of the operands and of the result."""


def product(order: str, rows: int, columns: int, terms: int, element: str = "f32") -> str:
    sizes = {"i": rows, "j": columns, "k": terms}
    types = [
        f"tensor<{'x'.join(str(sizes[each]) for each in indices)}x{element}>"
        for indices in ORDERS[order]
    ]
    maps = ", ".join(
        f"affine_map<(i, j, k) -> ({', '.join(indices)})>" for indices in ORDERS[order]
    )
    body = f"""  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a0, %a1 : {types[0]}, {types[1]}) outs(%a2 : {types[2]}) {{
  ^bb0(%x: {element}, %y: {element}, %s: {element}):
    %p = arith.mulf %x, %y : {element}
    %t = arith.addf %s, %p : {element}
    linalg.yield %t : {element}
  }} -> {types[2]}
  return %r : {types[2]}"""
    return function(types, types[2], body)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[TileCount]:
    """The kernels that are written as deep products."""
    found: list[TileCount] = []
    write = DeepProduct.write

    def record(self: DeepProduct) -> TileCount:
        found.append(write(self))
        return found[-1]

    monkeypatch.setattr(DeepProduct, "write", record)
    return found


@pytest.mark.parametrize(
    ("order", "rows", "columns", "terms", "element"),
    [
        ("a*b", 509, 3, 263, "f32"),
        ("a*b", 256, 4, 256, "f32"),
        ("a*b", 267, 2, 1021, "f64"),
        ("a*b^T", 509, 3, 263, "f32"),
        ("a*b^T", 258, 2, 257, "f64"),
        ("(a*b)^T", 261, 4, 300, "f32"),
        ("b^T*a^T", 300, 4, 511, "f32"),
        ("b^T*a^T", 1031, 18, 72, "f32"),
    ],
)
def test_agrees_with_the_interpreter(
    written: list[TileCount], order: str, rows: int, columns: int, terms: int, element: str
) -> None:
    check(product(order, rows, columns, terms, element))
    assert written


def test_special_numbers(written: list[TileCount]) -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(-3, 4, (301, 259)).astype(np.float32)
    right = rng.integers(-3, 4, (259, 3)).astype(np.float32)
    initial = np.full((301, 3), -0.0, np.float32)
    several: list[list[np.ndarray]] = []
    for special in (np.nan, np.inf, -0.0, 1e-45):
        left[-1, -1] = left[0, 0] = special
        several.append([left.copy(), right, initial])
    check(product("a*b", 301, 3, 259), *several)
    assert written


@pytest.mark.parametrize(
    ("order", "rows", "columns", "terms"),
    [
        ("a*b", 512, 3, 255),
        ("a*b", 512, 1, 512),
        ("a*b", 200, 3, 256),
        ("b^T*a^T", 1000, 20, 70),
        ("a*b", 509, 33, 512),
        ("a^T*b", 509, 3, 512),
    ],
)
def test_others_are_no_deep_products(
    written: list[TileCount], order: str, rows: int, columns: int, terms: int
) -> None:
    check(product(order, rows, columns, terms))
    assert not written
