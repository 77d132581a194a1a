"""Bessel functions and their like: Chebyshev series on either side of a border.

Near 0 they are series in x^2, with the logarithm and the pole of those of the second kind apart;
beyond the border in its ratio to x, with waves, exponentials and roots apart. All of it is in f64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import pi
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from .torch_rules import decomposition
from .torch_series import real_type, series

_Function = Callable[[Any], Any]


@cache
def _fitted(function: _Function, degree: int) -> list[float]:
    """The coefficients of a function of numbers from -1 to 1."""
    return [float(each) for each in chebyshev.chebinterpolate(function, degree)]


@cache
def _near_by(function: _Function, border: float, degree: int) -> list[float]:
    """The coefficients of a function of x in 2 (x / border)^2 - 1."""

    def on_series(t: Any) -> Any:
        return function(border * np.sqrt((t + 1) / 2))

    return _fitted(on_series, degree)


@cache
def _far_off(function: _Function, border: float, power: int, degree: int) -> list[float]:
    """The coefficients of a function of x in 2 (border / x)^power - 1."""

    def on_series(t: Any) -> Any:
        return function(border * ((t + 1) / 2) ** (-1 / power))

    return _fitted(on_series, degree)


def _sides(torch: Any, x: Any, border: float, power: int) -> tuple[Any, Any, Any]:
    """Numbers beyond the border, and where series have them: those near 0, and those beyond."""
    size = torch.abs(x)
    beyond = torch.clamp(size, min=border)
    near = 2 * (torch.clamp(size, max=border) / border) ** 2 - 1
    return beyond, near, 2 * (border / beyond) ** power - 1


def _of_reals(name: str, function: Callable[[Any, Any], Any]) -> None:
    """The rule of `name`, computed in f64."""

    @decomposition(f"special_{name}.default")
    def rule(torch: Any, x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        return function(torch, x.to(torch.float64)).to(real_type(torch, x))


# Waves -------------------------------------------------------------------------------------------

_WAVES = 8.0


def _amplitudes(order: int) -> _Function:
    """What the waves beyond the border are multiplied by, as one complex number."""

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


def _waves(torch: Any, x: Any, order: int) -> tuple[Any, Any]:
    """The functions of the first and of the second kind, for numbers from 0."""
    first, second, cosine, sine = _wave_series(order)
    beyond, near, far = _sides(torch, x, _WAVES, 2)
    factor = torch.sqrt(2 / (pi * beyond))
    p, q = series(torch, cosine, far), series(torch, sine, far) / beyond
    angle = beyond - pi * (2 * order + 1) / 4
    j = series(torch, first, near) * x**order
    y = series(torch, second, near) * x**order + 2 / pi * torch.log(x / 2) * j
    if order == 1:
        y = y - 2 / (pi * x)
    far_j = factor * (p * torch.cos(angle) - q * torch.sin(angle))
    far_y = factor * (p * torch.sin(angle) + q * torch.cos(angle))
    return tuple(
        torch.where(x <= _WAVES, near_by, far_off) for near_by, far_off in ((j, far_j), (y, far_y))
    )


def _first_kind(order: int) -> Callable[[Any, Any], Any]:
    def function(torch: Any, x: Any) -> Any:
        found, _ = _waves(torch, torch.abs(x), order)
        found = torch.sign(x) * found if order == 1 else found
        return torch.where(torch.isfinite(x), found, torch.nan)

    return function


def _second_kind(order: int) -> Callable[[Any, Any], Any]:
    def function(torch: Any, x: Any) -> Any:
        _, found = _waves(torch, x, order)
        found = torch.where(x == 0, -torch.inf, found)
        return torch.where(x >= 0, found, torch.nan)

    return function


def _spherical(torch: Any, x: Any) -> Any:
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


def _modified(order: int, scaled: bool) -> Callable[[Any, Any], Any]:
    def function(torch: Any, x: Any) -> Any:
        first, second, decaying = _modified_series(order)
        beyond, near, far = _sides(torch, x, _MODIFIED, 1)
        logarithm = (-1) ** order * torch.log(x / 2) * series(torch, first, near) * x**order
        near_by = series(torch, second, near) / x**order - logarithm
        far_off = series(torch, decaying, far) / torch.sqrt(beyond)
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


@decomposition("special_modified_bessel_i0.default")
def i0(torch: Any, x: Any) -> Any:
    return torch.i0(x)


@decomposition("special_modified_bessel_i1.default")
def i1(torch: Any, x: Any) -> Any:
    return torch.special.i1(x)


# Errors ------------------------------------------------------------------------------------------

_HALFWAY = 3.75
"""Where numbers from 0 to infinity are halved."""


def _scaled_error(t: Any) -> Any:
    x = _HALFWAY * (1 + t) / (1 - t)
    return (1 + 2 * x) * special.erfcx(x)


def _erfcx(torch: Any, x: Any) -> Any:
    size = torch.abs(x)
    place = 1 - 2 * _HALFWAY / (size + _HALFWAY)
    found = series(torch, _fitted(_scaled_error, 30), place) / (1 + 2 * size)
    return torch.where(x < 0, 2 * torch.exp(x * x) - found, found)


_MEDIAN = np.sqrt(2 * np.log(2))
_LEAST = 0.03
"""The least ratio of that root to the one of a probability's logarithm, for numbers in f64."""


def _quantile(t: Any) -> Any:
    root = _MEDIAN / (_LEAST + (1 - _LEAST) * (t + 1) / 2)
    return special.ndtri_exp(-root * root / 2) + root


def _ndtri(torch: Any, x: Any) -> Any:
    """The quantile of a probability by the root of its logarithm, on the side that has less."""
    tail = torch.minimum(x, 1 - x)
    root = torch.sqrt(-2 * torch.log(tail))
    place = 2 * (_MEDIAN / root - _LEAST) / (1 - _LEAST) - 1
    found = series(torch, _fitted(_quantile, 40), place) - root
    found = torch.where(tail == 0, -torch.inf, torch.where(tail > 0, found, torch.nan))
    return torch.where(x > 0.5, -found, found)


_of_reals("erfcx", _erfcx)
_of_reals("ndtri", _ndtri)
