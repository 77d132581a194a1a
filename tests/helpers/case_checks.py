"""Inputs of functions by their types."""

from __future__ import annotations

import numpy as np
from mesh_opt import api
from mesh_opt.runtime.abi.values import dtype_of, static_shape


def random_inputs(function: api.Function) -> list[np.ndarray]:
    """Arrays of numbers that small integers are among; open sizes are 6."""
    generator = np.random.default_rng(0)
    inputs: list[np.ndarray] = []
    for value_type in function.argument_types:
        shape = [6 if size < 0 else size for size in static_shape(value_type) or ()]
        dtype = dtype_of(value_type)
        if dtype == np.bool_ or np.issubdtype(dtype, np.integer):
            inputs.append(np.asarray(generator.integers(0, 2, shape)).astype(dtype))
        else:
            inputs.append(np.asarray(generator.standard_normal(shape)).astype(dtype))
    return inputs
