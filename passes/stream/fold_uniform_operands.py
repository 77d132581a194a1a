"""Remove uniform operands of kernels that are the same constant in all dispatches, or repeated.

    stream.cmd.dispatch @ex::@f(%n, %c4, %n : index, index, index) {...}
    stream.cmd.dispatch @ex::@f(%m, %c4, %m : index, index, index) {...}

run a kernel that takes one operand afterwards: `%c4` becomes a constant in the kernel, and the
third operand is the first. Kernels that are variants of one dispatch get the same operands, so they
are changed together.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...ir.locations import located_builder
from ..manager.module_pass import module_pass
from .kernels.sites import KernelGroup, kernel_groups
from .kernels.uniform_operands import replace_arguments, replace_uniform_operands, uniform_arguments

Replacement = int | ConstantOp | None
"""What replaces a kernel's operand: another operand's index, a constant, or `None` if it stays."""


@module_pass("iree-stream-fold-uniform-operands")
def fold_uniform_operands(module: ModuleOp) -> None:
    """Drop operands of kernels that are constants or passed twice."""
    for group in kernel_groups(module):
        _fold(group)


def _fold(group: KernelGroup) -> None:
    entries = group.entries()
    if entries is None:
        return
    replacements = _replacements([each.uniform_operands for each in group.dispatches])
    if not any(each is not None for each in replacements):
        return
    for function, block in zip(group.functions, entries, strict=True):
        _drop_arguments(function, block, replacements)
    for dispatch in group.dispatches:
        pairs = zip(dispatch.uniform_operands, replacements, strict=True)
        replace_uniform_operands(dispatch, [each for each, other in pairs if other is None])


def _replacements(sites: Sequence[Sequence[SSAValue]]) -> list[Replacement]:
    columns = list(zip(*sites, strict=True))
    found: list[Replacement] = []
    for number, column in enumerate(columns):
        constants = [_constant(value) for value in column]
        first = constants[0]
        if first is not None and all(
            each is not None and each.value == first.value for each in constants
        ):
            found.append(first)
        else:
            # The earlier operand is not a constant, since equal operands are constants alike.
            earlier = columns.index(column)
            found.append(earlier if earlier < number else None)
    return found


def _constant(value: SSAValue) -> ConstantOp | None:
    """Return the constant that an integer or index is; floats are not folded, as in IREE."""
    is_integer = isinstance(value.type, IntegerType | IndexType)
    return value.owner if is_integer and isinstance(value.owner, ConstantOp) else None


def _drop_arguments(function: Operation, block: Block, replacements: list[Replacement]) -> None:
    """Replace a kernel's arguments."""
    numbers = uniform_arguments(block)
    builder = located_builder(InsertPoint.at_start(block), function)
    replaced: dict[BlockArgument, SSAValue] = {}
    for argument, replacement in zip(numbers, replacements, strict=True):
        if isinstance(replacement, ConstantOp):
            replaced[argument] = builder.insert(replacement.clone()).result
        elif replacement is not None:
            replaced[argument] = numbers[replacement]
    replace_arguments(function, block, replaced)
