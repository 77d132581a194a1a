"""Map special functions of PyTorch to operations of CHLO, and to loops over series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import gamma
from typing import Any

from .inline_mlir import emit_elementwise, emit_inline_mlir
from .rules import as_real, broadcast, decomposition, in_f32, is_narrow, torch

_FUNCTIONS = {
    "erfc": "chlo.erfc",
    "erfinv": "chlo.erf_inv",
    "lgamma": "chlo.lgamma",
    "special_i1e": "chlo.bessel_i1e",
}


def _real_function(name: str, operation: str) -> None:
    @decomposition(f"{name}.default")
    def rule(x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        x = as_real(x)
        return emit_elementwise(f"%r = {operation} %a0 : {{0}} -> {{r}}", x)


for _name, _operation in _FUNCTIONS.items():
    _real_function(_name, _operation)


@decomposition("digamma.default")
def digamma(x: Any) -> Any:
    x = as_real(x)
    found = emit_elementwise("%r = chlo.digamma %a0 : {0} -> {r}", x)
    # At 0, PyTorch returns a signed infinity; CHLO's result is undefined.
    return torch.where(x == 0, -1 / x, found)


def _times_log(names: Sequence[str], log: str) -> None:
    @decomposition(*names)
    def rule(x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Multiply in the common float type: PyTorch's rules make operations without a conversion.

        0 times a logarithm is 0, except for NaN.
        """
        x, y = (as_real(each) for each in broadcast(x, y))
        found = torch.where(x == 0, torch.zeros_like(x), x * getattr(torch, log)(y))
        return torch.where(torch.isnan(y), y, found)


_forms = ("Tensor", "Scalar_Self", "Scalar_Other")
_times_log([f"xlogy.{each}" for each in _forms], "log")
_times_log(
    [f"special_xlog1py.{each}" for each in ("default", "self_scalar", "other_scalar")], "log1p"
)


def _of_pairs(operation: str, x: Any, y: Any) -> Any:
    x, y = torch.broadcast_tensors(as_real(x), as_real(y))
    body = f"%r = {operation} %a0, %a1 : {{0}}, {{1}} -> {{r}}"
    return emit_elementwise(body, x, y)


@decomposition("special_zeta.default")
def zeta(x: Any, y: Any) -> Any:
    found = _of_pairs("chlo.zeta", x, y)
    # CHLO's result is undefined at the poles.
    poles = torch.where(torch.as_tensor(x) < 1, torch.nan, torch.inf)
    return torch.where((y <= 0) & (y == torch.floor(y)) & (x != 1), poles, found)


@decomposition("polygamma.default")
def polygamma(n: int, x: Any) -> Any:
    if n == 0:
        return digamma(x)
    if is_narrow(x):
        return in_f32(partial(polygamma, n), x)
    x = as_real(x)
    if n > 1:
        # CHLO takes the logarithm of the zeta function, which may be negative below 0.
        factor = gamma(n + 1) if n < 171 else torch.inf
        return (factor if n % 2 else -factor) * zeta(torch.full_like(x, n + 1), x)
    # CHLO's series is for x > 0. Reflect: t(x) = pi^2 / sin(pi x)^2 - t(1 - x).
    below = x < 0.5
    found = _of_pairs("chlo.polygamma", torch.ones_like(x), torch.where(below, 1 - x, x))
    mirrored = (torch.pi / torch.sin(torch.pi * x)) ** 2 - found
    return torch.where(x == torch.inf, 0.0, torch.where(below, mirrored, found))


# Incomplete gamma functions ----------------------------------------------------------------------

_MAX_TERMS = 20_000
"""The maximum number of terms of the series or the fraction; 10,000 are enough up to a = 10^6."""


@dataclass(frozen=True)
class _Iteration:
    """A sequence of partial results, which a loop computes until they do not change any more.

    - `starts`: the first values of what a step changes; `%s` is the partial result;
    - `before`: operations that compute first values;
    - `step`: operations that compute `%n1` and, for each `%x` of `starts`, the next value `%x1`;
      `%change` is the relative change of the partial result.
    """

    starts: Mapping[str, str]
    step: str
    before: str = ""


_SERIES = _Iteration(
    {"c": "%ones", "s": "%ones"},
    """%n1 = stablehlo.add %n, %one : tensor<f64>
%nb = stablehlo.broadcast_in_dim %n1, dims = [] : (tensor<f64>) -> {0}
%next = stablehlo.add %a0, %nb : {0}
%ratio = stablehlo.divide %a1, %next : {0}
%c1 = stablehlo.multiply %c, %ratio : {0}
%s1 = stablehlo.add %s, %c1 : {0}
%change = stablehlo.divide %c1, %s1 : {0}
""",
)
"""A step of 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...: `%c` is the term, `%s` the sum."""

