"""More sharded programs, several a file: same numbers everywhere, no more collectives than said.

Each program starts with what it shows, and `Collectives:`, which it has after `spmd`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from breadth import is_sampled, sampled
from case_checks import assert_agree, random_inputs
from mesh_opt import api

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
            assert_agree(results, expected, backend)
    return program


@pytest.mark.usefixtures("nothing_left_to_choose")
@pytest.mark.parametrize("text", PROGRAMS)
def test_spmd(text: str) -> None:
    # Whole programs run natively in `test_compile_cases.py`, where complex numbers are left out.
    is_native = "complex<" not in text and is_sampled(len(text), 5)
    program = check(text, "spmd", "interpreter", *(["native"] if is_native else []))
    said = re.search(r"// Collectives: (.*)\.\n", text)
    assert said is not None
    found = Counter(COLLECTIVE.findall(str(program.module)))
    listed = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
    assert (listed or "none") == said[1]


@pytest.mark.parametrize("text", sampled(PROGRAMS, 8))
def test_default(text: str) -> None:
    check(text, DEFAULT, "interpreter")


@pytest.mark.parametrize("text", sampled(PROGRAMS, 8, 2))
def test_partition_alone(text: str) -> None:
    check(text, "shard-partition", "interpreter")
