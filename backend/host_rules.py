"""What the host does for operations that need no kernel: views, numbers, calls, slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation

from ..dialects.diagnostics import OperationError
from ..dialects.index_lists import mixed_list
from ..interpreter.attributes import integers, operand_groups
from ..interpreter.values import Value, dtype_of
from .collective_rules import COLLECTIVE_RULES
from .expressions import RESHAPES
from .kernels import write_slice, write_slice_update
from .known_values import CONSTANTS, dimensions_of_part
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
    shape = frame.resolver.result_shape(op, op.results[0])
    size = prod(np.shape(value) if not isinstance(value, Tensor) else value.shape)
    if prod(shape) != size:
        raise OperationError(op, f"has {size} elements to fill {'x'.join(map(str, shape))}")
    return (value.view(shape) if isinstance(value, Tensor) else np.reshape(value, shape),)


def _empty(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    result = op.results[0]
    shape = frame.resolver.result_shape(op, result)
    return (frame.recorder.new_tensor(shape, dtype_of(result.type)),)


def _dimension(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    shape = frame.resolver.shape(op.operands[0])
    dimension = frame.number(op.operands[1])
    if not 0 <= dimension < len(shape):
        raise OperationError(op, f"asks for dimension {dimension} of a tensor of rank {len(shape)}")
    return (np.asarray(shape[dimension], np.int64),)


def _extract(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    tensor = frame.tensor(op.operands[0])
    indices = tuple(frame.number(operand) for operand in op.operands[1:])
    if not all(0 <= index < size for index, size in zip(indices, tensor.shape, strict=True)):
        raise OperationError(op, f"reads at {list(indices)} of a tensor of {list(tensor.shape)}")
    position = int(np.ravel_multi_index(indices, tensor.shape)) if indices else 0
    return (tensor.view((), position),)


# Slices ---------------------------------------------------------------------------------------


def _geometry(
    frame: RecordingFrame, op: Operation, whole: Sequence[int], first_group: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Offsets, sizes and strides of a slice of a tensor of shape `whole`, checked."""
    groups = operand_groups(op, op.operands)[first_group:]
    lists: list[tuple[int, ...]] = []
    for name, dynamic in zip(("offsets", "sizes", "strides"), groups, strict=True):
        lists.append(mixed_list(integers(op, f"static_{name}"), map(frame.number, dynamic)))
    offsets, sizes, strides = lists
    for dimension, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        last = offset + (size - 1) * stride
        inside = min(offset, last) >= 0 and max(offset, last) < whole[dimension]
        if size < 0 or (size > 0 and not inside):
            raise OperationError(
                op,
                f"takes {size} elements from {offset} by {stride} of dimension {dimension}, which"
                f" has {whole[dimension]}",
            )
    return offsets, sizes, strides


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
    offsets, sizes, strides = _geometry(frame, op, source.shape, 1)
    result = op.results[0]
    kept = dimensions_of_part(op, result)
    shape = tuple(sizes[dimension] for dimension in kept)
    if prod(shape) == 0:
        return (recorder.new_tensor(shape, source.dtype),)
    if _is_contiguous(source.shape, sizes, strides):
        return (source.view(shape, int(np.ravel_multi_index(offsets, source.shape))),)
    target = recorder.new_tensor(shape, source.dtype)
    kernel = recorder.recorded.kernel(op, lambda: write_slice(op))
    frame.shapes[result] = shape
    recorder.run_kernel(kernel, [source], [target], frame.constants(kernel), op)
    return (target,)


def _insert_slice(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    recorder = frame.recorder
    source, destination = frame.tensor(op.operands[0]), frame.value(op.operands[1])
    target = destination if isinstance(destination, Tensor) else frame.tensor(op.operands[1])
    _, sizes, _ = _geometry(frame, op, target.shape, 2)
    if prod(sizes) != prod(source.shape):
        raise OperationError(op, f"fills a slice of {list(sizes)} with {list(source.shape)}")
    if not frame.may_overwrite(op.operands[1], target):
        copied = recorder.new_tensor(target.shape, target.dtype)
        recorder.copy(target, copied, op)
        target = copied
    kernel = recorder.recorded.kernel(op, lambda: write_slice_update(op))
    frame.shapes[op.results[0]] = target.shape
    recorder.run_kernel(kernel, [source], [target], frame.constants(kernel), op)
    return (target,)


SAME_ELEMENTS = (
    "flow.tensor.barrier",
    "flow.tensor.encode",
    "flow.tensor.transfer",
    "iree_encoding.set_encoding",
    "iree_encoding.unset_encoding",
    "iree_tensor_ext.compute_barrier.end",
    "iree_tensor_ext.compute_barrier.start",
    "mesh.shard",
    "sdy.propagation_barrier",
    "sdy.reshard",
    "sdy.sharding_constraint",
    "shard.shard",
    "tensor.cast",
    "tosa.identity",
)
"""Operations that say where or how a tensor lies, and change none of its elements."""

HOST_RULES: dict[str, HostRule] = {
    **dict.fromkeys(RESHAPES, _reshape),
    **COLLECTIVE_RULES,
    **STREAM_RULES,
    **dict.fromkeys(CONSTANTS, _constant),
    **dict.fromkeys(SAME_ELEMENTS, _pass_on),
    "tensor.dim": _dimension,
    "tensor.empty": _empty,
    "tensor.extract": _extract,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
}
"""Rules by operation; control flow and arithmetic on indices are the interpreter's."""
