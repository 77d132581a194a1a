"""Random programs over rows as dispatches: the same after every stage, and in guarded kernels.

Kernels are run twice on the same memory: once as they are, and once with every buffer between guard
bytes. What takes another's place while that is still needed shows in the first.
"""

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.tools.driver import new_context
from row_programs import RowProgram


@pytest.mark.parametrize("seed", cases(3, 300))
def test_rows(seed: int) -> None:
    text = RowProgram(seed).text()
    context = new_context()
    module = parse_module(context, Source(text, f"<rows {seed}>"))
    numbers = np.random.default_rng(seed)
    first, second = (numbers.integers(-2, 3, (17, 17)).astype(np.float32) for _ in range(2))
    # The same array is passed twice.
    inputs = [first, second, first]
    expected = run(module, "main", inputs)
    for data_tiling in (True, False):
        stage = module.clone()
        for one in DataTilePass(data_tiling).passes():
            one.apply(context, stage)
            if one.name in ("form-dispatches", "convert-to-stream"):
                stage.verify()
                _check(run(stage, "main", inputs), expected, text)
        for guard in (False, True):
            program = CompiledProgram(stage, guard=guard)
            for _ in range(2):
                _check(program.run("main", inputs), expected, text)


def _check(found: list[np.ndarray], expected: list[np.ndarray], text: str) -> None:
    for left, right in zip(found, expected, strict=True):
        assert np.allclose(left, right, rtol=1e-5, atol=1e-3), text
