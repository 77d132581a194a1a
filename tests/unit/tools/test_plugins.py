"""Dialects of other packages: the example's solver, found through its entry point."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint
from io import StringIO
from pathlib import Path

import pytest
from mesh_opt.tools import plugins
from mesh_opt.tools.mesh_opt import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "third_party_solver"
PROGRAM = EXAMPLE / "program.mlir"


def _run(*arguments: str) -> tuple[int, str, str]:
    output, errors = StringIO(), StringIO()
    code = main([str(PROGRAM), *arguments], StringIO(), output, errors)
    return code, output.getvalue(), errors.getvalue()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the example were installed."""
    entry = EntryPoint("acme", "acme_target.dialect:Acme", plugins.ENTRY_POINT_GROUP)

    def entry_points(**selection: str) -> list[EntryPoint]:
        return [entry] if selection["group"] == plugins.ENTRY_POINT_GROUP else []

    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr(plugins, "without_plugin", set())


@pytest.mark.usefixtures("installed")
def test_solver_of_another_package() -> None:
    code, output, errors = _run("--specialize-encodings")
    assert code == 0, errors
    assert "#encoding = #iree_encoding.layout<[#acme.layout<{innerDimsPos =" in output
    code, output, errors = _run("--specialize-encodings", "--encode-host-tensors")
    assert code == 0, errors
    assert f"arith.constant {24 * 40 * 4} : index" in output


def test_a_dialect_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    monkeypatch.setattr(plugins, "without_plugin", set())
    code, _, errors = _run()
    assert code == 1 and "'acme.solver' is not registered" in errors


def test_the_example_announces_what_is_tested() -> None:
    text = (EXAMPLE / "pyproject.toml").read_text()
    assert f'[project.entry-points."{plugins.ENTRY_POINT_GROUP}"]' in text
    assert 'acme = "acme_target.dialect:Acme"' in text
