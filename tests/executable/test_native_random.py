"""Random programs mean the same in the native backend, whole and partitioned over threads."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from breadth import NIGHTLY, breadth
from hypothesis import HealthCheck, given, settings
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run
from mesh_opt.passes.registry import all_passes
from parsing import parse_verified

SPECIFICATION = spec_from_file_location(
    "random_programs", Path(__file__).with_name("test_random_programs.py")
)
assert SPECIFICATION is not None and SPECIFICATION.loader is not None
random_programs = module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(random_programs)

COUNT = breadth(8, 500)


def check(text: str) -> None:
    context, module = parse_verified(text)
    inputs = random_programs.random_inputs(module)
    expected = run(module, "main", inputs)
    results = {"whole": CompiledProgram(module).run("main", inputs)}
    all_passes()["spmd"]()().apply(context, module)
    partitioned = CompiledProgram(module)
    results["partitioned"] = partitioned.run_partitioned("main", inputs)
    results["again"] = partitioned.run_partitioned("main", inputs)
    partitioned.close()
    for name, found in results.items():
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9, err_msg=name + text)


@settings(
    max_examples=COUNT,
    database=None,
    derandomize=not NIGHTLY,
    suppress_health_check=list(HealthCheck),
)
@given(random_programs.programs())
def test_random_programs(text: str) -> None:
    check(text)
