"""Parameters are read by commands and by calls of a runtime as they are as constants."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import sampled
from mesh_opt.api import compile
from mesh_opt.interpreter.parameters import Parameter, Parameters
from mesh_opt.passes.hal.convert_stream_to_hal import ConvertStreamToHalPass
from mesh_opt.runtime.abi.errors import CompilationError
from stream_schedule_programs import KERNELS, UNKNOWN, VARIABLE, A, add, exported, imported, main

STAGES = [one.name for one in ConvertStreamToHalPass().passes()]
W, S = np.array([1, 2, 3, 4], np.float32), np.array([10, 20, 30, 40], np.float32)
PARAMETERS: Parameters = {
    ("model", "w"): Parameter.of_array(W),
    ("", "s"): Parameter.of_array(S),
}


def constant(result: str, name: str, type_: str = UNKNOWN) -> str:
    return f"""
  {result} = stream.async.constant on({A}) : {type_}{{%c16}}
    = #stream.parameter.named<{name}> : tensor<4xf32>"""


PROGRAM = (
    KERNELS
    + f"""
util.global private mutable @s : {VARIABLE}
util.initializer {{
  %c16 = arith.constant 16 : index
  {constant("%0", '"s"', VARIABLE)}
  util.global.store %0, @s : {VARIABLE}
  util.return
}}"""
    + main(
        imported("%x")
        + constant("%w", '"model"::"w"')
        + f"""
  %sl = util.global.load @s : {VARIABLE}
  %s = stream.async.cast on({A}) %sl : {VARIABLE}{{%c16}} -> {UNKNOWN}{{%c16}}"""
        + add("%1", "%x", "%w")
        + add("%2", "%1", "%s")
        + exported("%3", "%2"),
        ["%3"],
    )
)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("count", sampled(range(len(STAGES) + 1), 3, len(STAGES) % 3))
def test_stages_read_the_same(count: int, backend: str) -> None:
    program = compile(PROGRAM, ",".join(STAGES[:count]), backend=backend, parameters=PARAMETERS)
    x = np.array([5, 6, 7, 8], np.float32)
    (found,) = program["main"].run([x])
    np.testing.assert_array_equal(found, x + W + S)


def test_missing_parameters() -> None:
    pipeline = ",".join(STAGES)
    with pytest.raises(CompilationError, match=r'"model"::"w", but no parameters of that scope'):
        compile(PROGRAM, pipeline, parameters={("", "s"): PARAMETERS["", "s"]})
    short = {**PARAMETERS, ("model", "w"): Parameter.of_array(W[:2])}
    with pytest.raises(CompilationError, match="expected tensor<4xf32>, found a shape of 2"):
        compile(PROGRAM, pipeline, parameters=short)["main"].run([W])
