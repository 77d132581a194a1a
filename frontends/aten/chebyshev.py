"""Fit and evaluate Chebyshev series on [-1, 1]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from numpy.polynomial import chebyshev


@cache
def fit_series(function: Callable[[Any], Any], degree: int) -> list[float]:
    """Return the Chebyshev coefficients of a function on [-1, 1]."""
    return [float(each) for each in chebyshev.chebinterpolate(function, degree)]


def series(torch: Any, coefficients: Sequence[float], t: Any) -> Any:
    """Evaluate a Chebyshev series at `t` (Clenshaw's algorithm)."""
    last, before = torch.zeros_like(t), torch.zeros_like(t)
    for each in reversed(coefficients[1:]):
        last, before = 2 * t * last - before + each, last
    return t * last - before + coefficients[0]
