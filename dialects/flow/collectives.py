"""Channels, collectives, external functions and parameters of the `flow` dialect."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.dialect_extension import plain_type
from ...ir.syntax.assembly_format import Parsed, values
from ...ir.syntax.directives import Implied
from ...ir.syntax.keyword_attributes import KeywordIndex
from ...ir.syntax.resource_directives import (
    ValueForm,
    dynamic_dimensions,
    parse_type_sizes,
    print_dimensions,
    tied_operands,
)
from ...ir.syntax.rows import PURE, READS, Rows
from ...ir.syntax.typed_values import type_carried_by
from ...sharding.collective_rows import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from ..stream.types import COLLECTIVE_ELEMENTS, COLLECTIVE_REDUCTIONS
from ..util.functions import Function, verify_callee
from ..util.types import BufferType
from .dispatches import DISPATCH_TYPE

ChannelType = plain_type("flow.channel", "A group of devices that take part in collectives.")


@irdl_op_definition
class FuncOp(Function):
    """Declare an external function that takes and returns tensors."""

    name = "flow.func"


class TracedTensors:
    """`[%a : tensor<?xf32>{%n}, ...]`: tensors with the sizes of their dynamic dimensions."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        operands: list[UnresolvedOperand] = []
        sizes: list[UnresolvedOperand] = []
        types: list[Attribute] = []

        def parse_one() -> None:
            operands.append(parser.parse_unresolved_operand())
            parser.parse_punctuation(":")
            types.append(parser.parse_type())
            sizes.extend(parse_type_sizes(parser, ValueForm.SHAPED, types[-1]))

        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_one)
        parsed.operands.update({"values_": operands, "value_dims": sizes})
        parsed.types["values_"] = types

    def print(self, printer: Printer, operation: Operation) -> None:
        sizes = iter(values(operation, "value_dims"))

        def print_one(value: SSAValue) -> None:
            printer.print_ssa_value(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)
            count = dynamic_dimensions(value.type)
            print_dimensions(printer, [next(sizes) for _ in range(count)])

        with printer.in_square_brackets():
            printer.print_list(values(operation, "values_"), print_one)

    def verify(self, operation: Operation) -> None:
        expected = sum(dynamic_dimensions(value.type) for value in values(operation, "values_"))
        found = len(values(operation, "value_dims"))
        if found != expected:
            raise VerifyException(f"expected {expected} sizes, found {found}")


row = Rows("flow", {"channel": ChannelType(), "host": BufferType(), "tensor": TensorType})

_END = " attr-dict-with-keyword"
_RESULT_TYPE = f" -> tied($target) shaped($target_dims, $target, $result){_END}"
_OPERAND_TYPES = "type($target), type($source), type($channel)"
_TENSORS = f", $target, $source, $channel : ({_OPERAND_TYPES}){_RESULT_TYPE}"
_ELEMENT = KeywordIndex("element_type", COLLECTIVE_ELEMENTS)
_REDUCTION = (" ", KeywordIndex("reduction_op", COLLECTIVE_REDUCTIONS, first=1), ",")
"""The value 0 of the property means no reduction."""
_TIED = Implied("tied_operands", tied_operands([0]))
_OPERANDS = "target:tensor target_dims* source:tensor channel:channel"
_PROPERTIES = "element_type:i32attr tied_operands:array?"
_READ = "parameter($source_scope, $source_key, $source_offset)"
_WRITTEN = "parameter($target_scope, $target_key, $target_offset)"


def _verify_call(call: Operation) -> None:
    verify_callee(call, FuncOp, [value.type for value in values(call, "arguments")])


def _verify_same_type(collective: Operation) -> None:
    source, target = (values(collective, name)[0].type for name in ("source", "target"))
    if not source == target == collective.results[0].type:
        raise VerifyException(
            "failed to verify that all of {source, target, result} have same type"
        )


def _verify_dynamic_constant(constant: Operation) -> None:
    value = constant.properties["value"]
    if not isinstance(type_carried_by(value), TensorType):
        raise VerifyException(f"expected a constant tensor, found {value}")


ROWS = (
    row(
        "channel.default",
        "-> result:channel | group:str?",
        f"( $group)? : type($result){_END}",
        traits=PURE,
    ),
    row(
        "channel.split",
        "channel:channel color key -> result:channel",
        f" $channel, $color, $key : type($channel) -> type($result){_END}",
        traits=PURE,
    ),
    *(
        row(
            f"channel.{what}",
            "channel:channel -> result",
            f" $channel : type($result){_END}",
            traits=PURE,
        )
        for what in ("rank", "count")
    ),
    *(
        row(
            f"collective.{what}",
            f"{_OPERANDS} -> result:tensor | {_PROPERTIES}",
            (_TIED, " ", _ELEMENT, _TENSORS),
        )
        for what in (ALL_GATHER.name, ALL_TO_ALL.name)
    ),
    *(
        row(
            f"collective.{what}",
            f"{_OPERANDS} -> result:tensor | reduction_op:i32attr {_PROPERTIES}",
            (_TIED, *_REDUCTION, " ", _ELEMENT, _TENSORS),
            verify=_verify_same_type if what == ALL_REDUCE.name else None,
        )
        for what in (ALL_REDUCE.name, REDUCE_SCATTER.name)
    ),
    row(
        "collective.send_recv",
        f"{_OPERANDS} send recv -> result:tensor | {_PROPERTIES}",
        (
            _TIED,
            " ",
            _ELEMENT,
            ", $target, $source, $channel, $send, $recv"
            f" : ({_OPERAND_TYPES}, type($send), type($recv)){_RESULT_TYPE}",
        ),
        verify=_verify_same_type,
    ),
    row(
        "parameter.load",
        "source_scope:host? source_key:host source_offset:i64 result_dims* -> result:tensor",
        f" {_READ} : shaped($result_dims, $result){_END}",
        traits=READS,
    ),
    row(
        "parameter.write",
        "source:tensor source_dims* target_scope:host? target_key:host target_offset:i64"
        " -> result:tensor",
        f" $source -> {_WRITTEN} : shaped($source_dims, $source, $result){_END}",
    ),
    row(
        "tensor.dynamic_constant",
        "-> result:tensor | value:attr",
        " attr-dict $value -> type($result)",
        verify=_verify_dynamic_constant,
    ),
    row(
        "tensor.trace",
        "values_:tensor* value_dims* | key:str",
        (" $key = ", TracedTensors(), _END),
    ),
)

CallOp = row(
    "call",
    "arguments:any* argument_dims* result_dims* -> results_:any*"
    " | callee:symbol tied_operands:array? arg_attrs:array? res_attrs:array?",
    (" @$callee($arguments)struct($arg_attrs, $res_attrs) attr-dict : ", DISPATCH_TYPE),
    verify=_verify_call,
)

COLLECTIVES = tuple(each.name for each in ROWS if each.name.startswith("flow.collective."))
"""The names of the collectives."""
