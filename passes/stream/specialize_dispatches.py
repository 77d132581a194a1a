"""Move constants that dispatches pass into kernels, selected by the number of the dispatch.

    stream.cmd.dispatch @ex::@f(%n, %c4, %c7_i32 : index, index, i32) {...}
    stream.cmd.dispatch @ex::@f(%m, %c8, %c9_i32 : index, index, i32) {...}

becomes

    stream.cmd.dispatch @ex::@f(%n, %c0 : index, index) {...}
    stream.cmd.dispatch @ex::@f(%m, %c1 : index, index) {...}

The kernel looks its constants up in tables with one entry per dispatch. If a kernel is dispatched
once, or the same constant is passed everywhere, the kernel contains the constant itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp, IndexCastOp
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    i32,
    i64,
)
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from ...ir.index import constant_index
from ...ir.locations import builder_before, located_builder
from ..manager.module_pass import module_pass
from .kernels.sites import KernelGroup, kernel_groups
from .kernels.uniform_operands import (
    group_around,
    replace_arguments,
    replace_uniform_operands,
    uniform_arguments,
)

Constant = IntegerAttr | FloatAttr
Column = Sequence[Constant]
"""The constants that the dispatches pass for one operand."""


@module_pass("iree-stream-specialize-dispatches")
def specialize_dispatches(module: ModuleOp) -> None:
    """Turn the constants that kernels are passed into tables of the kernels."""
    for group in kernel_groups(module):
        _specialize(group)


def _specialize(group: KernelGroup) -> None:
    entries = group.entries()
    if entries is None:
        return
    operands = zip(*(each.uniform_operands for each in group.dispatches), strict=True)
    columns = [_constants(values) for values in operands]
    known = [column for column in columns if column is not None]
    if not known:
        return
    by_site = any(len(set(column)) > 1 for column in known)
    for function, block in zip(group.functions, entries, strict=True):
        _keep_constants(function, block, columns, by_site)
    for site, dispatch in enumerate(group.dispatches):
        pairs = zip(dispatch.uniform_operands, columns, strict=True)
        others = [operand for operand, column in pairs if column is None]
        if by_site:
            others.append(constant_index(site, builder_before(group_around(dispatch))))
        replace_uniform_operands(dispatch, others)


def _constants(values: Sequence[SSAValue]) -> Column | None:
    """Return the constants that dispatches pass for an operand; `None` if one is not a constant."""
    found: list[Constant] = []
    for value in values:
        if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
            constant = value.op.value
            if isinstance(constant, IntegerAttr | FloatAttr):
                found.append(constant)
    return found if len(found) == len(values) else None


def _keep_constants(
    function: Operation, block: Block, columns: Sequence[Column | None], by_site: bool
) -> None:
    """Replace arguments by constants, or by lookups with the number of the dispatch."""
    numbers = uniform_arguments(block)
    builder = located_builder(InsertPoint.at_start(block), function)
    site: SSAValue | None = None
    if by_site:
        site = block.insert_arg(IndexType(), len(block.args))
    replaced: dict[BlockArgument, SSAValue] = {}
    for argument, column in zip(numbers, columns, strict=True):
        if column is None:
            continue
        if site is None or len(set(column)) == 1:
            replaced[argument] = builder.insert(ConstantOp(column[0])).result
        else:
            replaced[argument] = _looked_up(column, site, builder)
    replace_arguments(function, block, replaced)


def _looked_up(column: Column, site: SSAValue, builder: Builder) -> SSAValue:
    """Emit the lookup of a dispatch's entry; tables hold indices as integers."""
    type_ = column[0].type
    if isinstance(type_, IndexType):
        small = all(-(2**31) <= each.value.data < 2**31 for each in column)
        column = [IntegerAttr(int(each.value.data), i32 if small else i64) for each in column]
    element = column[0].type
    table = builder.insert(ConstantOp(_table(column))).result
    entry = builder.insert(ExtractOp(table, [site], element)).result
    if element == type_:
        return entry
    return builder.insert(IndexCastOp(entry, type_)).result


def _table(column: Column) -> DenseIntOrFPElementsAttr:
    shape = [len(column)]
    numbers = [each.value.data for each in column]
    element = column[0].type
    if isinstance(element, IntegerType):
        whole = [int(number) for number in numbers]
        return DenseIntOrFPElementsAttr.from_list(TensorType(element, shape), whole)
    return DenseIntOrFPElementsAttr.from_list(TensorType(cast(AnyFloat, element), shape), numbers)
