"""Programs of bytes on devices as host code: what they compute is what the interpreter computes."""

from __future__ import annotations

import gc
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen.host_code.lowering import HostEntry
from mesh_opt.interpreter.machine import Program
from mesh_opt.interpreter.run import find_function, public_functions, run
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.host.machine import Machine
from xdsl.dialects.builtin import ModuleOp

MODELS = Path(__file__).parents[1] / "cases" / "models"

SPECIFICATION = spec_from_file_location(
    "native_streams", Path(__file__).with_name("test_native_streams.py")
)
assert SPECIFICATION is not None and SPECIFICATION.loader is not None
streams = module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(streams)


def check(module: ModuleOp, original: ModuleOp, name: str, inputs: list[np.ndarray]) -> None:
    symbols = Program(module)
    entry = HostEntry(symbols, find_function(symbols, name))
    machine = Machine(entry.program)
    expected = run(original, name, inputs)
    for _ in range(2):
        for got, wanted in zip(entry.call(machine, inputs), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    del got
    gc.collect()
    machine.pool.collect()
    assert machine.pool.used_bytes == 0


BEFORE = "iree-stream-encode-device-tensors"
OPEN_SIZES = ("seed_demo_2024_spelling", BEFORE)
"""Tensors of open sizes are laid out on the way in and out, which has no host code yet."""

CASES = [(case, last) for case in streams.SOME for last in (None, BEFORE)]


@pytest.mark.parametrize(("case", "last"), [each for each in CASES if each != OPEN_SIZES])
def test_case(case: str, last: str | None) -> None:
    context, module = streams.parse(streams.CASES / f"{case}.mlir")
    original = module.clone()
    (name,) = public_functions(module)
    for one in DataTilePass().passes():
        one.apply(context, module)
        if one.name == last:
            break
    check(module, original, name, streams.inputs_of(original, name))


@pytest.mark.parametrize("name", streams.BODIES)
def test_bytes(name: str) -> None:
    body, results = streams.BODIES[name]
    module = api.compile(streams.host(body, results), stages=False).module
    for inputs in (streams.X, streams.X + 3):
        check(module, module, "f", [inputs])


def test_the_transformer_block_needs_what_lives_at_a_time() -> None:
    module = api.compile((MODELS / "transformer_block.mlir").read_text(), "compile").module
    symbols = Program(module)
    (name,) = public_functions(module)
    entry = HostEntry(symbols, find_function(symbols, name))
    machine = Machine(entry.program)
    stored = np.load(MODELS / "transformer_block.npz")
    inputs = [stored[f"in{index}"] for index in range(13)]
    (result,) = entry.call(machine, inputs)
    assert np.abs(result - stored["out0"]).max() <= 1e-5 * np.abs(stored["out0"]).max()
    assert sum(each.nbytes for each in inputs) + machine.pool.peak_bytes == 379_136
