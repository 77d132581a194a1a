"""Attributes of the `stream` dialect that configure partitioning and resources."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

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
