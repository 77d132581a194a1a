"""Programs mean the same while asynchronous operations become commands and calls of a runtime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from breadth import cases, is_sampled, sampled
from control_flow_programs import inputs_for
from control_flow_programs import program as control_flow_program
from mesh_opt.interpreter.run import run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.passes.hal.convert_stream_to_hal import ConvertStreamToHalPass
from mesh_opt.passes.manager.named_pipeline import default_passes
from parsing import parse_verified
from stream_schedule_programs import KERNELS, PROGRAMS, add, double, exported, imported, main
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

NUMBERS = np.array([1, -2, 3, 5], np.float32)
EXPECTED = {
    "chain": ([14, -8, 42, 65], [4, 0, 12, 18]),
    "copies": ([8, 5, 0, 2], [-2, -2, 3, 3]),
    "devices": ([14, -28, 42, 70],),
    "dynamic": ([3, -20, 30, 50],),
    "globals": ([12, 10, 24, 32],),
    "loop": ([9, -18, 27, 45],),
}
"""What the programs compute of `NUMBERS`."""


ON_DEMAND = {
    "iree-stream-materialize-copy-on-write": ("iree-stream-elide-async-copies",),
    "iree-stream-layout-slices": (
        "iree-stream-annotate-dispatch-arguments",
        "iree-stream-specialize-dispatches",
        "iree-stream-fuse-dispatch-bindings",
        "iree-stream-annotate-dispatch-assumptions",
        "iree-stream-fold-uniform-operands",
    ),
}
"""Passes that may run behind the stages of `convert-stream-to-hal`."""


def with_passes_on_demand() -> list[ModulePass]:
    made: list[ModulePass] = []
    for one in ConvertStreamToHalPass().passes():
        made += [one, *default_passes(*ON_DEMAND.get(one.name, ()))]
    return made


def check_stages(
    program: tuple[Context, ModuleOp],
    inputs: list[np.ndarray],
    expected: list[np.ndarray],
    text: str,
    passes: Sequence[ModulePass] = (),
) -> None:
    """The program means the same after the last and other stages, and ends without `stream`."""
    context, module = program
    stages = list(passes or ConvertStreamToHalPass().passes())
    for left, one in enumerate(stages, 1 - len(stages)):
        one.apply(context, module)
        module.verify()
        if left and not is_sampled(left + len(text), 3):
            continue
        found = run(module, "main", inputs)
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array, wanted, err_msg=f"after {one.name}\n{text}")
    assert '"stream.' not in str(module) and " stream." not in str(module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_stages_mean_the_same(name: str) -> None:
    inputs = [NUMBERS, np.array(3)][: 1 + (name == "loop")]
    context, module = parse_verified(PROGRAMS[name])
    expected = [np.array(each, np.float32) for each in EXPECTED[name]]
    for array, wanted in zip(run(module, "main", inputs), expected, strict=True):
        np.testing.assert_array_equal(array, wanted)
    check_stages((context, module), inputs, expected, name)


@pytest.mark.parametrize("name", sampled([*PROGRAMS], 2))
def test_passes_on_demand_mean_the_same(name: str) -> None:
    inputs = [NUMBERS, np.array(3)][: 1 + (name == "loop")]
    expected = [np.array(each, np.float32) for each in EXPECTED[name]]
    check_stages(parse_verified(PROGRAMS[name]), inputs, expected, name, with_passes_on_demand())


def test_control_flow() -> None:
    """Random programs with loops and branches, as `data-tile` leaves them."""
    for seed in cases(3, 500):
        text, arguments = control_flow_program(seed)
        (context, module), inputs = parse_verified(text), inputs_for(arguments, seed)
        passes = with_passes_on_demand() if seed % 2 else ()
        try:
            with np.errstate(all="ignore"):
                expected = list(run(module, "main", inputs))
                DataTilePass().apply(context, module)
                check_stages((context, module), inputs, expected, text, passes)
        except OperationError as error:
            assert not error.operation.name.startswith(("stream.", "hal.")), (error, text)


IN_PLACE = {
    "read later": double("%1", "%0") + add("%2", "%0", "%1"),
    "read first": add("%1", "%0", "%0") + double("%3", "%0") + add("%2", "%3", "%1"),
    "twice": double("%1", "%0") + double("%3", "%0") + add("%2", "%1", "%3"),
    "of the caller": double("%1", "%x") + add("%2", "%1", "%x"),
}
COPIES = {"read later": 1, "read first": 0, "twice": 1, "of the caller": 1}


@pytest.mark.parametrize("kind", IN_PLACE)
def test_value_read_after_write_is_copied(kind: str) -> None:
    body = imported("%x") + add("%0", "%x", "%x") + IN_PLACE[kind] + exported("%9", "%2")
    context, module = parse_verified(KERNELS + main(body, ["%9"]))
    expected = list(run(module, "main", [NUMBERS]))
    check_stages((context, module), [NUMBERS], expected, kind)
    copied = str(module).count("hal.command_buffer.copy_buffer")
    assert copied == COPIES[kind]
