"""Convert encodings outside of dispatches to `flow.tensor.encode` of the host program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.flow.dialect import TensorEncodeOp
from ...dialects.iree_encoding.dialect import UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor
from ...ir.diagnostics import OperationError
from ...ir.host_programs import DISPATCH_REGION, KERNEL_IN_PLACE, host_operations
from ...ir.locations import replace_by
from ...ir.regions import enclosing
from ..manager.module_pass import module_pass
from ..sizes.dimension_sizes import DimensionSizes
from .propagation import SET, UNSET


@module_pass("iree-dispatch-creation-convert-encoding-to-flow")
def convert_encoding_to_flow(module: ModuleOp) -> None:
    """Convert `set_encoding` and `unset_encoding` outside of dispatches to `flow.tensor.encode`."""
    sizes = DimensionSizes()
    for operation in tuple(host_operations(module)):
        if operation.name in (SET, UNSET) and not _is_dispatched(operation):
            _convert(operation, sizes)


def _is_dispatched(operation: Operation) -> bool:
    scopes = enclosing(operation.parent_op())
    return any(scope.name in (DISPATCH_REGION, KERNEL_IN_PLACE) for scope in scopes)


def _convert(operation: Operation, sizes: DimensionSizes) -> None:
    source, result = operation.operands[0], operation.results[0]
    old, new = cast(Tensor, source.type), cast(Tensor, result.type)
    if old.get_shape() != new.get_shape():
        raise OperationError(
            operation,
            f"leaves other sizes open in its source than in its result, found {old} and {new}: "
            "cast the tensor without an encoding (tensor.cast) to the shape of the other one",
        )
    listed: Sequence[SSAValue] = ()
    if operation.name == UNSET:
        listed = tuple(cast(UnsetEncodingOp, operation).result_dims)
    dims = tuple(listed) or sizes.dynamic_sizes(source)
    encode = TensorEncodeOp.build(operands=[source, dims, dims], result_types=[result.type])
    replace_by(operation, encode)
