"""Which operations compute each element of their results on its own."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Operation

from ....dialects.linalg.structured_view import StructuredView, structured_view
from .expressions import RESHAPES, RULES, unit_reshape, written_loops
from .index_ranges import is_proven_slice
from .scalar_operations import is_scalar_operation
from .static_values import shape_of


def is_pointwise(operation: Operation) -> bool:
    """Return whether each element of the results can be computed on its own."""
    name = operation.name
    if name in RESHAPES:
        return _is_unit_reshape(operation)
    if name in ("tensor.extract_slice", "tensor.insert_slice"):
        # The host checks slices that are not proven to be in bounds, before it dispatches kernels.
        is_static = len(operation.operands) == 2
        return (is_static or name == "tensor.extract_slice") and is_proven_slice(operation)
    if name in RULES:
        return True
    if is_scalar_operation(name):
        result_type = operation.results[0].type
        return isinstance(result_type, TensorType | AnyFloat)
    view = structured_view(operation)
    return view is not None and is_pointwise_view(view)


def is_pointwise_view(view: StructuredView) -> bool:
    """Return whether a view has no reduction, and a result's indices determine its loops."""
    written = written_loops(view)
    same = all(each == view.output_maps[0] for each in view.output_maps)
    return same and written is not None and len(written) == len(view.iterators)


def _is_unit_reshape(operation: Operation) -> bool:
    """Return whether a reshape only adds or removes dimensions of size 1."""
    source, target = shape_of(operation.operands[0]), shape_of(operation.results[0])
    return operation.name != "tensor.reshape" and unit_reshape(source, target) is not None


LONG = frozenset(
    f"math.{name}"
    for name in (
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc", "powf"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
        *("asinh", "acosh", "atanh"),
    )
)
"""Functions that take long unless several elements fill vectors."""


def is_long(operation: Operation) -> bool:
    """Return whether an operation computes such a function of each element."""
    view = structured_view(operation)
    names = [operation.name] if view is None else [each.name for each in view.body.ops]
    return not LONG.isdisjoint(names)
