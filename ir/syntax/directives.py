"""Directives for values, types, attributes and regions.

The second half contains directives shared by several dialects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr
from xdsl.ir import (
    Attribute,
    Block,
    Data,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import OpDef, OptionalDef, VariadicDef
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..index_lists import INDEX
from .assembly_format import Directive, Parsed, PrintsProperty, directive, is_plain, values


def _is_list(definition: OpDef, name: str) -> bool:
    """Return whether a name is a variadic operand or result."""
    found = dict([*definition.operands, *definition.results])[name]
    return isinstance(found, VariadicDef) and not isinstance(found, OptionalDef)


def property_classes(definition: OpDef, name: str) -> set[type[Attribute]]:
    """Return the attribute classes that a property's constraint allows, if it names any."""
    found = (definition.properties | definition.attributes)[name]
    return found.constr.get_bases() or set()


def dialect_attribute_class(classes: set[type[Attribute]]) -> type[ParametrizedAttribute] | None:
    """Return the only allowed class if it is a parametrized dialect attribute, else `None`."""
    found = next(iter(classes)) if len(classes) == 1 else Attribute
    if issubclass(found, ParametrizedAttribute) and "." in found.name:
        return found
    return None


@directive("bare")
def _bare(definition: OpDef, name: str) -> Directive:
    """`bare($a)`: a dialect attribute without its name, as `<...>`."""
    (cls,) = property_classes(definition, name)
    if issubclass(cls, ParametrizedAttribute):
        return DialectAttributeValue(name, cls, bare=True)
    return WrappedValue(name, cast("type[Data[object]]", cls))


@directive("stripped")
def _stripped(definition: OpDef, name: str) -> Directive:
    """`stripped($a)`: the alias of an attribute, or else the attribute without its name."""
    (cls,) = property_classes(definition, name)
    return DialectAttributeValue(name, cast("type[ParametrizedAttribute]", cls), stripped=True)


@directive("$")
def _variable(definition: OpDef, name: str) -> Directive:
    if name in dict(definition.operands):
        return (Operands if _is_list(definition, name) else Operand)(name)
    if name in dict(definition.regions):
        return RegionBody(name)
    if name not in definition.properties and name not in definition.attributes:
        raise ValueError(f"'{definition.name}' defines no '{name}'")
    classes = property_classes(definition, name)
    if classes == {UnitAttr}:
        return Flag(name)
    if classes == {StringAttr}:
        return StringValue(name)
    cls = dialect_attribute_class(classes)
    return AttributeValue(name) if cls is None else DialectAttributeValue(name, cls)


@directive("type")
def _type(definition: OpDef, name: str, *also: str) -> Directive:
    if name in definition.properties:
        return TypeProperty(name)
    if _is_list(definition, name):
        return Types(name, also)
    lists = tuple(each for each in also if _is_list(definition, each))
    return Type(name, tuple(each for each in also if each not in lists), lists)


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand: `%value`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.operands[self.name] = [parser.parse_unresolved_operand()]

    def parse_optional(self, parser: Parser, parsed: Parsed) -> bool:
        operand = parser.parse_optional_unresolved_operand()
        parsed.operands[self.name] = [] if operand is None else [operand]
        return operand is not None

    def print(self, printer: Printer, operation: Operation) -> None:
        for value in values(operation, self.name):
            printer.print_ssa_value(value)


