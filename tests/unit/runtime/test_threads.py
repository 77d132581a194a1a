"""Devices as threads: failures release everybody, and no order of calls blocks them for ever."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.runtime import protocol
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.collectives import Collective
from mesh_opt.runtime.commands import Buffer, Command
from mesh_opt.runtime.communicator import Communicator
from mesh_opt.runtime.threads.thread_group import ThreadGroup
from mesh_opt.sharding.collective_matching import ENDED
from mesh_opt.sharding.grid import Grid


def total(communicator: Communicator) -> float:
    collective = Collective("all_reduce", communicator.world, (8,), F32, (8,), F32)
    return float(communicator.perform(collective, np.full(8, 1.0, np.float32))[0])


def failing_on(process: int, then: Callable[[Communicator], object]) -> Callable:
    def work(communicator: Communicator) -> object:
        if communicator.process == process:
            raise RuntimeError("out of order")
        return then(communicator)

    return work


@pytest.mark.parametrize(
    "meeting",
    [
        total,
        lambda communicator: communicator.exchange(communicator.world, ENDED, (1,)),
    ],
    ids=["native", "exchange"],
)
def test_a_failing_device_releases_the_others(meeting: Callable) -> None:
    group = ThreadGroup(4)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="out of order"):
        group.run(failing_on(2, meeting))
    assert time.monotonic() - start < 20
    assert group.run(total) == [4.0] * 4
    group.close()


def test_a_collective_that_is_started_does_not_wait() -> None:
    """Device 1 comes to it after device 0 has met it elsewhere, between its start and its end."""

    def work(communicator: Communicator) -> list[float]:
        collective = Collective("all_reduce", communicator.world, (8,), F32, (8,), F32)
        source, result = Buffer(32), Buffer(32)
        (command,) = communicator.commands(collective, source, result, None)
        assert isinstance(command, Command)
        arrays = {buffer: np.ones(buffer.size // 4, np.float32) for buffer in command.buffers}
        words = np.array(
            [
                arrays[each].ctypes.data if isinstance(each, Buffer) else each
                for each in command.bindings
            ],
            np.int64,
        )
        constants = np.array(command.constants, np.int64)
        kind = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)

        def call(phase: int) -> int:
            function = kind(command.function.address)
            return function(words.ctypes.data, constants.ctypes.data, phase, 1)

        if communicator.process == 0:
            assert call(protocol.START) == protocol.WAITING
        communicator.exchange(communicator.world, ENDED, (1,))
        assert call(protocol.FINISH if communicator.process == 0 else protocol.AT_ONCE) == 0
        return arrays[result].tolist()

    group = ThreadGroup(2)
    assert group.run(work) == [[2.0] * 8] * 2
    group.close()


def test_many_callers_and_more_devices_than_cores() -> None:
    """Programs of several callers keep one order on all devices, so collectives always meet."""
    group = ThreadGroup(16)
    group.run(total)
    results: list[list[float]] = []

    def call() -> None:
        for _ in range(25):
            results.append(group.run(total))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(120)
    assert not any(caller.is_alive() for caller in callers)
    assert results == [[16.0] * 16] * 100
    group.close()


FAILS_ON_ONE = """
shard.grid @g(shape = 4)
func.func @main(%a: tensor<2xf32>, %b: tensor<2xindex>) -> tensor<2xf32> {
  %p = shard.process_linear_index on @g : index
  %z = arith.constant 0.0 : f32
  %x = tensor.extract %a[%p] : tensor<2xf32>
  %s = tensor.splat %x : tensor<2xf32>
  %r = shard.all_reduce %s on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
"""


def test_the_error_names_operation_and_device() -> None:
    program = CompiledProgram(api.compile(FAILS_ON_ONE).module)
    inputs = [[np.zeros(2, np.float32), np.zeros(2, np.int64)]] * 4
    with pytest.raises(OperationError) as caught:
        program.run_spmd("main", inputs, Grid("g", (4,)))
    assert caught.value.operation.name == "tensor.extract"
    assert any("on device" in note.message for note in caught.value.notes)


COUNTS = """
shard.grid @g(shape = 4)
func.func @main(%a: tensor<2xf32>, %n: index, %step: index) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = shard.process_linear_index on @g : index
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {
    %l = arith.addi %k, %step : index
    scf.yield %l : index
  }
  %j = arith.muli %m, %p : index
  %x = tensor.extract %a[%j] : tensor<2xf32>
  %s = tensor.splat %x : tensor<2xf32>
  %r = shard.all_reduce %s on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
"""


def test_later_calls_fail_and_are_interrupted_as_the_first_one() -> None:
    """They run without Python, as long as nothing goes wrong."""
    main = api.compile(COUNTS).main
    ones = np.ones(2, np.float32)

    def works() -> bool:
        return all(main(ones, 3, 0).tolist() == [4, 4] for _ in range(3))

    assert works()
    with pytest.raises(api.ExecutionError, match=r"(?s)has index 2.*on device [23]"):
        main(ones, 1, 2 - 1)
    assert works()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        main(ones, 1 << 60, 0)
    assert time.monotonic() - start < 5
    assert works()


def test_inputs_live_as_long_as_interrupted_devices_run(monkeypatch: pytest.MonkeyPatch) -> None:
    native, grid = CompiledProgram(api.compile(COUNTS).module), Grid("g", (4,))
    known: list[weakref.ref[npt.NDArray[np.float32]]] = []

    def call(rounds: int) -> None:
        ones, numbers = np.ones(2, np.float32), [np.asarray(rounds), np.asarray(0)]
        known.append(weakref.ref(ones))
        native.run_spmd("main", [[ones, *numbers]] * 4, grid)

    for _ in range(2):
        call(3)
    group = native._machines.threads.group(4)
    with monkeypatch.context() as patch:
        # The devices do not hear of the interrupt before this test lets them.
        patch.setattr(group, "fail", lambda: None)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with contextlib.suppress(KeyboardInterrupt):
            call(1 << 60)
        gc.collect()
        running = len(group._pool.busy), known[-1]() is not None
    group.fail()
    call(3)
    assert running == (4, True)
    assert all(each() is None for each in known)


HALO = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %r = shard.update_halo %a on @g split_axes = [[0]] halo_sizes = HALOS : tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


WIDE = "wider than the shard of the neighbour"


@pytest.mark.parametrize(
    ("halos", "sizes", "message"),
    [
        ("[2, 2]", (8, 5), WIDE),
        ("[3, 0]", (5, 8), WIDE),
        ("[0, 3]", (8, 5), WIDE),
        ("[2, 2]", (3, 3), "has 3 elements to hold halos of 2 and 2"),
    ],
)
def test_a_halo_that_does_not_fit_is_an_error(
    halos: str, sizes: tuple[int, int], message: str
) -> None:
    program = CompiledProgram(api.compile(HALO.replace("HALOS", halos)).module)
    inputs = [[np.zeros(size, np.float32)] for size in sizes]
    with pytest.raises(OperationError, match=message):
        program.run_spmd("main", inputs, Grid("g", (2,)))


UNEVEN = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %r = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0
      : tensor<?x2xf32> -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}
"""


def test_shapes_that_change_on_all_devices() -> None:
    """One device's own shape stays, but what it gathers changes with the other's."""
    program = CompiledProgram(api.compile(UNEVEN).module)
    for rows in (3, 5, 3):
        inputs = [[np.full((size, 2), size, np.float32)] for size in (4, rows)]
        results = program.run_spmd("main", inputs, Grid("g", (2,)))
        expected = np.concatenate([each[0] for each in inputs])
        assert all(np.array_equal(result, expected) for (result,) in results)


READS_ON_ONE = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %p = shard.process_linear_index on @g : index
  %first = arith.cmpi eq, %p, %zero : index
  %y = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0 : tensor<?xf32> -> tensor<?xf32>
  %v = scf.if %first -> (tensor<?xf32>) {
    %x = tensor.extract %y[%zero] : tensor<?xf32>
    %z = arith.constant 0.0 : f32
    %t = arith.cmpf ogt, %x, %z : f32
    %k = scf.if %t -> (tensor<?xf32>) {
      %n = arith.negf %y : tensor<?xf32>
      scf.yield %n : tensor<?xf32>
    } else {
      scf.yield %y : tensor<?xf32>
    }
    scf.yield %k : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  %r = shard.all_gather %v on @g grid_axes = [0] gather_axis = 0 : tensor<?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def test_a_device_that_reads_what_it_has_gathered_is_waited_for() -> None:
    """It runs its first collective when the other is about to record the second."""
    program = CompiledProgram(api.compile(READS_ON_ONE).module)
    inputs = [[np.full(size, size, np.float32)] for size in (1, 2)]
    for _ in range(2):
        results = program.run_spmd("main", inputs, Grid("g", (2,)))
        assert all(result.tolist() == [-1, -2, -2, 1, 2, 2] for (result,) in results)


def test_pieces_of_known_and_different_sizes_are_joined() -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @main(%a: tensor<8xf32>) -> tensor<?xf32> {
      %zero = arith.constant 0 : index
      %p = shard.process_linear_index on @g : index
      %first = arith.cmpi eq, %p, %zero : index
      %r = scf.if %first -> (tensor<?xf32>) {
        %s = tensor.extract_slice %a[0] [2] [1] : tensor<8xf32> to tensor<2xf32>
        %0 = shard.all_gather %s on @g grid_axes = [0] gather_axis = 0
            : tensor<2xf32> -> tensor<?xf32>
        scf.yield %0 : tensor<?xf32>
      } else {
        %n = arith.addi %p, %p : index
        %s = tensor.extract_slice %a[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
        %0 = shard.all_gather %s on @g grid_axes = [0] gather_axis = 0
            : tensor<?xf32> -> tensor<?xf32>
        scf.yield %0 : tensor<?xf32>
      }
      return %r : tensor<?xf32>
    }"""
    for sizes in ("%n = arith.addi %p, %p", "%n = arith.addi %p, %zero"):
        changed = text.replace("%n = arith.addi %p, %p", sizes)
        given = np.arange(8, dtype=np.float32)
        expected = api.compile(changed).main(given)
        assert api.compile(changed, backend="native").main(given).tolist() == (expected.tolist())


def test_collectives_run_whose_results_nobody_reads() -> None:
    other = """
    %d = shard.all_reduce %a on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    %1 = math.absf %a : tensor<2xf32>"""
    program = CompiledProgram(api.compile(DIVERGENT.format(other=other)).module)
    inputs = [[np.ones(2, np.float32)]] * 2
    results = program.run_spmd("main", inputs, Grid("g", (2,)))
    assert [result.tolist() for (result,) in results] == [[2, 2], [1, 1]]


DIVERGENT = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
  %p = shard.process_linear_index on @g : index
  %z = arith.constant 0 : index
  %c = arith.cmpi eq, %p, %z : index
  %r = scf.if %c -> (tensor<2xf32>) {{
    %0 = shard.all_reduce %a on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %0 : tensor<2xf32>
  }} else {{
    {other}
    scf.yield %1 : tensor<2xf32>
  }}
  return %r : tensor<2xf32>
}}
"""


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("%1 = math.absf %a : tensor<2xf32>", "device 1 has ended"),
        (
            "%1 = shard.all_reduce %a on @g grid_axes = [0] reduction = max"
            " : tensor<2xf32> -> tensor<2xf32>",
            "device 1 has all_reduce max of tensor<2xf32> here",
        ),
    ],
    ids=["nothing", "another kind"],
)
def test_devices_that_never_meet_are_an_error(other: str, message: str) -> None:
    program = CompiledProgram(api.compile(DIVERGENT.format(other=other)).module)
    inputs = [[np.zeros(2, np.float32)]] * 2
    with pytest.raises(OperationError, match=message) as caught:
        program.run_spmd("main", inputs, Grid("g", (2,)))
    assert caught.value.operation.name == "shard.all_reduce"
