"""Modules that are compiled by several processes: the same code, whoever compiles it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from threading import current_thread, main_thread

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen import cache, parallel_compilation
from mesh_opt.codegen.parallel_compilation import compile_in_parallel
from mesh_opt.runtime.abi.native_code import target_machine, target_platform
from mesh_opt.runtime.abi.object_code import CompilerProcess, compile_ir
from mesh_opt.runtime.abi.private_cache import CACHE_VARIABLE


def module(number: int) -> Callable[[], str]:
    return lambda: (
        f"define i64 @f{number}(i64 %x) {{\n  %sum = add i64 %x, {number}\n  ret i64 %sum\n}}"
    )


MODULES = [module(number) for number in range(8)]


@pytest.fixture
def process() -> Iterator[CompilerProcess]:
    platform = target_platform()
    found = CompilerProcess(platform["CPU"], platform["features of the CPU"])
    yield found
    found.close()


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_compilation, "MIN_MODULES", 4)
    monkeypatch.setattr(parallel_compilation, "available_cores", lambda: 2)


def own(texts: list[Callable[[], str]]) -> list[bytes]:
    return [compile_ir(target_machine(), each()) for each in texts]


def test_a_process_compiles_as_this_one_does(process: CompilerProcess) -> None:
    assert [process.compile(each()) for each in MODULES] == own(MODULES)


def test_a_process_that_fails_says_so(process: CompilerProcess) -> None:
    with pytest.raises(OSError):
        process.compile("define nonsense")
    with pytest.raises(OSError):
        process.compile(MODULES[0]())


@pytest.mark.usefixtures("two_cores")
def test_all_are_compiled_whoever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_in_parallel(MODULES) == own(MODULES)
    asked: list[str] = []

    def fail(process: CompilerProcess, text: str) -> bytes:
        asked.append(text)
        raise OSError

    monkeypatch.setattr(CompilerProcess, "compile", fail)
    assert compile_in_parallel(MODULES) == own(MODULES)

    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(parallel_compilation, "CompilerProcess", refuse)
    assert compile_in_parallel(MODULES) == own(MODULES)


@pytest.mark.usefixtures("two_cores")
def test_the_error_of_a_module_is_raised_here() -> None:
    def wrong() -> str:
        raise TypeError("no such thing")

    with pytest.raises(TypeError, match="no such thing"):
        compile_in_parallel([*MODULES, wrong])
    with pytest.raises(RuntimeError, match="expected"):
        compile_in_parallel([*MODULES, lambda: "define nonsense"])


@pytest.mark.usefixtures("two_cores")
def test_texts_are_written_one_at_a_time() -> None:
    """llvmlite shares tables between modules, which it fills when they are first read."""
    writing: list[int] = []
    most = 0

    def slow(number: int) -> Callable[[], str]:
        def write() -> str:
            nonlocal most
            writing.append(number)
            most = max(most, len(writing))
            time.sleep(0.002)
            writing.remove(number)
            return MODULES[number]()

        return write

    compile_in_parallel([slow(number) for number in range(8)] * 4)
    assert most == 1


@pytest.mark.usefixtures("two_cores")
def test_few_modules_and_ranks_have_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        parallel_compilation, "CompilerProcess", lambda *_: pytest.fail("a process")
    )
    assert compile_in_parallel(MODULES[:3]) == own(MODULES[:3])
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", sys)
    assert compile_in_parallel(MODULES) == own(MODULES)


PROGRAM = """
func.func @main(%a: tensor<7x9xf32>, %n: index) -> (tensor<7xf32>, tensor<7x9xf32>) {
  %zero = arith.constant dense<0.0> : tensor<7xf32>
  %exp = math.exp %a : tensor<7x9xf32>
  %sum = linalg.reduce { arith.addf } ins(%exp : tensor<7x9xf32>) outs(%zero : tensor<7xf32>)
      dimensions = [1]
  %0 = arith.constant 0 : index
  %some = arith.cmpi ne, %n, %0 : index
  %end = scf.if %some -> tensor<7x9xf32> {
    %tan = math.tan %exp : tensor<7x9xf32>
    scf.yield %tan : tensor<7x9xf32>
  } else {
    scf.yield %exp : tensor<7x9xf32>
  }
  return %sum, %end : tensor<7xf32>, tensor<7x9xf32>
}
"""


def test_unconditional_kernels_are_compiled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels up to the next branch, and of that those that it takes."""
    monkeypatch.setenv(CACHE_VARIABLE, "")
    counts: list[int] = []

    def counted(texts: list[Callable[[], str]]) -> list[bytes]:
        # Workers compile what runs them in the meantime.
        if current_thread() is main_thread():
            counts.append(len(texts))
        return compile_in_parallel(texts)

    program = api.compile(PROGRAM)
    matrix = np.ones((7, 9), np.float32)
    cache._loaded.clear()
    cache._recent.clear()
    monkeypatch.setattr(parallel_compilation, "compile_in_parallel", counted)
    program.main(matrix, 0)
    own_runtime = len([each for each in counts if each == 1])
    assert counts.count(2) == 1
    program.main(matrix, 1)
    assert counts[-1] == 1 and counts.count(2) == 1
    assert len([each for each in counts if each == 1]) == own_runtime + 1
