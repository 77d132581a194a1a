"""Devices as threads: failures release everybody, and no order of calls blocks them for ever."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType

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
from mesh_opt.runtime.threads.thread_pool import ThreadPool
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


SUMS = """
shard.grid @g(shape = 2)
func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %y = shard.shard %x to %rows : tensor<8x4xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %sums = linalg.reduce { arith.addf } ins(%y : tensor<8x4xf32>) outs(%zero : tensor<4xf32>)
    dimensions = [0]
  return %sums : tensor<4xf32>
}
"""


def succeeds_in_a_fork(check: Callable[[], bool]) -> bool:
    """Whether a check is true in a fork of this process, within a minute."""
    child = os.fork()
    if child == 0:
        succeeds = False
        try:
            succeeds = check()
        finally:
            os._exit(0 if succeeds else 1)
    deadline = time.monotonic() + 60
    ended, status = 0, -1
    while not ended and time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return (bool(ended), status) == (True, 0)


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
of_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@forks
@of_threads
def test_a_fork_has_threads_of_its_own() -> None:
    module = api.compile(SUMS, "spmd").module
    program = CompiledProgram(module, workers=2)
    inputs = [np.ones((8, 4), np.float32)]
    expected = program.run_partitioned("main", inputs)
    assert succeeds_in_a_fork(
        lambda: np.array_equal(program.run_partitioned("main", inputs)[0], expected[0])
    )


@forks
@of_threads
@pytest.mark.parametrize("pipeline", ["", "spmd"])
def test_a_fork_during_a_call_does_not_wait_for_its_end(pipeline: str) -> None:
    program = api.compile(SUMS, pipeline)
    begun, go_on = threading.Event(), threading.Event()

    def told(_: str) -> None:
        begun.set()
        go_on.wait(60)

    def is_refused() -> bool:
        with pytest.raises(api.ExecutionError, match="in a call when this process was forked"):
            program["main"](np.ones((8, 4), np.float32))
        return True

    program.trace_host = told
    call = threading.Thread(target=lambda: program["main"](np.ones((8, 4), np.float32)))
    call.start()
    try:
        assert begun.wait(60)
        assert succeeds_in_a_fork(is_refused)
    finally:
        go_on.set()
        call.join()


@pytest.mark.parametrize("pipeline", ["", "spmd"])
def test_a_call_from_within_a_call_is_refused(pipeline: str) -> None:
    program, other = (api.compile(SUMS, pipeline) for _ in range(2))
    x = np.ones((8, 4), np.float32)
    sums: list[npt.NDArray[np.float32]] = []

    def told(_: str) -> None:
        sums.append(other["main"](x))
        program["main"](x)

    program.trace_host = told
    with pytest.raises(api.ExecutionError, match="is called from within a call of it"):
        program["main"](x)
    np.testing.assert_array_equal(sums[0], x.sum(axis=0))
    program.trace_host = None
    np.testing.assert_array_equal(program["main"](x), sums[0])


def test_a_signal_in_a_call_does_not_leave_a_program_locked() -> None:
    class Stop(Exception):
        """What a signal handler raises, such as KeyboardInterrupt."""

    program = api.compile(SUMS)
    x = np.ones((8, 4), np.float32)
    for _ in range(2):
        program["main"](x)  # The second call is direct.
    waiting = 0

    def trace(frame: FrameType, event: str, argument: object) -> None:
        nonlocal waiting
        waiting -= frame.f_code.co_name != "__del__"
        if waiting == 0:
            raise Stop

    function, interrupted = program["main"], 0
    while True:
        waiting = interrupted + 1
        sys.settrace(trace)
        try:
            function(x)
            break
        except Stop:
            interrupted += 1
        finally:
            sys.settrace(None)
        other = threading.Thread(target=function, args=(x,), daemon=True)
        other.start()
        other.join(60)
        assert not other.is_alive()
    assert interrupted > 4


def test_threads_end_if_not_all_of_a_pool_start(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)
        started.append(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError):
        ThreadPool(4, "limited")
    gc.collect()
    for thread in started:
        thread.join(10)
        assert not thread.is_alive()


SENDS = """
from mesh_opt.runtime.abi.arrays import np
from mesh_opt.runtime.commands import Buffer, Command, run_commands
from mesh_opt.runtime.native_registry import runtime_function
from mesh_opt.runtime.threads import message_queues

queue, source = message_queues.MessageQueue(), Buffer(4)
post = runtime_function(message_queues.post_message)
run_commands(
    [Command(post, (queue.address, source, 1, 1), (4,), None)], {source: np.zeros(4, np.uint8)}
)
message_queues.free = lambda: lambda address: print("freed", flush=True)
"""


@pytest.mark.parametrize(("end", "printed"), [("", ""), ("del queue", "freed\n")])
def test_messages_are_not_freed_at_exit_when_threads_may_read_them(end: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SENDS + end], capture_output=True, text=True, check=True
    )
    assert done.stdout == printed
