"""What the host does for operations that need no kernel: views, numbers, calls, slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation

from ...interpreter.loops import check_indices
from ...interpreter.tensor import kept_axes
from ...runtime.abi.values import Value, dtype_of
from ..kernels.expressions import RESHAPES
from ..kernels.loop_nests import write_slice, write_slice_update
from ..kernels.static_values import CONSTANTS, SAME_ELEMENTS
from .collective_rules import COLLECTIVE_RULES
from .recording_frame import RecordingFrame
from .stream_rules import STREAM_RULES
from .tensors import Tensor

HostRule = Callable[[RecordingFrame, Operation], Sequence[Value]]


def _constant(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    return (frame.recorder.recorded.constant(op),)


def _pass_on(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    return (frame.value(op.operands[0]),)


def _reshape(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    value = frame.value(op.operands[0])
    (shape,) = frame.resolver.result_shapes(op)
    return (value.view(shape) if isinstance(value, Tensor) else np.reshape(value, shape),)


def _cast(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    frame.resolver.result_shapes(op)
    return (frame.value(op.operands[0]),)


def _empty(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    (shape,) = frame.resolver.result_shapes(op)
    return (frame.recorder.new_tensor(shape, dtype_of(op.results[0].type)),)


def _dimension(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    shape = frame.resolver.shape(op.operands[0])
    dimension = frame.number(op.operands[1])
    check_indices(op, [dimension], (len(shape),))
    return (np.asarray(shape[dimension], np.int64),)


def _extract(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    tensor = frame.tensor(op.operands[0])
    indices = tuple(frame.number(operand) for operand in op.operands[1:])
    check_indices(op, indices, tensor.shape)
    position = int(np.ravel_multi_index(indices, tensor.shape)) if indices else 0
    return (tensor.view((), position),)


# Slices ---------------------------------------------------------------------------------------


def _is_contiguous(whole: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a slice is one run of the whole: single indices, then a range, then everything."""
    long = [dimension for dimension, size in enumerate(sizes) if size != 1]
    if not long:
        return True
    first = long[0]
    return (strides[first] == 1) and all(
        sizes[dimension] == whole[dimension] and strides[dimension] == 1
        for dimension in range(first + 1, len(whole))
    )


def _extract_slice(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    recorder = frame.recorder
    source = frame.tensor(op.operands[0])
    offsets, sizes, strides = frame.resolver.slice(op, source.shape, 1)
    result = op.results[0]
    shape = tuple(sizes[axis] for axis in kept_axes(op))
    if prod(shape) == 0:
        return (recorder.new_tensor(shape, source.dtype),)
    if _is_contiguous(source.shape, sizes, strides):
        return (source.view(shape, int(np.ravel_multi_index(offsets, source.shape))),)
    target = recorder.new_tensor(shape, source.dtype)
    kernel = recorder.recorded.kernel(op, lambda: write_slice(op))
    frame.note(result, shape)
    recorder.run_kernel(kernel, [source], [target], frame.constants(kernel), op)
    return (target,)


def _insert_slice(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    recorder = frame.recorder
    frame.resolver.result_shapes(op)
    source, target = frame.tensor(op.operands[0]), frame.tensor(op.operands[1])
    if not frame.may_overwrite(op.operands[1], target):
        copied = recorder.new_tensor(target.shape, target.dtype)
        recorder.copy(target, copied, op)
        target = copied
    kernel = recorder.recorded.kernel(op, lambda: write_slice_update(op))
    frame.note(op.results[0], target.shape)
    recorder.run_kernel(kernel, [source], [target], frame.constants(kernel), op)
    return (target,)


HOST_RULES: dict[str, HostRule] = {
    **dict.fromkeys(RESHAPES, _reshape),
    **COLLECTIVE_RULES,
    **STREAM_RULES,
    **dict.fromkeys(CONSTANTS, _constant),
    **dict.fromkeys(SAME_ELEMENTS, _pass_on),
    "tensor.cast": _cast,
    "tensor.dim": _dimension,
    "tensor.empty": _empty,
    "tensor.extract": _extract,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
}
"""Rules by operation; control flow and arithmetic on indices are the interpreter's."""
