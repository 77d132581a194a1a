"""More sharded programs, several a file: same numbers everywhere, no more collectives than said.

Each program starts with what it shows, and `Collectives:`, which it has after `spmd`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from breadth import is_sampled, sampled
from mesh_opt import api
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.runtime.abi.values import dtype_of, static_shape

FILES = sorted((Path(__file__).parents[1] / "cases" / "shard_more").glob("*.mlir"))
PROGRAMS = [
    pytest.param(text, id=f"{file.stem}-{position}")
    for file in FILES
    for position, text in enumerate(file.read_text().split("// -----\n"))
]
DEFAULT = "builtin.module(func.func(sharding-propagation,cse,shard-partition,canonicalize,cse))"
COLLECTIVE = re.compile(
    r"shard\.(all_\w+|reduce_scatter|update_halo|shift|send|broadcast|gather|scatter)\b"
)


def random_inputs(function: api.Function) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    inputs: list[np.ndarray] = []
    for value_type in function.argument_types:
        shape = [5 if size < 0 else size for size in static_shape(value_type) or ()]
        dtype = dtype_of(value_type)
        if dtype == np.bool_ or dtype.kind in "iu":
            low = -100 if dtype.kind == "i" and "index" not in str(value_type) else 0
            high = 2 if dtype == np.bool_ else 4
            inputs.append(np.asarray(generator.integers(low, high, shape)).astype(dtype))
        else:
            inputs.append(np.asarray(generator.standard_normal(shape)).astype(dtype))
    return inputs


def check(text: str, pipeline: str, *backends: str) -> api.Program:
    """Compile a program, and compare what its functions compute with what they did before."""
    program = api.compile(text, pipeline)
    printed = api.compile(str(program.module))
    for name in program.functions:
        function = program[name]
        inputs = random_inputs(function)
        expected = function.reference(inputs)
        for backend in backends:
            results = printed[name].run(inputs, backend)
            for got, wanted in zip(results, expected, strict=True):
                difference = compare(got, wanted)
                assert difference.agrees, (backend, difference)
    return program


@pytest.mark.usefixtures("nothing_left_to_choose")
@pytest.mark.parametrize("text", PROGRAMS)
def test_spmd(text: str) -> None:
    # Whole programs run natively in `test_compile_cases.py`, where complex numbers are left out.
    is_native = "complex<" not in text and is_sampled(len(text), 3)
    program = check(text, "spmd", "interpreter", *(["native"] if is_native else []))
    said = re.search(r"// Collectives: (.*)\.\n", text)
    assert said is not None
    found = Counter(COLLECTIVE.findall(str(program.module)))
    listed = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
    assert (listed or "none") == said[1]


@pytest.mark.parametrize("text", sampled(PROGRAMS, 4))
def test_default(text: str) -> None:
    check(text, DEFAULT, "interpreter")


@pytest.mark.parametrize("text", sampled(PROGRAMS, 4, 2))
def test_partition_alone(text: str) -> None:
    check(text, "shard-partition", "interpreter")
