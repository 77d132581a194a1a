"""The programs of `tests/cases`: inputs by their types, and comparisons with the whole program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mesh_opt import api
from mesh_opt.interpreter.run import (
    Program,
    argument_types,
    find_function,
    public_functions,
    run,
    run_partitioned,
)
from mesh_opt.passes.registry import all_passes
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.runtime.abi.values import dtype_of, static_shape
from parsing import parse_verified
from xdsl.ir import Attribute

OPEN_SIZE = 6


def random_array(value_type: Attribute, generator: np.random.Generator) -> np.ndarray:
    """Small numbers of a type; unsigned integers and indices are not negative."""
    shape = [OPEN_SIZE if size < 0 else size for size in static_shape(value_type) or ()]
    dtype = dtype_of(value_type)
    if dtype.kind not in "biu":
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    low = -100 if dtype.kind == "i" and "index" not in str(value_type) else 0
    high = 2 if dtype == np.bool_ else 4
    return np.asarray(generator.integers(low, high, shape)).astype(dtype)


def random_inputs(function: api.Function) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [random_array(value_type, generator) for value_type in function.argument_types]


def assert_agree(found: Sequence[object], expected: Sequence[object], where: object = "") -> None:
    """Arrays of numbers are close; other values are not compared."""
    for got, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, np.ndarray) and not wanted.dtype.hasobject:
            difference = compare(got, wanted)
            assert difference.agrees, (where, difference)


def check_passes(text: str, *passes: str) -> None:
    """Partition a program, print and parse it, and compare it with itself."""
    context, module = parse_verified(text)
    original = module.clone()
    for name in passes:
        all_passes()[name]()().apply(context, module)
        module.verify()
    _, module = parse_verified(str(module))
    generator = np.random.default_rng(0)
    for name in public_functions(original):
        types = argument_types(find_function(Program(original), name))
        inputs = [random_array(value_type, generator) for value_type in types]
        expected = run(original, name, inputs)
        results = run_partitioned(module, name, inputs)
        assert_agree(results, expected)
        for got, wanted in zip(results, expected, strict=True):
            assert isinstance(wanted, np.ndarray) or got == wanted  # a sharding
