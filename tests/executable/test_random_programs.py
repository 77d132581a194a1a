"""Random programs with random annotations mean the same after partitioning.

A failing program is shrunk, and written to the file that MESH_OPT_FAILING_PROGRAM names.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY, breadth
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from mesh_opt.interpreter.run import Program, argument_types, find_function, run, run_partitioned
from mesh_opt.passes.compile import CompilePass
from mesh_opt.passes.sharding.shard_partition import ShardPartitionPass
from mesh_opt.passes.sharding.shard_simplify import ShardSimplifyPass
from mesh_opt.passes.sharding.spmd import SpmdPass
from parsing import parse_verified
from program_table import operations
from program_writer import Value, Writer
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass

COUNT = breadth(8, 1000)
FAILING = os.environ.get("MESH_OPT_FAILING_PROGRAM")

GRIDS = [(2,), (3,), (4,), (2, 2), (2, 3), (3, 2), (2, 2, 2), (2, 1, 3), (2, 2, 1, 2)]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program with a function @main, which may call @helper."""
    data = draw(st.data())
    grid = draw(st.sampled_from(GRIDS))
    helper = Writer(data, grid, prefix="h")
    inside = helper.argument((4, 6))
    made = Value(helper.fresh(), inside.shape)
    helper.emit(f"{made.name} = math.absf {inside.name} : {inside.type}")
    made = helper.annotate(made)
    main = Writer(data, grid)
    main.pool.append(main.argument((4, 6)))
    for _ in range(draw(st.integers(2, 9))):
        main.draw(operations())(main)
    shape = "x".join(map(str, grid))
    return (
        f"shard.grid @g(shape = {shape})\n"
        + helper.write("helper", [made], "private ")
        + main.write("main", main.pool[-2:])
    )


def random_inputs(module: ModuleOp) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for value_type in argument_types(find_function(Program(module), "main")):
        assert isinstance(value_type, TensorType)
        shape = value_type.get_shape()
        if str(value_type.element_type) == "i32":
            arrays.append(generator.integers(-9, 9, shape).astype(np.int32))
        else:
            arrays.append(np.asarray(generator.standard_normal(shape)))
    return arrays


def check(text: str, *passes: ModulePass) -> None:
    """Partition a program and compare it with itself."""
    context, module = parse_verified(text)
    inputs = random_inputs(module)
    expected = run(module, "main", inputs)
    for each in passes:
        each.apply(context, module)
        module.verify()
    printed = str(module)
    _, module = parse_verified(printed)
    for got, wanted in zip(run_partitioned(module, "main", inputs), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9, err_msg=printed)


@settings(
    max_examples=COUNT,
    database=None,
    derandomize=not NIGHTLY,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
@pytest.mark.parametrize(
    "passes",
    [
        (SpmdPass(),),
        (ShardPartitionPass(),),
        (ShardPartitionPass(abi="global"), ShardSimplifyPass()),
    ],
    ids=["spmd", "partition alone", "global abi"],
)
def test_random_programs(passes: tuple[ModulePass, ...], text: str) -> None:
    try:
        check(text, *passes)
    except Exception:
        note(text)
        if FAILING:
            Path(FAILING).write_text(text)
        raise


@settings(
    max_examples=COUNT // 4,
    database=None,
    derandomize=not NIGHTLY,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_random_programs_compiled(text: str) -> None:
    """The same, through all of `compile`."""
    try:
        check(text, CompilePass(host_layouts=True))
    except Exception:
        note(text)
        if FAILING:
            Path(FAILING).write_text(text)
        raise
