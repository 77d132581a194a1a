"""Forks, signals and ends of processes do not leave programs locked, nor threads behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import numpy as np
import numpy.typing as npt
import pytest
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.runtime.threads.thread_pool import ThreadPool

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
