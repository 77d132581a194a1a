"""Evaluate the orthogonal polynomials of PyTorch by their three-term recurrences.

    p[k + 1](x) = ((a(k) x + b(k)) p[k](x) - c(k) p[k - 1](x)) / d(k)

Each element has its own degree. The loop runs to the highest degree; elements that have reached
theirs keep their value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .inline_mlir import emit_elementwise
from .rules import decomposition, torch

_Line = tuple[float, float]
"""A coefficient that is linear in the degree: its value at degree 0, and its slope."""


class _Family(NamedTuple):
    first: _Line
    """The polynomial of degree 1: its value at 0, and its slope. That of degree 0 is 1."""
    a: _Line = (2, 0)
    b: _Line = (0, 0)
    c: _Line = (1, 0)
    d: _Line = (1, 0)


_FAMILIES = {
    "chebyshev_polynomial_t": _Family((0, 1)),
    "chebyshev_polynomial_u": _Family((0, 2)),
    "chebyshev_polynomial_v": _Family((-1, 2)),
    "chebyshev_polynomial_w": _Family((1, 2)),
    "hermite_polynomial_h": _Family((0, 2), c=(0, 2)),
    "hermite_polynomial_he": _Family((0, 1), a=(1, 0), c=(0, 1)),
    "laguerre_polynomial_l": _Family((1, -1), a=(-1, 0), b=(1, 2), c=(0, 1), d=(1, 1)),
    "legendre_polynomial_p": _Family((0, 1), a=(1, 2), c=(0, 1), d=(1, 1)),
}

_LOOP = """
%one = "chlo.constant_like"(%a0) <{{{{value = 1.0 : {kind}}}}}> : ({{r}}) -> {{r}}
%none = stablehlo.constant dense<0.0> : tensor<{kind}>
%w:3 = stablehlo.while(%k = %one, %p = %one, %q = %a0) : {{r}}, {{r}}, {{r}}
cond {{{{
  %left = stablehlo.subtract %a2, %k : {{r}}
  %most = stablehlo.reduce(%left init: %none) applies stablehlo.maximum across dimensions = {dims}
    : ({{r}}, tensor<{kind}>) -> tensor<{kind}>
  %more = stablehlo.compare GT, %most, %none : (tensor<{kind}>, tensor<{kind}>) -> tensor<i1>
  stablehlo.return %more : tensor<i1>
}}}} do {{{{
  {lines}
  %ax = stablehlo.multiply %a, %a1 : {{r}}
  %sum = stablehlo.add %ax, %b : {{r}}
  %last = stablehlo.multiply %sum, %q : {{r}}
  %before = stablehlo.multiply %c, %p : {{r}}
  %both = stablehlo.subtract %last, %before : {{r}}
  %next = stablehlo.divide %both, %d : {{r}}
  %less = stablehlo.compare LT, %k, %a2 : ({{r}}, {{r}}) -> {{3}}
  %p1 = stablehlo.select %less, %q, %p : {{3}}, {{r}}
  %q1 = stablehlo.select %less, %next, %q : {{3}}, {{r}}
  %k1 = stablehlo.add %k, %one : {{r}}
  stablehlo.return %k1, %p1, %q1 : {{r}}, {{r}}, {{r}}
}}}}
%r = stablehlo.select %a3, %w#2, %one : {{3}}, {{r}}
"""

_LINE = """
  %{name}_start = "chlo.constant_like"(%k) <{{{{value = {start:.1f} : {kind}}}}}> : ({{r}}) -> {{r}}
  %{name}_step = "chlo.constant_like"(%k) <{{{{value = {step:.1f} : {kind}}}}}> : ({{r}}) -> {{r}}
  %{name}_more = stablehlo.multiply %{name}_step, %k : {{r}}
  %{name} = stablehlo.add %{name}_start, %{name}_more : {{r}}
"""


def _polynomial(family: _Family, x: Any, n: Any, shifted: bool) -> Any:
    """Evaluate the polynomial of degree trunc(n) at `x`; 0 for negative degrees."""
    dtype = torch.result_type(x, n)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    x, n = (
        each.to(dtype) if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, n)
    )
    x, n = torch.broadcast_tensors(x, torch.trunc(n))
    x = 2 * x - 1 if shifted else x
    kind = "f64" if dtype == torch.float64 else "f32"
    lines = "".join(
        _LINE.format(name=name, kind=kind, start=start, step=step)
        for name, (start, step) in zip("abcd", family[1:], strict=True)
    )
    body = _LOOP.format(kind=kind, dims=list(range(x.dim())), lines=lines)
    start, slope = family.first
    found = emit_elementwise(body, slope * x + start, x, n, n > 0)
    return torch.where(n < 0, 0.0, found)


def _rule(name: str, family: _Family, shifted: bool = False) -> None:
    @decomposition(*(f"special_{name}.{each}" for each in ("default", "x_scalar", "n_scalar")))
    def rule(x: Any, n: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        return _polynomial(family, x, n, shifted)


for _name, _family in _FAMILIES.items():
    _rule(_name, _family)
    if _name.startswith("chebyshev"):
        _rule(f"shifted_{_name}", _family, shifted=True)
