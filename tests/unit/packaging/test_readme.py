"""What the README shows works as it is written there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from breadth import NIGHTLY
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.lit_run_lines import TOOLS
from mpi_ranks import need_ranks
from tool_runs import result_of
from xdsl.context import Context

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "mlp_dp_tp.mlir"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def _commands() -> list[list[str]]:
    """Return the commands of each block, of which one may read what the one before wrote."""
    blocks = (block.replace("\\\n", " ").splitlines() for block in _blocks("sh"))
    return [block for block in blocks if block[0].startswith(".venv/bin/")]


@pytest.mark.parametrize("commands", _commands(), ids=lambda commands: commands[-1])
def test_commands(commands: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for command in commands:
        program, *arguments = shlex.split(command)
        if "--ranks" in command:
            if not NIGHTLY:
                pytest.skip("each rank takes seconds, and `test_start_ranks.py` starts some")
            need_ranks()
        code, output, errors = result_of(TOOLS[Path(program).name], arguments)
        assert code == 0, errors
        assert output or "-o" in arguments


def test_python_face(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = (block for block in _blocks("python") if "mesh_opt.compile" in block)
    exec(code, {})
    assert "shard.all_reduce" in capsys.readouterr().out


def test_passes_in_another_compiler() -> None:
    (code,) = (block for block in _blocks("python") if "register_dialects" in block)
    module = parse_module(new_context(), Source(EXAMPLE.read_text(encoding="utf-8"), "x"))
    exec(code, {"context": Context(), "module": module})
    assert "shard.all_reduce" in str(module)


def test_make_targets_are_explained() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"\.PHONY: (.*)", makefile)
    assert phony is not None
    explained = re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)
    assert sorted(phony.group(1).split()) == sorted(explained)
    shown = re.findall(r"^make ([a-z]+)", README, re.MULTILINE)
    assert set(shown) <= set(explained)
