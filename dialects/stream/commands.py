"""Commands of the `stream` dialect: what devices do, in which order, to which bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ...ir.syntax.directives import EntryPoints
from ...ir.syntax.resource_directives import (
    ON_AFFINITY,
    Sized,
    at_offset,
    offset_for_length,
    verify_columns,
)
from ...ir.syntax.rows import (
    ATTRIBUTES_WITH_KEYWORD,
    AttributeValue,
    Operand,
    Operands,
    Optional,
    Parsed,
    Syntax,
    SyntaxOperation,
    Type,
    Types,
    print_dimensions,
    values,
)
from ..util.types import BufferType
from .async_ops import AWAIT, INDEX, TIMEPOINT, PlacedOperation
from .dispatch_syntax import DispatchResources
from .regions import Captures, CommandBody
from .types import ResourceType, TimepointType


class RangeCommand(SyntaxOperation):
    """A command about a range of one resource."""

    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_length = operand_def(INDEX)


RANGE: Syntax = (
    " ",
    *offset_for_length("target"),
    " : ",
    Sized("target", "target_size"),
    ATTRIBUTES_WITH_KEYWORD,
)


@irdl_op_definition
class CmdFlushOp(RangeCommand):
    """Make what was written visible to another device."""

    name = "stream.cmd.flush"
    source_affinity = opt_prop_def(Attribute)

    SYNTAX: ClassVar[Syntax] = (
        Optional((" to(", AttributeValue("source_affinity"), ")"), anchor="source_affinity"),
        *RANGE,
    )


@irdl_op_definition
class CmdInvalidateOp(RangeCommand):
    """See what another device has written."""

    name = "stream.cmd.invalidate"
    source_affinity = opt_prop_def(Attribute)

    SYNTAX: ClassVar[Syntax] = (
        Optional((" from(", AttributeValue("source_affinity"), ")"), anchor="source_affinity"),
        *RANGE,
    )


@irdl_op_definition
class CmdDiscardOp(RangeCommand):
    """Contents that nobody reads any more."""

    name = "stream.cmd.discard"

    SYNTAX: ClassVar[Syntax] = RANGE


@irdl_op_definition
class CmdFillOp(SyntaxOperation):
    """Write a pattern over and over."""

    name = "stream.cmd.fill"
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_length = operand_def(INDEX)
    value = operand_def()

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("value"),
        ", ",
        *offset_for_length("target"),
        " : ",
        Type("value"),
        " -> ",
        Sized("target", "target_size"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class CmdCopyOp(SyntaxOperation):
    """Copy a range of one resource to another."""

    name = "stream.cmd.copy"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    length = operand_def(INDEX)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        *at_offset("source"),
        ", ",
        *at_offset("target"),
        ", ",
        Operand("length"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        Sized("target", "target_size"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class CmdDispatchOp(SyntaxOperation):
    """Run a kernel on ranges of resources."""

    name = "stream.cmd.dispatch"
    workload = var_operand_def(INDEX)
    entry_points = prop_def(ArrayAttr[SymbolRefAttr])
    uniform_operands = var_operand_def()
    resources = var_operand_def(ResourceType)
    resource_sizes = var_operand_def(INDEX)
    resource_offsets = var_operand_def(INDEX)
    resource_lengths = var_operand_def(INDEX)
    resource_accesses = prop_def(ArrayAttr[IntegerAttr])
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        EntryPoints(),
        Optional(("[", Operands("workload"), "]"), anchor="workload"),
        Optional(
            ("(", Operands("uniform_operands"), " : ", Types("uniform_operands"), ")"),
            anchor="uniform_operands",
        ),
        DispatchResources(),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class CmdExecuteOp(PlacedOperation):
    """Run commands once a timepoint is reached."""

    name = "stream.cmd.execute"
    resource_operands = var_operand_def(ResourceType)
    resource_operand_sizes = var_operand_def(INDEX)
    once = opt_prop_def(Attribute)
    await_timepoint = opt_operand_def(TIMEPOINT)
    result_timepoint = result_def(TimepointType)
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        Optional((" once",), flag="once"),
        ON_AFFINITY,
        AWAIT,
        " with",
        Captures(),
        " => ",
        Type("result_timepoint"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class CmdSerialOp(SyntaxOperation):
    """Commands one after another."""

    name = "stream.cmd.serial"
    body = region_def()

    SYNTAX: ClassVar[Syntax] = (CommandBody(), ATTRIBUTES_WITH_KEYWORD)


@irdl_op_definition
class CmdConcurrentOp(SyntaxOperation):
    """Commands at the same time."""

    name = "stream.cmd.concurrent"
    body = region_def()

    SYNTAX: ClassVar[Syntax] = (CommandBody(), ATTRIBUTES_WITH_KEYWORD)


@dataclass(frozen=True, slots=True)
class LoadedParameters:
    """` {%scope::%key[%offset] : T{%size}, ...}`: contents kept outside of the program."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        columns: dict[str, list[UnresolvedOperand]] = {
            name: [] for name in ("source_scope", "source_keys", "source_offsets", "result_sizes")
        }
        types: list[Attribute] = []

        def parse_one() -> None:
            key = parser.parse_unresolved_operand()
            if parser.parse_optional_punctuation(":") is not None:
                parser.parse_punctuation(":")
                columns["source_scope"] = [key]
                key = parser.parse_unresolved_operand()
            columns["source_keys"].append(key)
            with parser.in_square_brackets():
                columns["source_offsets"].append(parser.parse_unresolved_operand())
            parser.parse_punctuation(":")
            types.append(parser.parse_type())
            with parser.in_braces():
                columns["result_sizes"].append(parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_one)
        parsed.operands.update(columns)
        parsed.types["results_"] = types

    def print(self, printer: Printer, operation: Operation) -> None:
        scope = values(operation, "source_scope")

        def print_one(item: tuple[SSAValue, SSAValue, SSAValue, SSAValue]) -> None:
            key, offset, size, result = item
            for value in scope:
                printer.print_ssa_value(value)
                printer.print_string("::")
            printer.print_ssa_value(key)
            printer.print_string("[")
            printer.print_ssa_value(offset)
            printer.print_string("] : ")
            printer.print_attribute(result.type)
            print_dimensions(printer, [size])

        names = ("source_keys", "source_offsets", "result_sizes", "results_")
        items = zip(*(values(operation, name) for name in names), strict=True)
        printer.print_string(" {")
        printer.print_list(tuple(items), print_one)
        printer.print_string("}")

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, "source_keys", "source_offsets", "result_sizes", "results_")


@irdl_op_definition
class CmdParameterLoadOp(PlacedOperation):
    """Resources with contents that are kept outside of the program."""

    name = "stream.cmd.parameter.load"
    source_scope = opt_operand_def(BufferType())
    source_keys = var_operand_def(BufferType())
    source_offsets = var_operand_def(i64)
    result_sizes = var_operand_def(INDEX)
    await_timepoint = opt_operand_def(TIMEPOINT)
    results_ = var_result_def(ResourceType)
    result_timepoint = result_def(TimepointType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        ON_AFFINITY,
        AWAIT,
        LoadedParameters(),
        " => ",
        Type("result_timepoint"),
        ATTRIBUTES_WITH_KEYWORD,
    )


STREAM_COMMAND_OPERATIONS: list[type[Operation]] = [
    CmdConcurrentOp,
    CmdCopyOp,
    CmdDiscardOp,
    CmdDispatchOp,
    CmdExecuteOp,
    CmdFillOp,
    CmdFlushOp,
    CmdInvalidateOp,
    CmdParameterLoadOp,
    CmdSerialOp,
]
