"""`convert-linalg-ext-to-linalg`: convert extensions of linalg to linalg, tensor, scf and arith.

These are the dialects `tm_tensor` of torch-mlir and `iree_linalg_ext` of IREE, which have the same
origin. Each op is converted like its counterpart in StableHLO (`passes/stablehlo/`): running
reductions in blocks, sorts by rank or by merging, scatters as one loop nest or window by window.
"""

from __future__ import annotations

from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.diagnostics import OperationError
from ...ir.locations import located_builder
from ...ir.regions import walk

_RULES = ("attention", "indexing", "scans", "sorts")
"""The modules that fill the table of rules."""

_DIALECTS = ("tm_tensor.", "iree_linalg_ext.")


class ConvertLinalgExtToLinalgPass(ModulePass):
    """Convert `tm_tensor` of torch-mlir and `iree_linalg_ext` of IREE to linalg."""

    name = "convert-linalg-ext-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in walk(op) if is_linalg_ext(each)]
        if not found:
            return
        # Imported here because programs without such ops do not need these modules.
        from ..stablehlo.lowering.emitter import Emitter
        from ..stablehlo.lowering.lowering import Lowering
        from .rules import linalg_ext_rule

        for name in _RULES:
            import_module(f".{name}", __package__)
        for operation in found:
            rule = linalg_ext_rule.get(operation.name)
            if rule is None:
                continue
            _require_tensors(operation)
            builder = located_builder(InsertPoint.before(operation), operation)
            lowering = Lowering(op, Emitter(builder, operation), {})
            results = rule(lowering, operation)
            typed = zip(results, operation.result_types, strict=True)
            Rewriter.replace_op(operation, [], [lowering.emit.cast(*each) for each in typed])


def is_linalg_ext(operation: Operation) -> bool:
    """Return whether an op is of these dialects. Those without a rule stay, or go with others."""
    return operation.name.startswith(_DIALECTS)


def _require_tensors(operation: Operation) -> None:
    for index, type_ in enumerate(operation.operand_types):
        if isinstance(type_, MemRefType):
            raise OperationError(
                operation,
                f"has operand #{index} of memref type, but only tensors are supported: give the "
                "program before its bufferization",
            )
