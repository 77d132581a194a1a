"""Operations that may run on encoded tensors, padding included, and their encoded forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.iree_encoding.interfaces import Tensor, with_encoding
from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....ir.locations import located_builder, made_by, rebuilt
from ....ir.tensor_types import ranked
from ...sizes.dimension_sizes import DimensionSizes
from ..analysis.contraction_matching import WIDENING

SET, UNSET = "iree_encoding.set_encoding", "iree_encoding.unset_encoding"

TRAPPING = frozenset(
    {
        "arith.ceildivsi",
        "arith.ceildivui",
        "arith.divsi",
        "arith.divui",
        "arith.floordivsi",
        "arith.remsi",
        "arith.remui",
    }
)
"""Operations that may trap, and so must not be run on padding."""


def parallel_view(operation: Operation) -> StructuredView | None:
    """Return the view of an operation that may run on padding, with parallel loops only."""
    view = structured_view(operation)
    if view is None or any(kind is not IteratorType.PARALLEL for kind in view.iterators):
        return None
    return None if any(inner.name in TRAPPING for inner in view.body.ops) else view


def elementwise_view(operation: Operation) -> StructuredView | None:
    """Return the view of an elementwise operation that may run on padding, or `None`.

    It has one result, does not read the output's contents, and does not use `linalg.index`.
    """
    view = parallel_view(operation)
    if view is None or len(operation.results) != 1 or view.body.args[-1].uses:
        return None
    if any(inner.name == "linalg.index" for inner in view.body.ops):
        return None
    return view if made_by(view.outputs[0], "tensor.empty") is not None else None


def only_read_by(unset: Operation, operation: Operation) -> bool:
    """Return whether an operation is the only reader of a decoded tensor."""
    return all(use.operation is operation for use in unset.results[0].uses)


def only_widens(view: StructuredView) -> bool:
    """Return whether an operation widens or broadcasts one tensor, and does nothing else."""
    computed = [inner.name for inner in view.body.ops if inner is not view.body.last_op]
    return (
        len(view.inputs) == 1
        and ranked(view.inputs[0]) is not None
        and all(name in WIDENING for name in computed)
    )


def on_encoded(
    operation: Operation,
    view: StructuredView,
    inputs: Sequence[SSAValue],
    encoding: Attribute | None,
    before: Operation,
    sizes: DimensionSizes,
) -> SSAValue:
    """Emit an operation on encoded inputs in front of `before`, and return its encoded result."""
    type_ = with_encoding(cast(Tensor, operation.results[0].type), encoding)
    builder = located_builder(InsertPoint.before(before), operation)
    empty = builder.insert(EmptyOp(sizes.dynamic_sizes(view.outputs[0]), type_)).tensor
    return builder.insert(rebuilt(operation, [*inputs, empty], [type_])).results[0]
