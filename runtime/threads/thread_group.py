"""Devices as threads of one process, which communicate in shared memory.

All devices run one program at a time, and each device has its own thread, so no device ever waits
for one that is not scheduled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import prod
from types import FunctionType
from typing import Any, NoReturn, TypeVar

import numpy as np

from ...sharding.collective_matching import ENDED, SEND, CollectiveMismatch, DeviceState
from ...sharding.collective_rows import UPDATE_HALO
from ..abi.arrays import Words
from ..abi.native_code import Native
from ..collectives import Collective, Group
from ..commands import AnyCommand, Buffer, Command, DeviceFailed, call_by_address
from ..communicator import Communicator
from ..moves import ByteSection, halo_is_too_wide, moves, piece_words, reduced_section
from ..native_registry import runtime_function, runtime_functions
from ..protocol import RESUMPTIONS, TOO_NARROW, barrier_words
from ..reductions import reduction_kernel
from . import shared_memory_collectives as shared_memory
from .message_queues import MessageQueue, post_message, take_message
from .thread_pool import TASK_ALONE, Call, ThreadPool

T = TypeVar("T")

POLL_PERIOD = 0.001
"""Seconds between two polls of a device that has waited long for a message."""

DEADLOCK_CHECK_PERIOD = 0.1
"""Seconds between two checks for a deadlock, in which all devices wait for each other."""


class _Board:
    """Where the threads of a group exchange numbers."""

    def __init__(self, size: int) -> None:
        self.brought: list[tuple[DeviceState, tuple[int, ...]] | None] = [None] * size
        self.generation = 0
        self.result: list[tuple[int, ...]] = []


class ThreadGroup:
    """The devices of a grid as threads, and their shared state."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.status: Words = np.zeros(32, np.int64)
        self._waiting = 0
        self._barriers: dict[tuple[int, ...], Words] = {}
        self._signatures: dict[object, int] = {}
        self._boards: dict[tuple[int, ...], _Board] = {}
        self._queues: dict[tuple[int, int], MessageQueue] = {}
        self._receiving: dict[int, Sequence[MessageQueue]] = {}
        self._condition = threading.Condition()
        self._submission = threading.Lock()
        self._inside: set[int] = set()
        self._check_period = DEADLOCK_CHECK_PERIOD
        self._pool = ThreadPool(count, "mesh-opt-device")
        self.communicators = [ThreadCommunicator(self, process) for process in range(count)]

    def close(self) -> None:
        """End the threads after their current calls."""
        self._pool.close()

    def is_inside(self) -> bool:
        """Whether this thread is running Python code of a device."""
        return threading.get_ident() in self._inside

    def run(self, work: Callable[[ThreadCommunicator], T]) -> list[T]:
        """Run `work` on all devices at the same time; return their results.

        If some raise, the others are released, and the exception of the lowest device that failed
        by itself is raised. The devices are also released if the caller is interrupted (Ctrl-C)
        while it waits. Raises CollectiveMismatch if the devices' collectives or messages do not
        match.
        """
        return self._run_tasks(lambda communicator, _: work(communicator))

    def run_calls(
        self,
        calls: Sequence[Call],
        resume: Callable[[ThreadCommunicator, int], object],
        kept: object,
    ) -> None:
        """Run a native call on each device. Raises the same errors as `run`.

        A call that returns a status other than 0 continues in Python: `resume` gets the status, on
        the same thread. `kept` is kept alive until the calls have ended, which may be after this
        method has raised the exception of an interrupt.
        """
        self._run_tasks(resume, calls, kept)

    def _run_tasks(
        self,
        work: Callable[[ThreadCommunicator, int], Any],
        calls: Sequence[Call] | None = None,
        kept: object = None,
    ) -> list[Any]:
        results: list[Any] = [None] * self.count
        errors: list[BaseException | None] = [None] * self.count

        def task(number: int, status: int) -> None:
            self._inside.add(threading.get_ident())
            try:
                results[number] = work(self.communicators[number], status)
            except BaseException as error:
                errors[number] = error
                self.fail()
            finally:
                self._inside.discard(threading.get_ident())

        with self._submission:
            # Devices of an interrupted run may still be running.
            while not self._pool.wait(DEADLOCK_CHECK_PERIOD):
                pass
            if self.status[0]:
                self.reset()
            if self.count > 1:
                try:
                    self._await(self._pool.begin(task, calls, kept, self._check_period))
                except BaseException:
                    self.fail()
                    raise
            else:
                # A single device runs on the caller's thread.
                task(0, TASK_ALONE if calls is None else call_by_address(*calls[0]))
            self._check_end(errors)
        return results

    def _check_end(self, errors: Sequence[BaseException | None]) -> None:
        """Raise the error of a run, if any."""
        for error in errors:
            if error is not None and not isinstance(error, DeviceFailed):
                raise error
        if any(errors):
            raise CollectiveMismatch(dict(_states(errors)))
        for (sender, receiver), queue in self._queues.items():
            number = queue.oldest()
            if number is not None:
                self.fail()
                raise CollectiveMismatch({sender: self._state(number), receiver: ENDED})

    def _await(self, has_ended: bool) -> None:
        """Wait until all devices have ended; release them if they are deadlocked."""
        last = -1
        while not has_ended:
            met = int(self.status[RESUMPTIONS])
            if self._is_deadlocked(len(self._pool.busy)) and met == last:
                self.fail()
            last = met
            has_ended = self._pool.wait(DEADLOCK_CHECK_PERIOD)

    def _is_deadlocked(self, running: int) -> bool:
        """Whether all running devices wait, and none has been released.

        A device is counted in the status words when it continues. If the count has not changed, all
        devices that were seen waiting still wait.
        """
        with self._condition:
            met = int(self.status[RESUMPTIONS])
            if any(self._has_message(queues) for queues in self._receiving.values()):
                return False
            waiting = self._waiting + len(self._receiving)
            for group, words in self._barriers.items():
                arrived = int(words[0])
                if arrived == len(group):
                    return False
                waiting += arrived
            return waiting == running and int(self.status[RESUMPTIONS]) == met

    def fail(self) -> None:
        """Release all waiting devices."""
        with self._condition:
            self.status[0] = 1
            self._notify()

    def reset(self) -> None:
        """Clear a failure and all interrupted barriers; no device may be running."""
        with self._condition:
            self.status[:] = 0
            for barrier in self._barriers.values():
                barrier[:] = 0
            self._boards.clear()
            for queue in self._queues.values():
                queue.empty()
            self._waiting = 0

    def barrier(self, group: Group) -> Words:
        """Return the words of a group's barrier (see `threads/shared_memory_collectives.py`)."""
        with self._condition:
            words = self._barriers.get(group.processes)
            if words is None:
                words = np.zeros(barrier_words(group.size), np.int64)
                self._barriers[group.processes] = words
            return words

    def signature_number(self, signature: object) -> int:
        """Return a number that identifies a signature; equal signatures have equal numbers."""
        with self._condition:
            return self._signatures.setdefault(signature, len(self._signatures))

    def _state(self, number: int) -> DeviceState:
        """Return the state that a number identifies."""
        found = list(self._signatures)[number]
        assert isinstance(found, DeviceState)
        return found

    def message_queue(self, sender: int, receiver: int) -> MessageQueue:
        """Return the queue of messages from one device to another."""
        with self._condition:
            return self._queues.setdefault((sender, receiver), MessageQueue())

    def wait_for_message(
        self, receiver: int, queues: Sequence[MessageQueue], state: DeviceState
    ) -> None:
        """Wait until one of the queues has a message. Raises DeviceFailed."""
        with self._condition:
            self._receiving[receiver] = queues
            try:
                while not self._has_message(queues):
                    if self.status[0] or self.count == 1:
                        raise DeviceFailed(state)
                    # Poll, since native senders do not notify the condition.
                    self._condition.wait(POLL_PERIOD)
            finally:
                del self._receiving[receiver]

    def _has_message(self, queues: Sequence[MessageQueue]) -> bool:
        return any(each.oldest() is not None for each in queues)

    def mismatch(
        self, receiver: int, queues: Sequence[MessageQueue], state: DeviceState
    ) -> CollectiveMismatch:
        """Return the error for a message that does not match what a device waits for."""
        for (sender, other), queue in self._queues.items():
            number = queue.oldest() if other == receiver and queue in queues else None
            if number is not None:
                return CollectiveMismatch({sender: self._state(number), receiver: state})
        raise ValueError("there is no message")

    def exchange(
        self,
        group: Group,
        state: DeviceState,
        numbers: tuple[int, ...],
    ) -> list[tuple[int, ...]]:
        """Gather the numbers of all participants.

        Raises DeviceFailed if their signatures differ.
        """
        with self._condition:
            board = self._boards.setdefault(group.processes, _Board(group.size))
            generation = board.generation
            board.brought[group.index] = (state, numbers)
            present = [each for each in board.brought if each is not None]
            if len(present) == group.size:
                if any(each.signature != state.signature for each, _ in present):
                    self.fail()
                    raise DeviceFailed(state)
                board.result = [each for _, each in present]
                board.brought = [None] * group.size
                board.generation += 1
                self._notify()
            while board.generation == generation:
                self._wait(state)
            return board.result

    def _wait(self, state: DeviceState) -> None:
        """Wait for a notification. Raises DeviceFailed at a failure or without other devices."""
        if not self.status[0] and self.count > 1:
            self._waiting += 1
            self._condition.wait()
        if self.status[0] or self.count == 1:
            raise DeviceFailed(state)

    def _notify(self) -> None:
        """Wake all threads that wait in Python.

        They do not count as waiting until they wait again.
        """
        self._waiting = 0
        self._condition.notify_all()


