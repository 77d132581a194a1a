"""Checks before a kernel runs, so that it never reads or writes beyond a tensor.

Types leave sizes open, and nothing says that two operands' open sizes agree before they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ..dialects.diagnostics import OperationError
from ..dialects.structured import StructuredView, structured_view
from ..interpreter.values import shape_text
from .scalars import is_scalar_operation
from .tosa_expressions import ELEMENTWISE, is_read

Shape = tuple[int, ...]


def check_operation(operation: Operation, shape: Callable[[SSAValue], Shape]) -> None:
    """Raise OperationError if the operands' sizes do not fit together."""
    view = structured_view(operation)
    if view is not None:
        _check_loops(view, [shape(each) for each in (*view.inputs, *view.outputs)])
        return
    if is_scalar_operation(operation.name):
        tensors = [each for each in operation.operands if isinstance(each.type, TensorType)]
        shapes = {shape(each) for each in tensors}
        if len(shapes) > 1:
            raise OperationError(operation, f"has operands of shapes {_texts(list(shapes))}")
    elif operation.name in ELEMENTWISE:
        read = [each for each in operation.operands if is_read(operation, each)]
        _check_broadcast(operation, [shape(each) for each in read])
    elif operation.name == "tensor.concat":
        _check_concatenation(operation, [shape(each) for each in operation.operands])


def _check_loops(view: StructuredView, shapes: Sequence[Shape]) -> None:
    """Every index lies inside for the largest loop indices, as all maps only grow."""
    sizes: dict[int, int] = {}
    for indexing_map, shape in zip(view.maps, shapes, strict=True):
        for expression, size in zip(indexing_map.results, shape, strict=False):
            if not isinstance(expression, AffineDimExpr):
                continue
            known = sizes.setdefault(expression.position, size)
            if known != size:
                raise OperationError(
                    view.operation,
                    f"has operands of shapes {_texts(shapes)}, which give loop"
                    f" d{expression.position} both {known} and {size} iterations",
                )
    if 0 in sizes.values() or len(sizes) < len(view.iterators):
        return
    last = [sizes[loop] - 1 for loop in range(len(sizes))]
    for indexing_map, shape in zip(view.maps, shapes, strict=True):
        for expression, size in zip(indexing_map.results, shape, strict=False):
            index = expression.eval(last, [])
            if not 0 <= index < size:
                raise OperationError(
                    view.operation,
                    f"reads at {index} of a dimension of {size}: its operands have shapes"
                    f" {_texts(shapes)}",
                )


def _check_broadcast(operation: Operation, shapes: Sequence[Shape]) -> None:
    rank = max(len(shape) for shape in shapes)
    whole = [shape for shape in shapes if len(shape) == rank]
    for sizes in zip(*whole, strict=True):
        if len({size for size in sizes if size != 1}) > 1:
            raise OperationError(operation, f"cannot broadcast {_texts(shapes)}")


def _check_concatenation(operation: Operation, shapes: Sequence[Shape]) -> None:
    attribute = operation.get_attr_or_prop("dim")
    axis = getattr(getattr(attribute, "value", None), "data", 0)
    if len({shape[:axis] + shape[axis + 1 :] for shape in shapes}) > 1:
        raise OperationError(operation, f"joins {_texts(shapes)} along dimension {axis}")


def _texts(shapes: Sequence[Shape]) -> str:
    return ", ".join(shape_text(shape) for shape in shapes)
