"""Run all devices of a grid in lockstep: each to its next rendezvous, then match and resume them.

Devices take turns. A collective happens as soon as every device of its group waits with the same
signature. If signatures within a group differ, if all devices are blocked, or if a message is never
received, the error names two devices and their operations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from ..dialects.linalg.structured_view import remembered_views
from ..runtime.abi.arrays import Value
from ..sharding.collective_matching import (
    ENDED,
    CollectiveMismatch,
    CollectiveSignature,
    DeviceState,
)
from .collective_signatures import mismatch_error

Combine = Callable[[Sequence[Value]], Sequence[Value]]
"""Maps the contributions of a group's devices, in group order, to the results of each."""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """A device that waits at `operation` for the group of its signature.

    `combine` is called once for the group.
    """

    operation: Operation
    signature: CollectiveSignature
    payload: Value
    combine: Combine

    @property
    def state(self) -> DeviceState:
        """The signature and operation at which the device waits."""
        return DeviceState(self.signature, self.operation)


@dataclass(frozen=True, slots=True)
class Send(Rendezvous):
    """A message to the only device of the group. The sender does not wait."""


@dataclass(frozen=True, slots=True)
class Receive(Rendezvous):
    """A device that waits for a message from any device of the group."""


ProcessRoutine = Generator[Rendezvous, Any, Any]


@dataclass(slots=True)
class _Board:
    """Devices that wait, results of finished ones, and pending messages by (sender, receiver)."""

    waiting: dict[int, Rendezvous] = field(default_factory=dict[int, Rendezvous])
    results: dict[int, Any] = field(default_factory=dict[int, Any])
    mail: dict[tuple[int, int], deque[Send]] = field(
        default_factory=dict[tuple[int, int], deque[Send]]
    )


def run_lockstep(processes: Sequence[ProcessRoutine], function: Operation) -> list[Any]:
    """Run a function to its end on all devices and return the results of each.

    Raises OperationError if devices do not match in a collective or a message.
    """
    board = _Board()
    try:
        with remembered_views():
            return _run(board, processes)
    except CollectiveMismatch as mismatch:
        raise mismatch_error(mismatch, function) from mismatch


def _run(board: _Board, processes: Sequence[ProcessRoutine]) -> list[Any]:
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


def _advance(board: _Board, process: ProcessRoutine, device: int, value: Any) -> None:
    """Run one device until it waits or ends; sends do not stop it."""
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
    """Return all devices that can resume, with their results."""
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
    """Return whether the whole group waits. Raises CollectiveMismatch if signatures differ."""
    group = request.signature.group
    for member in group:
        other = board.waiting.get(member)
        if other is None or isinstance(other, Receive) or other.signature.group != group:
            return False
    if any(board.waiting[member].signature != request.signature for member in group):
        raise CollectiveMismatch({member: board.waiting[member].state for member in group})
    return True


def _delivered(board: _Board, device: int, request: Receive) -> list[tuple[int, Any]]:
    """Deliver the first message for a waiting device, from the lowest sender, if there is one.

    Raises CollectiveMismatch if it does not match the signature that the device waits for.
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
    """Return the first device that accepts messages from several devices and has one."""
    for device, request in sorted(board.waiting.items(), key=lambda entry: entry[0]):
        if isinstance(request, Receive):
            for delivered in _delivered(board, device, request):
                return delivered
    return None
