"""Lowering of what processes of a grid do with each other.

The rule of a collective (`collective_rules.py`) says at run time, once for each process and each
set of numbers that operands give, which commands carry it out. Where all types are static, the
machine keeps the commands' words and meets the others without Python from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...interpreter.machine import Device
from ...interpreter.shard import resolve_grid
from ...ir.attribute_access import integers
from ...ir.diagnostics import OperationError
from ...runtime.buffers import Buffer, Bytes, Storage
from ...runtime.commands import AnyCommand, Command, HostCommand, Place
from ...runtime.host.machine import Machine, Meeting, command_failure, view
from ...runtime.host.program import Numbers
from ..recording.collective_rules import COLLECTIVE_RULES
from ..recording.recording_frame import RecordingFrame
from ..recording.tensors import Array, Tensor
from .function_lowering import FunctionLowering
from .python_steps import call_python
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
    grid = resolve_grid(op, cast(Any, _Site(lowering)))
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


ALONE = "needs the devices of a grid, but the program runs on one device alone"


class _Site:
    """What looking a grid up needs of an interpreter's frame."""

    def __init__(self, lowering: FunctionLowering) -> None:
        self.device = Device(lowering.program.symbols, lowering.program.grid)


@lowers(*COLLECTIVE_RULES)
def _collective(lowering: FunctionLowering, op: Operation) -> None:
    if lowering.program.grid is None:
        raise NotLowered(op, ALONE)
    contents = [lowering.value(operand) for operand in op.operands]
    if not isinstance(contents[0], HostTensor):
        raise NotLowered(op, "sends what is no tensor, which has no host code")
    site = CollectiveSite(lowering, op, contents)
    call_python(lowering, op, "exchange", site.call, contents)


class CollectiveSite:
    """A collective of the program, and what its rule has found."""

    def __init__(
        self, lowering: FunctionLowering, op: Operation, contents: Sequence[HostValue]
    ) -> None:
        self.op = op
        self.contents = contents
        self.symbols, self.grid = lowering.program.symbols, lowering.program.grid
        values = (*op.operands, *op.results)
        shapes = [type_shape(each.type, op) or () for each in values]
        self._is_static = all(size >= 0 for shape in shapes for size in shape)
        self._dtype = element_dtype(op.results[0].type, op)

    def call(self, machine: Machine, numbers: Numbers) -> Numbers:
        """Meet the others; returns the words of the result."""
        recorder = _Recorder(self, machine, numbers)
        with np.errstate(all="ignore"):
            (result,) = COLLECTIVE_RULES[self.op.name](cast(RecordingFrame, recorder), self.op)
        plan = _Plan(recorder, cast(Tensor, result))
        if self._is_static and (meeting := plan.meeting(numbers)) is not None:
            machine.keep_meeting(meeting)
        block = plan.run(machine)
        sizes = type_shape(self.op.results[0].type, self.op) or ()
        shape = cast(Tensor, result).shape
        return [
            *(block, block),
            *(size for size, known in zip(shape, sizes, strict=True) if known < 0),
        ]


class _Recorder:
    """What the rules of collectives work on: numbers that are known, and commands so far."""

    def __init__(self, site: CollectiveSite, machine: Machine, numbers: Numbers) -> None:
        if machine.communicator is None:
            raise OperationError(site.op, ALONE)
        self.device = Device(site.symbols, site.grid, machine.process)
        self.communicator = machine.communicator
        self.process = machine.process
        self.commands: list[AnyCommand] = []
        rest = iter(numbers)
        self._values: dict[SSAValue, int | Tensor] = {}
        self.address = numbers[0]
        for operand, content in zip(site.op.operands, site.contents, strict=True):
            self._values[operand] = self._value(content, rest)

    def _value(self, content: HostValue, rest: Iterator[int]) -> int | Tensor:
        if not isinstance(content, HostTensor):
            return content if isinstance(content, int) else next(rest)
        next(rest)
        shape = tuple(each if isinstance(each, int) else next(rest) for each in content.shape)
        self.source = Buffer(prod(shape) * content.dtype.itemsize, Storage.INPUT)
        return Tensor(shape, content.dtype, Place(self.source), _unread)

    @property
    def flush(self) -> None:
        """Everything before the collective has been run."""
        return None

    @property
    def recorder(self) -> _Recorder:
        """The frame is its own recorder."""
        return self

    @property
    def resolver(self) -> _Recorder:
        """And knows the shapes."""
        return self

    def number(self, value: SSAValue) -> int:
        """An index."""
        found = self._values[value]
        if isinstance(found, Tensor):
            raise ValueError("a tensor is no number")
        return found

    def tensor(self, value: SSAValue) -> Tensor:
        """A tensor."""
        found = self._values[value]
        if not isinstance(found, Tensor):
            raise ValueError("a number is no tensor")
        return found

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The shape of an operand."""
        return self.tensor(value).shape

    def new_tensor(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A tensor to write to."""
        buffer = Buffer(prod(shape) * dtype.itemsize, Storage.TRANSIENT)
        return Tensor(shape, dtype, Place(buffer), _unread)

    def add(self, command: AnyCommand) -> None:
        """Append a command."""
        self.commands.append(command)


