"""Devices as threads of one process: one thread each, meeting in shared memory.

A program is put on all queues under one lock, so that all devices see the same programs in the
same order, and each device has a thread to itself: no device ever waits for one that cannot run.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ..backend.reductions import reduction_kernel
from .buffers import Buffer, Bytes, Storage
from .collectives import Collective, Group, around, shard_range
from .commands import Command, CommandBuffer, CommandFailed, HostCommand, Place
from .communicator import Communicator, DeviceFailed, Words, as_bytes
from .native import MEETINGS, WAITING, meeting_words, native_function
from .workers import Threads

T = TypeVar("T")

STANDSTILL = 2.0
"""Seconds after which devices that all wait, and have not met, are looked at a second time."""


class _Exchange:
    """Where a group's threads leave numbers for each other while they record."""

    def __init__(self, size: int) -> None:
        self.brought: list[tuple[int, ...] | None] = [None] * size
        self.generation = 0
        self.result: list[tuple[int, ...]] = []


class ThreadGroup:
    """The devices of a grid as threads, and what they share."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.state: Words = np.zeros(32, np.int64)
        self._waiting = 0
        self._meetings: dict[tuple[int, ...], Words] = {}
        self._exchanges: dict[tuple[int, ...], _Exchange] = {}
        self._mail: dict[int, list[tuple[int, Bytes]]] = {}
        self._condition = threading.Condition()
        self._submission = threading.Lock()
        self._threads = Threads(count, "device")
        self.communicators = [ThreadCommunicator(self, process) for process in range(count)]

    def close(self) -> None:
        """End the threads, after what is queued."""
        self._threads.close()

    def run(self, work: Callable[[ThreadCommunicator], T]) -> list[T]:
        """Run `work` on every device at once; returns what each returned.

        If some raise, the others are released, and the exception of the lowest device that failed
        by itself is raised here. So are they if the caller is interrupted (Ctrl-C) while it waits.
        """
        results: list[Any] = [None] * self.count
        errors: list[BaseException | None] = [None] * self.count
        done: queue.SimpleQueue[int] = queue.SimpleQueue()
        state = _Run()

        def task(process: int) -> Callable[[], None]:
            def run() -> None:
                state.enter(self)
                try:
                    results[process] = work(self.communicators[process])
                except BaseException as error:
                    errors[process] = error
                    self.fail()
                done.put(process)

            return run

        state.expected = self.count
        with self._submission:
            for process in range(self.count):
                self._threads.submit(process, task(process))
        try:
            self._await(done)
        except BaseException:
            self.fail()
            raise
        failed = [error for error in errors if error is not None]
        if failed:
            raise min(failed, key=_is_secondary)
        return results

    def _await(self, done: queue.SimpleQueue[int]) -> None:
        """Wait until every device is done, or stop those that wait for each other in vain."""
        running = self.count
        last = -1
        while running:
            try:
                done.get(timeout=STANDSTILL)
                running -= 1
                last = -1
            except queue.Empty:
                meetings = int(self.state[MEETINGS])
                waiting = int(self.state[WAITING]) + self._waiting
                if waiting == running and meetings == last:
                    self.fail()
                last = meetings if waiting == running else -1

    def fail(self) -> None:
        """Release every device that waits for another."""
        with self._condition:
            self.state[0] = 1
            self._condition.notify_all()

    def reset(self) -> None:
        """Forget a failure and every meeting that it interrupted; nobody may be running."""
        with self._condition:
            self.state[:] = 0
            for meeting in self._meetings.values():
                meeting[:] = 0
            self._exchanges.clear()
            self._mail.clear()

    def meeting(self, group: Group) -> Words:
        """The words in which a group meets."""
        with self._condition:
            words = self._meetings.get(group.processes)
            if words is None:
                words = np.zeros(meeting_words(group.size), np.int64)
                self._meetings[group.processes] = words
            return words

    def post(self, sender: int, receiver: int, message: Bytes) -> None:
        """Leave a message."""
        with self._condition:
            self._mail.setdefault(receiver, []).append((sender, message))
            self._condition.notify_all()

    def take(self, receiver: int, sender: int | None) -> Bytes:
        """The oldest message for a device, from a sender or from anybody; waits for one."""
        with self._condition:
            while True:
                box = self._mail.get(receiver, [])
                for position, (origin, message) in enumerate(box):
                    if sender in (None, origin):
                        del box[position]
                        return message
                if self.state[0]:
                    raise DeviceFailed
                self._wait()

    def _wait(self) -> None:
        self._waiting += 1
        self._condition.wait()
        self._waiting -= 1

    def exchange(self, group: Group, numbers: tuple[int, ...]) -> list[tuple[int, ...]]:
        """All of a group's numbers, once all have come."""
        with self._condition:
            board = self._exchanges.setdefault(group.processes, _Exchange(group.size))
            generation = board.generation
            board.brought[group.rank] = numbers
            present = [each for each in board.brought if each is not None]
            if len(present) == group.size:
                board.result = present
                board.brought = [None] * group.size
                board.generation += 1
                self._condition.notify_all()
                return present
            while board.generation == generation:
                if self.state[0]:
                    raise DeviceFailed
                self._wait()
            return board.result


class _Run:
    """The beginning of one program on all devices: a failure of the last one is over by then."""

    def __init__(self) -> None:
        self.expected = 0
        self._condition = threading.Condition()
        self._arrived = 0

    def enter(self, group: ThreadGroup) -> None:
        """Wait for all devices, the last of which resets what a failure has left."""
        with self._condition:
            self._arrived += 1
            if self._arrived == self.expected:
                if group.state[0]:
                    group.reset()
                self._condition.notify_all()
            else:
                while self._arrived < self.expected:
                    self._condition.wait()


