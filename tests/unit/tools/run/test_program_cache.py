"""Programs that `mesh-run` has compiled before: taken again only for the very same program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mesh_opt.runtime.abi.private_cache import CACHE_VARIABLE, drop_oldest
from mesh_opt.tools import mesh_run, plugins
from mesh_opt.tools.run import program_cache
from tool_runs import result_of

ADD = """func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %a, %b : tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
INPUTS = ("--input=2xf32=1,2", "--input=2xf32=3")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv("MESH_OPT_VERIFY_EACH", raising=False)
    # Other tests have extended the compiler.
    monkeypatch.delitem(sys.modules, "mesh_opt.extend", raising=False)
    return tmp_path / program_cache.PROGRAMS


def run(text: str, *options: str) -> tuple[int, str, str]:
    """The exit code of `mesh-run` on a text, and what it writes."""
    return result_of(mesh_run.main, ["-", *(options or INPUTS)], text, caches_programs=True)


def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing is compiled."""

    def fail(*_: object) -> None:
        raise AssertionError("a program is compiled")

    monkeypatch.setattr(mesh_run, "_compile", fail)


def test_a_program_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(ADD)
    assert first == (0, "EXEC @f\nresult[0]: hal.buffer_view\n2xf32=4 5\n", "")
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    never(monkeypatch)
    assert run(ADD) == first
    assert "3xf32=2 2 2" in run(ADD, "--input=3xf32=1", "--input=3xf32=1")[1]


def test_errors_are_those_of_the_compiled_program(folder: Path) -> None:
    wrong = ("--input=2xf32=1", "--input=3xf32=1")
    expected = run(ADD, *wrong)
    assert expected[0] == 1 and "<stdin>:2" in expected[2].replace("-:2", "<stdin>:2")
    assert not list(folder.iterdir())
    run(ADD)
    assert run(ADD, *wrong) == expected
    assert run(ADD, "--input=2xf32=1")[2].startswith("mesh-run: @f takes 2 inputs, got 1: ")


@pytest.mark.parametrize("what", ["text", "pipeline", "package"])
def test_another_program_is_compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    run(ADD)
    if what == "package":
        monkeypatch.setattr(program_cache, "_installed", lambda: [("another",)])
    text = ADD.replace("addf", "mulf") if what == "text" else ADD
    options = ("-p", "canonicalize", *INPUTS) if what == "pipeline" else INPUTS
    assert ("3 6" if what == "text" else "4 5") in run(text, *options)[1]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "option", ["--check", "--guard", "--remarks=backend", "--backend=interpreter", "--mlir-timing"]
)
def test_programs_that_need_the_compiler(
    folder: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    run(ADD)
    never(monkeypatch)
    assert "a program is compiled" in run(ADD, option, *INPUTS)[2]


def test_a_damaged_program_is_compiled_again(folder: Path) -> None:
    first = run(ADD)
    (file,) = folder.iterdir()
    good = file.read_bytes()
    for damaged in (good[:1000], good[:100] + b"?" + good[101:], b""):
        file.write_bytes(damaged)
        assert run(ADD) == first
        assert len(file.read_bytes()) == len(good)


def test_files_that_others_may_write_are_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ADD)
    (file,) = folder.iterdir()
    file.chmod(0o666)
    never(monkeypatch)
    assert "a program is compiled" in run(ADD)[2]


def test_programs_with_objects_outside_the_text_are_not_cached(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SciPy computes transforms of a length with a prime factor above 13.
    two = ADD + ADD.replace("@f", "@g")
    python = """func.func @f(%a: tensor<17xcomplex<f32>>) -> tensor<17xcomplex<f32>> {
      %r = stablehlo.fft %a, type = FFT, length = [17]
        : (tensor<17xcomplex<f32>>) -> tensor<17xcomplex<f32>>
      return %r : tensor<17xcomplex<f32>>
    }"""
    assert run(two, "--function=f", *INPUTS)[0] == 0
    assert run(python, "--random-inputs=0")[0] == 0
    monkeypatch.setattr(plugins, "is_extended", lambda: True)
    assert run(ADD)[0] == 0
    assert not list(folder.iterdir())


def test_large_programs_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cache, "MAX_PROGRAM", len(ADD) - 1)
    assert run(ADD)[0] == 0
    assert not folder.exists()
    monkeypatch.setattr(program_cache, "MAX_PROGRAM", len(ADD))
    assert run(ADD)[0] == 0
    assert not list(folder.iterdir())


def test_the_oldest_files_go_first(tmp_path: Path) -> None:
    for number in range(4):
        file = tmp_path / str(number)
        file.write_bytes(bytes(10))
        os.utime(file, ns=(number, number))
    drop_oldest(tmp_path, 25)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["2", "3"]


def test_links_of_editors_between_the_sources_do_no_harm(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Emacs marks a file that it has open by a link to nowhere, of almost the same name."""
    package = tmp_path / "package"
    (package / "tools" / "run").mkdir(parents=True)
    (package / "tools" / "__init__.py").touch()
    (package / "tools" / ".#mesh_run.py").symlink_to("somebody@nowhere")
    monkeypatch.setattr(program_cache, "__file__", str(package / "tools" / "run" / "cache.py"))
    program_cache._installed.cache_clear()
    try:
        assert run(ADD)[::2] == (0, "")
    finally:
        program_cache._installed.cache_clear()
