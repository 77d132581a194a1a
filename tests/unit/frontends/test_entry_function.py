"""The function that a front end calls: what one process compiles, the next ones load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from mesh_opt.frontends import entry_function
from mesh_opt.frontends.entry_function import CompiledEntry, EntryFunction
from mesh_opt.ir.diagnostics import remarks_to
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.general.canonicalize import CanonicalizePass
from mesh_opt.runtime.abi.arguments import InputError
from mesh_opt.runtime.abi.errors import ExecutionError
from mesh_opt.runtime.abi.private_cache import CACHE_VARIABLE
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.run.program_cache import PROGRAMS
from xdsl.passes import ModulePass

ADD = """func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %a, %b : tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
TWO, THREE = np.ones(2, np.float32), np.ones(3, np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are kept, as soon as there are some, whatever they took to compile."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv("MESH_OPT_VERIFY_EACH", raising=False)
    monkeypatch.delitem(sys.modules, "mesh_opt.extend", raising=False)
    monkeypatch.setattr(entry_function, "MIN_CACHED_COMPILE_SECONDS", 0)
    return tmp_path / PROGRAMS


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gets an entry whenever a program is compiled."""
    found: list[str] = []
    compile: Callable[..., object] = entry_function.compile

    def watched(*given: object, **options: object) -> object:
        found.append("compiled")
        return compile(*given, **options)

    monkeypatch.setattr(entry_function, "compile", watched)
    return found


def entry(pipeline: str | list[ModulePass] = "", backend: str = "native") -> EntryFunction:
    module = parse_module(new_context(), Source(ADD, "add.mlir"))
    return EntryFunction(module, pipeline, backend, ["args[0]['a']", "args[1]"])


def test_arguments_have_their_names() -> None:
    found = entry()
    assert "@main(%args_0_a: tensor<?xf32>, " in found.text
    with pytest.raises(InputError, match=r"args\[0\]\['a'\] is of float64, expected"):
        found.run([TWO.astype(np.float64), TWO])
    described = CompiledEntry(found, "add")
    assert repr(described).startswith("<Compiled add: <Function @main(args_0_a: tensor<?xf32>")
    assert "&lt;Compiled add" in described._repr_html_()


def test_a_program_is_compiled_once(folder: Path, compiled: list[str]) -> None:
    first = entry()
    assert not folder.exists() or not list(folder.iterdir())
    expected = first.run([TWO, TWO])
    assert len(list(folder.iterdir())) == 1 and len(compiled) == 1
    second = entry()
    assert np.array_equal(second.run([TWO, TWO]), expected) and len(compiled) == 1
    assert second.function.types == first.function.types and second.text == first.text
    # Sizes that the file has not seen are compared without compiling, too.
    assert np.array_equal(second.run([THREE, THREE]), [THREE + THREE]) and len(compiled) == 1
    # Whoever asks for the program itself compiles it, and calls that from then on.
    assert second.program.functions == ["main"] and len(compiled) == 2
    assert np.array_equal(second.run([TWO, TWO]), expected)
    assert len(list(folder.iterdir())) == 1


def test_errors_are_those_of_the_compiled_program(folder: Path, compiled: list[str]) -> None:
    first = entry()
    with pytest.raises(ExecutionError) as expected:
        first.run([TWO, THREE])
    assert not list(folder.iterdir())
    first.run([TWO, TWO])
    with pytest.raises(ExecutionError) as found:
        entry().run([TWO, THREE])
    assert str(found.value) == str(expected.value) and len(compiled) == 2


def test_another_program_is_compiled(folder: Path, compiled: list[str]) -> None:
    entry().run([TWO, TWO])
    entry("canonicalize").run([TWO, TWO])
    assert len(compiled) == 2 and len(list(folder.iterdir())) == 2


def test_quickly_compiled_programs_are_not_cached(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_function, "MIN_CACHED_COMPILE_SECONDS", 1e9)
    entry().run([TWO, TWO])
    assert not list(folder.iterdir())


def test_programs_with_objects_outside_the_text_are_not_cached(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry([CanonicalizePass()]).run([TWO, TWO])
    entry(backend="interpreter").run([TWO, TWO])
    monkeypatch.setitem(sys.modules, "mesh_opt.extend", ModuleType("mesh_opt.extend"))
    entry().run([TWO, TWO])
    assert not folder.exists() or not list(folder.iterdir())
    monkeypatch.delitem(sys.modules, "mesh_opt.extend")
    entry().run([TWO, TWO])
    # Whoever listens to remarks hears those of the compiler.
    with remarks_to(lambda remark: None):
        entry()
    assert len(compiled) == 5


def test_inputs_that_do_not_fit_are_called_by_their_names() -> None:
    with pytest.raises(InputError, match=r"^args\[0\]\['a'\] is of int32, expected tensor<\?xf32>"):
        entry().run([np.ones(2, np.int32), TWO])