def _is_secondary(error: BaseException) -> bool:
    """Whether a device only gave up because another had failed."""
    return isinstance(error, DeviceFailed) or (
        isinstance(error, CommandFailed) and error.is_released
    )


class ThreadCommunicator(Communicator):
    """One device's way to the others in shared memory."""

    def __init__(self, group: ThreadGroup, process: int) -> None:
        self.process = process
        self._threads = group

    @property
    def state(self) -> Words:
        return self._threads.state

    @property
    def world(self) -> Group:
        return Group(tuple(range(self._threads.count)), self.process)

    def exchange(self, group: Group, numbers: tuple[int, ...]) -> list[tuple[int, ...]]:
        return self._threads.exchange(group, numbers)

    def meeting_commands(
        self, collective: Collective, source: Place, result: Place, origin: object
    ) -> list[Command | HostCommand]:
        name, constants = _native_collective(collective)
        participants = collective.group.size
        scratch = Buffer(8 * (participants + 2), Storage.TRANSIENT)
        words = self._threads.meeting(collective.group)
        bindings = (
            words.ctypes.data,
            self._threads.state.ctypes.data,
            source,
            result,
            Place(scratch),
            _signature(collective),
        )
        function = native_function(name)
        return [Command(function, bindings, constants, 1, origin, is_collective=True)]

    def send_command(self, source: Place, size: int, receiver: int, origin: object) -> HostCommand:
        def send(data: Bytes) -> None:
            self._threads.post(self.process, receiver, data[:size].copy())

        return HostCommand(send, (source,), origin)

    def receive_command(
        self, target: Place, size: int, sender: int | None, origin: object
    ) -> HostCommand:
        def receive(data: Bytes) -> None:
            message = self._threads.take(self.process, sender)
            if len(message) != size:
                raise ValueError(f"received {len(message)} bytes, expected {size}")
            data[:size] = message

        return HostCommand(receive, (target,), origin)

    def perform(self, collective: Collective, source: npt.NDArray[Any]) -> npt.NDArray[Any]:
        target = Buffer(
            prod(collective.result_shape) * collective.result.storage_bytes, Storage.OUTPUT
        )
        given = as_bytes(np.ascontiguousarray(source))
        commands = self.commands(
            collective, Place(Buffer(given.nbytes, Storage.INPUT)), Place(target), collective.kind
        )
        buffer = CommandBuffer(commands, [target.size], self.state)
        output = buffer.run([given])[0]
        return output.view(collective.result.dtype).reshape(collective.result_shape)


def _signature(collective: Collective) -> int:
    """What must be equal for two collectives to be the same."""
    parts = (
        collective.kind,
        collective.source.name,
        collective.result.name,
        collective.axis,
        collective.concat_axis,
        collective.root,
        collective.reduction,
        collective.low,
        collective.high,
    )
    return crc32(repr(parts).encode())


def _native_collective(collective: Collective) -> tuple[str, tuple[int, ...]]:
    """The native function of a collective and its constants."""
    group = collective.group
    item = collective.source.storage_bytes
    root = -1 if collective.root is None else collective.root
    head = (group.size, group.rank)
    shape = collective.source_shape
    match collective.kind:
        case "all_gather" | "gather":
            outer, size, inner = around(shape, collective.axis)
            return "all_gather", (*head, root, outer, size * inner * item)
        case "all_to_all":
            return "all_to_all", (*head, *_all_to_all_constants(collective))
        case "all_reduce" | "reduce":
            reduction = _reduction(collective)
            target = collective.result.storage_bytes
            return "all_reduce", (*head, root, prod(shape), item, target, reduction)
        case "reduce_scatter":
            outer, size, inner = around(shape, collective.axis)
            start, length = shard_range(size, *head)
            runs = (outer, size * inner, start * inner, length * inner)
            target = collective.result.storage_bytes
            return "reduce_scatter", (*head, *runs, item, target, _reduction(collective))
        case "broadcast":
            size = prod(shape) * item
            return "pull", (*head, root, 1, size, size, 0)
        case "scatter":
            outer, size, inner = around(shape, collective.axis)
            start, length = shard_range(size, *head)
            row, pitch = length * inner * item, size * inner * item
            return "pull", (*head, root, outer, row, pitch, start * inner * item)
        case "halo":
            outer, size, inner = around(shape, collective.axis)
            widths = (collective.low, collective.high)
            return "exchange_halo", (*head, outer, size, inner * item, *widths)
        case "permute":
            size = prod(shape) * item
            sender = -1 if collective.sender is None else collective.sender
            return "pull", (*head, sender, 1, size, size, 0)
        case _:
            raise ValueError(f"there is no collective {collective.kind}")


def _all_to_all_constants(collective: Collective) -> tuple[int, ...]:
    shape, split, joined = collective.source_shape, collective.axis, collective.concat_axis
    low, high = min(split, joined), max(split, joined)
    outer, inner = prod(shape[:low]), prod(shape[high + 1 :]) * collective.source.storage_bytes
    if split == joined:
        return (outer, shape[split], 1, shape[split], inner, 2)
    middle = prod(shape[low + 1 : high])
    return (outer, shape[split], middle, shape[joined], inner, int(split > joined))


def _reduction(collective: Collective) -> int:
    kernel = reduction_kernel(
        collective.reduction, collective.source, collective.result, collective.group.size
    )
    return kernel.address