def _states(errors: Sequence[BaseException | None]) -> Iterator[tuple[int, DeviceState]]:
    """Yield the states of devices that stopped waiting or have ended."""
    for process, error in enumerate(errors):
        if error is None:
            yield process, ENDED
        elif isinstance(error, DeviceFailed) and error.state is not None:
            yield process, error.state


class _Receiver:
    """What Python does for a device that has waited for a message for a while."""

    def __init__(
        self, threads: ThreadGroup, process: int, state: DeviceState, senders: Sequence[int]
    ) -> None:
        self.queues = [threads.message_queue(each, process) for each in senders]
        self.addresses: Words = np.array([each.address for each in self.queues], np.int64)
        self._threads = threads
        self._awaited = process, self.queues, state

    def check_for_failures(self) -> None:
        """Wait until there is a message. Raises DeviceFailed if none can come."""
        self._threads.wait_for_message(*self._awaited)

    def mismatched(self) -> NoReturn:
        """Raise CollectiveMismatch: the oldest message does not match."""
        raise self._threads.mismatch(*self._awaited)


class ThreadCommunicator(Communicator):
    """The communicator of one device thread."""

    def __init__(self, group: ThreadGroup, process: int) -> None:
        self.process = process
        self._threads = group

    @property
    def status(self) -> Words:
        return self._threads.status

    @property
    def world(self) -> Group:
        return Group(tuple(range(self._threads.count)), self.process)

    def exchange(
        self,
        group: Group,
        state: DeviceState,
        numbers: tuple[int, ...],
    ) -> list[tuple[int, ...]]:
        return self._threads.exchange(group, state, numbers)

    def collective_commands(
        self, collective: Collective, source: Buffer, result: Buffer, state: DeviceState
    ) -> list[AnyCommand]:
        function, constants = _native_collective(collective), _constants(collective)
        participants = collective.group.size
        scratch = Buffer(8 * (participants + 2))
        words = self._threads.barrier(collective.group)
        bindings = (
            words.ctypes.data,
            self._threads.status.ctypes.data,
            source,
            result,
            scratch,
            self._threads.signature_number((state.signature, collective.shapes)),
        )
        native = runtime_function(function)
        return [Command(native, bindings, constants, state.operation, state)]

    def send_command(self, source: Buffer, state: DeviceState) -> AnyCommand:
        assert state.signature is not None
        (receiver,) = state.signature.group
        queue = self._threads.message_queue(self.process, receiver)
        number = self._threads.signature_number(state)
        bindings = (queue.address, source, self._kind(state), number)
        function = runtime_function(post_message)
        return Command(function, bindings, (source.size,), state.operation, state)

    def receive_command(self, target: Buffer, state: DeviceState) -> AnyCommand:
        assert state.signature is not None
        threads = self._threads
        waits = _Receiver(threads, self.process, state, state.signature.group)
        bindings = (
            int(waits.addresses.ctypes.data),
            len(waits.queues),
            threads.status.ctypes.data,
            target,
            self._kind(state),
        )
        function = runtime_function(take_message)
        return Command(function, bindings, (target.size,), state.operation, state, waits)

    def _kind(self, state: DeviceState) -> int:
        """Return a number that is equal for messages that match."""
        signature = state.signature
        assert signature is not None
        return self._threads.signature_number((SEND, signature.element, signature.sizes))


