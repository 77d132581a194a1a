"""Schedules, allocations and calls of a runtime: iree-opt's of our programs mean what ours do.

What iree-opt makes of a program runs in the reference interpreter with the same numbers, and
iree-opt reads what our passes make.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mesh_opt.interpreter.run import run
from mesh_opt.passes.hal.convert_stream_to_hal import ConvertStreamToHalPass
from parsing import parse
from stream_schedule_programs import PROGRAMS


def both(name: str) -> str:
    """A pass on functions and initializers."""
    return f"util.func({name}),util.initializer({name})"


SCHEDULED = ",".join(
    (
        "iree-stream-materialize-copy-on-write,iree-stream-elide-async-copies",
        "iree-stream-refine-usage,iree-stream-place-transfer-executions",
        both("iree-stream-schedule-execution"),
        both("iree-stream-schedule-concurrency"),
    )
)
ALLOCATED = ",".join(
    (
        SCHEDULED,
        "iree-stream-propagate-timepoints,canonicalize,iree-stream-schedule-allocation",
        both("iree-stream-pack-constants"),
        both("iree-stream-layout-slices"),
        "canonicalize,cse",
    )
)
CONVERTED = ",".join(
    (
        ALLOCATED,
        both("convert-scf-to-cf"),
        "iree-stream-pack-dispatch-operands,iree-hal-materialize-interfaces,canonicalize",
        "iree-hal-conversion,canonicalize,cse",
    )
)
READ_BACK = (
    "iree-stream-schedule-execution",
    "iree-stream-propagate-timepoints",
    "iree-stream-elide-timepoints",
    "iree-hal-materialize-interfaces",
    "iree-hal-conversion",
)
"""Behind which of our passes iree-opt reads the program."""


def inputs_of(name: str) -> list[np.ndarray]:
    return [np.array([1, -2, 3, 5], np.float32), np.array(3)][: 1 + (name == "loop")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_iree_schedule_has_same_results(name: str, iree_opt: Callable[..., str]) -> None:
    expected = run(parse(PROGRAMS[name])[1], "main", inputs_of(name))
    for pipeline in (SCHEDULED, ALLOCATED, CONVERTED):
        made = iree_opt(PROGRAMS[name], f"--pass-pipeline=builtin.module({pipeline})")
        found = run(parse(made)[1], "main", inputs_of(name))
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array, wanted, err_msg=made)


@pytest.mark.parametrize("name", PROGRAMS)
def test_iree_reads_what_we_make(name: str, iree_opt: Callable[..., str]) -> None:
    context, module = parse(PROGRAMS[name])
    for one in ConvertStreamToHalPass().passes():
        one.apply(context, module)
        if one.name in READ_BACK:
            iree_opt(str(module) + "\n")
