"""Benchmarks say what they measure before they measure it."""

from __future__ import annotations

import runpy

import pytest


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
