"""Benchmarks say what they measure before they measure it."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from mesh_opt.benchmarks.program_inputs import POSITION, random_arrays


@pytest.mark.parametrize("name", ["front_end", "sharding_search"])
def test_help_runs_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A benchmark that runs asks this Python for figures, and takes minutes.
    monkeypatch.setenv("MESH_OPT_PEERS_PYTHON", "/none")
    monkeypatch.setattr("sys.argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"mesh_opt.benchmarks.{name}", run_name="__main__")
    assert not ended.value.code
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: {name}.py") and "python -m benchmarks" in shown


def test_inputs_have_the_given_shapes_and_types() -> None:
    arguments = [((2, 3), "float16"), ((4,), "int32"), ((), "int64")]
    found = random_arrays(arguments)
    assert [(array.shape, array.dtype.name) for array in found] == arguments
    assert len(np.unique(found[0])) > 1 and set(found[1]) == {POSITION}
