"""Lowering of what processes of a grid do with each other.

The rule of a collective (`collective_rules.py`) says at run time, once for each process and each
set of numbers that operands give, which commands carry it out. Where all types are static, the
machine keeps the commands' words and meets the others without Python from then on.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...interpreter.frames import Device, Frame
from ...interpreter.shard import resolve_grid
from ...ir.attribute_access import integers, operation_name
from ...ir.diagnostics import OperationError
from ...runtime.host.exchanges import Exchange
from ...runtime.host.program import Numbers
from ...runtime.host.virtual_machine import VirtualMachine
from .collective_calls import ALONE, CollectiveCall
from .collective_rules import COLLECTIVE_RULES
from .exchange_recorder import ExchangeRecorder, KnownNumbers, NotRecorded
from .function_lowering import FunctionLowering
from .python_steps import call_python, inputs_of
from .rules import lowers
from .values import (
    HostTensor,
    HostValue,
    NotLowered,
    element_dtype,
    type_shape,
)


@lowers("shard.process_linear_index")
def _process(lowering: FunctionLowering, op: Operation) -> None:
    _need_grid(lowering, op)
    lowering.bind(op.results[0], lowering.builder.compute("process"))


@lowers("shard.process_multi_index")
def _processes(lowering: FunctionLowering, op: Operation) -> None:
    _need_grid(lowering, op)
    grid = resolve_grid(op, Device(lowering.program.symbols, lowering.program.grid))
    builder = lowering.builder
    process = builder.compute("process")
    for axis, result in zip(
        integers(op, "axes") or tuple(range(grid.rank)), op.results, strict=True
    ):
        inner = 1
        for extent in grid.shape[axis + 1 :]:
            inner *= extent or 1
        outer = builder.floor_divide(process, inner)
        lowering.bind(result, builder.modulo(outer, grid.shape[axis] or 1))


def _need_grid(lowering: FunctionLowering, op: Operation) -> None:
    if lowering.program.grid is None:
        lowering.fail(op, lambda _: ALONE)


@lowers(*COLLECTIVE_RULES)
def _collective(lowering: FunctionLowering, op: Operation) -> None:
    contents = _contents(lowering, op)
    collective = _Collective(lowering, op, contents)
    call_python(lowering, op, "exchange", collective.call, contents, collective.recorded)


@lowers("start")
def _start(lowering: FunctionLowering, op: Operation) -> None:
    contents = _contents(lowering, op)
    collective = _Collective(lowering, op, contents)
    number = lowering.program.python(operation_name(op), collective.call, collective.recorded)
    lowering.started[op] = number
    lowering.builder.emit("start", number, inputs_of(contents))


def _contents(lowering: FunctionLowering, op: Operation) -> list[HostValue]:
    """The operands of a collective. Raises NotLowered where it cannot be carried out."""
    if lowering.program.grid is None:
        raise NotLowered(op, ALONE)
    contents = [lowering.value(operand) for operand in op.operands]
    if not isinstance(contents[0], HostTensor):
        raise NotLowered(op, "sends what is no tensor, which has no host code")
    return contents


class _Collective:
    """A collective of the program, which is called at run time."""

    def __init__(
        self, lowering: FunctionLowering, op: Operation, contents: Sequence[HostValue]
    ) -> None:
        self._op = op
        self._contents = contents
        self._symbols, self._grid = lowering.program.symbols, lowering.program.grid
        values = (*op.operands, *op.results)
        shapes = [type_shape(each.type, op) or () for each in values]
        self._is_static = all(size >= 0 for shape in shapes for size in shape)
        element_dtype(op.results[0].type, op)

    def call(self, machine: VirtualMachine, numbers: Numbers) -> Numbers:
        """Meet the others; returns the words of the result."""
        device = Device(self._symbols, self._grid, machine.process)
        call = CollectiveCall(self._op, device, machine.communicator, self._contents, numbers)
        result = call.owned(COLLECTIVE_RULES[self._op.name](call, self._op))
        static = type_shape(self._op.results[0].type, self._op) or ()
        sizes = [size for size, known in zip(result.shape, static, strict=True) if known < 0]
        meeting = call.meeting(result, sizes, is_static=self._is_static)
        if meeting is not None:
            machine.keep_meeting(meeting)
        block = call.run(machine, result)
        return [block, block, *sizes]

    def recorded(self, process: int) -> Exchange | None:
        """What a process does here, `None` if that depends on the run."""
        device = Device(self._symbols, self._grid, process)
        contents = self._contents_on(device) if self._is_static else None
        if contents is None:
            return None
        recorder = ExchangeRecorder(process)
        call = CollectiveCall(self._op, device, recorder, contents, [0])
        try:
            result = COLLECTIVE_RULES[self._op.name](call, self._op)
        except (NotRecorded, OperationError):
            return None
        return recorder.recorded(call.source, result.buffer)

    def _contents_on(self, device: Device) -> list[HostValue] | None:
        """The operands on a device, `None` if one of them is known at run time only."""
        known = KnownNumbers(Frame(device))
        found: list[HostValue] = []
        for operand, content in zip(self._op.operands, self._contents, strict=True):
            if isinstance(content, HostTensor):
                is_known = content.is_static
                found.append(content)
            else:
                number = content if isinstance(content, int) else known.of(operand)
                is_known = number is not None
                found.append(int(number or 0))
            if not is_known:
                return None
        return found
