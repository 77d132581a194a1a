"""The values of a function while it is recorded: what the rules of operations work on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...interpreter.hal_buffers import BufferView
from ...interpreter.machine import Frame, check_result
from ...interpreter.registry import Routine
from ...ir.diagnostics import OperationError
from ...runtime.abi.values import Value, is_number, shape_fits, shape_phrase
from ...runtime.buffers import Buffer, Storage
from ..kernels.kernel_text import Found, KernelText, Number, Portion
from ..kernels.static_values import constant_attribute
from .device_bytes import DeviceBytes
from .recorder import Recorder
from .shapes import Shape, ShapeResolver
from .tensors import Tensor


class RecordingFrame(Frame, ABC):
    """The values of one activation: tensors on the device, or arrays that the host knows."""

    def __init__(self, recorder: Recorder, depth: int = 0) -> None:
        super().__init__(recorder, depth)
        self.recorder = recorder
        self.shapes: dict[SSAValue, Shape] = {}
        self.dying: tuple[SSAValue, ...] = ()
        """What nothing reads after the operation that is being recorded."""
        self.fresh: set[SSAValue] = set()
        """Arguments of an executable's function that are bytes which nothing else touches."""
        self.tied: set[SSAValue] = set()
        """Those that are bytes to read and then to write."""
        self.resolver = ShapeResolver(self.shapes, self.known, recorder.recorded.settled)

    @abstractmethod
    def run_block(self, block: Block, arguments: Sequence[Value]) -> Routine:
        """Record one block; returns the `Exit` by its terminator."""

    def nested(self, depth: int = 0) -> Self:
        """The frame of a function that this one calls."""
        return type(self)(self.recorder, depth)

    def known(self, value: SSAValue) -> Value:
        """The content of a value on the host; what only the device knows is run for."""
        content = self.value(value)
        return content.read() if isinstance(content, Tensor) else content

    def bind(self, value: SSAValue, content: Value) -> None:
        """Give a value its content. Raises OperationError if that is not what its type says."""
        if isinstance(content, Tensor) or is_number(content):
            self.note(value, content.shape, content.dtype)
        self.release(value)
        self.values[value] = content
        if (buffer := buffer_of(content)) is not None:
            buffer.references += 1

    def note(self, value: SSAValue, shape: Shape, dtype: np.dtype[Any] | None = None) -> None:
        """Note the shape of a value. Raises OperationError if its type says otherwise.

        Everything that a program makes, passes to a block or function, or returns from one comes
        by here or by `ShapeResolver.settle`: kernels believe the types.
        """
        check = self.recorder.recorded.result_check(value)
        if check is not None:
            dtype = check.dtype if dtype is None else dtype
            if isinstance(value, OpResult):
                check_result(value.op, value.index, check, shape, dtype)
            elif not shape_fits(shape, check.shape) or dtype != check.dtype:
                raise OperationError(
                    value.owner.parent_op() or self.recorder.recorded.module,
                    f"gives {dtype} of {shape_phrase(shape)} to a block whose argument is of type"
                    f" {check.type}",
                )
        self.shapes[value] = shape

    def release(self, value: SSAValue) -> None:
        """Forget a tensor that nothing reads any more; numbers may still tell shapes."""
        content = self.values.get(value)
        if isinstance(content, Tensor) and not isinstance(value.type, TensorType):
            return
        if (buffer := buffer_of(content)) is not None:
            buffer.references -= 1
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
        return self.resolver.number(value)

    def tensor(self, value: SSAValue) -> Tensor:
        """The content of a value on the device."""
        return self.recorder.as_tensor(self.value(value))

    def constants(
        self, kernel: KernelText, portions: Mapping[Portion, int] | None = None
    ) -> list[int]:
        """The values of a kernel's constants; `portions` are those of its part of the work."""
        numbers: list[int] = []
        for each in kernel.constants:
            if isinstance(each, Portion):
                numbers.append((portions or {})[each])
            elif isinstance(each, Found):
                numbers.append(0)
            elif isinstance(each, Number):
                numbers.append(self.number(each.value))
            elif isinstance(each.tensor, SSAValue):
                numbers.append(self.resolver.shape(each.tensor)[each.dimension])
        return numbers

    def may_take_over(self, value: SSAValue, buffer: Buffer) -> bool:
        """Whether the operation that is being recorded is the last to read a resource's bytes."""
        # Bytes have one reference more than there are values that lie in them.
        return (
            buffer.storage is Storage.TRANSIENT
            and buffer.references == 2
            and value in self.dying
            and value in self.values
        )

    def may_overwrite(self, value: SSAValue, tensor: Tensor) -> bool:
        """Whether the operation that is being recorded is the last to read a tensor's buffer."""
        buffer = tensor.place.buffer
        return (
            buffer.storage is Storage.TRANSIENT
            and buffer.references == 1
            and value in self.dying
            and value in self.values
        )


def buffer_of(content: Value) -> Buffer | None:
    """The buffer that a value lies in."""
    if isinstance(content, BufferView):
        content = content.array
    return content.place.buffer if isinstance(content, Tensor | DeviceBytes) else None
