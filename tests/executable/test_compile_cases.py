"""Every sharded program among the cases, compiled whole, computes what it did before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.backend.compile import compile_program
from mesh_opt.interpreter.compare import compare
from mesh_opt.interpreter.values import dtype_of, static_shape

CASES = Path(__file__).parents[1] / "cases"
MEANINGLESS = {"70_axis_out_of_range"}
PROGRAMS = [
    pytest.param(text, id=f"{file.stem}-{position}")
    for folder in ("shard", "shard_more", "partition")
    for file in sorted((CASES / folder).glob("*.mlir"))
    if file.stem not in MEANINGLESS
    for position, text in enumerate(file.read_text().split("// -----\n"))
]
PLAIN = "builtin.module(compile{data-tiling=false})"


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


@pytest.mark.parametrize("pipeline", ["compile", PLAIN], ids=["tiled", "plain"])
@pytest.mark.parametrize("text", PROGRAMS)
def test_case(text: str, pipeline: str) -> None:
    """By the interpreter and, what is tiled, on threads, too."""
    program = api.compile(text, pipeline, stages=False)
    on_threads = pipeline == "compile" and "complex<" not in text
    compiled = compile_program(program.module) if on_threads else None
    for name in program.functions:
        function = program[name]
        inputs = random_inputs(function)
        expected = function.reference(inputs)
        results = [function.run(inputs, "interpreter")]
        if compiled is not None:
            results.append(compiled.run_partitioned(name, inputs))
        for found in results:
            for got, wanted in zip(found, expected, strict=True):
                if isinstance(wanted, np.ndarray) and not wanted.dtype.hasobject:
                    difference = compare(got, wanted)
                    assert difference.agrees, difference
    if compiled is not None:
        compiled.close()


SIZES = """
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[], []] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<?x?xf32>
  %xt = shard.shard %xs to %t annotate_for_users : tensor<?x?xf32>
  %y = tosa.tanh %xt : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %yr = shard.shard %y to %r : tensor<?x?xf32>
  %z = tosa.add %xs, %xs : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %yr, %z : tensor<?x?xf32>, tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("shape", [(4, 6), (3, 5), (7, 3), (1, 1)])
def test_sizes_that_only_the_processes_together_know(shape: tuple[int, int]) -> None:
    program = api.compile(SIZES, "compile", stages=False)
    inputs = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
    for backend in ("interpreter", "numba"):
        found = program["f"].run(inputs, backend)
        for got, wanted in zip(found, program["f"].reference(inputs), strict=True):
            assert compare(got, wanted).agrees
