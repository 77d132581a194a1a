"""Random chains of contractions over random devices: tiled equals untiled equals the program."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from device_chains import random_chain
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import argument_types, find_function, run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.runtime.abi.values import dtype_of
from mesh_opt.tools.driver import new_context

SHOWN = {"set-encoding", "convert-to-stream", "specialize-encodings", "encode-device-tensors"}
"""Stages after which the program is run, besides the last one."""


@pytest.mark.parametrize("seed", cases(3, 500))
def test_tiled_equals_untiled(seed: int) -> None:
    text, shapes = random_chain(seed)
    context = new_context()
    module = parse_module(context, Source(text, f"<chain {seed}>"))
    types = argument_types(find_function(Program(module), "main"))
    numbers = np.random.default_rng(seed)
    inputs = [
        numbers.integers(-2, 3, shape).astype(dtype_of(type_))
        for shape, type_ in zip(shapes, types, strict=True)
    ]
    (expected,) = run(module, "main", inputs)
    for data_tiling in (True, False):
        stage = module.clone()
        passes = DataTilePass(data_tiling).passes()
        for one in passes:
            one.apply(context, stage)
            if one is not passes[-1] and one.name.removeprefix("iree-stream-") not in SHOWN:
                continue
            stage.verify()
            (found,) = run(stage, "main", inputs)
            difference = compare(found, expected)
            assert difference.agrees, f"after {one.name}: {difference}\n{text}"
        # In kernels, with guard bytes around all buffers: these are as large as sizeof says.
        (found,) = CompiledProgram(stage, guard=True).run("main", inputs)
        difference = compare(found, expected)
        assert difference.agrees, f"in guarded kernels: {difference}\n{text}"
