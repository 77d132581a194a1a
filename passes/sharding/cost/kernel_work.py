"""Compute the work of operations on tensors, and their memory traffic.

Backends fuse an elementwise operation into the kernel of its only reader, so its result never
reaches memory. Constants, fills and empty tensors are materialised where they are read; reshapes
and casts move no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.identities import ANNOTATIONS
from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....dialects.tosa.operation_kinds import ELEMENTWISE, LEADING_OPERANDS
from ....ir.locations import source_behind
from ....ir.tensor_types import ranked

ShapeOf = Callable[[SSAValue], Sequence[int] | None]
"""Return the shape of a tensor; `None` if it is unknown, or for other types."""

_WEIGHTLESS = frozenset(
    """
    arith.bitcast arith.cmpf arith.cmpi arith.constant arith.extf arith.extsi arith.extui
    arith.fptosi arith.fptoui arith.index_cast arith.index_castui arith.select arith.sitofp
    arith.truncf arith.trunci arith.uitofp complex.bitcast complex.constant complex.create
    complex.eq complex.im complex.neq complex.re tosa.cast tosa.const tosa.equal
    tosa.greater tosa.greater_equal tosa.identity tosa.select
    """.split()
)
"""Elementwise operations that only move, compare or convert elements, and count as no work."""

_TOSA_ELEMENTWISE = {*ELEMENTWISE, *LEADING_OPERANDS} - {"table"}
"""Elementwise operations of `tosa`; a table is read, and not computed."""

_COMPLEX_WORK = {"complex.conj": 1, "complex.div": 11, "complex.mul": 6}
"""Real operations per complex operation by schoolbook formulas, where these are not two."""

_NOT_COUNTED = frozenset(
    """
    linalg.softmax tosa.argmax tosa.avg_pool2d tosa.depthwise_conv2d tosa.fft2d tosa.max_pool2d
    tosa.resize tosa.rfft2d tosa.transpose_conv2d
    """.split()
)
"""Operations whose work is not modelled."""

_UNCONVERTED = ("chlo", "stablehlo")
"""Dialects whose operations have no cost until they are converted."""


def is_weightless(operation: Operation) -> bool:
    """Return whether an operation only moves, compares or converts elements."""
    return operation.name in _WEIGHTLESS


def operation_work(operation: Operation, shape_of: ShapeOf) -> float | None:
    """Return the number of scalar operations of an operation on tensors; `None` if unknown."""
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
    """Return the number of real operations of a scalar operation."""
    if is_weightless(operation):
        return 0
    if operation.name.startswith("complex."):
        return _COMPLEX_WORK.get(operation.name, 2)
    return int(operation.name.startswith(("arith.", "math.")))


def _element_work(operation: Operation, shape_of: ShapeOf) -> float | None:
    dialect, _, name = operation.name.partition(".")
    if is_weightless(operation) or not operation.results:
        return 0.0
    result = operation.results[0]
    if not isinstance(result.type, TensorType):
        return 0.0
    if dialect in ("arith", "math") or (dialect == "tosa" and name in _TOSA_ELEMENTWISE):
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
    """Return the element type that an operation computes with, as text.

    This is the element type of its first tensor; for complex elements, that of their parts.
    """
    for value in (*operation.operands, *operation.results):
        value_type = ranked(value)
        if value_type is not None:
            return str(value_type.element_type).removeprefix("complex<").removesuffix(">")
    return ""


_MADE_IN_PLACE = frozenset(
    "arith.constant linalg.fill tensor.empty tensor.from_elements tensor.splat tosa.const".split()
)
"""Operations that make tensors from nothing or from scalars, fused into their readers."""

_VIEWS = frozenset(
    """
    tensor.cast tensor.collapse_shape tensor.expand_shape tensor.reshape tosa.const_shape
    tosa.identity tosa.reshape
    """.split()
)
"""Operations whose result is their operand with another type."""


def is_kernel(operation: Operation) -> bool:
    """Return whether an operation on tensors runs as a kernel, or fused into one."""
    return (
        operation.name.startswith(("arith.", "linalg.", "math.", "tensor.", "tosa."))
        and any(ranked(result) is not None for result in operation.results)
        and operation.name not in _VIEWS
        and operation.name not in _MADE_IN_PLACE
    )


def is_fused(operation: Operation) -> bool:
    """Return whether an operation is fused into the kernel of its only reader."""
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
    return dialect in ("arith", "math") or (dialect == "tosa" and name in _TOSA_ELEMENTWISE)


def _only_reader(value: SSAValue) -> Operation | None:
    readers = {use.operation for use in value.uses}
    while len(readers) == 1:
        (reader,) = readers
        if reader.name not in ANNOTATIONS:
            return reader
        readers = {use.operation for use in reader.results[0].uses}
    return None


def memory_values(operation: Operation) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """Return the operands that a kernel reads from memory, and the results that it writes there.

    A slice reads as much as it writes. An insertion accesses only the inserted part, in place.
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
    """Return the value behind a chain of annotations, which holds the memory."""
    return source_behind(value, *ANNOTATIONS)


def _is_in_memory(value: SSAValue) -> bool:
    value = unannotated(value)
    if ranked(value) is None or not isinstance(value, OpResult):
        return ranked(value) is not None
    return value.op.name not in _MADE_IN_PLACE and not is_fused(value.op)