@dataclass(frozen=True, slots=True)
class Operands:
    """A possibly empty list of operands: `%a, %b`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        self.parse_optional(parser, parsed)

    def parse_optional(self, parser: Parser, parsed: Parsed) -> bool:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        parsed.operands[self.name] = operands or []
        return bool(operands)

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_list(values(operation, self.name), printer.print_ssa_value)


def same_types(operation: Operation, name: str, others: Sequence[str]) -> bool:
    """Return whether the values of all names have the same list of types."""
    types = [value.type for value in values(operation, name)]
    return all([value.type for value in values(operation, other)] == types for other in others)


def verify_same_type(operation: Operation, names: Sequence[str]) -> None:
    """Raise VerifyException unless the values of all names have one type."""
    types = {value.type for name in names for value in values(operation, name)}
    if len(types) > 1:
        found = " and ".join(sorted(map(str, types)))
        expected = ", ".join(name.rstrip("_") for name in names)
        raise VerifyException(f"expected {expected} to have the same type, found {found}")


@dataclass(frozen=True, slots=True)
class Type:
    """The type of one operand or result; `also` and `lists` name values of the same type."""

    name: str
    also: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    """Variadic names; all of their values have this type."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        type_ = parser.parse_type()
        for name in (self.name, *self.also):
            parsed.types[name] = [type_]
        for name in self.lists:
            parsed.uniform_types[name] = type_

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_attribute(self.type_of(operation))

    def fits(self, operation: Operation) -> bool:
        if not values(operation, self.name):
            return True
        type_ = self.type_of(operation)
        every = (value for name in self.lists for value in values(operation, name))
        return same_types(operation, self.name, self.also) and all(v.type == type_ for v in every)

    def verify(self, operation: Operation) -> None:
        verify_same_type(operation, (self.name, *self.also, *self.lists))

    def type_of(self, operation: Operation) -> Attribute:
        """Return the type to print."""
        return cast(SSAValue, getattr(operation, self.name)).type


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a variadic operand or result, `T, U`; `also` names others of these types."""

    name: str
    also: tuple[str, ...] = ()

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        types = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_type, parser.parse_type
        )
        for name in (self.name, *self.also):
            parsed.types[name] = list[Attribute](types or [])

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_list(
            values(operation, self.name), lambda value: printer.print_attribute(value.type)
        )

    def fits(self, operation: Operation) -> bool:
        return same_types(operation, self.name, self.also)

    def verify(self, operation: Operation) -> None:
        if not same_types(operation, self.name, self.also):
            raise VerifyException(
                f"expected {self.name}, {', '.join(self.also)} to have the same types"
            )


def _split(definition: OpDef, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    operands = dict(definition.operands)
    return (
        tuple(name for name in names if name in operands),
        tuple(name for name in names if name not in operands),
    )


@dataclass(frozen=True, slots=True)
class Signature:
    """`(T, U) -> V`; with `short`, only `T` if all types are equal."""

    operands: tuple[str, ...]
    results: tuple[str, ...]
    short: bool
    result_is_list: bool

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        found = parser.parse_type()
        count = sum(len(parsed.operands.get(name, ())) for name in self.operands)
        if isinstance(found, FunctionType):
            inputs, outputs = found.inputs.data, found.outputs.data
        elif self.short:
            inputs, outputs = (found,) * count, (found,) * len(self.results)
        else:
            parser.raise_error("expected the types of operands and results", position)
        if len(inputs) != count:
            parser.raise_error(f"expected {count} types of operands, got {len(inputs)}", position)
        if not self.result_is_list and len(outputs) != len(self.results):
            parser.raise_error(
                f"expected {len(self.results)} types of results, got {len(outputs)}", position
            )
        rest = list(inputs)
        for name in self.operands:
            length = len(parsed.operands.get(name, ()))
            parsed.types[name], rest = rest[:length], rest[length:]
        if self.result_is_list:
            parsed.types[self.results[0]] = list(outputs)
        else:
            for name, type_ in zip(self.results, outputs, strict=True):
                parsed.types[name] = [type_]

    def print(self, printer: Printer, operation: Operation) -> None:
        types = {*operation.operand_types, *operation.result_types}
        if self.short and len(types) == 1:
            printer.print_attribute(types.pop())
        else:
            printer.print_operation_type(operation)


def _signature(definition: OpDef, names: Sequence[str], short: bool) -> Signature:
    operands, results = _split(definition, names)
    is_list = any(isinstance(kind, VariadicDef) for _, kind in definition.results)
    return Signature(operands, results, short, is_list)


@directive("signature")
def _full_signature(definition: OpDef, *names: str) -> Directive:
    """Return the directive `signature($a, $result)`: the types as a function type."""
    return _signature(definition, names, False)


@directive("types")
def _short_signature(definition: OpDef, *names: str) -> Directive:
    """Return the directive `types($a, $result)`: one type if all are equal, or a function type."""
    return _signature(definition, names, True)


@dataclass(frozen=True, slots=True)
class AttributeValue(PrintsProperty):
    """A property in generic syntax."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = parser.parse_attribute()

    def print(self, printer: Printer, operation: Operation) -> None:
        if (attribute := operation.get_attr_or_prop(self.name)) is not None:
            printer.print_attribute(attribute)


@dataclass(frozen=True, slots=True)
class DialectAttributeValue(AttributeValue):
    """A property of a fixed dialect class: `#dialect.name<...>`, or `<...>` alone."""

    cls: type[ParametrizedAttribute]
    bare: bool = False
    """Whether to print it without its name."""
    stripped: bool = False
    """Whether to print it without its name if it has no alias."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = parse_dialect_attribute(parser, self.cls)

    def print(self, printer: Printer, operation: Operation) -> None:
        attribute = operation.get_attr_or_prop(self.name)
        if not isinstance(attribute, self.cls):
            AttributeValue.print(self, printer, operation)
        elif self.bare or (self.stripped and getattr(printer, "prints_in_full", bool)(attribute)):
            attribute.print_parameters(printer)
        else:
            AttributeValue.print(self, printer, operation)


def parse_dialect_attribute(parser: AttrParser, cls: type[ParametrizedAttribute]) -> Attribute:
    """Read an attribute of class `cls`, with or without its name."""
    found = parser.parse_optional_attribute()
    return cls.new(cls.parse_parameters(parser)) if found is None else found


@dataclass(frozen=True, slots=True)
class WrappedValue(AttributeValue):
    """A property of a fixed `Data` class, without its name."""

    cls: type[Data[object]]

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = self.cls(self.cls.parse_parameter(parser))

    def print(self, printer: Printer, operation: Operation) -> None:
        cast("Data[object]", operation.get_attr_or_prop(self.name)).print_parameter(printer)


@dataclass(frozen=True, slots=True)
class StringValue(AttributeValue):
    """A string property: `"text"`."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = StringAttr(parser.parse_str_literal())

    def parse_optional(self, parser: Parser, parsed: Parsed) -> bool:
        text = parser.parse_optional_str_literal()
        if text is not None:
            parsed.attributes[self.name] = StringAttr(text)
        return text is not None