_FRACTION = _Iteration(
    {"b": "%b0", "c": "%huge", "d": "%d0", "s": "%d0"},
    """%n1 = stablehlo.add %n, %one : tensor<f64>
%nb = stablehlo.broadcast_in_dim %n1, dims = [] : (tensor<f64>) -> {0}
%rest = stablehlo.subtract %a0, %nb : {0}
%an = stablehlo.multiply %nb, %rest : {0}
%b1 = stablehlo.add %b, %two : {0}
%dn = stablehlo.multiply %an, %d : {0}
%de = stablehlo.add %dn, %b1 : {0}
%d1 = stablehlo.divide %ones, %de : {0}
%cn = stablehlo.divide %an, %c : {0}
%c1 = stablehlo.add %b1, %cn : {0}
%factor = stablehlo.multiply %c1, %d1 : {0}
%s1 = stablehlo.multiply %s, %factor : {0}
%away = stablehlo.subtract %factor, %ones : {0}
%change = stablehlo.abs %away : {0}
""",
    """%two = stablehlo.constant dense<2.0> : {0}
%above = stablehlo.add %a1, %ones : {0}
%b0 = stablehlo.subtract %above, %a0 : {0}
%d0 = stablehlo.divide %ones, %b0 : {0}
%huge = stablehlo.constant dense<1.0e300> : {0}
""",
)
"""A step of Lentz's method for 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...))."""


def _repeated(iteration: _Iteration, a: Any, x: Any) -> Any:
    """Repeat a step until no element changes by more than a rounding error; return `%s`."""
    starts = iteration.starts
    carried = ", ".join(f"%{name} = {value}" for name, value in starts.items())
    results, types = len(starts) + 2, ", {0}" * len(starts)
    last = list(starts).index("s") + 2
    body = f"""%zero = stablehlo.constant dense<0.0> : tensor<f64>
%one = stablehlo.constant dense<1.0> : tensor<f64>
%least = stablehlo.constant dense<1.0e-16> : tensor<f64>
%most = stablehlo.constant dense<{_MAX_TERMS}.0> : tensor<f64>
%ones = stablehlo.constant dense<1.0> : {{0}}
{iteration.before}
%w:{results} = stablehlo.while(%n = %zero, %t = %one, {carried}) : tensor<f64>, tensor<f64>{types}
cond {{{{
  %changes = stablehlo.compare GT, %t, %least : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %few = stablehlo.compare LT, %n, %most : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %go = stablehlo.and %changes, %few : tensor<i1>
  stablehlo.return %go : tensor<i1>
}}}} do {{{{
  {iteration.step}%t1 = stablehlo.reduce(%change init: %zero) applies stablehlo.maximum
    across dimensions = [0] : ({{0}}, tensor<f64>) -> tensor<f64>
  stablehlo.return %n1, %t1, {", ".join(f"%{name}1" for name in starts)}
    : tensor<f64>, tensor<f64>{types}
}}}}
%r = stablehlo.optimization_barrier %w#{last} : {{r}}"""
    return emit_inline_mlir(body, x.shape, x.dtype, a, x)


def _incomplete_gamma(a: Any, x: Any, upper: bool) -> Any:
    """Sum the series of the lower function up to x = a + 1, beyond it the fraction of the upper."""
    dtype = torch.promote_types(a.dtype, x.dtype)
    a, x = torch.broadcast_tensors(a.to(torch.float64), x.to(torch.float64))
    shape = x.shape
    a, x = a.reshape(-1), x.reshape(-1)
    inside = (a > 0) & (x > 0) & (a < torch.inf) & (x < torch.inf)
    by_series = inside & (x < a + 1)
    by_fraction = inside & (x >= a + 1)
    # Elements of the other formula converge at once, so that they do not prolong the loop.
    series = _repeated(
        _SERIES,
        torch.where(by_series, a, 1.0),
        torch.where(by_series, x, 0.0),
    )
    fraction = _repeated(
        _FRACTION,
        torch.where(by_fraction, a, 1.0),
        torch.where(by_fraction, x, 2.0),
    )
    safe_a, safe_x = torch.where(inside, a, 1.0), torch.where(inside, x, 1.0)
    factor = torch.exp(safe_a * torch.log(safe_x) - safe_x - torch.lgamma(safe_a))
    series, fraction = series * factor / safe_a, fraction * factor
    lower = torch.where(by_series, series, 1 - fraction)
    found = torch.where(by_series, 1 - series, fraction) if upper else lower
    # The limits: nothing is below 0, and everything below infinity. The last case counts.
    none, every = (1.0, 0.0) if upper else (0.0, 1.0)
    found = torch.where(inside, found, torch.nan)
    found = torch.where(x == torch.inf, every, found)
    found = torch.where(a == torch.inf, torch.where(x == torch.inf, torch.nan, none), found)
    found = torch.where(x == 0, none, found)
    found = torch.where(a == 0, torch.where(x > 0, every, torch.nan), found)
    return torch.where((a < 0) | (x < 0), torch.nan, found).reshape(shape).to(dtype)


@decomposition("igamma.default", "special_gammainc.default")
def igamma(a: Any, x: Any) -> Any:
    return _incomplete_gamma(a, x, upper=False)


@decomposition("igammac.default", "special_gammaincc.default")
def igammac(a: Any, x: Any) -> Any:
    return _incomplete_gamma(a, x, upper=True)
