"""Pack uniform operands of kernels into 32-bit words, which is how devices pass them.

A number of more than 32 bits becomes two words, the lower one first. So does an index, unless
`stream.resources` says everywhere that indices have 32 bits. Smaller numbers are extended, and
complex ones become two numbers. Kernels reassemble their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import BitcastOp, ConstantOp, ExtUIOp, OrIOp, ShLIOp, ShRUIOp, TruncIOp
from xdsl.dialects.builtin import (
    ComplexType,
    DictionaryAttr,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i32,
    i64,
)
from xdsl.dialects.complex import CreateOp, ImOp, ReOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.arith.dialect import IndexCastUIOp
from ...dialects.stream.commands import CmdDispatchOp
from ...dialects.stream.types import BindingType
from ...ir.attribute_access import boundary_attributes, constant_integer
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations_of
from ...ir.locations import builder_before, located_builder
from ..manager.module_pass import module_pass
from .analysis.resource_limits import resource_limits
from .kernels.exports import Kernels
from .kernels.uniform_operands import group_around, replace_uniform_operands, retype_kernel

Words = dict[tuple[Operation, SSAValue], Sequence[SSAValue]]
"""The words of each number, cached for each group of commands."""


@module_pass("iree-stream-pack-dispatch-operands")
def pack_dispatch_operands(module: ModuleOp) -> None:
    """Turn uniform operands of kernels into words of 32 bits."""
    kernels = Kernels(module)
    dispatches = host_operations_of(module, CmdDispatchOp)
    functions = dict.fromkeys(
        kernel.function for each in dispatches for _, kernel in kernels.of_dispatch(each)
    )
    both = (*dispatches, *functions)
    index_bits = max((resource_limits(each).index_bits for each in both), default=64)
    words: Words = {}
    for dispatch in dispatches:
        _split_operands(dispatch, words, index_bits)
    for function in functions:
        _join_arguments(function, index_bits)


def _split_operands(dispatch: CmdDispatchOp, words_of: Words, index_bits: int) -> None:
    scope = group_around(dispatch)
    builder = builder_before(scope)
    words: list[SSAValue] = []
    for value in dispatch.uniform_operands:
        if (scope, value) not in words_of:
            words_of[scope, value] = _words(dispatch, value, builder, index_bits)
        words += words_of[scope, value]
    if words == list(dispatch.uniform_operands):
        return
    replace_uniform_operands(dispatch, words)


def _words(
    operation: Operation, value: SSAValue, builder: Builder, index_bits: int
) -> Sequence[SSAValue]:
    """Emit the words of a number."""
    if isinstance(value.type, ComplexType):
        parts = [builder.insert(part(value)).results[0] for part in (ReOp, ImOp)]
        return tuple(
            word for part in parts for word in _words(operation, part, builder, index_bits)
        )
    type_: Attribute = value.type
    bits = _bits(operation, type_, index_bits)
    whole = i64 if bits > 32 else i32
    if (number := constant_integer(value)) is not None and type_ != i32:
        unsigned = number % (1 << bits)
        return tuple(_word(unsigned >> low, builder) for low in range(0, whole.bitwidth, 32))
    if isinstance(type_, IndexType):
        value = builder.insert(IndexCastUIOp.build(operands=[value], result_types=[whole])).result
    elif not isinstance(type_, IntegerType):
        value = builder.insert(BitcastOp(value, IntegerType(bits))).result
    if value.type != whole:
        value = builder.insert(ExtUIOp(value, whole)).result
    if bits <= 32:
        return (value,)
    lower = builder.insert(TruncIOp(value, i32)).result
    shift = builder.insert(ConstantOp(IntegerAttr(32, i64))).result
    upper = builder.insert(ShRUIOp(value, shift)).result
    return lower, builder.insert(TruncIOp(upper, i32)).result


def _word(number: int, builder: Builder) -> SSAValue:
    """Emit the lower 32 bits of a number."""
    word = IntegerAttr(number, i32, truncate_bits=True)
    return builder.insert(ConstantOp(word)).result


def _bits(operation: Operation, type_: Attribute, index_bits: int) -> int:
    """Return the width of a number. Raises OperationError if it cannot be passed in words."""
    if isinstance(type_, IndexType):
        return 32 if index_bits <= 32 else 64
    if isinstance(type_, FixedBitwidthType) and type_.bitwidth <= 64:
        return type_.bitwidth
    raise OperationError(operation, f"passes a number of type {type_}, expected at most 64 bits")


def _join_arguments(function: Operation, index_bits: int) -> None:
    """Make a kernel take words, and reassemble its original arguments.

    Attributes of an argument, such as its alignment, move to the operation that makes it.
    """
    block = function.regions[0].blocks.first
    if block is None or block.first_op is None:
        return
    builder = located_builder(InsertPoint.at_start(block), function)
    arg_attrs: list[DictionaryAttr] = []
    for number, argument in enumerate(tuple(block.args)):
        known = boundary_attributes(function, "arg_attrs", number)
        if isinstance(argument.type, BindingType) or argument.type == i32:
            arg_attrs.append(DictionaryAttr(known))
            continue
        words = _insert_words(argument, arg_attrs)
        value = _number(function, argument.type, words, builder, index_bits)
        cast(OpResult, value).op.attributes.update(known)
        argument.replace_all_uses_with(value)
        block.erase_arg(argument)
    retype_kernel(function, arg_attrs)


def _insert_words(argument: BlockArgument, arg_attrs: list[DictionaryAttr]) -> Iterator[SSAValue]:
    """Insert words in front of an argument, without attributes, as they are requested."""
    while True:
        arg_attrs.append(DictionaryAttr({}))
        yield argument.block.insert_arg(i32, argument.index)


def _number(
    function: Operation,
    type_: Attribute,
    words: Iterator[SSAValue],
    builder: Builder,
    index_bits: int,
) -> SSAValue:
    """Emit the number that words encode; the value is the result of an operation."""

    def insert(operation: Operation) -> SSAValue:
        return builder.insert(operation).results[0]

    if isinstance(type_, ComplexType):
        (part,) = cast("tuple[Attribute]", type_.parameters)
        real, imaginary = (_number(function, part, words, builder, index_bits) for _ in range(2))
        operands = [real, imaginary]
        return insert(CreateOp.create(operands=operands, result_types=[cast(Attribute, type_)]))
    bits = _bits(function, type_, index_bits)
    value = next(words)
    if bits > 32:
        lower, upper = (insert(ExtUIOp(word, i64)) for word in (value, next(words)))
        shift = insert(ConstantOp(IntegerAttr(32, i64)))
        value = insert(OrIOp(lower, insert(ShLIOp(upper, shift))))
    if isinstance(type_, IndexType):
        return insert(IndexCastUIOp.build(operands=[value], result_types=[type_]))
    if value.type != (whole := IntegerType(bits)):
        value = insert(TruncIOp(value, whole))
    return value if type_ == whole else insert(BitcastOp(value, type_))
