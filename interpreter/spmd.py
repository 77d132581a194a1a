"""All devices of a grid in lockstep: run each to its next rendezvous, match, let them go on.

Devices take turns. A collective happens as soon as every device of its group waits at one with
the same name and attributes over the same group; anything else that stops everybody is
reported as a deadlock with the place where each device waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from ..dialects.diagnostics import Note, OperationError
from .attributes import operation_name
from .values import Value

Combine = Callable[[Sequence[Value]], Sequence[Value]]
"""From what the devices of a group bring, in group order, to what each receives."""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """A device waits at `operation` until the whole `group` (process numbers, ordered) does.

    `signature` is what must be equal for two operations to be the same collective.
    `combine` is called once for the group.
    """

    operation: Operation
    group: tuple[int, ...]
    signature: object
    payload: Value
    combine: Combine


@dataclass(frozen=True, slots=True)
class Send(Rendezvous):
    """A message to one device, which is not waited for."""

    receiver: int


@dataclass(frozen=True, slots=True)
class Receive(Rendezvous):
    """Wait for a message from `sender`, or from anybody if it is `None`."""

    sender: int | None


Process = Generator[Rendezvous, Any, Any]


@dataclass(slots=True)
class _Board:
    """Where devices wait, and messages on their way by (sender, receiver)."""

    waiting: dict[int, Rendezvous] = field(default_factory=dict[int, Rendezvous])
    results: dict[int, Any] = field(default_factory=dict[int, Any])
    mail: dict[tuple[int, int], deque[Value]] = field(
        default_factory=dict[tuple[int, int], deque[Value]]
    )


def run_lockstep(processes: Sequence[Process]) -> list[Any]:
    """Run all devices to their end; returns what each returned.

    Raises OperationError where devices wait for each other in vain.
    """
    board = _Board()
    ready: deque[tuple[int, Any]] = deque((device, None) for device in range(len(processes)))
    while True:
        while ready:
            device, value = ready.popleft()
            _advance(board, processes[device], device, value)
            ready.extend(_release(board))
        if not board.waiting:
            return [board.results[device] for device in range(len(processes))]
        anybody = _receive_from_anybody(board)
        if anybody is None:
            raise _deadlock(board)
        ready.append(anybody)


def _advance(board: _Board, process: Process, device: int, value: Any) -> None:
    """Run one device until it waits or ends; messages that it sends do not stop it."""
    while True:
        try:
            request = process.send(value)
        except StopIteration as done:
            board.results[device] = done.value
            return
        if not isinstance(request, Send):
            board.waiting[device] = request
            return
        board.mail.setdefault((device, request.receiver), deque()).append(request.payload)
        value = request.payload


def _release(board: _Board) -> list[tuple[int, Any]]:
    """Every device that can go on now, with what it receives."""
    released: list[tuple[int, Any]] = []
    for device in list(board.waiting):
        request = board.waiting.get(device)
        if isinstance(request, Receive):
            box = board.mail.get((request.sender, device)) if request.sender is not None else None
            if box:
                del board.waiting[device]
                released.append((device, box.popleft()))
        elif request is not None and _is_complete(board, request):
            meeting = [board.waiting.pop(member) for member in request.group]
            received = request.combine([member.payload for member in meeting])
            released.extend(zip(request.group, received, strict=True))
    return released


def _is_complete(board: _Board, request: Rendezvous) -> bool:
    for member in request.group:
        other = board.waiting.get(member)
        if other is None or isinstance(other, Receive):
            return False
        if other.group != request.group or other.signature != request.signature:
            return False
    return True


def _receive_from_anybody(board: _Board) -> tuple[int, Any] | None:
    """The first device that would take any message and has one: the lowest sender's."""
    for device in sorted(board.waiting):
        request = board.waiting[device]
        if not isinstance(request, Receive) or request.sender is not None:
            continue
        for (_, receiver), box in sorted(board.mail.items(), key=lambda entry: entry[0]):
            if receiver == device and box:
                del board.waiting[device]
                return device, box.popleft()
    return None


def _deadlock(board: _Board) -> OperationError:
    first = min(board.waiting)
    request = board.waiting[first]
    notes: list[Note] = []
    for device, other in sorted(board.waiting.items()):
        name = operation_name(other.operation)
        group = ", ".join(map(str, other.group))
        notes.append(Note(f"device {device} waits at {name} for [{group}]", other.operation))
    finished = sorted(board.results)
    if finished:
        notes.append(Note(f"finished already: {', '.join(map(str, finished))}"))
    return OperationError(
        request.operation,
        f"is waited at by device {first}, but the devices of its group never meet there",
        notes,
    )
