"""Partitioned programs on device threads compute what the whole program computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from breadth import sampled
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.runtime.abi.values import dtype_of, static_shape

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "cases"
MEANINGLESS = "70_axis_out_of_range"
CASES = [
    case
    for folder in ("shard", "partition")
    for case in sorted((FOLDER / folder).glob("*.mlir"))
    if case.stem != MEANINGLESS
]


def random_inputs(function: api.Function) -> list[np.ndarray]:
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


@pytest.mark.parametrize("case", sampled(CASES, 3), ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    program = api.compile(case, "spmd", stages=False)
    compiled = CompiledProgram(program.module)
    for name in program.functions:
        function = program[name]
        inputs = random_inputs(function)
        expected = function.reference(inputs)
        for _ in range(2):
            results = compiled.run_partitioned(name, inputs)
            for got, wanted in zip(results, expected, strict=True):
                if isinstance(wanted, np.ndarray) and not wanted.dtype.hasobject:
                    difference = compare(got, wanted)
                    assert difference.agrees, difference
    compiled.close()


def test_mlp_on_four_devices() -> None:
    program = api.compile(ROOT / "examples" / "mlp_dp_tp.mlir", "spmd", stages=False)
    (name,) = program.functions
    function = program[name]
    inputs = random_inputs(function)
    compiled = CompiledProgram(program.module)
    (expected,) = function.reference(inputs)
    (result,) = compiled.run_partitioned(name, inputs)
    assert compare(result, expected).agrees
    assert len(compiled.statistics) == 4
    compiled.close()


def test_transformer_block_on_eight_devices() -> None:
    path = FOLDER / "models" / "transformer_block_sharded"
    stored = np.load(path.with_suffix(".npz"))
    inputs = [stored[f"in{index}"] for index in range(13)]
    program = api.compile(path.with_suffix(".mlir"), "spmd", stages=False)
    compiled = CompiledProgram(program.module)
    for _ in range(2):
        (result,) = compiled.run_partitioned("main", inputs)
        assert np.abs(result - stored["out0"]).max() <= 1e-5
    compiled.close()
