"""Random JAX programs with random shardings: right numbers, and no more bytes than Shardy sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from breadth import breadth
from mesh_opt.benchmarks.program_costs import collective_bytes
from mesh_opt.benchmarks.sharding_choices import PASSES
from mesh_opt.interpreter.run import argument_types, functions, run, run_partitioned
from mesh_opt.runtime.abi.values import static_shape
from mesh_opt.tools.driver import new_context
from parsing import parse_program

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "jax_programs.py"
COUNT = breadth(60, 300)
EXECUTED = breadth(15, 60)
"""How many of them are run as well."""


@pytest.fixture(scope="module")
def programs(peers_python: Callable[[str], str]) -> dict[str, dict[str, str | float]]:
    arguments = ["", "random", "0", str(COUNT)]
    run_it = f"runpy.run_path({str(SCRIPT)!r}, None, '__main__')"
    script = f"import runpy, sys; sys.argv = {arguments!r}; {run_it}"
    return json.loads(peers_python(script))


def test_random_programs(programs: dict[str, dict[str, str | float]]) -> None:
    assert len(programs) == COUNT
    generator = np.random.default_rng(0)
    for number, (seed, found) in enumerate(programs.items()):
        text = str(found["linalg"])
        whole, module = parse_program(text), parse_program(text)
        for each in PASSES:
            each().apply(new_context(), module)
        module.verify()
        assert collective_bytes(module) / 1024 <= float(found["shardy"]) * 1.001, seed
        if number >= EXECUTED:
            continue
        (main,) = functions(whole)
        inputs = [
            generator.standard_normal(static_shape(each) or ()).astype(np.float32)
            for each in argument_types(main)
        ]
        expected = run(whole, "main", inputs)
        for left, right in zip(expected, run_partitioned(module, "main", inputs), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4, err_msg=seed)
