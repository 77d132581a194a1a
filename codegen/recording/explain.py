"""Which operations of a program the native backend leaves to the interpreter, and why.

Everything here is known before anything runs, so `mesh-opt --remarks=backend` tells it, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...interpreter.registry import find_brancher, find_entry, is_terminator, load_own_dialects
from ...ir.attribute_access import operation_name, symbol_name
from ...ir.diagnostics import Note, OperationError, remark
from ...ir.host_programs import CALLS, FUNCTIONS
from ...ir.tensor_types import tensor_shape
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import element_type
from ..host_code.lowering import unlowered
from ..host_code.rules import lowers
from ..kernels.expressions import RULES as KERNEL_RULES
from ..kernels.fusion import captured, plan_block
from ..kernels.tosa_expressions import ELEMENTWISE, MOVEMENTS
from ..kernels.tosa_kernels import TOSA_KERNELS
from ..kernels.writer import BODY_OPERATIONS
from ..scalar_ops.scalars import is_scalar_operation
from .block_recorder import CONTROL_FLOW
from .host_rules import HOST_RULES
from .stream_rules import DISPATCHES

CATEGORY = "backend"
"""The category of remarks about native code."""


def explain_kernels(module: ModuleOp) -> None:
    """Report every operation on tensors that has no kernel, in functions and kernels alike, and
    what keeps a function from being compiled."""
    load_own_dialects()
    for function, error in unlowered(module):
        message = f"has no host code, so that its function is recorded: {error.message}"
        notes = (Note(f"the function is @{symbol_name(function)}", function), *error.notes)
        remark(CATEGORY, error.operation, message, notes)
    for function in module.walk():
        if function.name in FUNCTIONS:
            for region in function.regions:
                for block in region.blocks:
                    _explain_block(block)


def _explain_block(block: Block) -> None:
    try:
        host = plan_block(block).host
    except OperationError as error:
        remark(CATEGORY, error.operation, error.message, error.notes)
        return
    for operation in block.ops:
        if operation not in host:
            continue
        name = operation_name(operation)
        if name in CONTROL_FLOW or (operation.regions and name in lowers):
            for region in operation.regions:
                for inner in region.blocks:
                    _explain_block(inner)
        elif not _is_recorded(operation, name) and any(map(_is_tensor, _values(operation))):
            if find_entry(name) is None:
                remark(CATEGORY, operation, "has no kernel, and the interpreter does not know it")
            else:
                why = _reason(operation)
                remark(CATEGORY, operation, f"has no kernel and runs in the interpreter: {why}")


def _is_recorded(operation: Operation, name: str) -> bool:
    """Whether the host carries an operation out on tensors of the device."""
    ends = is_terminator(name) or find_brancher(name) is not None
    return (
        name in HOST_RULES
        or name in lowers
        or name in DISPATCHES
        or name in CALLS
        or (ends and operation.next_op is None)
    )


def _values(operation: Operation) -> Iterator[SSAValue]:
    yield from operation.operands
    yield from captured(operation)
    yield from operation.results


def _is_tensor(value: SSAValue) -> bool:
    return bool(tensor_shape(value))


def _reason(operation: Operation) -> str:
    view = structured_view(operation)
    inner = [] if view is None else list(view.body.walk())
    read = [value for value in _values(operation) if tensor_shape(value) is not None]
    for value in (*read, *(value for each in inner for value in _values(each))):
        try:
            element_of(element_type(value.type), operation)
        except OperationError:
            return f"kernels hold no elements of type {element_type(value.type)}"
    for each in inner:
        known = each.name in BODY_OPERATIONS or is_scalar_operation(each.name)
        if not known and view is not None and each is not view.body.last_op:
            return f"no kernel can have '{operation_name(each)}' in its body"
    name = operation_name(operation)
    if name not in {*ELEMENTWISE, *MOVEMENTS, *KERNEL_RULES, *TOSA_KERNELS}:
        return "no kernels are made for it"
    if any(None in (tensor_shape(value) or ()) for value in operation.results):
        return "its kernels are made for sizes that are known before they run"
    return "no kernel does what its attributes ask for"
