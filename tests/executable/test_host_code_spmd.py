"""Processes that meet in loops and branches do what they do in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run_spmd
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.runtime.host import exchanges
from mesh_opt.runtime.host.virtual_machine import VirtualMachine
from mesh_opt.runtime.threads.thread_group import ThreadGroup
from mesh_opt.sharding.grid import Grid

GRID = "shard.grid @g(shape = 3)\n"

PROGRAMS: dict[str, str] = {
    "a_loop_that_ends_when_all_agree": """
func.func @main(%a: tensor<4xf64>) -> (tensor<4xf64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %limit = arith.constant 100.0 : f64
  %r:2 = scf.while (%x = %a, %i = %c0) : (tensor<4xf64>, index) -> (tensor<4xf64>, index) {
    %s = shard.all_reduce %x on @g grid_axes = [0] : tensor<4xf64> -> tensor<4xf64>
    %v = tensor.extract %s[%c0] : tensor<4xf64>
    %c = arith.cmpf olt, %v, %limit : f64
    scf.condition(%c) %s, %i : tensor<4xf64>, index
  } do {
  ^bb0(%x: tensor<4xf64>, %i: index):
    %y = arith.addf %x, %a : tensor<4xf64>
    %j = arith.addi %i, %c1 : index
    scf.yield %y, %j : tensor<4xf64>, index
  }
  return %r#0, %r#1 : tensor<4xf64>, index
}""",
    "halos_in_a_loop": """
func.func @main(%a: tensor<6xf64>) -> (tensor<6xf64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %p = shard.process_linear_index on @g : index
  %q = shard.process_multi_index on @g axes = [0] : index
  %t = arith.addi %p, %q : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %a) -> (tensor<6xf64>) {
    %h = shard.update_halo %x on @g split_axes = [[0]] halo_sizes = [1, 1] : tensor<6xf64>
    %l = tensor.extract_slice %h[0] [4] [1] : tensor<6xf64> to tensor<4xf64>
    %u = tensor.extract_slice %h[2] [4] [1] : tensor<6xf64> to tensor<4xf64>
    %s = arith.addf %l, %u : tensor<4xf64>
    %n = tensor.insert_slice %s into %h[1] [4] [1] : tensor<4xf64> into tensor<6xf64>
    scf.yield %n : tensor<6xf64>
  }
  return %r, %t : tensor<6xf64>, index
}""",
    "open_sizes": """
func.func @main(%a: tensor<?xf64>) -> (tensor<?xf64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> (tensor<?xf64>) {
    %g = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<?xf64> -> tensor<?xf64>
    %y = arith.addf %g, %g : tensor<?xf64>
    scf.yield %y : tensor<?xf64>
  }
  %n = tensor.dim %r, %c0 : tensor<?xf64>
  return %r, %n : tensor<?xf64>, index
}""",
    "a_branch_by_the_process": """
func.func private @meet(%x: tensor<4xf64>) -> tensor<4xf64> {
  %s = shard.shift %x on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate
    : tensor<4xf64> -> tensor<4xf64>
  return %s : tensor<4xf64>
}
func.func @main(%a: tensor<4xf64>) -> (tensor<4xf64>, index) {
  %c1 = arith.constant 1 : index
  %p = shard.process_linear_index on @g : index
  %c = arith.cmpi eq, %p, %c1 : index
  %r = scf.if %c -> (tensor<4xf64>) {
    %n = arith.negf %a : tensor<4xf64>
    %m = func.call @meet(%n) : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %m : tensor<4xf64>
  } else {
    %m = func.call @meet(%a) : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %m : tensor<4xf64>
  }
  return %r, %p : tensor<4xf64>, index
}""",
    # Two messages are under way at a time, and device 0 begins so late that the others give up
    # looking at memory and wait asleep.
    "messages_around_a_ring": """
