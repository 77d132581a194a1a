"""Types and attributes of the `stream` dialect, including those that configure resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, NoneAttr, StringAttr, i1
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import AttrConstraint, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.dialect_extension import plain_type
from ...ir.syntax.attribute_format import FormattedAttribute, Kind, one_of
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
        return [TimepointType()]

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


_NUMBERS = (
    "max_allocation_size",
    "min_buffer_offset_alignment",
    "max_buffer_range",
    "min_buffer_range_alignment",
    "index_bits",
)
_DEFAULTS = {"index_bits": 32}
"""The values of fields that are left out; for all others it is 0, which means no constraint."""
_ALIAS = "alias_mutable_bindings"
_MODEL = "memory_model"
MEMORY_MODELS = ("Discrete", "Unified")


@irdl_attr_definition
class ResourceConfigAttr(ParametrizedAttribute):
    """`<{max_allocation_size = 4096, ...}>`: limits on the resources of a device."""

    name = "stream.resource_config"
    numbers: ArrayAttr[IntegerAttr]
    alias_mutable_bindings: IntegerAttr
    memory_model: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: dict[str, Attribute] = {
            **{name: IntegerAttr.from_index_int_value(_DEFAULTS.get(name, 0)) for name in _NUMBERS},
            _ALIAS: IntegerAttr(0, i1),
            _MODEL: StringAttr(MEMORY_MODELS[0]),
        }

        def parse_field() -> None:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in (*_NUMBERS, _ALIAS, _MODEL):
                parser.raise_error(f"unknown key of a resource configuration: {key}", position)
            parser.parse_punctuation("=")
            if key == _MODEL:
                found[key] = StringAttr(_memory_model(parser))
            elif key == _ALIAS:
                found[key] = IntegerAttr(int(parser.parse_integer(allow_boolean=True) != 0), i1)
            else:
                number = parser.parse_integer(allow_boolean=False, allow_negative=False)
                found[key] = IntegerAttr.from_index_int_value(number)

        with parser.in_angle_brackets():
            parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_field)
        return [ArrayAttr(found[name] for name in _NUMBERS), found[_ALIAS], found[_MODEL]]

    def print_parameters(self, printer: Printer) -> None:
        numbers = zip(_NUMBERS, self.numbers, strict=True)
        fields = [f"{name} = {number.value.data}" for name, number in numbers]
        fields.append(f"{_ALIAS} = {'true' if self.alias_mutable_bindings.value.data else 'false'}")
        fields.append(f"{_MODEL} = {self.memory_model.data}")
        printer.print_string(f"<{{{', '.join(fields)}}}>")


def _memory_model(parser: AttrParser) -> str:
    position = parser.pos
    word = parser.parse_identifier().capitalize()
    if word not in MEMORY_MODELS:
        parser.raise_error(f"expected one of {', '.join(MEMORY_MODELS)}", position)
    return word
