"""Benchmarks say what they measure before they measure it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["front_end", "sharding_search"])
def test_help_runs_nothing(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", "--help"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        # A benchmark that runs asks this Python for figures, and takes minutes.
        env={"MESH_OPT_PEERS_PYTHON": "/none"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {name}.py") and "python -m benchmarks" in done.stdout
