"""Random programs of asynchronous operations keep their meaning down to calls of a runtime."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from mesh_opt.api import compile
from mesh_opt.interpreter.run import run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.hal.convert_stream_to_hal import ConvertStreamToHalPass
from mesh_opt.tools.driver import new_context
from random_stream_programs import random_stream_program
from timelines import Timeline
from xdsl.dialects.builtin import ModuleOp

COMMANDS = ("iree-stream-automatic-reference-counting", "iree-stream-elide-timepoints")


def test_stages_mean_the_same() -> None:
    for seed in cases(5, 1500):
        text, inputs = random_stream_program(seed)
        context = new_context()
        module = parse_module(context, Source(text, "<program>"))
        assert isinstance(module, ModuleOp)
        with np.errstate(all="ignore"):
            expected = list(run(module, "main", inputs))
            for one in ConvertStreamToHalPass().passes():
                one.apply(context, module)
                module.verify()
                check(list(run(module, "main", inputs)), expected, f"{seed}, {one.name}: {text}")
                if one.name in COMMANDS:
                    Timeline().check(module.body.block)
        assert '"stream.' not in str(module) and " stream." not in str(module)


@pytest.mark.parametrize("pipeline", ["", "convert-stream-to-hal"])
def test_compiled_programs_mean_the_same(pipeline: str) -> None:
    for seed in cases(2, 300):
        text, inputs = random_stream_program(seed)
        found = [
            list(compile(text, pipeline, backend=backend)["main"].run(inputs))
            for backend in ("interpreter", "native")
        ]
        check(*found, f"{seed}: {text}")


def check(found: list[np.ndarray], expected: list[np.ndarray], what: str) -> None:
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array, wanted, err_msg=what)
