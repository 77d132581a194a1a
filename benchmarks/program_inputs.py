"""Inputs of `benchmarks.program_times`, the same in every process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

POSITION = 64
"""The value of integer arguments: the position of a token in a cache."""


def random_arrays(arguments: Iterable[tuple[Sequence[int], str]]) -> list[np.ndarray]:
    """Return arrays of these shapes and types: random floats, or `POSITION` for integers."""
    rng = np.random.default_rng(0)
    return [
        np.full(shape, POSITION, kind)
        if np.issubdtype(kind, np.integer)
        else (rng.standard_normal(shape) * 0.1).astype(kind)
        for shape, kind in arguments
    ]