def _unread(tensor: Tensor) -> Array:
    raise ValueError("collectives do not look at elements")


class _Plan:
    """Commands with memory for what lies between the source and the result."""

    def __init__(self, recorder: _Recorder, result: Tensor) -> None:
        self._recorder = recorder
        self._result = result
        self._memory: dict[Buffer, Bytes] = {}
        for command in recorder.commands:
            for place in _places(command):
                if place.buffer not in (recorder.source, result.place.buffer):
                    size = place.buffer.size
                    self._memory.setdefault(place.buffer, np.empty(size + 64, np.uint8))

    def run(self, machine: Machine) -> int:
        """Carry the commands out; returns the block of the result."""
        recorder, result = self._recorder, self._result
        if result.place.buffer is recorder.source:
            block = machine.pool.allocate(result.nbytes)
            view(block, result.nbytes)[:] = view(recorder.address, result.nbytes)
        else:
            block = machine.pool.allocate(result.nbytes)
        for command in recorder.commands:
            if isinstance(command, HostCommand):
                command.function(*(self._view(place, block) for place in command.places))
                continue
            bindings = np.array([self._word(each, block) for each in command.bindings], np.int64)
            constants = np.array([*command.constants, 0], np.int64)
            status = machine.call_native(
                command.function.address, bindings.ctypes.data, constants.ctypes.data, command.tiles
            )
            if status:
                raise command_failure(command, status)
        return block

    def _word(self, binding: Place | int, block: int) -> int:
        if isinstance(binding, int):
            return binding
        memory = self._memory.get(binding.buffer)
        if memory is not None:
            return memory.ctypes.data + binding.offset
        is_source = binding.buffer is self._recorder.source
        return (self._recorder.address if is_source else block) + binding.offset

    def _view(self, place: Place, block: int) -> Bytes:
        memory = self._memory.get(place.buffer)
        if memory is None:
            memory = view(self._word(Place(place.buffer), block), place.buffer.size)
        return memory[place.offset :]

    def meeting(self, numbers: Numbers) -> Meeting | None:
        """The words with which the machine meets the others by itself, if it can."""
        recorder, result = self._recorder, self._result
        if result.place.buffer is recorder.source:
            return None
        rows: list[tuple[Command, list[int]]] = []
        sources: list[tuple[int, int]] = []
        results: list[tuple[int, int]] = []
        for row, command in enumerate(recorder.commands):
            if not isinstance(command, Command):
                return None
            for position, binding in enumerate(command.bindings):
                if isinstance(binding, Place) and binding.buffer not in self._memory:
                    is_source = binding.buffer is recorder.source
                    if binding.offset:
                        return None
                    (sources if is_source else results).append((row, position))
            rows.append((command, [self._word(each, 0) for each in command.bindings]))
        kept = list(self._memory.values())
        return Meeting(list(numbers[1:]), result.nbytes, rows, sources, results, kept)


def _places(command: AnyCommand) -> list[Place]:
    if isinstance(command, HostCommand):
        return list(command.places)
    return [each for each in command.bindings if isinstance(each, Place)]
