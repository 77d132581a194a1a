"""What operations on tensors compute, and which tensors they read from memory and write to it.

A backend computes elementwise operations on the way inside the kernel of their only reader, so
such results never reach memory. Constants, fills and empty tensors are made where they are read,
and reshapes and casts move nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...ir.locations import made_by
from ...ir.tensor_types import ranked

ShapeOf = Callable[[SSAValue], Sequence[int] | None]
"""The shape of a tensor; `None` if it is not known, and for anything else."""

_FREE = frozenset(
    """
    arith.bitcast arith.cmpf arith.cmpi arith.constant arith.extf arith.extsi arith.extui
    arith.fptosi arith.fptoui arith.index_cast arith.index_castui arith.select arith.sitofp
    arith.truncf arith.trunci arith.uitofp complex.bitcast complex.constant complex.create
    complex.eq complex.im complex.neq complex.re tosa.cast tosa.const tosa.identity tosa.select
    """.split()
)
"""Elementwise operations that move, compare or convert."""

_TOSA_WORK = frozenset(
    """
    abs add arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clz
    cos erf exp floor intdiv log logical_and logical_left_shift logical_not logical_or
    logical_right_shift logical_xor maximum minimum mul negate pow reciprocal rescale rsqrt sigmoid
    sin sub tanh
    """.split()
)

_COMPLEX_WORK = {"complex.conj": 1, "complex.div": 11, "complex.mul": 6}
"""What takes other than two operations on real numbers, as schoolbooks do it."""

_NOT_COUNTED = frozenset(
    """
    linalg.softmax tosa.argmax tosa.avg_pool2d tosa.depthwise_conv2d tosa.fft2d tosa.max_pool2d
    tosa.resize tosa.rfft2d tosa.transpose_conv2d
    """.split()
)
"""Operations whose work nothing here knows."""

_UNCONVERTED = ("chlo", "stablehlo")
"""Dialects whose operations are priced when they are converted to others."""

ANNOTATIONS = frozenset(
    "sdy.propagation_barrier sdy.reshard sdy.sharding_constraint shard.shard".split()
)
"""Operations whose result is their operand."""


def is_free(operation: Operation) -> bool:
    """Whether an operation computes nothing: it moves, compares or converts elements."""
    return operation.name in _FREE


def operation_work(operation: Operation, shape_of: ShapeOf) -> float | None:
    """The scalar operations that an operation on tensors takes, `None` if that is not known."""
    view = structured_view(operation)
    if view is not None:
        return _loop_work(view, shape_of)
    return _element_work(operation, shape_of)


def _loop_work(view: StructuredView, shape_of: ShapeOf) -> float | None:
    sizes: dict[AffineExpr, int] = {}
    for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        shape = shape_of(operand)
        if shape is not None:
            sizes.update(zip(affine_map.results, shape, strict=True))
    loops = [sizes.get(AffineExpr.dimension(loop)) for loop in range(len(view.iterators))]
    known = [size for size in loops if size is not None]
    if len(known) != len(loops):
        return None
    scalar = sum(map(_scalar_work, view.body.walk()))
    return float(scalar * prod(known))


def _scalar_work(operation: Operation) -> int:
    """The operations on real numbers that one on scalars takes."""
    if is_free(operation):
        return 0
    if operation.name.startswith("complex."):
        return _COMPLEX_WORK.get(operation.name, 2)
    return int(operation.name.startswith(("arith.", "math.")))


def _element_work(operation: Operation, shape_of: ShapeOf) -> float | None:
    dialect, _, name = operation.name.partition(".")
    if is_free(operation) or not operation.results:
        return 0.0
    result = operation.results[0]
    if not isinstance(result.type, TensorType):
        return 0.0
    if dialect in ("arith", "math") or (dialect == "tosa" and name in _TOSA_WORK):
        counted, factor = result, 1
    elif dialect == "tosa" and name.startswith("reduce_"):
        counted, factor = operation.operands[0], 1
    elif operation.name == "tosa.matmul":
        counted, factor = result, 2 * max(1, _extent(operation.operands[0], 2))
    elif operation.name in ("tosa.conv2d", "tosa.conv3d"):
        weight = operation.operands[1].type
        inner = weight.get_shape()[1:] if isinstance(weight, TensorType) else ()
        counted, factor = result, 2 * max(1, prod(inner))
    else:
        return None if operation.name in _NOT_COUNTED or dialect in _UNCONVERTED else 0.0
    shape = shape_of(counted)
    return None if shape is None else float(factor * prod(shape))


def _extent(value: SSAValue, dimension: int) -> int:
    value_type = value.type
    return value_type.get_shape()[dimension] if isinstance(value_type, TensorType) else 0


def work_element(operation: Operation) -> str:
    """The element type that an operation computes with: that of its first tensor, or the parts of
    its complex numbers."""
    for value in (*operation.operands, *operation.results):
        value_type = ranked(value)
        if value_type is not None:
            return str(value_type.element_type).removeprefix("complex<").removesuffix(">")
    return ""


_MADE_IN_PLACE = frozenset(
    "arith.constant linalg.fill tensor.empty tensor.from_elements tensor.splat tosa.const".split()
)
"""Operations that make tensors of nothing or of scalars, where they are read."""

_VIEWS = frozenset(
    """
    tensor.cast tensor.collapse_shape tensor.expand_shape tensor.reshape tosa.const_shape
    tosa.identity tosa.reshape
    """.split()
)
"""Operations whose result is their operand under another type."""


def is_kernel(operation: Operation) -> bool:
    """Whether an operation on tensors runs as a kernel, or inside one."""
    return (
        operation.name.startswith(("arith.", "linalg.", "math.", "tensor.", "tosa."))
        and any(ranked(result) is not None for result in operation.results)
        and operation.name not in _VIEWS
        and operation.name not in _MADE_IN_PLACE
    )


def is_fused(operation: Operation) -> bool:
    """Whether the kernel of its only reader computes an operation on the way."""
    if len(operation.results) != 1 or not _is_pointwise(operation):
        return False
    reader = _only_reader(operation.results[0])
    return (
        reader is not None
        and reader.parent is operation.parent
        and (_is_pointwise(reader) or structured_view(reader) is not None)
    )


def _is_pointwise(operation: Operation) -> bool:
    view = structured_view(operation)
    if view is not None:
        return IteratorType.REDUCTION not in view.iterators
    dialect, _, name = operation.name.partition(".")
    return dialect in ("arith", "math") or (
        dialect == "tosa" and (name in _TOSA_WORK or is_free(operation))
    )


def _only_reader(value: SSAValue) -> Operation | None:
    readers = {use.operation for use in value.uses}
    while len(readers) == 1:
        (reader,) = readers
        if reader.name not in ANNOTATIONS:
            return reader
        readers = {use.operation for use in reader.results[0].uses}
    return None


def memory_values(operation: Operation) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """The operands that a kernel reads from memory, and the results that it writes there.

    A slice reads what it writes, and what is inserted is written where it belongs.
    """
    if operation.name == "tensor.extract_slice":
        return (operation.results[0],), (operation.results[0],)
    if operation.name == "tensor.insert_slice":
        return (operation.operands[0],), (operation.operands[0],)
    view = structured_view(operation)
    read = operation.operands if view is None else view.inputs
    kept = tuple(dict.fromkeys(value for value in read if _is_in_memory(value)))
    return kept, () if is_fused(operation) else tuple(operation.results)


def unannotated(value: SSAValue) -> SSAValue:
    """The value that annotations are about: its memory is where a value is."""
    while (annotation := made_by(value, *ANNOTATIONS)) is not None:
        value = annotation.operands[0]
    return value


def _is_in_memory(value: SSAValue) -> bool:
    value = unannotated(value)
    if ranked(value) is None or not isinstance(value, OpResult):
        return ranked(value) is not None
    return value.op.name not in _MADE_IN_PLACE and not is_fused(value.op)
