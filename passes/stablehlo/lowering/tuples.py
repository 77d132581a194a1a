"""Expand the tuples that functions, calls, branches and loops pass on into their members.

XLA's programs take and return tuples. Afterwards a tuple is only made and taken apart:

    func.func @f(%t: tuple<tensor<2xf32>, tensor<i32>>) -> tuple<tensor<2xf32>>

    func.func @f(%0: tensor<2xf32>, %1: tensor<i32>) -> tensor<2xf32> {
      %t = stablehlo.tuple %0, %1 : tuple<tensor<2xf32>, tensor<i32>>

The sharding of a tuple in a signature, `"{{devices=[2]<=[2]}, {replicated}}"`, is split likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TupleType,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.stablehlo.dialect import Stablehlo
from ....ir.diagnostics import OperationError
from ....ir.expansions import expand_types, on_first, retype_function
from ....ir.locations import builder_before, located_builder, rebuilt
from ....ir.regions import detach_regions, inner_blocks, walk
from ....sharding.gspmd_strings import shardings_of_members
from ...sharding.annotations.access import MHLO_SHARDING

EXPANDED = frozenset(
    (
        *("func.func", "func.call", "func.return", "stablehlo.return", "stablehlo.while"),
        *("stablehlo.if", "stablehlo.case", "stablehlo.optimization_barrier"),
    )
)
"""Operations whose operands and results stand for themselves, one by one."""

_CLASSES = {each.name: each for each in Stablehlo.operations}


def expand_tuples(module: ModuleOp) -> None:
    """Expand all tuples that the operations of a module pass on."""
    for operation in list(walk(module)):
        if operation.name in EXPANDED:
            _expand(operation)


def _leaves(type_: Attribute) -> Sequence[Attribute]:
    """Return the types of the values that replace a value of a type."""
    if not isinstance(type_, TupleType):
        return (type_,)
    return expand_types(cast("ArrayAttr[Attribute]", type_.types).data, _leaves)


def _attributes_of_leaves(attributes: DictionaryAttr, count: int) -> Sequence[DictionaryAttr]:
    """Return the attributes of a tuple's leaves. Raises ValueError if its sharding does not fit."""
    found = on_first(attributes, count)
    sharding = attributes.data.get(MHLO_SHARDING)
    if not isinstance(sharding, StringAttr):
        return found
    try:
        members = shardings_of_members(sharding.data, count)
    except ValueError as problem:
        raise ValueError(f"has {MHLO_SHARDING} = {sharding}: {problem}") from problem
    return [
        DictionaryAttr({**each.data, MHLO_SHARDING: StringAttr(member)})
        for each, member in zip(found, members, strict=True)
    ]


def _expand(operation: Operation) -> None:
    for block in inner_blocks(operation):
        _expand_arguments(block)
    if isinstance(operation, FuncOp):
        try:
            retype_function(operation, _leaves, _attributes_of_leaves)
        except ValueError as problem:
            raise OperationError(operation, str(problem)) from problem
        return
    if not any(isinstance(v.type, TupleType) for v in (*operation.operands, *operation.results)):
        return
    builder = builder_before(operation)
    operands = [leaf for value in operation.operands for leaf in _taken_apart(value, builder)]
    types = expand_types(operation.result_types, _leaves)
    regions = detach_regions(operation)
    made = builder.insert(rebuilt(operation, operands, types, regions=regions))
    leaves: list[SSAValue] = list(made.results)
    results = [_put_together(each.type, leaves, builder) for each in operation.results]
    Rewriter.replace_op(operation, [], results)


def _expand_arguments(block: Block) -> None:
    for argument in tuple(block.args):
        if not isinstance(argument.type, TupleType):
            continue
        leaves = [block.insert_arg(type_, argument.index) for type_ in _leaves(argument.type)]
        owner = block.parent_op()
        assert owner is not None
        builder = located_builder(InsertPoint.at_start(block), owner)
        argument.replace_all_uses_with(_put_together(argument.type, list(leaves), builder))
        block.erase_arg(argument)


def _taken_apart(value: SSAValue, builder: Builder) -> list[SSAValue]:
    """Return the members of a tuple, and of tuples in it; of another value itself."""
    if not isinstance(value.type, TupleType):
        return [value]
    found: list[SSAValue] = []
    for index, type_ in enumerate(cast("ArrayAttr[Attribute]", value.type.types).data):
        member = _CLASSES["stablehlo.get_tuple_element"].create(
            operands=[value],
            result_types=[type_],
            properties={"index": IntegerAttr(index, i32)},
        )
        found += _taken_apart(builder.insert(member).results[0], builder)
    return found


def _put_together(type_: Attribute, leaves: list[SSAValue], builder: Builder) -> SSAValue:
    """Return a value of a type that is made of the first leaves, which are removed."""
    if not isinstance(type_, TupleType):
        return leaves.pop(0)
    types = cast("ArrayAttr[Attribute]", type_.types).data
    members = [_put_together(each, leaves, builder) for each in types]
    made = _CLASSES["stablehlo.tuple"].create(operands=members, result_types=[type_])
    return builder.insert(made).results[0]
