"""Decompose Bessel and related functions to Chebyshev series on either side of a border.

Near 0 they are series in x^2; the logarithm and the pole of functions of the second kind are
separate terms. Beyond the border they are series in (border / x)^power, with oscillating,
exponential and root factors taken out. These computations are in f64. `i0` and `i0e` have series
of their own, in the type of the operand:

    i0e(x)  ->  c0 / 2 + c1 T1(x / 4 - 1) + c2 T2(x / 4 - 1) + ...    for |x| <= 8

Beyond 8 the series is of `sqrt(x) i0e(x)` in `16 / x - 1`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import pi
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from .rules import as_real, decomposition, real_type, torch


@cache
def fit_series(function: Callable[[Any], Any], degree: int) -> list[float]:
    """Return the Chebyshev coefficients of a function on [-1, 1]."""
    return [float(each) for each in chebyshev.chebinterpolate(function, degree)]


def series(coefficients: Sequence[float], t: Any) -> Any:
    """Evaluate a Chebyshev series at `t` (Clenshaw's algorithm)."""
    last, before = torch.zeros_like(t), torch.zeros_like(t)
    for each in reversed(coefficients[1:]):
        last, before = 2 * t * last - before + each, last
    return t * last - before + coefficients[0]


_Function = Callable[[Any], Any]


@cache
def _near_by(function: _Function, border: float, degree: int) -> list[float]:
    """Return the coefficients of a function of x in 2 (x / border)^2 - 1, for 0 <= x <= border."""

    def on_series(t: Any) -> Any:
        return function(border * np.sqrt((t + 1) / 2))

    return fit_series(on_series, degree)


@cache
def _far_off(function: _Function, border: float, power: int, degree: int) -> list[float]:
    """Return the coefficients of a function of x in 2 (border / x)^power - 1, beyond the border."""

    def on_series(t: Any) -> Any:
        return function(border * ((t + 1) / 2) ** (-1 / power))

    return fit_series(on_series, degree)


def _sides(x: Any, border: float, power: int) -> tuple[Any, Any, Any]:
    """Return |x| clamped to the border, and the series arguments for |x| near 0 and beyond it."""
    size = torch.abs(x)
    beyond = torch.clamp(size, min=border)
    near = 2 * (torch.clamp(size, max=border) / border) ** 2 - 1
    return beyond, near, 2 * (border / beyond) ** power - 1


def _of_reals(name: str, function: Callable[[Any], Any]) -> None:
    """Register the rule of `special_<name>`, computed in f64."""

    @decomposition(f"special_{name}.default")
    def rule(x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        return function(x.to(torch.float64)).to(real_type(x))


# Waves -------------------------------------------------------------------------------------------

_WAVES = 8.0


def _amplitudes(order: int) -> _Function:
    """Return the amplitude of the cosine (real) and sine (imaginary) waves beyond the border."""

    def function(x: Any) -> Any:
        turned = special.hankel1e(order, x) * np.exp(1j * pi * (2 * order + 1) / 4)
        return turned * np.sqrt(pi * x / 2)

    return function


@cache
def _wave_series(order: int) -> tuple[list[float], ...]:
    amplitudes = _amplitudes(order)

    def cosine(x: Any) -> Any:
        return amplitudes(x).real

    def sine(x: Any) -> Any:
        return amplitudes(x).imag * x

    def first(x: Any) -> Any:
        return special.jv(order, x) / x**order

    def second(x: Any) -> Any:
        rest = special.yv(order, x) - 2 / pi * np.log(x / 2) * special.jv(order, x)
        return rest if order == 0 else (rest + 2 / (pi * x)) / x

    return (
        _near_by(first, _WAVES, 26),
        _near_by(second, _WAVES, 26),
        _far_off(cosine, _WAVES, 2, 24),
        _far_off(sine, _WAVES, 2, 24),
    )


def _waves(x: Any, order: int) -> tuple[Any, Any]:
    """Return the functions of the first and of the second kind for x >= 0."""
    first, second, cosine, sine = _wave_series(order)
    beyond, near, far = _sides(x, _WAVES, 2)
    factor = torch.sqrt(2 / (pi * beyond))
    p, q = series(cosine, far), series(sine, far) / beyond
    angle = beyond - pi * (2 * order + 1) / 4
    j = series(first, near) * x**order
    y = series(second, near) * x**order + 2 / pi * torch.log(x / 2) * j
    if order == 1:
        y = y - 2 / (pi * x)
    far_j = factor * (p * torch.cos(angle) - q * torch.sin(angle))
    far_y = factor * (p * torch.sin(angle) + q * torch.cos(angle))
    return tuple(
        torch.where(x <= _WAVES, near_by, far_off) for near_by, far_off in ((j, far_j), (y, far_y))
    )


def _first_kind(order: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        found, _ = _waves(torch.abs(x), order)
        found = torch.sign(x) * found if order == 1 else found
        return torch.where(torch.isfinite(x), found, torch.nan)

    return function


def _second_kind(order: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        _, found = _waves(x, order)
        found = torch.where(x == 0, -torch.inf, found)
        return torch.where(x >= 0, found, torch.nan)

    return function


def _spherical(x: Any) -> Any:
    found = torch.where(x == 0, 1.0, torch.sin(x) / x)
    return torch.where(torch.isinf(x), 0.0, found)


# Modified ones -----------------------------------------------------------------------------------

_MODIFIED = 2.0


@cache
def _modified_series(order: int) -> tuple[list[float], ...]:
    def first(x: Any) -> Any:
        return special.iv(order, x) / x**order

    def second(x: Any) -> Any:
        logarithm = (-1) ** order * np.log(x / 2) * special.iv(order, x)
        return (special.kv(order, x) + logarithm) * x**order

    def decaying(x: Any) -> Any:
        return special.kve(order, x) * np.sqrt(x)

    return (
        _near_by(first, _MODIFIED, 16),
        _near_by(second, _MODIFIED, 16),
        _far_off(decaying, _MODIFIED, 1, 30),
    )


def _modified(order: int, scaled: bool) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        first, second, decaying = _modified_series(order)
        beyond, near, far = _sides(x, _MODIFIED, 1)
        logarithm = (-1) ** order * torch.log(x / 2) * series(first, near) * x**order
        near_by = series(second, near) / x**order - logarithm
        far_off = series(decaying, far) / torch.sqrt(beyond)
        if scaled:
            near_by = near_by * torch.exp(x)
        else:
            far_off = far_off * torch.exp(-beyond)
        found = torch.where(x <= _MODIFIED, near_by, far_off)
        return torch.where(x > 0, found, torch.where(x == 0, torch.inf, torch.nan))

    return function


for _order in (0, 1):
    _of_reals(f"bessel_j{_order}", _first_kind(_order))
    _of_reals(f"bessel_y{_order}", _second_kind(_order))
    _of_reals(f"modified_bessel_k{_order}", _modified(_order, scaled=False))
    _of_reals(f"scaled_modified_bessel_k{_order}", _modified(_order, scaled=True))
_of_reals("spherical_bessel_j0", _spherical)


@cache
def _scaled_coefficients(function: Callable[[Any], Any], degree: int, far: bool) -> list[float]:
    """Return the series of a function on [0, 8], or (`far`) of its product with sqrt(x) beyond."""

    def near_by(t: Any) -> Any:
        return function(4 * (t + 1))

    def far_off(t: Any) -> Any:
        x = 16 / (t + 1)
        return function(x) * np.sqrt(x)

    return fit_series(far_off if far else near_by, degree)


def _scaled_bessel(x: Any, function: Callable[[Any], Any]) -> Any:
    x = as_real(x)
    wide = x if x.dtype == torch.float64 else x.to(torch.float32)
    degrees = (36, 30) if wide.dtype == torch.float64 else (22, 12)
    size = torch.abs(wide)
    near_by = series(_scaled_coefficients(function, degrees[0], False), size / 4 - 1)
    beyond = torch.clamp(size, min=8)
    far_off = series(_scaled_coefficients(function, degrees[1], True), 16 / beyond - 1)
    found = torch.where(size <= 8, near_by, far_off / torch.sqrt(beyond))
    return torch.where(torch.isnan(wide), wide, found)


@decomposition("special_i0e.default")
def i0e(x: Any) -> Any:
    return _scaled_bessel(x, special.i0e).to(real_type(x))


@decomposition("i0.default", "special_i0.default", "special_modified_bessel_i0.default")
def i0(x: Any) -> Any:
    return (_scaled_bessel(x, special.i0e) * torch.exp(torch.abs(x))).to(real_type(x))


@decomposition("kaiser_window.default", "kaiser_window.periodic", "kaiser_window.beta")
def kaiser_window(
    size: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, **options: Any
) -> Any:
    """Return `i0(beta sqrt(1 - t^2)) / i0(beta)` at places t from -1 to 1, computed in f64."""
    dtype = dtype or torch.get_default_dtype()
    if size <= 1:
        return torch.ones(size, dtype=dtype)
    last = size if periodic else size - 1
    places = torch.arange(size, dtype=torch.float64) * (2 / last) - 1
    root = beta * torch.sqrt(torch.clamp(1 - places * places, min=0))
    return (i0(root) / float(special.i0(beta))).to(dtype)


@decomposition("special_i1.default", "special_modified_bessel_i1.default")
def i1(x: Any) -> Any:
    return torch.ops.aten.special_i1e(x) * torch.exp(torch.abs(x))


# Errors ------------------------------------------------------------------------------------------

_HALFWAY = 3.75
"""The number that maps to the centre of the series when [0, infinity] maps to [-1, 1]."""


def _scaled_error(t: Any) -> Any:
    x = _HALFWAY * (1 + t) / (1 - t)
    return (1 + 2 * x) * special.erfcx(x)


def _erfcx(x: Any) -> Any:
    size = torch.abs(x)
    place = 1 - 2 * _HALFWAY / (size + _HALFWAY)
    found = series(fit_series(_scaled_error, 30), place) / (1 + 2 * size)
    return torch.where(x < 0, 2 * torch.exp(x * x) - found, found)


_MEDIAN = np.sqrt(2 * np.log(2))
_MIN_RATIO = 0.03
"""The least ratio of `_MEDIAN` to sqrt(-2 log p), over probabilities p in f64."""


def _quantile(t: Any) -> Any:
    root = _MEDIAN / (_MIN_RATIO + (1 - _MIN_RATIO) * (t + 1) / 2)
    return special.ndtri_exp(-root * root / 2) + root


def _ndtri(x: Any) -> Any:
    """Compute the quantile of a probability from sqrt(-2 log p) of the smaller tail p."""
    tail = torch.minimum(x, 1 - x)
    root = torch.sqrt(-2 * torch.log(tail))
    place = 2 * (_MEDIAN / root - _MIN_RATIO) / (1 - _MIN_RATIO) - 1
    found = series(fit_series(_quantile, 40), place) - root
    found = torch.where(tail == 0, -torch.inf, torch.where(tail > 0, found, torch.nan))
    return torch.where(x > 0.5, -found, found)


_of_reals("erfcx", _erfcx)
_of_reals("ndtri", _ndtri)
