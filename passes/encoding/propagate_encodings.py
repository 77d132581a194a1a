"""Propagate encodings through elementwise operations, and cancel those that meet.

* `set_encoding(unset_encoding(x))` and `unset_encoding(set_encoding(x))` become `x` if the types
  agree.
* An elementwise operation whose tensors are all decoded from one encoding works on the encoded
  tensors instead, and its result is decoded once.
* A widening that is only read by an encode works on encoded tensors, so the narrow ones are laid
  out.

The operation then also computes padding. That is right for any contents, since decoding drops the
padding; operations that may trap on it, such as integer divisions, are left alone.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.dialect import UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding, with_encoding
from ...dialects.linalg.structured_view import StructuredView
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before, erase_if_unused, made_by, rebuilt, replace_by
from ...ir.tensor_types import ranked
from ..sizes.dimension_sizes import DimensionSizes
from .propagation import SET, UNSET, elementwise_view, on_encoded, only_read_by, only_widens


class PropagateEncodingsPass(ModulePass):
    """Move encodings through elementwise operations and remove those that cancel."""

    name = "iree-dispatch-creation-propagate-encodings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes = DimensionSizes()
        for operation in tuple(host_operations(op)):
            if operation.parent is not None:
                _sink_unset_encoding(operation, sizes)
        for operation in reversed(tuple(host_operations(op))):
            if operation.name == SET and operation.parent is not None:
                _hoist_set_encoding(operation, sizes)
        for operation in tuple(host_operations(op)):
            if operation.name in (SET, UNSET):
                _cancel(operation)


def _cancel(operation: Operation) -> None:
    """Remove an encode of a decode, or a decode of an encode, if it restores the original type."""
    inverse = made_by(operation.operands[0], UNSET if operation.name == SET else SET)
    if inverse is None or inverse.operands[0].type != operation.results[0].type:
        return
    Rewriter.replace_op(operation, [], [inverse.operands[0]])
    erase_if_unused(inverse)


def _pointwise_view(operation: Operation) -> StructuredView | None:
    """Return `elementwise_view` if each input is a scalar or is indexed as the output is."""
    view = elementwise_view(operation)
    if view is None:
        return None
    maps = zip(view.inputs, view.input_maps, strict=True)
    in_order = (map_ == view.output_maps[0] for v, map_ in maps if ranked(v) is not None)
    return view if all(in_order) else None


def _sink_unset_encoding(operation: Operation, sizes: DimensionSizes) -> None:
    """Rewrite `f(unset(x), unset(y))` to `unset(f(x, y))`."""
    view = _pointwise_view(operation)
    if view is None:
        return
    decodes = {value: made_by(value, UNSET) for value in view.inputs if ranked(value) is not None}
    unsets = [unset for unset in decodes.values() if unset is not None]
    if not unsets or len(unsets) != len(decodes):
        return
    encodings = {tensor_encoding(unset.operands[0].type) for unset in unsets}
    if len(encodings) != 1 or not all(only_read_by(unset, operation) for unset in unsets):
        return
    inputs = [
        value if (unset := decodes.get(value)) is None else unset.operands[0]
        for value in view.inputs
    ]
    result = on_encoded(operation, view, inputs, encodings.pop(), operation, sizes)
    unset = UnsetEncodingOp.build(
        operands=[
            result,
            sizes.dynamic_sizes(view.outputs[0]),
            cast(UnsetEncodingOp, unsets[0]).encoding_dims,
        ],
        result_types=[operation.results[0].type],
    )
    replace_by(operation, unset)
    erase_if_unused(*unsets)


def _hoist_set_encoding(operation: Operation, sizes: DimensionSizes) -> None:
    """Rewrite `set(widen(x))` to `widen(set(x))`."""
    widening = operation.operands[0].owner
    if not isinstance(widening, Operation) or not widening.results[0].has_one_use():
        return
    view = _pointwise_view(widening)
    if view is None or not only_widens(view) or view.body.first_op is view.body.last_op:
        return
    encoding = getattr(operation.results[0].type, "encoding", None)
    if encoding is None:
        return
    operands = [view.inputs[0], *operation.operands[1:]]
    narrow = cast(Tensor, view.inputs[0].type)
    encode = rebuilt(operation, operands, [with_encoding(narrow, encoding)])
    builder_before(operation).insert(encode)
    result = on_encoded(widening, view, [encode.results[0]], encoding, operation, sizes)
    Rewriter.replace_op(operation, [], [result])
    Rewriter.erase_op(widening)
