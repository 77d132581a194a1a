"""All devices of a grid in lockstep: run each to its next rendezvous, match, let them go on.

Devices take turns. A collective happens as soon as every device of its group waits at one of the
same signature over the same group. Where signatures of one group differ, where everybody waits in
vain, and where a message is left over, the error names two devices and their operations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from ..runtime.abi.arrays import Value
from ..sharding.collective_matching import (
    ENDED,
    CollectiveMismatch,
    CollectiveSignature,
    DeviceState,
)
from .signatures import mismatch_error

Combine = Callable[[Sequence[Value]], Sequence[Value]]
"""From what the devices of a group bring, in group order, to what each receives."""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """A device waits at `operation` until the group of its signature does.

    `combine` is called once for the group.
    """

    operation: Operation
    signature: CollectiveSignature
    payload: Value
    combine: Combine

    @property
    def state(self) -> DeviceState:
        """Where the device is."""
        return DeviceState(self.signature, self.operation)


@dataclass(frozen=True, slots=True)
class Send(Rendezvous):
    """A message to the one device of the group, which is not waited for."""


@dataclass(frozen=True, slots=True)
class Receive(Rendezvous):
    """Wait for a message from any device of the group."""


Process = Generator[Rendezvous, Any, Any]


@dataclass(slots=True)
class _Board:
    """Where devices wait, and messages on their way by (sender, receiver)."""

    waiting: dict[int, Rendezvous] = field(default_factory=dict[int, Rendezvous])
    results: dict[int, Any] = field(default_factory=dict[int, Any])
    mail: dict[tuple[int, int], deque[Send]] = field(
        default_factory=dict[tuple[int, int], deque[Send]]
    )


def run_lockstep(processes: Sequence[Process], function: Operation) -> list[Any]:
    """Run all devices through a function to its end; returns what each returned.

    Raises OperationError where devices do not match: in a collective, or in a message.
    """
    board = _Board()
    try:
        return _run(board, processes)
    except CollectiveMismatch as mismatch:
        raise mismatch_error(mismatch, function) from mismatch


def _run(board: _Board, processes: Sequence[Process]) -> list[Any]:
    ready: deque[tuple[int, Any]] = deque((device, None) for device in range(len(processes)))
    while True:
        while ready:
            device, value = ready.popleft()
            _advance(board, processes[device], device, value)
            ready.extend(_release(board))
        if not board.waiting:
            break
        anybody = _receive_from_anybody(board)
        if anybody is None:
            states = {device: request.state for device, request in board.waiting.items()}
            raise CollectiveMismatch(states | dict.fromkeys(board.results, ENDED))
        ready.append(anybody)
    for (sender, receiver), box in board.mail.items():
        if box:
            raise CollectiveMismatch({sender: box[0].state, receiver: ENDED})
    return [board.results[device] for device in range(len(processes))]


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
        (receiver,) = request.signature.group
        board.mail.setdefault((device, receiver), deque()).append(request)
        value = request.payload


def _release(board: _Board) -> list[tuple[int, Any]]:
    """Every device that can go on now, with what it receives."""
    released: list[tuple[int, Any]] = []
    for device in list(board.waiting):
        request = board.waiting.get(device)
        if isinstance(request, Receive):
            if len(request.signature.group) == 1:
                released += _delivered(board, device, request)
        elif request is not None and _is_complete(board, request):
            group = request.signature.group
            meeting = [board.waiting.pop(member) for member in group]
            received = request.combine([member.payload for member in meeting])
            released.extend(zip(group, received, strict=True))
    return released


def _is_complete(board: _Board, request: Rendezvous) -> bool:
    """Whether a whole group waits. Raises CollectiveMismatch if not all for one collective."""
    group = request.signature.group
    for member in group:
        other = board.waiting.get(member)
        if other is None or isinstance(other, Receive) or other.signature.group != group:
            return False
    if any(board.waiting[member].signature != request.signature for member in group):
        raise CollectiveMismatch({member: board.waiting[member].state for member in group})
    return True


def _delivered(board: _Board, device: int, request: Receive) -> list[tuple[int, Any]]:
    """A device that waits for a message with the first one for it, the lowest sender's, if any.

    Raises CollectiveMismatch if that is not what the device waits for.
    """
    for sender in sorted(request.signature.group):
        box = board.mail.get((sender, device))
        if box:
            message = box.popleft()
            if not request.signature.takes(message.signature):
                raise CollectiveMismatch({sender: message.state, device: request.state})
            del board.waiting[device]
            return [(device, message.payload)]
    return []


def _receive_from_anybody(board: _Board) -> tuple[int, Any] | None:
    """The first device that would take a message of several devices and has one."""
    for device, request in sorted(board.waiting.items(), key=lambda entry: entry[0]):
        if isinstance(request, Receive):
            for delivered in _delivered(board, device, request):
                return delivered
    return None
