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

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.linalg.structured_view import StructuredView
from ...ir.host_programs import host_operations
from ...ir.locations import erase_if_unused, made_by
from ...ir.tensor_types import ranked
from ..sizes.dimension_sizes import DimensionSizes
from .propagation import (
    SET,
    UNSET,
    elementwise_view,
    only_read_by,
    only_widens,
    propagate_encodings,
)


class PropagateEncodingsPass(ModulePass):
    """Move encodings through elementwise operations and remove those that cancel."""

    name = "iree-dispatch-creation-propagate-encodings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        def operations() -> Iterable[Operation]:
            return host_operations(op)

        propagate_encodings(operations, DimensionSizes(), _decodes_one_encoding, _widens_in_order)
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


def _is_pointwise(view: StructuredView) -> bool:
    """Return whether each input is a scalar or is indexed as the output is."""
    maps = zip(view.inputs, view.input_maps, strict=True)
    return all(map_ == view.output_maps[0] for value, map_ in maps if ranked(value) is not None)


def _decodes_one_encoding(operation: Operation) -> bool:
    """Return whether an operation is the only reader of its tensors, all of one encoding."""
    view = elementwise_view(operation)
    if view is None or not _is_pointwise(view):
        return False
    decodes = [made_by(value, UNSET) for value in view.inputs if ranked(value) is not None]
    unsets = [unset for unset in decodes if unset is not None and only_read_by(unset, operation)]
    encodings = {tensor_encoding(unset.operands[0].type) for unset in unsets}
    return len(unsets) == len(decodes) and len(encodings) == 1


def _widens_in_order(view: StructuredView) -> bool:
    return _is_pointwise(view) and only_widens(view)