@dataclass(frozen=True, slots=True)
class Flag(PrintsProperty):
    """A unit property; the literal text around it marks its presence."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = UnitAttr()

    def print(self, printer: Printer, operation: Operation) -> None:
        """Print nothing."""


@dataclass(frozen=True, slots=True)
class Implied(PrintsProperty):
    """A property without text. It has this value in every operation with the custom form."""

    name: str
    value: Attribute

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes.setdefault(self.name, self.value)

    def print(self, printer: Printer, operation: Operation) -> None:
        """Print nothing."""

    def fits(self, operation: Operation) -> bool:
        return operation.get_attr_or_prop(self.name) == self.value


@dataclass(frozen=True, slots=True)
class TypeProperty(PrintsProperty):
    """A property that holds a type, such as the tensor type that a resource represents."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = parser.parse_type()

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_attribute(cast(TypeAttribute, operation.get_attr_or_prop(self.name)))

    def verify(self, operation: Operation) -> None:
        verify_type(self.name, operation.get_attr_or_prop(self.name))


def verify_type(name: str, attribute: Attribute | None) -> None:
    """Raise VerifyException if a property is present but not a type."""
    if attribute is not None and not isinstance(attribute, TypeAttribute):
        raise VerifyException(f"expected a type as '{name}', found {attribute}")


@dataclass(frozen=True, slots=True)
class WorkgroupCountRegion:
    """` workgroups(%a: index) -> (index, index, index) {...}`, or nothing."""

    name: str
    keyword: str = "workgroups"
    device: Attribute | None = None
    """The type of the argument that precedes the workload, if any."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_keyword(self.keyword) is None:
            return
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_punctuation("->")
        position = parser.pos
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if results != [INDEX] * 3:
            parser.raise_error("expected (index, index, index)", position)
        parsed.regions[self.name] = parser.parse_region(arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        if not region.blocks:
            return
        printer.print_string(f" {self.keyword}(")
        printer.print_list(region.blocks[0].args, printer.print_block_argument)
        printer.print_string(") -> (index, index, index) ")
        printer.print_region(region, print_entry_block_args=False)

    def verify(self, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        if not region.blocks:
            return
        types = list(region.blocks[0].arg_types)
        if self.device is not None:
            if types[:1] != [self.device]:
                raise VerifyException(
                    f"expected workgroup_count to take (%device: {self.device}, "
                    "%workload_0: index, %workload_1: index, ...)"
                )
            del types[0]
        if any(type_ != INDEX for type_ in types):
            raise VerifyException("workgroup count region takes only index values")
        if hasattr(operation, "workload") and len(types) != len(values(operation, "workload")):
            raise VerifyException(
                "workload operands and workgroup count args mismatch "
                f"({len(values(operation, 'workload'))} vs {len(types)})"
            )
        verify_returned(
            region,
            [INDEX] * 3,
            "workgroup count region must return the XYZ dimension counts as `index` types",
        )


def verify_returned(region: Region, types: Sequence[Attribute], message: str) -> None:
    """Raise VerifyException with `message` unless every exit of a region returns these types."""
    for block in region.blocks:
        last = block.last_op
        if last is None or (not last.successors and list(last.operand_types) != list(types)):
            raise VerifyException(message)


@dataclass(frozen=True, slots=True)
class RegionBody:
    """`{...}`; with `terminator=False`, a plain terminator (see `is_plain`) is not printed."""

    name: str
    terminator: bool = True
    end: type[Operation] | None = None
    """The terminator that is added if the text has none."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.regions[self.name] = region = parser.parse_region()
        if self.end is not None:
            end_with(self.end, region)

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        last = region.blocks[0].last_op if region.blocks else None
        hidden = not self.terminator and is_plain(last)
        printer.print_region(region, print_block_terminators=not hidden)

    def fits(self, operation: Operation) -> bool:
        blocks = cast(Region, getattr(operation, self.name)).blocks
        return self.end is None or (len(blocks) == 1 and isinstance(blocks[0].last_op, self.end))


def end_with(end: type[Operation], region: Region) -> None:
    """Add a terminator to a region of at most one block that does not end in one of its class."""
    if not region.blocks:
        region.add_block(Block())
    if not isinstance(region.block.last_op, end):
        region.block.add_op(end.create())
