"""Types and attributes of the `util` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.dialect_extension import plain_attribute, plain_type
from ...ir.syntax.structs import OneParameter, parse_struct, print_struct

BufferType = plain_type("util.buffer", "Bytes in host memory.")
UnusedType = plain_type("util.unused", "Stands for a type where there is none to give.")


@irdl_attr_definition
class PointerType(OneParameter, TypeAttribute):
    """`!util.ptr<T>`: the address of a global."""

    name = "util.ptr"
    target: Attribute


ObjectType = plain_type("util.object", "Something that is counted by references.")
VariantType = plain_type(
    "util.variant", "A value of any type; a list of them is written `!util.list<?>`."
)


@irdl_attr_definition
class ListType(ParametrizedAttribute, TypeAttribute):
    """`!util.list<T>`: a list that grows."""

    name = "util.list"
    element: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_punctuation("?") is not None:
                return [VariantType()]
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if isinstance(self.element, VariantType):
                printer.print_string("?")
            else:
                printer.print_attribute(self.element)


NullAttr = plain_attribute("util.null", "No value.")


@irdl_attr_definition
class PreprocessingPipelineAttr(OneParameter):
    """`<"passes">`: what is run on an operation before it is compiled."""

    name = "util.preprocessing_pipeline"
    pipeline: StringAttr


@irdl_attr_definition
class UninitializedAttr(ParametrizedAttribute):
    """`#util.uninitialized : T`: contents that nobody may read before they are written."""

    name = "util.uninitialized"
    type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parser.parse_punctuation(":")
        return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(" : ")
        printer.print_attribute(self.type)


@irdl_attr_definition
class BytePatternAttr(ParametrizedAttribute):
    """`#util.byte_pattern<1> : T`: contents made for tests from a seed."""

    name = "util.byte_pattern"
    pattern: IntegerAttr[IndexType]
    type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pattern = IntegerAttr.from_index_int_value(parser.parse_integer())
        parser.parse_punctuation(":")
        return [pattern, parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.pattern.value.data}> : ")
        printer.print_attribute(self.type)


InlineNeverAttr = plain_attribute("util.inline.never", "The function or global stays where it is.")
InlineAlwaysAttr = plain_attribute(
    "util.inline.always", "The function or global is put in the place of its uses."
)


ASSUMPTION_KEYS = ("umin", "umax", "udiv")


@irdl_attr_definition
class IntAssumptionAttr(ParametrizedAttribute):
    """`<umin = 0, umax = 9, udiv = 4>`: what is known of an unsigned number."""

    name = "util.int.assumption"
    umin: IntegerAttr[IndexType] | NoneAttr
    umax: IntegerAttr[IndexType] | NoneAttr
    udiv: IntegerAttr[IndexType] | NoneAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def number(parser: AttrParser) -> Attribute:
            return IntegerAttr.from_index_int_value(parser.parse_integer(allow_negative=False))

        found = parse_struct(parser, dict.fromkeys(ASSUMPTION_KEYS, number))
        return [found.get(key, NoneAttr()) for key in ASSUMPTION_KEYS]

    def print_parameters(self, printer: Printer) -> None:
        def shown(value: Attribute) -> Callable[[], None] | None:
            if not isinstance(value, IntegerAttr):
                return None
            return lambda: printer.print_string(str(value.value.data))

        pairs = zip(ASSUMPTION_KEYS, self.parameters, strict=True)
        print_struct(printer, [(key, shown(value)) for key, value in pairs])
