"""`convert-tm-tensor-to-linalg`: convert torch-mlir's `tm_tensor` to linalg, tensor, scf and arith.

Each op is converted like its counterpart in StableHLO (`passes/stablehlo/`): running reductions in
blocks, sorts by rank or by merging, scatters as one loop nest or window by window.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.diagnostics import OperationError
from ...ir.locations import located_builder
from ...ir.regions import walk

YIELD = "tm_tensor.yield"


class ConvertTmTensorToLinalgPass(ModulePass):
    """Convert torch-mlir's `tm_tensor` to linalg, tensor, scf and arith."""

    name = "convert-tm-tensor-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in walk(op) if is_tm_tensor(each)]
        if not found:
            return
        # Imported here because programs without `tm_tensor` do not need these modules.
        from ..stablehlo.lowering.emitter import Emitter
        from ..stablehlo.lowering.lowering import Lowering
        from .lowerings import tm_tensor_rule

        for operation in found:
            _require_tensors(operation)
            builder = located_builder(InsertPoint.before(operation), operation)
            lowering = Lowering(op, Emitter(builder, operation), {})
            results = tm_tensor_rule[operation.name](lowering, operation)
            Rewriter.replace_op(operation, [], list(results))


def is_tm_tensor(operation: Operation) -> bool:
    """Return whether an op is to be converted; `tm_tensor.yield` is converted with its parent."""
    return operation.name.startswith("tm_tensor.") and operation.name != YIELD


def _require_tensors(operation: Operation) -> None:
    for index, type_ in enumerate(operation.operand_types):
        if isinstance(type_, MemRefType):
            raise OperationError(
                operation,
                f"has operand #{index} of memref type, but only tensors are supported: give the "
                "program before its bufferization",
            )
