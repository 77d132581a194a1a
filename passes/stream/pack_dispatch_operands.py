"""Give kernels numbers in words of 32 bits: that is what devices pass on with a dispatch.

An index or another number of 64 bits is two words, the lower one first. Smaller ones are extended.
Kernels put their arguments together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.arith import (
    BitcastOp,
    ConstantOp,
    ExtUIOp,
    IndexCastOp,
    OrIOp,
    ShLIOp,
    ShRUIOp,
    TruncIOp,
)
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.stream.commands import CmdDispatchOp
from ...dialects.stream.types import BindingType
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before, located_builder
from .kernels.exports import Kernels, entry_points

FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)

Words = dict[tuple[Operation, SSAValue], Sequence[SSAValue]]
"""What numbers are as words, in front of each group of commands."""


@dataclass(frozen=True)
class PackDispatchOperandsPass(ModulePass):
    """Turn the numbers that kernels are given into words of 32 bits."""

    name = "iree-stream-pack-dispatch-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = Kernels(op)
        functions: dict[Operation, None] = {}
        words: Words = {}
        for operation in tuple(host_operations(op)):
            if not isinstance(operation, CmdDispatchOp):
                continue
            for entry in entry_points(operation):
                kernel = kernels.of_entry_point(entry, operation)
                if kernel is not None:
                    functions[kernel.function] = None
            _split_operands(operation, words)
        for function in functions:
            _join_arguments(function)


def _split_operands(dispatch: CmdDispatchOp, made_words: Words) -> None:
    scope: Operation = dispatch
    while (parent := scope.parent_op()) is not None and parent.name.startswith("stream.cmd."):
        scope = parent
    builder = builder_before(scope)
    words: list[SSAValue] = []
    for value in dispatch.uniform_operands:
        if (scope, value) not in made_words:
            made_words[scope, value] = _words(dispatch, value, builder)
        words += made_words[scope, value]
    if words == list(dispatch.uniform_operands):
        return
    made = CmdDispatchOp.build(
        operands=[
            dispatch.workload,
            words,
            dispatch.resources,
            dispatch.resource_sizes,
            dispatch.resource_offsets,
            dispatch.resource_lengths,
        ],
        properties={
            "entry_points": dispatch.entry_points,
            "resource_accesses": dispatch.resource_accesses,
        },
        attributes=dispatch.attributes,
    )
    made.location = dispatch.location
    Rewriter.replace_op(dispatch, made)


def _words(operation: Operation, value: SSAValue, builder: Builder) -> Sequence[SSAValue]:
    """A number as words."""
    if isinstance(value.type, IndexType):
        value = builder.insert(IndexCastOp(value, i64)).result
    bits = _bits(operation, value.type)
    if isinstance(value.type, FLOATS):
        value = builder.insert(BitcastOp(value, IntegerType(bits))).result
    if bits == 64:
        shift = builder.insert(ConstantOp(IntegerAttr(32, i64))).result
        upper = builder.insert(ShRUIOp(value, shift)).result
        return tuple(builder.insert(TruncIOp(each, i32)).result for each in (value, upper))
    return (builder.insert(ExtUIOp(value, i32)).result if bits < 32 else value,)


def _bits(operation: Operation, type_: Attribute) -> int:
    if isinstance(type_, IndexType):
        return 64
    if isinstance(type_, IntegerType | Float32Type | Float64Type | BFloat16Type | Float16Type):
        bits = type_.bitwidth
        if bits <= 32 or bits == 64:
            return bits
    raise OperationError(
        operation,
        f"passes a number of type {type_}: only those of 64 bits, and of 32 or less, are words",
    )


def _join_arguments(function: Operation) -> None:
    """Let a kernel take words, and make the numbers of them that it had."""
    block = function.regions[0].blocks.first
    if block is None or block.first_op is None:
        return
    builder = located_builder(InsertPoint.at_start(block), function)
    for argument in tuple(block.args):
        if isinstance(argument.type, BindingType) or argument.type == i32:
            continue
        type_, bits = argument.type, _bits(function, argument.type)
        words = [block.insert_arg(i32, argument.index)]
        if bits == 64:
            words.append(block.insert_arg(i32, argument.index))
        argument.replace_all_uses_with(_number(words, type_, builder))
        block.erase_arg(argument)
    type_ = cast(FunctionType, function.properties["function_type"])
    function.properties["function_type"] = FunctionType.from_lists(
        list(block.arg_types), list(type_.outputs)
    )
    function.properties.pop("arg_attrs", None)


def _number(words: Sequence[SSAValue], type_: Attribute, builder: Builder) -> SSAValue:
    """What was made words of, again."""
    value = words[0]

    def insert(made: Operation) -> SSAValue:
        return builder.insert(made).results[0]

    if len(words) == 2:
        lower, upper = (insert(ExtUIOp(word, i64)) for word in words)
        shift = insert(ConstantOp(IntegerAttr(32, i64)))
        value = insert(OrIOp(lower, insert(ShLIOp(upper, shift))))
    if isinstance(type_, IndexType):
        return insert(IndexCastOp(value, type_))
    if isinstance(type_, FLOATS):
        if type_.bitwidth < 32:
            value = insert(TruncIOp(value, IntegerType(type_.bitwidth)))
        return insert(BitcastOp(value, type_))
    if isinstance(type_, IntegerType) and value.type != type_:
        return insert(TruncIOp(value, cast(IntegerType, type_)))
    return value
