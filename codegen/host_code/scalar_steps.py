"""Lower operations on scalars."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ...dialects.arith.divisions import INTEGER_DIVISIONS, OVERFLOWING_DIVISIONS
from ...ir.diagnostics import OperationError
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import integer_width
from ...runtime.host.builder import IndexOrInt
from ..kernels.elements.kernel_text import Bound, KernelText
from ..kernels.elements.scalar_operations import is_scalar_operation
from ..kernels.loop_nests import write_scalar_kernel
from .function_lowering import FunctionLowering, lowers
from .kernel_dispatch import Memory, run_kernel
from .scalars import has_instructions, write_instructions


@lowers("other")
def _other(lowering: FunctionLowering, op: Operation) -> None:
    """Lower scalar operations to instructions or kernels of one element, others to Python."""
    if not is_scalar_operation(op.name) or any(
        isinstance(each.type, TensorType) for each in (*op.operands, *op.results)
    ):
        lowers["python"](lowering, op)
        return
    operands = [lowering.number(each) for each in op.operands]
    if op.name in INTEGER_DIVISIONS:
        _check_division(lowering, op, operands)
    if has_instructions(op):
        results = write_instructions(lowering.builder, op, operands)
        for result, register in zip(op.results, results, strict=True):
            lowering.bind(result, register)
        return
    try:
        for value in (*op.operands, *op.results):
            element_of(value.type, op)
        text = lowering.program.text(op, lambda: write_scalar_kernel(op))
    except OperationError:
        lowers["python"](lowering, op)
        return
    _by_kernel(lowering, op, text)


def _check_division(lowering: FunctionLowering, op: Operation, operands: list[IndexOrInt]) -> None:
    builder = lowering.builder
    left, right = operands
    if not isinstance(right, int) or right == 0:
        zero = lowering.failure_label(op, lambda _: "divides by zero")
        builder.jump_unless(right, zero)
    width = integer_width(op.operands[0].type) or 64
    lowest = -(1 << (width - 1))
    if op.name not in OVERFLOWING_DIVISIONS or (isinstance(right, int) and right != -1):
        return
    if isinstance(left, int) and left != lowest:
        return
    overflows = lowering.failure_label(op, lambda _: f"divides {lowest} by -1, which overflows")
    is_lowest = builder.hold(builder.compare("eq", left, lowest))
    is_minus_one = builder.hold(builder.compare("eq", right, -1))
    builder.jump_if(builder.compute("andi_i1", is_lowest, is_minus_one), overflows)


def _by_kernel(lowering: FunctionLowering, op: Operation, text: KernelText) -> None:
    """Compute scalars in the memory of registers."""
    registers = [lowering.scalar_register() for _ in op.results]
    places: dict[Bound, Memory] = dict(zip(op.results, registers, strict=True))
    run_kernel(lowering, text, places, op)
    for result, register in zip(op.results, registers, strict=True):
        lowering.bind(result, lowering.stored_scalar(register, result.type, op))
