"""A program that is dropped gives back its threads and its memory; what is held keeps working."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from breadth import breadth
from mesh_opt.api import Program, compile
from mesh_opt.codegen import cache as kernel_cache
from mesh_opt.codegen.compile import CompiledProgram
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin

PROGRAMS = breadth(12, 1000)

PARTITIONED = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4x{columns}xf32>) -> tensor<4x{columns}xf32> {{
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %b = shard.shard %a to %s : tensor<4x{columns}xf32>
  %r = math.absf %b : tensor<4x{columns}xf32>
  return %r : tensor<4x{columns}xf32>
}}
"""


def program(columns: int = 3) -> Program:
    text = PARTITIONED.format(columns=columns)
    return compile(text, "spmd", backend="native")


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("mesh-opt")}


def ended(before: set[threading.Thread]) -> bool:
    """Whether no thread is left but those of before, once those that are told to end have."""
    for each in threads() - before:
        each.join(10)
    return threads() <= before


def resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def by_references() -> Iterator[None]:
    """Without the collector of cycles: references alone must do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_threads_end_with_the_program(by_references: None) -> None:
    before = threads()
    one = program()
    one.main(-np.ones((4, 3), np.float32))
    assert len(threads() - before) == 2
    del one
    assert ended(before)


def test_a_function_keeps_its_program(by_references: None) -> None:
    before = threads()
    main = program().main
    for _ in range(2):
        assert (main(-np.ones((4, 3), np.float32)) == 1).all()
    assert len(threads() - before) == 2
    del main
    assert ended(before)


def test_workers_end_with_the_program(by_references: None) -> None:
    before = threads()
    module = program().module
    compiled = CompiledProgram(module, workers=3)
    compiled.run_partitioned("main", [-np.ones((4, 3), np.float32)])
    # Two devices, each with two workers besides its own thread.
    assert len(threads() - before) == 6
    del compiled
    assert ended(before)


def test_a_closed_program_runs_again_with_other_workers() -> None:
    text = """
    func.func @main(%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
      %r = arith.addf %a, %a : tensor<256x256xf32>
      return %r : tensor<256x256xf32>
    }"""
    before = threads()
    compiled = CompiledProgram(compile(text).module, workers=2)
    given = np.ones((256, 256), np.float32)
    for _ in range(2):
        assert (compiled.run("main", [given])[0] == 2).all()
        assert len(threads() - before) == 1
        compiled.close()
        assert ended(before)


def test_a_failed_call_keeps_nothing() -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @main(%a: tensor<2xf32>, %i: index) -> tensor<2xf32> {
      %x = tensor.extract %a[%i] : tensor<2xf32>
      %s = tensor.splat %x : tensor<2xf32>
      %r = shard.all_reduce %s on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    before = threads()
    one = compile(text, backend="native")
    with pytest.raises(Exception, match="extract"):
        one.main(np.zeros(2, np.float32), np.int64(7))
    kept = weakref.ref(one.module)
    del one
    gc.collect()
    assert kept() is None
    assert ended(before)


def test_dropped_programs_leave_nothing_behind() -> None:
    before = threads()
    sizes: list[int] = []
    modules: list[weakref.ref[object]] = []
    for number in range(PROGRAMS):
        columns = 3 + number % 3
        one = program(columns)
        one.main(np.ones((4, columns), np.float32))
        modules.append(weakref.ref(one.module))
        del one
        if number % 8 == 7:
            gc.collect()
        sizes.append(resident_bytes())
    gc.collect()
    assert not [each for each in modules if each() is not None]
    assert ended(before)
    # The first tenth fills caches that have bounds.
    assert sizes[-1] - sizes[PROGRAMS // 10] < 8 << 20


def test_kernels_are_shared_and_unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "RECENT", 0)
    kernel_cache._recent.clear()
    before = set(kernel_cache._loaded)
    main, other = program(5).main, program(5).main
    main(np.ones((4, 5), np.float32))
    loaded = set(kernel_cache._loaded)
    assert len(loaded - before) > 0
    other(np.ones((4, 5), np.float32))
    assert set(kernel_cache._loaded) == loaded
    del main
    other(np.ones((4, 5), np.float32))
    del other
    gc.collect()
    assert set(kernel_cache._loaded) <= before


def test_the_data_of_resources_ends_with_the_programs() -> None:
    text = """
    func.func @f() -> (tensor<2xi8>, tensor<2xi8>) {
      %0 = arith.constant dense_resource<DATA> : tensor<2xi8>
      %1 = arith.constant dense_resource<DATA> : tensor<2xi8>
      return %0, %1 : tensor<2xi8>, tensor<2xi8>
    }
    {-# dialect_resources: { builtin: { DATA: "0x01000000VALUE", UNUSED: "0x0100000000" } } #-}"""

    def read(value: str) -> Program:
        changed = text.replace("DATA", "lifetime").replace("VALUE", value)
        return compile(changed.replace("UNUSED", "lifetime_of_none"), "canonicalize")

    storage = Builtin.get_interface(OpAsmDialectInterface)
    assert storage is not None
    first, second = read("0102"), read("0304")
    again = read("0102")
    del first
    gc.collect()
    assert [each.tolist() for each in again.f()] == [[1, 2], [1, 2]]
    assert [each.tolist() for each in second.f()] == [[3, 4], [3, 4]]
    assert storage.lookup("lifetime_0") == "0x010000000304"
    del second, again
    gc.collect()
    assert not [key for key in ("", "_0", "_of_none") if storage.lookup(f"lifetime{key}")]


AT_EXIT = """
import threading, time
import numpy as np
from mesh_opt.api import compile

held = compile(TEXT, "spmd", backend="native")
held.main(np.ones((4, 3), np.float32))
running = compile(ENDLESS, backend="native")
threading.Thread(target=running.main, args=(np.zeros(1, np.float32),), daemon=True).start()
time.sleep(0.3)
print("out", flush=True)
"""

ENDLESS = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
  %r = scf.while (%x = %a) : (tensor<1xf32>) -> tensor<1xf32> {
    %true = arith.constant true
    %s = shard.all_reduce %x on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
    scf.condition(%true) %s : tensor<1xf32>
  } do {
  ^bb0(%x: tensor<1xf32>):
    scf.yield %x : tensor<1xf32>
  }
  return %r : tensor<1xf32>
}
"""


def test_the_interpreter_exits_while_programs_are_held_and_run() -> None:
    script = f"TEXT, ENDLESS = {PARTITIONED.format(columns=3)!r}, {ENDLESS!r}\n{AT_EXIT}"
    command = [sys.executable, "-P", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "")
