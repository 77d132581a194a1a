"""Exchanges as data: a communicator that notes which collectives a rule asks it for."""

from __future__ import annotations

from typing import Any, NoReturn

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...interpreter.frames import Frame
from ...interpreter.registry import find_entry
from ...ir.diagnostics import OperationError
from ...runtime.abi.values import Value
from ...runtime.collectives import Collective, Group
from ...runtime.commands import AnyCommand, Buffer
from ...runtime.communicator import Communicator
from ...runtime.host.exchanges import MEET, RECEIVE, SEND, Exchange, ExchangeStep
from ...sharding.collective_matching import CollectiveSignature, DeviceState

COMPUTED = frozenset(("shard.process_linear_index", "shard.process_multi_index", "tensor.extract"))
"""Operations beside arithmetic whose results follow from the device and their operands."""


class KnownNumbers:
    """Numbers that follow from constants and from which device it is that asks."""

    def __init__(self, frame: Frame) -> None:
        """`frame` is of the device."""
        self._frame = frame
        self._found: dict[SSAValue, Value | None] = {}

    def of(self, value: SSAValue) -> Value | None:
        """The number of a value, `None` if it may depend on anything else."""
        if value not in self._found:
            self._found[value] = None
            self._found[value] = self._computed(value)
        return self._found[value]

    def _computed(self, value: SSAValue) -> Value | None:
        op = value.owner
        if not isinstance(op, Operation):
            return None
        name = op.name
        is_constant = name == "arith.constant"
        if isinstance(value.type, TensorType) and not is_constant:
            return None
        if not name.startswith("arith.") and name not in COMPUTED:
            return None
        entry = find_entry(name)
        found = map(self.of, op.operands)
        operands = [each for each in found if each is not None]
        if entry is None or entry.execute is None or len(operands) < len(op.operands):
            return None
        try:
            results = entry.execute(op, operands, self._frame)
        except (OperationError, ArithmeticError, IndexError, TypeError, ValueError):
            return None
        return results[op.results.index(value)]


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
