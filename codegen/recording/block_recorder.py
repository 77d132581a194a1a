"""Recording: one walk over a function that turns it into commands.

The walk is the interpreter's own machine, whose loops, branches and calls run as they are; but
where that computes on arrays, this records kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...interpreter.func import check_depth
from ...interpreter.machine import Exit, Frame, executed
from ...interpreter.registry import Routine, find_entry
from ...ir.attribute_access import operation_name, symbol
from ...ir.diagnostics import OperationError
from ...runtime.abi.values import Value, dtype_of
from ..kernels.contractions import SMALLEST_PRODUCT, PackedProduct
from ..kernels.fusion import captured
from ..kernels.kernel_text import Bound, KernelText, Portion
from ..kernels.schedule import Step
from .host_rules import HOST_RULES
from .recording_frame import RecordingFrame, buffer_of
from .stream_rules import DISPATCHES, destination, dispatch, from_interpreter
from .tensors import Tensor


class BlockRecorder(RecordingFrame):
    """The frame of an activation whose blocks are recorded."""

    def run_block(self, block: Block, arguments: Sequence[Value]) -> Routine:
        """Record one block; returns the `Exit` by its terminator."""
        with self.recorder.lock:
            schedule = self.recorder.recorded.schedule(block)
        for argument, content in zip(block.args, arguments, strict=True):
            self.bind(argument, content)
        for step in schedule.steps:
            if step.is_host:
                self.dying = step.dead
                yield from self._record_host(step.operation)
            else:
                self.resolver.settle(step.operation)
                if step.kernel is not None:
                    self._record_kernel(step, step.kernel)
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
        bound: dict[Bound, Tensor] = {}
        for value in kernel.writes:
            if isinstance(value, SSAValue):
                shape = self.resolver.shape(value)
                stored = destination(self, value, shape, step) if self.fresh or self.tied else None
                if stored is None:
                    stored = self.recorder.new_tensor(shape, dtype_of(value.type))
                bound[value] = stored
        product = step.product
        if product is not None and self._is_large(product):
            loops = self._loop_sizes(product)
            sizes = product.panel_sizes(loops)
            for panels, size in zip(product.panels, sizes, strict=True):
                bound[panels] = self.recorder.new_tensor((size,), product.contraction.element.dtype)
            for each, portions in product.runs(loops):
                self._dispatch(each, bound, step, portions)
        else:
            self._dispatch(kernel, bound, step, {})
        for value in kernel.writes:
            if isinstance(value, SSAValue):
                self.bind(value, bound[value])

    def _dispatch(
        self,
        kernel: KernelText,
        bound: dict[Bound, Tensor],
        step: Step,
        portions: Mapping[Portion, int],
    ) -> None:
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
        constants = self.constants(kernel, portions)
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
                    if (buffer := buffer_of(operand)) is not None:
                        buffer.references += 1
            if entry.drive is not None:
                return (yield entry.drive(operation, operands, self))
            if entry.execute is not None:
                return executed(operation, entry.execute, operands, self)
        frame = Frame(self.device)
        for value in captured(operation):
            frame.values[value] = _known(self.value(value))
        known = [_known(operand) for operand in operands]
        if entry.drive is not None:
            return (yield entry.drive(operation, known, frame))
        if entry.execute is None:
            raise OperationError(operation, "cannot be executed")
        return executed(operation, entry.execute, known, self)

    def _call(self, operation: Operation) -> Routine:
        name = symbol(operation, "callee")
        callee = self.recorder.recorded.lookup(operation, name)
        if callee is None or not callee.regions or not callee.regions[0].blocks:
            raise OperationError(operation, f"calls @{name}, which has no body to run")
        check_depth(operation, name, self.depth)
        frame = self.nested(self.depth + 1)
        arguments = [self.value(operand) for operand in operation.operands]
        exit_: Exit = yield frame.run_region(callee.regions[0], arguments)
        return exit_.values


def _known(value: Value) -> Value:
    return value.read() if isinstance(value, Tensor) else value


def _are_alike(left: Tensor, right: Tensor) -> bool:
    """Whether equal indices are equal places, of whole buffers."""
    return (
        left.shape == right.shape
        and left.dtype.itemsize == right.dtype.itemsize
        and left.is_whole
        and right.is_whole
    )


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
