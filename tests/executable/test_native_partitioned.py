"""Partitioned programs on device threads compute what the whole program computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from breadth import sampled
from case_checks import assert_agree, random_inputs
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.runtime.abi.compare import compare

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "cases"
MEANINGLESS = "70_axis_out_of_range"
CASES = [
    case
    for folder in ("shard", "partition")
    for case in sorted((FOLDER / folder).glob("*.mlir"))
    if case.stem != MEANINGLESS
]


@pytest.mark.parametrize("case", sampled(CASES, 3), ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    program = api.compile(case, "spmd")
    compiled = CompiledProgram(program.module)
    for name in program.functions:
        function = program[name]
        inputs = random_inputs(function)
        expected = function.reference(inputs)
        for _ in range(2):
            results = compiled.run_partitioned(name, inputs)
            assert_agree(results, expected)
    compiled.close()


def test_mlp_on_four_devices() -> None:
    program = api.compile(ROOT / "examples" / "mlp_dp_tp.mlir", "spmd")
    (name,) = program.functions
    function = program[name]
    inputs = random_inputs(function)
    compiled = CompiledProgram(program.module)
    (expected,) = function.reference(inputs)
    (result,) = compiled.run_partitioned(name, inputs)
    assert compare(result, expected).agrees
    assert len(compiled.device_statistics) == 4
    compiled.close()


def test_transformer_block_on_eight_devices() -> None:
    path = FOLDER / "models" / "transformer_block_sharded"
    stored = np.load(path.with_suffix(".npz"))
    inputs = [stored[f"in{index}"] for index in range(13)]
    program = api.compile(path.with_suffix(".mlir"), "spmd")
    compiled = CompiledProgram(program.module)
    for _ in range(2):
        (result,) = compiled.run_partitioned("main", inputs)
        assert np.abs(result - stored["out0"]).max() <= 1e-5
    compiled.close()