func.func private @add(%x: index, %y: index) -> index {
  %z = arith.addi %x, %y : index
  return %z : index
}
func.func @main(%a: tensor<4xf64>) -> (tensor<4xf64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %long = arith.constant LATE : index
  %p = shard.process_linear_index on @g : index
  %next = arith.addi %p, %c1 : index
  %to = arith.remui %next, %c3 : index
  %previous = arith.addi %p, %c2 : index
  %from = arith.remui %previous, %c3 : index
  %first = arith.cmpi eq, %p, %c0 : index
  %work = arith.select %first, %long, %c1 : index
  %n = scf.for %i = %c0 to %work step %c1 iter_args(%x = %c0) -> (index) {
    %y = func.call @add(%x, %i) : (index, index) -> index
    scf.yield %y : index
  }
  %r = scf.for %i = %c0 to %c40 step %c1 iter_args(%x = %a) -> (tensor<4xf64>) {
    %s = shard.send %x on @g grid_axes = [0] destination = [%to]
      : (tensor<4xf64>, index) -> tensor<4xf64>
    %d = arith.addf %s, %a : tensor<4xf64>
    %t = shard.send %d on @g grid_axes = [0] destination = [%to]
      : (tensor<4xf64>, index) -> tensor<4xf64>
    %u = shard.recv %t on @g grid_axes = [0] source = [%from]
      : (tensor<4xf64>, index) -> tensor<4xf64>
    %v = shard.recv %t on @g grid_axes = [0] : (tensor<4xf64>) -> tensor<4xf64>
    %w = arith.subf %v, %u : tensor<4xf64>
    %z = arith.addf %x, %w : tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  return %r, %n : tensor<4xf64>, index
}""",
}

LATE = 20_000_000
"""Additions that take native code some tenths of a second, and the interpreter hours."""


def inputs_of(text: str) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(0)
    sizes = [6] * 3 if "6xf64" in text else [2, 3, 1] if "?xf64" in text else [4] * 3
    return [[rng.integers(1, 5, size).astype(np.float64)] for size in sizes]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    text = GRID + PROGRAMS[name]
    grid, inputs = Grid("g", (3,)), inputs_of(text)
    module = api.compile(text.replace("LATE", "3")).module
    expected = run_spmd(module, "main", inputs, grid)
    program = CompiledProgram(module)
    target = program.symbols.lookup(module, "main")
    assert target is not None and program.has_host_code(target, grid)
    for _ in range(2):
        found = program.run_spmd("main", inputs, grid)
        for own, wanted in zip(found, expected, strict=True):
            for got, want in zip(own, wanted, strict=True):
                np.testing.assert_array_equal(got, want)
    program.close()


def test_messages_are_native_and_may_be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes part in the first message of an operation, and where one is long in coming."""
    calls: list[int] = []
    looks: list[int] = []
    carry_out, look = exchanges.carry_out, ThreadGroup.wait_for_message

    def counted(machine: VirtualMachine, *rest: Any) -> int:
        calls.append(machine.process)
        return carry_out(machine, *rest)

    def watched(group: ThreadGroup, receiver: int, *rest: Any) -> None:
        looks.append(receiver)
        look(group, receiver, *rest)

    monkeypatch.setattr(exchanges, "carry_out", counted)
    monkeypatch.setattr(ThreadGroup, "wait_for_message", watched)
    text = GRID + PROGRAMS["messages_around_a_ring"]
    program = CompiledProgram(api.compile(text.replace("LATE", str(LATE))).module)
    inputs, grid = inputs_of(text), Grid("g", (3,))
    expected = program.run_spmd("main", inputs, grid)
    assert 1 in looks and len(calls) == 12
    found = program.run_spmd("main", inputs, grid)
    assert np.array_equal(found[1][0], expected[1][0]) and len(calls) == 12
    program.close()


def test_sizes_that_change_on_one_device() -> None:
    """What devices know of each other's sizes is looked at again where one has others."""
    module = api.compile(GRID + PROGRAMS["open_sizes"]).module
    grid, program = Grid("g", (3,)), CompiledProgram(module)
    for sizes in ((2, 3, 1), (2, 3, 1), (2, 5, 1), (2, 5, 0), (4, 4, 4), (2, 3, 1)):
        inputs = [[np.full(size, 1.0 + number)] for number, size in enumerate(sizes)]
        expected = run_spmd(module, "main", inputs, grid)
        found = program.run_spmd("main", inputs, grid)
        for own, wanted in zip(found, expected, strict=True):
            for got, want in zip(own, wanted, strict=True):
                np.testing.assert_array_equal(got, want)


FAILS = """
func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {
  %p = shard.process_linear_index on @g : index
  %c3 = arith.constant 3 : index
  %i = arith.muli %p, %c3 : index
  %x = tensor.extract %a[%i] : tensor<4xf64>
  %s = tensor.splat %x : tensor<4xf64>
  %r = shard.all_reduce %s on @g grid_axes = [0] : tensor<4xf64> -> tensor<4xf64>
  return %r : tensor<4xf64>
}"""


def test_a_device_that_fails_releases_the_others() -> None:
    module = api.compile(GRID + FAILS).module
    program = CompiledProgram(module)
    good = GRID + FAILS.replace("constant 3 : index", "constant 1 : index")
    for _ in range(2):
        with pytest.raises(OperationError, match="has index 6 in dimension 0") as failure:
            program.run_spmd("main", inputs_of(FAILS), Grid("g", (3,)))
        assert failure.value.operation.name == "tensor.extract"
        assert "on device 2" in failure.value.notes[-1].message
    program.close()
    check = CompiledProgram(api.compile(good).module)
    assert len(check.run_spmd("main", inputs_of(good), Grid("g", (3,)))) == 3
    check.close()
