"""Lower collectives, and queries of the process index.

The rule of a collective (`collective_rules.py`) returns the exchange of a process, given the values
of index operands. The first run makes commands from it for its sizes. With static sizes the machine
keeps the commands, and later runs execute them without Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...interpreter.frames import Frame, Process
from ...interpreter.process_groups import NO_GRID, resolve_grid
from ...interpreter.run import run_operation
from ...ir.attribute_access import integers, operation_name
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Value
from ...runtime.collectives import Shape
from ...runtime.host.exchanges import Exchange, ExchangeFailed
from ...runtime.host.program import RegisterValues
from ...runtime.host.virtual_machine import VirtualMachine
from ...sharding.collective_matching import DYNAMIC_SIZE
from .collective_rules import COLLECTIVE_RULES, CollectiveCall
from .executable_steps import dispatched_tensor
from .function_lowering import FunctionLowering, lowers
from .overlap import DISPATCH, dispatched_collective
from .python_steps import call_python, inputs_of
from .values import HostTensor, HostValue, NotLowered, type_shape


@lowers("shard.process_linear_index")
def _process(lowering: FunctionLowering, op: Operation) -> None:
    _need_grid(lowering, op)
    lowering.bind(op.results[0], lowering.builder.compute("process"))


@lowers("shard.process_multi_index")
def _processes(lowering: FunctionLowering, op: Operation) -> None:
    _need_grid(lowering, op)
    grid = resolve_grid(op, Process(lowering.program.symbols, lowering.program.grid))
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
        lowering.fail(op, lambda _: NO_GRID)


@lowers(*COLLECTIVE_RULES)
def _collective(lowering: FunctionLowering, op: Operation) -> None:
    contents = _contents(lowering, op)
    collective = _Collective(lowering, op, contents)
    call_python(lowering, op, "exchange", collective.call, contents, collective.recorded)


@lowers("start")
def _start(lowering: FunctionLowering, op: Operation) -> None:
    if op.name != DISPATCH:
        _start_collective(lowering, op, _contents(lowering, op))
        return
    inner = dispatched_collective(op, lowering.program.dispatched)
    brought = None if inner is None else dispatched_tensor(lowering, op, inner.operands[0])
    if inner is None or brought is None:
        # The collective is inside the dispatch, which performs it.
        return
    lowering.builder.emit("device", lowering.program.device(op))
    _start_collective(lowering, inner, [brought])
    lowering.builder.emit("device", lowering.program.current_device)


def _start_collective(
    lowering: FunctionLowering, op: Operation, contents: Sequence[HostValue]
) -> None:
    collective = _Collective(lowering, op, contents)
    calls = collective.call, collective.recorded, collective.prepare
    number = lowering.program.python(operation_name(op), *calls)
    lowering.started[op] = number
    lowering.builder.emit("start", number, inputs_of(contents))


def _contents(lowering: FunctionLowering, op: Operation) -> list[HostValue]:
    """Return the operands of a collective. Raises NotLowered if it has no host code."""
    if lowering.program.grid is None:
        raise NotLowered(op, NO_GRID)
    contents = [lowering.value(operand) for operand in op.operands]
    if not isinstance(contents[0], HostTensor):
        raise NotLowered(op, "sends a value that is not a tensor, which has no host code")
    return contents


class _Collective:
    """A collective of the program, called at run time."""

    def __init__(
        self, lowering: FunctionLowering, op: Operation, contents: Sequence[HostValue]
    ) -> None:
        self._op = op
        self._contents = contents
        self._symbols, self._grid = lowering.program.symbols, lowering.program.grid
        shapes = [type_shape(each.type, op) or () for each in (*op.operands, *op.results)]
        self._is_static = all(size >= 0 for shape in shapes for size in shape)

    def call(self, machine: VirtualMachine, numbers: RegisterValues) -> RegisterValues:
        """Perform the exchange; return the words of the result."""
        if machine.communicator is None:
            raise OperationError(self._op, NO_GRID)
        open_sizes = sum(size == DYNAMIC_SIZE for size in self._shape)
        rest = iter(numbers[1 + open_sizes :])
        known = {
            operand: content if isinstance(content, int) else next(rest)
            for operand, content in self._indices
        }
        exchange = self._exchange(self._process(machine.process), known)
        try:
            return exchange.perform(machine, numbers, self._op)
        except ExchangeFailed as problem:
            raise OperationError(self._op, str(problem)) from problem

    def recorded(self, index: int) -> Exchange | None:
        """Return the exchange of a process, `None` if it depends on values at run time."""
        process = self._process(index)
        numbers = _KnownNumbers(Frame(process))
        known: dict[SSAValue, int] = {}
        for operand, content in self._indices:
            number = content if isinstance(content, int) else numbers.of(operand)
            if number is None:
                return None
            known[operand] = int(number)
        try:
            return self._exchange(process, known)
        except OperationError:
            return None

    def prepare(self, machine: VirtualMachine) -> None:
        """Build the commands of a machine before it reaches the collective."""
        exchange = None if machine.communicator is None else self.recorded(machine.process)
        if exchange is not None:
            exchange.prepare(machine, self._op)

    def _exchange(self, process: Process, numbers: Mapping[SSAValue, int]) -> Exchange:
        call = CollectiveCall(process, self._shape, numbers)
        COLLECTIVE_RULES[self._op.name](call, self._op)
        result = type_shape(self._op.results[0].type, self._op) or ()
        dynamic_results = tuple(each for each, size in enumerate(result) if size < 0)
        item = self._tensor.dtype.itemsize
        return Exchange(self._shape, item, tuple(call.steps), dynamic_results, self._is_static)

    def _process(self, index: int) -> Process:
        return Process(self._symbols, self._grid, index)

    @property
    def _tensor(self) -> HostTensor:
        found = self._contents[0]
        assert isinstance(found, HostTensor)
        return found

    @property
    def _shape(self) -> Shape:
        """The shape of the local operand, `DYNAMIC_SIZE` where dynamic."""
        return tuple(each if isinstance(each, int) else DYNAMIC_SIZE for each in self._tensor.shape)

    @property
    def _indices(self) -> list[tuple[SSAValue, HostValue]]:
        """The index operands with their contents."""
        return list(zip(self._op.operands, self._contents, strict=True))[1:]


_PROCESS_DEPENDENT = frozenset(
    ("shard.process_linear_index", "shard.process_multi_index", "tensor.extract")
)
"""Operations, beside `arith`, whose results depend only on the process and their operands."""


class _KnownNumbers:
    """Evaluates numbers that follow from constants and the number of the process."""

    def __init__(self, frame: Frame) -> None:
        """`frame` is the interpreter's frame of the process."""
        self._frame = frame
        self._found: dict[SSAValue, Value | None] = {}

    def of(self, value: SSAValue) -> Value | None:
        """Return the number of a value, `None` if it may depend on anything else."""
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
        if not name.startswith("arith.") and name not in _PROCESS_DEPENDENT:
            return None
        found = map(self.of, op.operands)
        operands = [each for each in found if each is not None]
        if len(operands) < len(op.operands):
            return None
        try:
            results = run_operation(op, operands, self._frame)
        except OperationError:
            return None
        return results[op.results.index(value)]
