"""Parse and print the headers of operations with regions: argument bindings and types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from .assembly_format import Parsed, values

Bindings = list[tuple[Parser.UnresolvedArgument, UnresolvedOperand]]


def parse_binding(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    """Read `%inner = %outer`."""
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def parse_bindings(parser: Parser) -> Bindings:
    """Read `(%inner = %outer, ...)` if it comes next."""
    found = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parse_binding(parser)
    )
    return found or []


def print_bindings(
    printer: Printer, arguments: Sequence[SSAValue], values: Sequence[SSAValue]
) -> None:
    """Write `(%inner = %outer, ...)`."""

    def binding(pair: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        printer.print_ssa_value(pair[1])

    with printer.in_parens():
        printer.print_list(list(zip(arguments, values, strict=True)), binding)


@dataclass(frozen=True, slots=True)
class BoundRegion:
    """`(%a = %x, ...) : (T) -> U {...}`: operands, as which the region knows them as arguments."""

    operands: str
    results: str
    region: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        bindings = parse_bindings(parser)
        parser.parse_punctuation(":")
        function_type = parser.parse_function_type()
        types = list(function_type.inputs.data)
        if len(types) != len(bindings):
            parser.raise_error(f"expected the types of {len(bindings)} operands")
        parsed.operands[self.operands] = [operand for _, operand in bindings]
        parsed.types |= {self.operands: types, self.results: [*function_type.outputs.data]}
        arguments = [name.resolve(type_) for (name, _), type_ in zip(bindings, types, strict=True)]
        parsed.regions[self.region] = parser.parse_region(arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.region))
        print_bindings(printer, region.block.args, values(operation, self.operands))
        printer.print_string(" : ")
        printer.print_operation_type(operation)
        printer.print_string(" ")
        printer.print_region(region, print_entry_block_args=False)


def parse_body(parser: Parser) -> Region:
    """Read `(%a: T, %b: U) {...}`, a region whose arguments precede it."""
    return parser.parse_region(parse_arguments(parser))


def add_terminator(region: Region, terminator: type[Operation]) -> None:
    """Add the terminator that the text of a region may omit."""
    if not region.blocks:
        region.add_block(Block())
    last = region.blocks[-1].last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
        region.blocks[-1].add_op(terminator.create())


def parse_arguments(parser: Parser) -> list[Parser.Argument]:
    """Read `(%a: T, %b: U)`, the arguments of a region that follows."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)


def print_body(printer: Printer, region: Region) -> None:
    """Write `(%a: T, %b: U) {...}`."""
    print_arguments(printer, region)
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)


def print_arguments(printer: Printer, region: Region) -> None:
    """Write `(%a: T, %b: U)`, the arguments of a region."""
    with printer.in_parens():
        printer.print_list(region.block.args, printer.print_block_argument)


def parse_types(parser: Parser) -> Sequence[Attribute]:
    """Read `T` or `(T, U)`."""
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return (parser.parse_type(),) if types is None else types


def print_types(printer: Printer, types: Sequence[Attribute]) -> None:
    """Write `T` or `(T, U)`."""
    if len(types) == 1:
        printer.print_attribute(types[0])
    else:
        with printer.in_parens():
            printer.print_list(types, printer.print_attribute)


def parse_arrow_types(parser: Parser) -> Sequence[Attribute]:
    """Read `-> T`, `-> (T, U)` or nothing."""
    return () if parser.parse_optional_punctuation("->") is None else parse_types(parser)
