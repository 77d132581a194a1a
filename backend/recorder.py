"""Recording: one walk over a function that turns it into commands.

The walk is the interpreter's own machine, whose loops, branches and calls run as they are; but
where that computes on arrays, this records kernels. Numbers that the walk needs and does not know,
such as a condition that depends on data, are found by running what has been recorded so far;
then the recording is good for these inputs only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ..dialects.diagnostics import OperationError, remark
from ..interpreter.attributes import operation_name, symbol
from ..interpreter.constants import constant_array
from ..interpreter.func import check_depth
from ..interpreter.machine import Device, Exit, Frame, Program
from ..interpreter.registry import Routine, find_brancher, find_entry, is_terminator
from ..interpreter.storage import Resource
from ..interpreter.values import Value, dtype_of
from ..runtime.buffers import Buffer, Storage
from ..runtime.commands import AnyCommand, Command, CommandBuffer, Place
from ..runtime.communicator import Communicator
from ..runtime.guards import Guards
from ..sharding.grid import Grid
from .bounds import check_operation
from .contractions import SMALLEST_PRODUCT, PackedProduct
from .fusion import captured
from .kernel_text import Bound, KernelText, Number
from .known_values import constant_attribute
from .native_kernel import compile_kernel
from .resources import DeviceBytes
from .schedule import Schedule, Step, schedule_block
from .shapes import Shape, ShapeResolver
from .tensors import Array, Tensor

LARGEST_RECORDING = 200_000
"""Commands after which what is recorded is run, so that an endless loop does not fill memory."""


class RecordedProgram(Program):
    """A module with the schedules of its blocks and its constants, shared by all devices."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._schedules: dict[Block, Schedule] = {}
        self._kernels: dict[Hashable, KernelText] = {}
        self._arrays: dict[Operation, Array] = {}

    def schedule(self, block: Block) -> Schedule:
        """The steps of a block."""
        schedule = self._schedules.get(block)
        if schedule is None:
            schedule = self._schedules[block] = schedule_block(block, _is_end)
        return schedule

    def kernel(self, key: Hashable, write: Callable[[], KernelText]) -> KernelText:
        """The kernel of an operation that the host carries out, written on the first use."""
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = write()
        return kernel

    def constant(self, operation: Operation) -> Array:
        """The value of an `arith.constant`."""
        array = self._arrays.get(operation)
        if array is None:
            array = constant_array(operation, constant_attribute(operation.results[0]))
            self._arrays[operation] = array
        return array


def _is_end(name: str) -> bool:
    return is_terminator(name) or find_brancher(name) is not None


