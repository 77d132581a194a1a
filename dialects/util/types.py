"""Types and attributes of the `util` dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lcm
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.dialect_extension import plain_attribute, plain_type
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, FormattedAttribute, Kind

BufferType = plain_type("util.buffer", "Bytes in host memory.")
UnusedType = plain_type("util.unused", "A placeholder for a type that does not exist.")


@irdl_attr_definition
class PointerType(FormattedAttribute, TypeAttribute):
    """`!util.ptr<T>`: the address of a global of type `T`."""

    name = "util.ptr"
    target: Attribute
    FORMAT: ClassVar[str] = "<$target>"


ObjectType = plain_type("util.object", "A reference-counted object.")
VariantType = plain_type(
    "util.variant", "A value of any type; a list of them is written `!util.list<?>`."
)


@irdl_attr_definition
class ListType(ParametrizedAttribute, TypeAttribute):
    """`!util.list<T>`: a growable list; `?` accepts elements of any type."""

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


NullAttr = plain_attribute("util.null", "A null value.")


@irdl_attr_definition
class PreprocessingPipelineAttr(FormattedAttribute):
    """`<"passes">`: the pass pipeline that is run on an op before it is compiled."""

    name = "util.preprocessing_pipeline"
    pipeline: StringAttr
    FORMAT: ClassVar[str] = "<$pipeline>"


@irdl_attr_definition
class UninitializedAttr(FormattedAttribute):
    """`#util.uninitialized : T`: contents that must be written before they are read."""

    name = "util.uninitialized"
    type: Attribute
    FORMAT: ClassVar[str] = " : $type:type"


@irdl_attr_definition
class BytePatternAttr(FormattedAttribute):
    """`#util.byte_pattern<1> : T`: contents for tests, generated from a seed."""

    name = "util.byte_pattern"
    pattern: IntegerAttr[IndexType]
    type: Attribute
    FORMAT: ClassVar[str] = "<$pattern:index> : $type:type"


InlineNeverAttr = plain_attribute("util.inline.never", "Forbids inlining of a function or global.")
InlineAlwaysAttr = plain_attribute(
    "util.inline.always", "Forces inlining of a function or global at its uses."
)


Bound: TypeAlias = IntegerAttr[IndexType] | NoneAttr


@irdl_attr_definition
class IntAssumptionAttr(FieldsAttribute):
    """`<umin = 0, umax = 9, udiv = 4>`: bounds and a divisor of an unsigned integer."""

    name = "util.int.assumption"
    umin: Bound
    umax: Bound
    udiv: Bound
    FIELDS: ClassVar[Mapping[str, Kind]] = dict.fromkeys(("umin", "umax", "udiv"), KINDS["natural"])

    def and_also(self, other: IntAssumptionAttr) -> IntAssumptionAttr:
        """Return what is known if both hold."""
        return IntAssumptionAttr(
            _both(self.umin, other.umin, max),
            _both(self.umax, other.umax, min),
            _both(self.udiv, other.udiv, lcm),
        )


def _both(one: Bound, other: Bound, combine: Callable[[int, int], int]) -> Bound:
    """Return the combination of two numbers, or the one that is known."""
    if isinstance(one, NoneAttr) or isinstance(other, NoneAttr):
        return other if isinstance(one, NoneAttr) else one
    return IntegerAttr.from_index_int_value(combine(one.value.data, other.value.data))
