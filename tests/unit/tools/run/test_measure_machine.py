"""This machine is measured, and what is printed is read as a machine."""

from __future__ import annotations

import pytest
from mesh_opt.ir.machine_files import parse_machine
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.run import measure_machine
from tool_runs import mesh_run


def test_a_measured_machine_is_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROUNDS", 1), ("KERNELS", 4), ("SQUARE", 32), ("LARGE", 1 << 14)):
        monkeypatch.setattr(measure_machine, name, value)
    code, output, _ = mesh_run("--measure-machine")
    assert code == 0
    machine = parse_machine(Source(output, "here.toml"))
    assert machine.name == "this-machine"
    assert "threads of one process" in machine.source
    # No number is that of a formula: a product takes longer than a nanosecond.
    assert 1e3 < machine.device.flops_of("f32") < 1e14
    assert machine.device_count is None
