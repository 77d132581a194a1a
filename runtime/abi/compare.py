"""Compare results: how far two arrays differ, and how far they may differ for their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import (
    Array,
    Value,
    count_undefined,
    is_float_dtype,
    is_number,
    shape_phrase,
    shape_text,
)

_TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-12, 1e-10),
    "complex128": (1e-12, 1e-10),
    "float32": (1e-5, 1e-4),
    "complex64": (1e-5, 1e-4),
    "float16": (1e-3, 1e-2),
    "bfloat16": (1e-2, 5e-2),
}
_NARROWEST = (0.1, 0.25)
"""(absolute, relative) for f8 and narrower floats. Integers must be equal."""

_TYPICAL = 0.9
"""The quantile of an array's magnitudes that counts as its typical magnitude."""


def tolerance(
    dtype: np.dtype[Any], override: float | None = None, through: np.dtype[Any] | None = None
) -> tuple[float, float]:
    """Return the (absolute, relative) difference that rounding explains; (0, 0) for integers.

    `through` is the least precise float type that the numbers were rounded to before
    (`rounding.py`). `override` replaces both figures for float types.

    An element may differ by `absolute + relative * max(own, typical)`: the magnitudes of the
    element and of its array. The array counts because small elements carry the rounding errors of
    large ones where sums cancel.

    Sums in another order differ by a few units in the last place for each term. The figures leave
    room for a few thousand terms.
    """
    if not is_float_dtype(dtype) and dtype.kind != "c":
        return (0.0, 0.0)
    if override is not None:
        return (override, override)
    own = _TOLERANCES.get(dtype.name, _NARROWEST)
    return own if through is None else max(own, _TOLERANCES.get(through.name, _NARROWEST))


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two arrays of the same shape differ, and where most."""

    absolute: float
    relative: float
    """The absolute difference relative to the largest finite magnitude of the expected array."""
    index: tuple[int, ...]
    """The index of the largest absolute difference."""
    agrees: bool


def compare(
    actual: Value,
    expected: Value,
    allowed: float | None = None,
    through: np.dtype[Any] | None = None,
) -> Difference:
    """Compare two arrays; NaN equals NaN, and an infinity equals only itself.

    Results that are not arrays, such as shardings, must be equal. `allowed` overrides the tolerance
    of float types; `through` is as for `tolerance`. Raises ValueError if shapes or types differ.
    """
    if is_number(actual) != is_number(expected):
        raise ValueError(f"is {_kind(actual)}, expected {_kind(expected)}")
    if not is_number(expected):
        return Difference(0.0, 0.0, (), bool(actual == expected))
    if actual.shape != expected.shape:
        raise ValueError(f"has {shape_phrase(actual.shape)}, expected {shape_text(expected.shape)}")
    if actual.dtype != expected.dtype:
        raise ValueError(f"is of {actual.dtype}, expected {expected.dtype}")
    if actual.size == 0:
        return Difference(0.0, 0.0, (), True)
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        left, right = actual.astype(wide), expected.astype(wide)
        same = (actual == expected) | (np.isnan(left) & np.isnan(right))
        distance = np.where(same, 0.0, np.abs(left - right))
        distance = np.where(np.isnan(distance), np.inf, distance)
        finite = np.abs(right[np.isfinite(right)])
        scale = float(finite.max()) if finite.size else 0.0
        absolute_bound, relative_bound = tolerance(actual.dtype, allowed, through)
        typical = float(np.quantile(finite, _TYPICAL, method="lower")) if finite.size else 0.0
        bound = absolute_bound + relative_bound * np.maximum(np.abs(right), typical)
        agrees = bool(np.all(same | (distance <= bound)))
    position = int(np.argmax(distance))
    absolute = float(distance.flat[position])
    index = tuple(int(number) for number in np.unravel_index(position, actual.shape))
    relative = absolute / scale if scale else absolute
    return Difference(absolute, relative, index, agrees)


def _kind(value: Value) -> str:
    return "an array" if is_number(value) else f"a {type(value).__name__.lower()}"


def first_difference(actual: Array, expected: Array) -> str | None:
    """Return where two arrays differ by more than rounding, as text; `None` if they agree."""
    are_alike = actual.dtype == expected.dtype and actual.shape == expected.shape
    if are_alike and (actual == expected).all():
        # Replicas of a shard usually are equal; this test takes a tenth of the time of `compare`.
        return None
    difference = compare(actual, expected)
    if difference.agrees:
        return None
    index = difference.index
    text = f"{actual[index]} and {expected[index]} at {list(index)}"
    marked = count_undefined(actual) + count_undefined(expected)
    return f"{text} ({marked} elements are undefined)" if marked else text
