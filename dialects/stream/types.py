"""Types and attributes of the `stream` dialect, including those that configure resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import AttrConstraint, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.dialect_extension import plain_type
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, FormattedAttribute, Kind, one_of
from ...ir.syntax.rows import OneOf
from ...sharding.collective_rows import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    RECV,
    REDUCE,
    REDUCE_SCATTER,
    SEND,
)


@dataclass(frozen=True, init=False)
class NamedParameter(ParametrizedAttribute):
    """`<"scope"::"key", {...}> : T`: constant contents stored outside of the program."""

    scope: StringAttr | NoneAttr
    key: StringAttr
    config: DictionaryAttr | NoneAttr
    type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            scope: Attribute = NoneAttr()
            key = StringAttr(parser.parse_str_literal())
            if parser.parse_optional_punctuation(":") is not None:
                parser.parse_punctuation(":")
                scope, key = key, StringAttr(parser.parse_str_literal())
            config: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(",") is not None:
                config = parser.parse_attribute()
        parser.parse_punctuation(":")
        return [scope, key, config, parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if isinstance(self.scope, StringAttr):
                printer.print_string_literal(self.scope.data)
                printer.print_string("::")
            printer.print_string_literal(self.key.data)
            if isinstance(self.config, DictionaryAttr):
                printer.print_string(", ")
                printer.print_attribute(self.config)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


COLLECTIVE_REDUCTIONS = ("sum", "product", "minimum", "maximum", "average")
COLLECTIVE_KINDS = (
    *(row.name for row in (ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE)),
    *(row.name for row in (REDUCE_SCATTER, SEND, RECV)),
    "send_recv",
)
COLLECTIVE_ELEMENTS = (
    *("si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64"),
    *("f16", "f32", "f64", "bf16"),
)
"""Element types in the order of the integers that encode them."""


@dataclass(frozen=True, init=False)
class Collective(FormattedAttribute):
    """`<all_reduce with sum : f32>`: the kind, reduction and element type of a collective."""

    kind: StringAttr
    reduction: StringAttr | NoneAttr
    element: StringAttr
    FORMAT: ClassVar[str] = "<$kind:collective( with $reduction:reduction)? : $element:element>"
    KINDS: ClassVar[Mapping[str, Kind]] = {
        "collective": one_of(COLLECTIVE_KINDS),
        "reduction": one_of(COLLECTIVE_REDUCTIONS),
        "element": one_of(COLLECTIVE_ELEMENTS),
    }


@irdl_attr_definition
class CollectiveAttr(Collective):
    """A collective of the `stream` dialect."""

    name = "stream.collective"


KNOWN_LIFETIMES = ("external", "staging", "transient", "variable", "constant")
LIFETIMES = ("*", *KNOWN_LIFETIMES)
"""The lifetimes of a resource; `*` is not known yet."""


@irdl_attr_definition
class ResourceType(ParametrizedAttribute, TypeAttribute):
    """`!stream.resource<lifetime>`: bytes on a device."""

    name = "stream.resource"
    lifetime: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_punctuation("*") is not None:
                return [StringAttr("*")]
            position = parser.pos
            word = parser.parse_identifier()
            if word not in LIFETIMES:
                parser.raise_error(
                    f"expected a lifetime out of {', '.join(LIFETIMES)}, found '{word}'", position
                )
            return [StringAttr(word)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.lifetime.data}>")


def lifetime_of(type_: Attribute) -> str:
    """Return the lifetime of a resource type, `*` if it is open; empty for other types."""
    return type_.lifetime.data if isinstance(type_, ResourceType) else ""


def resources(*lifetimes: str) -> AttrConstraint:
    """Return the constraint to resources of one of these lifetimes."""
    return OneOf(tuple(ResourceType(StringAttr(lifetime)) for lifetime in lifetimes))


DEVICE_RESOURCE = resources(*(lifetime for lifetime in LIFETIMES if lifetime != "staging"))
"""A resource that devices work on. Those of `staging` lifetime are only transferred and mapped."""

STAGING = ResourceType(StringAttr("staging"))

TimepointType = plain_type(
    "stream.timepoint", "A point on the timeline of a program that can be awaited."
)
TIMEPOINT = TimepointType()
BindingType = plain_type("stream.binding", "A range of a resource that is bound to a kernel.")
ChannelType = plain_type("stream.channel", "A group of devices that take part in collectives.")


@irdl_attr_definition
class ImmediateTimepointAttr(ParametrizedAttribute):
    """`#stream.timepoint<immediate> : !stream.timepoint`: a timepoint that is already reached."""

    name = "stream.timepoint"
    type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("immediate")
        if parser.parse_optional_punctuation(":") is not None:
            return [parser.parse_type()]
        return [TIMEPOINT]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<immediate> : ")
        printer.print_attribute(self.type)


FileType = plain_type("stream.file", "A file that resources are read from and written to.")


@irdl_attr_definition
class NamedParameterAttr(NamedParameter):
    """Constant contents of a resource that are stored outside of the program."""

    name = "stream.parameter.named"


TestFenceType = plain_type("stream.test.fence", "A fence for test ops.")


FAVORS = ("debug", "min-peak-memory", "max-concurrency")


@irdl_attr_definition
class PartitioningConfigAttr(ParametrizedAttribute):
    """`<"max-concurrency">`: the objective of partitioning."""

    name = "stream.partitioning_config"
    favor: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            # iree-opt reads the first spelling and prints `<favor-debug>`.
            word = parser.parse_optional_str_literal() or _dashed(parser)
            word = word.removeprefix("favor-")
            if word not in FAVORS:
                parser.raise_error(f"expected one of {', '.join(FAVORS)}, found '{word}'", position)
            return [StringAttr(word)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.favor.data)


def _dashed(parser: AttrParser) -> str:
    """Parse words joined by dashes: `favor-min-peak-memory`."""
    words = [parser.parse_identifier()]
    while parser.parse_optional_punctuation("-") is not None:
        words.append(parser.parse_identifier())
    return "-".join(words)


MEMORY_MODELS = ("Discrete", "Unified")


def _parse_memory_model(parser: AttrParser) -> Attribute:
    position = parser.pos
    word = parser.parse_identifier().capitalize()
    if word not in MEMORY_MODELS:
        parser.raise_error(f"expected one of {', '.join(MEMORY_MODELS)}", position)
    return StringAttr(word)


def _parse_bit(parser: AttrParser) -> Attribute:
    """Parse `true`, `false` or a number, of which all but 0 are true."""
    return BoolAttr.from_bool(parser.parse_integer() != 0)


@irdl_attr_definition
class ResourceConfigAttr(FieldsAttribute):
    """`<{max_allocation_size = 4096, ...}>`: limits on the resources of a device.

    Fields that are left out have defaults; as a limit, 0 means none.
    """

    name = "stream.resource_config"
    max_allocation_size: IntegerAttr
    min_buffer_offset_alignment: IntegerAttr
    max_buffer_range: IntegerAttr
    min_buffer_range_alignment: IntegerAttr
    index_bits: IntegerAttr
    alias_mutable_bindings: IntegerAttr
    memory_model: StringAttr
    FIELDS: ClassVar[Mapping[str, Kind]] = {
        **dict.fromkeys(("max_allocation_size", "min_buffer_offset_alignment"), KINDS["natural"]),
        **dict.fromkeys(("max_buffer_range", "min_buffer_range_alignment"), KINDS["natural"]),
        "index_bits": KINDS["natural"],
        "alias_mutable_bindings": (_parse_bit, KINDS["bool"][1]),
        "memory_model": (_parse_memory_model, KINDS["word"][1]),
    }
    BRACES: ClassVar[bool] = True

    @classmethod
    def parameters_of(cls, found: Mapping[str, Attribute]) -> Sequence[Attribute]:
        return super().parameters_of({**_DEFAULTS, **found})


_DEFAULTS: Mapping[str, Attribute] = {
    **dict.fromkeys(ResourceConfigAttr.FIELDS, IntegerAttr.from_index_int_value(0)),
    "index_bits": IntegerAttr.from_index_int_value(32),
    "alias_mutable_bindings": BoolAttr.from_bool(False),
    "memory_model": StringAttr(MEMORY_MODELS[0]),
}