class Recorder(Device):
    """One device while its program is recorded."""

    def __init__(
        self,
        program: RecordedProgram,
        inputs: Sequence[Array],
        grid: Grid | None = None,
        communicator: Communicator | None = None,
        lock: threading.Lock | None = None,
        workers: int = 1,
        memory: dict[str, Any] | None = None,
        guards: Guards | None = None,
    ) -> None:
        process = communicator.process if communicator else 0
        super().__init__(program, grid, process, memory or {})
        self.lock = lock or threading.Lock()
        self.recorded = program
        self.communicator = communicator
        self.inputs = inputs
        self.commands: list[AnyCommand] = []
        self.is_replayable = True
        self._workers = workers
        self._guards = guards
        self._resident: dict[int, tuple[Array, Buffer]] = {}
        self.owner: str | None = None
        """The device that commands are recorded for, in programs that name several."""
        self.resources: dict[int, tuple[Resource, DeviceBytes]] = {}
        self.dispatches: Counter[str | None] = Counter()
        self.transferred: Counter[tuple[str | None, str | None]] = Counter()

    # Values -----------------------------------------------------------------------------------

    def new_tensor(self, shape: Shape, dtype: np.dtype[Any]) -> Tensor:
        """A tensor with a buffer of its own, whose contents are not defined yet."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        buffer = Buffer(size, Storage.TRANSIENT, owner=self.owner)
        return Tensor(shape, dtype, Place(buffer), self.read)

    def argument(self, position: int) -> Tensor:
        """An input of the program as a tensor."""
        array = self.inputs[position]
        place = Place(Buffer(array.nbytes, Storage.INPUT, position))
        return Tensor(array.shape, array.dtype, place, self.read)

    def as_tensor(self, value: Value) -> Tensor:
        """A value as a tensor on the device; what the host knows becomes a constant."""
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        found = self._resident.get(id(array))
        if found is None:
            # The array is kept, so that its identity stays its own.
            found = self._resident[id(array)] = (array, Buffer.holding(array))
        return Tensor(array.shape, array.dtype, Place(found[1]), self.read)

    def read(self, tensor: Tensor) -> Array:
        """The elements of a tensor, by running everything that has been recorded."""
        buffer = tensor.place.buffer
        if buffer.storage is not Storage.RESIDENT:
            self.is_replayable = False
            self.flush()
        memory = buffer.memory
        if buffer.storage is Storage.INPUT:
            memory = self.inputs[buffer.position].reshape(-1).view(np.uint8)
        if memory is None:
            # Nothing has written to it, so any contents will do.
            memory = np.zeros(buffer.size, np.uint8)
        part = memory[tensor.place.offset : tensor.place.offset + tensor.nbytes]
        return part.view(tensor.dtype).reshape(tensor.shape).copy()

    def flush(self) -> None:
        """Run what has been recorded; its buffers become resident."""
        if not self.commands:
            return
        buffer = CommandBuffer(self.commands, [], self._state(), self._workers, True, self._guards)
        self.commands = []
        buffer.run([array.reshape(-1).view(np.uint8) for array in self.inputs])

    def finish(self, results: Sequence[Tensor]) -> CommandBuffer:
        """The command buffer of the whole program."""
        sizes: list[int] = []
        for position, tensor in enumerate(results):
            target = Buffer(tensor.nbytes, Storage.OUTPUT, position)
            self.copy(tensor, Tensor(tensor.shape, tensor.dtype, Place(target), self.read), None)
            sizes.append(tensor.nbytes)
        _write_outputs_in_place(self.commands, results, sizes)
        return CommandBuffer(
            self.commands, sizes, self._state(), self._workers, guards=self._guards
        )

    def _state(self) -> Any:
        return self.communicator.state if self.communicator else None

    # Commands ---------------------------------------------------------------------------------

    def add(self, command: AnyCommand) -> None:
        """Append a command."""
        self.commands.append(command)
        if len(self.commands) >= LARGEST_RECORDING:
            self.is_replayable = False
            self.flush()

    def copy(self, source: Tensor, target: Tensor, operation: Operation | None) -> None:
        """Copy all elements."""
        from ..runtime.communicator import copy_command

        self.add(copy_command(source.place, target.place, source.nbytes, operation))

    def copy_bytes(self, source: Place, target: Place, size: int, operation: Operation) -> None:
        """Copy bytes, perhaps from one device to another."""
        from ..runtime.communicator import copy_command

        self.add(copy_command(source, target, size, operation))

    def count_dispatch(self, owner: str | None) -> None:
        """Note that a device runs an executable's function."""
        self.dispatches[owner] += 1

    def count_transfer(self, sender: str | None, receiver: str | None, size: int) -> None:
        """Note that bytes go from one device to another."""
        self.transferred[sender, receiver] += size

    def run_kernel(
        self,
        kernel: KernelText,
        reads: Sequence[Tensor],
        writes: Sequence[Tensor],
        constants: Sequence[int],
        operation: Operation,
        in_place: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Append a dispatch; `in_place` is as in `Command`, of the results and then operands."""
        tiles = kernel.tiles.evaluate(constants)
        native = compile_kernel(kernel)
        bindings = tuple(tensor.place for tensor in (*writes, *reads))
        command = Command(
            native.address,
            bindings,
            tuple(constants),
            tiles,
            operation,
            in_place=tuple(in_place),
        )
        self.add(command)


def _are_alike(left: Tensor, right: Tensor) -> bool:
    """Whether equal indices are equal places, of whole buffers."""
    return (
        left.shape == right.shape
        and left.dtype.itemsize == right.dtype.itemsize
        and left.is_whole
        and right.is_whole
    )


def _write_outputs_in_place(
    commands: list[AnyCommand], results: Sequence[Tensor], sizes: Sequence[int]
) -> None:
    """Drop the final copies of results that can as well be computed where they are wanted."""
    copies = commands[len(commands) - len(results) :]
    del commands[len(commands) - len(results) :]
    for tensor, copy in zip(results, copies, strict=True):
        buffer = tensor.place.buffer
        if buffer.storage is Storage.TRANSIENT and tensor.is_whole and isinstance(copy, Command):
            target = copy.bindings[0]
            if isinstance(target, Place):
                buffer.storage = Storage.OUTPUT
                buffer.position = target.buffer.position
                continue
        commands.append(copy)


class RecordingFrame(Frame):
    """The values of one activation: tensors on the device, or arrays that the host knows."""

    def __init__(self, recorder: Recorder, depth: int = 0) -> None:
        super().__init__(recorder, depth)
        self.recorder = recorder
        self.shapes: dict[SSAValue, Shape] = {}
        self._dying: tuple[SSAValue, ...] = ()
        self.fresh: set[SSAValue] = set()
        """Arguments of an executable's function that are bytes which nothing else touches."""
        self.resolver = ShapeResolver(self.shapes.get, self.number)

    def nested(self) -> RecordingFrame:
        """The frame of a function that this one calls."""
        return RecordingFrame(self.recorder)

    def known(self, value: SSAValue) -> Value:
        """The content of a value on the host; what only the device knows is run for."""
        content = self.value(value)
        return content.read() if isinstance(content, Tensor) else content

    def bind(self, value: SSAValue, content: Value) -> None:
        """Give a value its content."""
        self.release(value)
        self.values[value] = content
        if isinstance(content, Tensor):
            content.place.buffer.references += 1
            self.shapes[value] = content.shape
        elif isinstance(content, np.ndarray):
            self.shapes[value] = np.shape(cast(Array, content))

    def release(self, value: SSAValue) -> None:
        """Forget a tensor that nothing reads any more; numbers may still tell shapes."""
        content = self.values.get(value)
        if isinstance(content, Tensor) and isinstance(value.type, TensorType):
            content.place.buffer.references -= 1
            del self.values[value]

    def value(self, value: SSAValue) -> Value:
        """The content of a value. Constants need not have been carried out."""
        found = self.values.get(value)
        if found is None and constant_attribute(value) is not None:
            owner = value.owner
            if isinstance(owner, Operation):
                return self.recorder.recorded.constant(owner)
        if found is None:
            return self.values[value]
        return found

    def number(self, value: SSAValue) -> int:
        """An index as a number."""
        return int(self.value(value))

    def tensor(self, value: SSAValue) -> Tensor:
        """The content of a value on the device."""
        return self.recorder.as_tensor(self.value(value))

    def constants(self, kernel: KernelText) -> list[int]:
        """The values of a kernel's constants."""
        numbers: list[int] = []
        for each in kernel.constants:
            if isinstance(each, Number):
                numbers.append(self.number(each.value))
            elif isinstance(each.tensor, SSAValue):
                numbers.append(self.resolver.shape(each.tensor)[each.dimension])
        return numbers

    def may_overwrite(self, value: SSAValue, tensor: Tensor) -> bool:
        """Whether the operation that is being recorded is the last to read a tensor's buffer."""
        buffer = tensor.place.buffer
        return (
            buffer.storage is Storage.TRANSIENT
            and buffer.references == 1
            and value in self._dying
            and value in self.values
        )

    def run_block(self, block: Block, arguments: Sequence[Value]) -> Routine:
        """Record one block; returns the `Exit` by its terminator."""
        with self.recorder.lock:
            schedule = self.recorder.recorded.schedule(block)
        for argument, content in zip(block.args, arguments, strict=True):
            self.bind(argument, content)
        for step in schedule.steps:
            if step.kernel is not None:
                self._record_kernel(step, step.kernel)
            else:
                self._dying = step.dead
                yield from self._record_host(step.operation)
            for value in step.dead:
                self.release(value)
        end = schedule.terminator
        if end is None:
            return Exit(None, ())
        results = [self.value(operand) for operand in end.operands]
        for value in schedule.own:
            self.release(value)
        return Exit(end, results)

    def _record_kernel(self, step: Step, kernel: KernelText) -> None:
        for operation in step.group:
            check_operation(operation, self.resolver.shape)
        from .stream_rules import destination

        bound: dict[Bound, Tensor] = {}
        for value in kernel.writes:
            if isinstance(value, SSAValue):
                shape = self.resolver.shape(value)
                stored = destination(self, value, shape) if self.fresh else None
                if stored is None:
                    stored = self.recorder.new_tensor(shape, dtype_of(value.type))
                bound[value] = stored
        product = step.product
        if product is not None and self._is_large(product):
            sizes = product.panel_sizes(self._loop_sizes(product))
            for panels, size in zip(product.panels, sizes, strict=True):
                bound[panels] = self.recorder.new_tensor((size,), product.contraction.element.dtype)
            kernels = [product.left, product.right, product.multiply]
        else:
            kernels = [kernel]
        for each in kernels:
            self._dispatch(each, bound, step)
        for value in kernel.writes:
            if isinstance(value, SSAValue):
                self.bind(value, bound[value])

    def _dispatch(self, kernel: KernelText, bound: dict[Bound, Tensor], step: Step) -> None:
        for value in kernel.reads:
            if isinstance(value, SSAValue) and value not in bound:
                bound[value] = self.tensor(value)
        reads = [bound[value] for value in kernel.reads]
        writes = [bound[value] for value in kernel.writes]
        places = [
            (0, len(writes) + position)
            for position, (value, tensor) in enumerate(zip(kernel.reads, reads, strict=True))
            if value in step.aligned and _are_alike(tensor, writes[0])
        ]
        constants = self.constants(kernel)
        self.recorder.run_kernel(kernel, reads, writes, constants, step.operation, places)

    def _is_large(self, product: PackedProduct) -> bool:
        return prod(self._loop_sizes(product)) >= SMALLEST_PRODUCT

    def _loop_sizes(self, product: PackedProduct) -> list[int]:
        """The trip counts of a product's loops."""
        view = product.contraction.view
        sizes = [0] * len(view.iterators)
        for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            for size, each in zip(self.resolver.shape(operand), affine_map.results, strict=True):
                if isinstance(each, AffineDimExpr):
                    sizes[each.position] = size
        return sizes

    def _record_host(self, operation: Operation) -> Routine:
        from .host_rules import HOST_RULES
        from .stream_rules import DISPATCHES, dispatch, from_interpreter

        name = operation_name(operation)
        rule = HOST_RULES.get(name)
        results: Sequence[Value]
        if rule is not None:
            results = rule(self, operation)
        elif name in DISPATCHES:
            results = yield from dispatch(self, operation)
        elif name in ("func.call", "util.call"):
            results = yield from self._call(operation)
        else:
            results = yield from self._interpret(operation, name)
        for result, content in zip(operation.results, results, strict=True):
            self.bind(result, from_interpreter(self, operation, content))

    def _interpret(self, operation: Operation, name: str) -> Routine:
        """Let the interpreter carry out control flow, arithmetic on indices, and what is rare."""
        entry = find_entry(name)
        if entry is None:
            raise OperationError(
                operation, "is an operation that the numba backend does not compile"
            )
        if name.startswith("stream.tensor.") and name != "stream.tensor.sizeof":
            raise OperationError(
                operation,
                "is an operation on tensors whose bytes are not settled: the numba backend runs"
                " stream programs after encode-host-tensors",
            )
        operands = [self.value(operand) for operand in operation.operands]
        if name in CONTROL_FLOW:
            if name.startswith("util.global.store"):
                # A global keeps what it is given, whatever becomes of the value.
                for operand in operands:
                    if isinstance(operand, Tensor):
                        operand.place.buffer.references += 1
            if entry.drive is not None:
                return (yield entry.drive(operation, operands, self))
            if entry.execute is not None:
                return entry.execute(operation, operands, self)
        frame = Frame(self.device)
        for value in captured(operation):
            frame.values[value] = self._known(operation, self.value(value))
        known = [self._known(operation, operand) for operand in operands]
        if entry.drive is not None:
            return (yield entry.drive(operation, known, frame))
        if entry.execute is None:
            raise OperationError(operation, "cannot be executed")
        return entry.execute(operation, known, self)

    def _known(self, operation: Operation, value: Value) -> Value:
        if not isinstance(value, Tensor):
            return value
        if value.shape:
            remark("backend", operation, "has no kernel and runs in the interpreter")
        return value.read()

    def _call(self, operation: Operation) -> Routine:
        name = symbol(operation, "callee")
        callee = self.recorder.recorded.lookup(operation, name)
        if callee is None or not callee.regions or not callee.regions[0].blocks:
            raise OperationError(operation, f"calls @{name}, which has no body to run")
        check_depth(operation, name, self.depth)
        frame = RecordingFrame(self.recorder, self.depth + 1)
        arguments = [self.value(operand) for operand in operation.operands]
        exit_: Exit = yield frame.run_region(callee.regions[0], arguments)
        return exit_.values


CONTROL_FLOW = frozenset(
    (
        *("stream.async.concurrent", "stream.async.execute"),
        *(f"scf.{name}" for name in ("execute_region", "for", "if", "index_switch", "while")),
        *("flow.dispatch.region", "sdy.named_computation", "util.optimization_barrier"),
        *(f"util.global.{name}" for name in ("load", "load.indirect", "store", "store.indirect")),
    )
)
"""Operations that the interpreter carries out on tensors of the device: it passes them around,
and runs regions, which are recorded."""
