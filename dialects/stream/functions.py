"""External functions that `stream` ops call, and the calls, with resources as operands."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import RESOURCE, operand_key
from ..util.functions import (
    EMPTY,
    Function,
    Inputs,
    callee_of,
    parse_attributes,
    print_attributes,
    verify_callee,
)
from .dispatch_directives import FUNCTION_TYPE, DispatchOperands
from .rows import PLACED, row


@irdl_op_definition
class AsyncFuncOp(Function):
    """Declare an external function that `stream.async.call` calls."""

    name = "stream.async.func"


@irdl_op_definition
class CmdFuncOp(Function):
    """Declare an external function that `stream.cmd.call` calls.

    A resource argument `%a[%n for %m]` stands for three: the resource, an offset and a length.
    """

    name = "stream.cmd.func"

    @classmethod
    def parse_argument(cls, parser: Parser, inputs: Inputs) -> None:
        operand = parser.parse_unresolved_operand()
        ranged = parser.parse_optional_punctuation("[") is not None
        if ranged:
            parser.parse_unresolved_operand()
            parser.parse_keyword("for")
            parser.parse_unresolved_operand()
            parser.parse_punctuation("]")
        parser.parse_punctuation(":")
        position = parser.pos
        type_ = parser.parse_type()
        if ranged != (type_.name == RESOURCE):
            parser.raise_error(
                "a resource needs a range [... for ...], and other types must "
                f"not have one: {type_}",
                position,
            )
        inputs.names.append(operand_key(operand))
        inputs.types.append(type_)
        inputs.attributes.append(parse_attributes(parser))
        if ranged:
            inputs.types += [INDEX, INDEX]
            inputs.attributes += [EMPTY, EMPTY]

    def print_arguments(self, printer: Printer) -> None:
        types = self.function_type.inputs.data
        attributes = self.arg_attrs or ArrayAttr([EMPTY] * len(types))

        def print_argument(index: int) -> None:
            ranged = types[index].name == RESOURCE
            rest = f"[%arg{index + 1} for %arg{index + 2}]" if ranged else ""
            printer.print_string(f"%arg{index}{rest}: ")
            printer.print_attribute(types[index])
            print_attributes(printer, attributes.data[index])

        with printer.in_parens():
            printer.print_list(self._starts(), print_argument)

    def prints_generically(self) -> bool:
        types = self.function_type.inputs.data
        ranges = [i for i, type_ in enumerate(types) if type_.name == RESOURCE]
        fits = all(types[i + 1 : i + 3] == (INDEX, INDEX) for i in ranges)
        return bool(self.body.blocks) or not fits or super().prints_generically()

    def _starts(self) -> list[int]:
        """Return the indices of the arguments without the offsets and lengths of resources."""
        types = self.function_type.inputs.data
        starts: list[int] = []
        index = 0
        while index < len(types):
            starts.append(index)
            index += 3 if types[index].name == RESOURCE else 1
        return starts


CALL = (
    "resource_operands:any* resource_operand_sizes* resource_operand_offsets*"
    " {ends}resource_operand_lengths* result_sizes* -> results_:any*"
    " | callee:symbol tied_operands:array? arg_attrs:array? res_attrs:array?"
)

CALL_ATTRIBUTES = "struct($arg_attrs, $res_attrs) attr-dict : "


def _verify_call(call: Operation) -> None:
    operands = [value.type for value in values(call, "resource_operands")]
    verify_callee(call, AsyncFuncOp, operands)


def _verify_command(call: Operation) -> None:
    callee_of(call, CmdFuncOp)


AsyncCallOp = row(
    "async.call",
    CALL.format(ends="resource_operand_ends* ") + " affinity:attr?",
    ("( on($affinity))? @$callee", DispatchOperands(), CALL_ATTRIBUTES, FUNCTION_TYPE),
    verify=_verify_call,
    traits=PLACED,
)

CmdCallOp = row(
    "cmd.call",
    CALL.format(ends="") + " resource_operand_accesses:array",
    (" @$callee", DispatchOperands("resource_operand_accesses"), CALL_ATTRIBUTES, FUNCTION_TYPE),
    verify=_verify_command,
)
