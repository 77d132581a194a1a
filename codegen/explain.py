"""Report which operations of a program run in the interpreter, and why.

All of this is known at compile time, so `mesh-opt --remarks=backend` reports it, too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.linalg.structured_view import structured_view
from ..interpreter.registry import find_entry
from ..ir.attribute_access import operation_name, symbol_name
from ..ir.diagnostics import Note, OperationError, remark
from ..ir.tensor_types import tensor_shape
from .host_code.lowering import host_entries
from .kernels.elements.expressions import RULES as KERNEL_RULES
from .kernels.elements.scalar_operations import is_scalar_operation
from .kernels.elements.writer import BODY_OPERATIONS

CATEGORY = "backend"
"""The category of these remarks."""


def explain_kernels(module: ModuleOp) -> None:
    """Report what the interpreter executes when a public function runs.

    These are operations without a kernel, and functions without host code.
    """
    explained: set[Operation] = set()
    for function, found in host_entries(module):
        if isinstance(found, OperationError):
            message = (
                f"has no host code, so that the interpreter runs its function: {found.message}"
            )
            notes = (Note(f"the function is @{symbol_name(function)}", function), *found.notes)
            remark(CATEGORY, found.operation, message, notes)
            continue
        for operation, why in found.interpreted.items():
            if operation not in explained:
                explained.add(operation)
                _explain(operation, why)


def _explain(operation: Operation, why: str) -> None:
    if find_entry(operation_name(operation)) is None:
        remark(CATEGORY, operation, "has no kernel, and the interpreter does not support it")
    else:
        why = why or _reason(operation)
        remark(CATEGORY, operation, f"has no kernel and runs in the interpreter: {why}")


def _reason(operation: Operation) -> str:
    view = structured_view(operation)
    for each in () if view is None else view.body.walk():
        known = each.name in BODY_OPERATIONS or is_scalar_operation(each.name)
        if not known and view is not None and each is not view.body.last_op:
            return f"kernels do not support '{operation_name(each)}' in their bodies"
    name = operation_name(operation)
    if name not in KERNEL_RULES:
        return "kernels do not support it"
    if any(None in (tensor_shape(value) or ()) for value in operation.results):
        return "its kernels need sizes that are known before they run"
    return "its kernels do not support its attributes"
