"""Inputs of `benchmarks.program_times`, the same in every process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

POSITION = 64
"""The value of integer arguments: the position of a token in a cache."""


def random_arrays(arguments: Iterable[tuple[Sequence[int], str]]) -> list[np.ndarray]:
    """Return random arrays of these shapes and types; integers are `POSITION`."""
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal(shape) * 0.1).astype(kind)
        if kind == "float32"
        else np.asarray(POSITION, kind)
        for shape, kind in arguments
    ]
