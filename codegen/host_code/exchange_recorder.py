"""Exchanges as data: a communicator that notes which collectives a rule asks it for."""

from __future__ import annotations

from typing import Any, NoReturn

from ...runtime.collectives import Collective, Group
from ...runtime.commands import AnyCommand, Buffer
from ...runtime.communicator import Communicator
from ...runtime.host.exchanges import MEET, RECEIVE, SEND, Exchange, ExchangeStep
from ...sharding.collective_matching import CollectiveSignature, DeviceState


class NotRecorded(Exception):
    """A collective asks the others for something before it is known."""


class ExchangeRecorder(Communicator):
    """What one process does at an exchange of which all sizes are known."""

    def __init__(self, process: int) -> None:
        self.process = process
        self._steps: list[tuple[str, Buffer, Buffer, Collective | CollectiveSignature]] = []

    def recorded(self, source: Buffer, result: Buffer) -> Exchange:
        """All that was asked for, from what the process brings to what it has in the end."""
        buffers = [source]
        for _, *ends, _ in self._steps:
            buffers += [each for each in ends if each not in buffers]
        if result not in buffers:
            buffers.append(result)
        number = {buffer: position for position, buffer in enumerate(buffers)}
        steps = tuple(
            ExchangeStep(kind, number[here], number[there], what)
            for kind, here, there, what in self._steps
        )
        return Exchange(tuple(each.size for each in buffers), steps, number[result])

    def commands(
        self, collective: Collective, source: Buffer, result: Buffer, operation: object
    ) -> list[AnyCommand]:
        self._steps.append((MEET, source, result, collective))
        return []

    def send_command(self, source: Buffer, state: DeviceState) -> AnyCommand:
        return self._message(SEND, source, state)

    def receive_command(self, target: Buffer, state: DeviceState) -> AnyCommand:
        return self._message(RECEIVE, target, state)

    def _message(self, kind: str, buffer: Buffer, state: DeviceState) -> Any:
        assert state.signature is not None
        self._steps.append((kind, buffer, buffer, state.signature))

    @property
    def world(self) -> Group:
        raise NotRecorded

    def exchange(
        self, group: Group, state: DeviceState, numbers: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        raise NotRecorded

    def meeting_commands(
        self, collective: Collective, source: Buffer, result: Buffer, state: DeviceState
    ) -> NoReturn:
        raise NotRecorded
