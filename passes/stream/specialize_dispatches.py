"""Move constants that dispatches pass into kernels, selected by the number of the dispatch.

    stream.cmd.dispatch @ex::@f(%n, %c4, %c7_i32 : index, index, i32) {...}
    stream.cmd.dispatch @ex::@f(%m, %c8, %c9_i32 : index, index, i32) {...}

becomes

    stream.cmd.dispatch @ex::@f(%n, %c0 : index, index) {...}
    stream.cmd.dispatch @ex::@f(%m, %c1 : index, index) {...}

The kernel looks its constants up in a table for each type, with a row per dispatch. If a kernel is
dispatched once, or the same constant is passed everywhere, it contains the constant itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...ir.index import constant_index
from ...ir.index_lists import INDEX
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
    owners = [value.owner for value in values]
    attributes = [owner.value for owner in owners if isinstance(owner, ConstantOp)]
    found = [each for each in attributes if isinstance(each, IntegerAttr | FloatAttr)]
    return found if len(found) == len(values) else None


def _keep_constants(
    function: Operation, block: Block, columns: Sequence[Column | None], by_site: bool
) -> None:
    """Replace arguments by constants, or by lookups with the number of the dispatch."""
    builder = located_builder(InsertPoint.at_start(block), function)
    replaced: dict[BlockArgument, SSAValue] = {}
    tables: dict[Attribute, dict[BlockArgument, Column]] = {}
    for argument, column in zip(uniform_arguments(block), columns, strict=True):
        if column is None:
            continue
        if len(set(column)) == 1:
            replaced[argument] = builder.insert(ConstantOp(column[0])).result
        else:
            tables.setdefault(argument.type, {})[argument] = column
    if by_site:
        site = block.insert_arg(INDEX, len(block.args))
        for table in tables.values():
            found = _looked_up(list(table.values()), site, builder)
            replaced.update(zip(table, found, strict=True))
    replace_arguments(function, block, replaced)


def _looked_up(columns: Sequence[Column], site: SSAValue, builder: Builder) -> Iterator[SSAValue]:
    """Emit the lookups of a dispatch's row; tables hold indices as integers."""
    type_ = columns[0][0].type
    rows = [list(row) for row in zip(*columns, strict=True)]
    if isinstance(type_, IndexType):
        small = all(-(2**31) <= each.value.data < 2**31 for row in rows for each in row)
        whole = i32 if small else i64
        rows = [[IntegerAttr(int(each.value.data), whole) for each in row] for row in rows]
    element = rows[0][0].type
    table = builder.insert(ConstantOp(_table(rows))).result
    for number in range(len(columns)):
        entry = ExtractOp(table, [site, constant_index(number, builder)], element)
        found = builder.insert(entry).result
        yield found if element == type_ else builder.insert(IndexCastOp(found, type_)).result


def _table(rows: Sequence[Sequence[Constant]]) -> DenseIntOrFPElementsAttr:
    shape = [len(rows), len(rows[0])]
    numbers = [each.value.data for row in rows for each in row]
    element = rows[0][0].type
    if isinstance(element, IntegerType):
        whole = [int(number) for number in numbers]
        return DenseIntOrFPElementsAttr.from_list(TensorType(element, shape), whole)
    return DenseIntOrFPElementsAttr.from_list(TensorType(cast(AnyFloat, element), shape), numbers)