def message_functions() -> set[Native]:
    """Return the native functions that carry out messages between threads."""
    return set(runtime_functions(shared_memory.copy_section, post_message, take_message))


def collective_functions(collective: Collective) -> set[Native]:
    """Return the native functions that carry out a collective between threads."""
    functions = [shared_memory.copy_section]
    if not collective.row.is_local:
        functions.append(_native_collective(collective))
    found = set(runtime_functions(*functions))
    if collective.row.reduces:
        found.add(reduction_kernel(collective))
    return found


def _native_collective(collective: Collective) -> FunctionType:
    """Return the native function that carries out a collective."""
    if not collective.row.reduces:
        return shared_memory.pull
    return shared_memory.reduce_scatter if collective.row.divides else shared_memory.all_reduce


def _constants(collective: Collective) -> tuple[int, ...]:
    """Return the constants of a collective's native function."""
    group = collective.group
    if not collective.row.reduces:
        return (group.size, group.index, *_pulled(collective))
    source, target = collective.source.storage_bytes, collective.result.storage_bytes
    reduction = source, target, reduction_kernel(collective).address
    if not collective.row.divides:
        root = -1 if collective.root is None else collective.root
        return (group.size, group.index, root, prod(collective.source_shape), *reduction)
    part = reduced_section(collective, group.index)
    row = (each // source for each in (part.outer_pitch, part.start, part.size))
    return (group.size, group.index, part.outer, *row, *reduction)


def _pulled(collective: Collective) -> list[int]:
    """Return the constants of `pull`: what a process copies from each participant."""
    group, own = collective.group, collective.group.index
    is_halo = collective.row is UPDATE_HALO
    copies = [
        (member, to.start, origin.start, *piece_words(to, origin))
        for member in range(group.size)
        for origin, to in moves(collective, member, own)
    ]
    size = prod(collective.result_shape) * collective.result.storage_bytes
    if is_halo:
        whole = ByteSection(0, size)
        copies.insert(0, (own, 0, 0, *piece_words(whole, whole)))
    status = TOO_NARROW if is_halo and halo_is_too_wide(collective) else 0
    # The result of a device to which nobody sends is zero.
    return [status, 0 if copies else size, len(copies), *chain.from_iterable(copies)]
