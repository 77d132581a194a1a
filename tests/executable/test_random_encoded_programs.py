"""Random encoded programs: NumPy, the interpreter and native code agree, tiled and not."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from encoded_programs import encoded_program
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run
from mesh_opt.passes.data_tile import DataTilePass
from parsing import parse


@pytest.mark.parametrize("seed", cases(3, 1000))
def test_random_encoded_programs(seed: int) -> None:
    text, inputs, expected = encoded_program(seed)
    _, module = parse(text)
    (found,) = run(module, "main", inputs)
    np.testing.assert_array_equal(found, expected, err_msg=text)
    for data_tiling in (True, False):
        context, module = parse(text)
        DataTilePass(data_tiling).apply(context, module)
        module.verify()
        (found,) = run(module, "main", inputs)
        np.testing.assert_array_equal(found, expected, err_msg=text)
        (found,) = CompiledProgram(module).run_partitioned("main", inputs)
        np.testing.assert_array_equal(found, expected, err_msg=text)
