"""`compile` partitions and tiles: all processes together compute what the program did before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import (
    argument_types,
    find_function,
    public_functions,
    run,
    run_partitioned,
)
from mesh_opt.passes.compile import CompilePass
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"

PROGRAMS = [
    ROOT / "examples" / "mlp_dp_tp.mlir",
    CASES / "models" / "mlp.mlir",
    *sorted(CASES.glob("shard/0*.mlir")),
    *sorted(CASES.glob("shard/3[3-7]*.mlir")),
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_compiled_programs(path: Path) -> None:
    context, module = parse(path.read_text())
    name = public_functions(module)[0]
    generator = np.random.default_rng(0)
    inputs = [
        np.asarray(generator.integers(-1, 2, type_.get_shape())).astype(dtype_of(type_))
        for type_ in argument_types(find_function(Program(module), name))
    ]
    expected = run(module, name, inputs)
    CompilePass().apply(context, module)
    module.verify()
    found = run_partitioned(module, name, inputs)
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-5)


def test_transformer_block_on_a_grid() -> None:
    context, module = parse((CASES / "models" / "transformer_block_sharded.mlir").read_text())
    stored = np.load(CASES / "models" / "transformer_block_sharded.npz")
    inputs = [stored[f"in{i}"] for i in range(sum(key.startswith("in") for key in stored))]
    name = public_functions(module)[0]
    CompilePass().apply(context, module)
    found = run_partitioned(module, name, inputs)
    for index, array in enumerate(found):
        np.testing.assert_allclose(array, stored[f"out{index}"], rtol=1e-4, atol=1e-5)
