"""How asynchronous operations and commands list their resources, ranges and captures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .resource_syntax import (
    RESOURCE,
    SizedTypes,
    TiedResultTypes,
    ValueForm,
    verify_columns,
)
from .syntax import (
    Operands,
    Parsed,
    get_attribute,
    is_plain,
    print_dimensions,
    print_pieces,
    values,
)


@dataclass(frozen=True, slots=True)
class DispatchOperands:
    """`(%r[%c0 to %end for %length], %n)`: ranges of resources, and other values."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        operands: list[UnresolvedOperand] = []
        ranges: dict[str, list[UnresolvedOperand]] = {"offsets": [], "ends": [], "lengths": []}

        def parse_one() -> None:
            operands.append(parser.parse_unresolved_operand())
            if parser.parse_optional_punctuation("[") is None:
                return
            ranges["offsets"].append(parser.parse_unresolved_operand())
            parser.parse_keyword("to")
            ranges["ends"].append(parser.parse_unresolved_operand())
            parser.parse_keyword("for")
            ranges["lengths"].append(parser.parse_unresolved_operand())
            parser.parse_punctuation("]")

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
        parsed.operands["resource_operands"] = operands
        for name, found in ranges.items():
            parsed.operands[f"resource_operand_{name}"] = found

    def print(self, printer: Printer, operation: Operation) -> None:
        names = ("offsets", "ends", "lengths")
        ranges = zip(*(values(operation, f"resource_operand_{n}") for n in names), strict=True)

        def print_one(value: SSAValue) -> None:
            printer.print_ssa_value(value)
            if value.type.name != RESOURCE:
                return
            offset, end, length = next(ranges)
            printer.print_string("[")
            printer.print_ssa_value(offset)
            printer.print_string(" to ")
            printer.print_ssa_value(end)
            printer.print_string(" for ")
            printer.print_ssa_value(length)
            printer.print_string("]")

        with printer.in_parens():
            printer.print_list(values(operation, "resource_operands"), print_one)

    def verify(self, operation: Operation) -> None:
        operands = values(operation, "resource_operands")
        resources = sum(value.type.name == RESOURCE for value in operands)
        for name in ("offsets", "ends", "lengths"):
            found = len(values(operation, f"resource_operand_{name}"))
            if found != resources:
                raise VerifyException(f"{resources} resource operands, but {found} {name}")


@dataclass(frozen=True, slots=True)
class Captures:
    """`(%r as %a: T{%size}, ...) {...}`: a region that sees only the resources it is given."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        self.parse_region(parser, parsed, self.parse_captures(parser, parsed))

    def parse_captures(self, parser: Parser, parsed: Parsed) -> list[Parser.Argument]:
        arguments: list[Parser.Argument] = []
        operands: list[UnresolvedOperand] = []
        sizes: list[UnresolvedOperand] = []

        def parse_one() -> None:
            operands.append(parser.parse_unresolved_operand())
            parser.parse_keyword("as")
            arguments.append(parser.parse_argument(expect_type=True))
            with parser.in_braces():
                sizes.append(parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
        parsed.operands["resource_operands"] = operands
        parsed.operands["resource_operand_sizes"] = sizes
        parsed.types["resource_operands"] = [argument.type for argument in arguments]
        return arguments

    def parse_region(
        self, parser: Parser, parsed: Parsed, arguments: list[Parser.Argument]
    ) -> None:
        region = parser.parse_region(arguments)
        end_with_yield(region)
        parsed.regions["body"] = region

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_captures(printer, operation)
        self.print_region(printer, operation)

    def print_captures(self, printer: Printer, operation: Operation) -> None:
        region = operation.regions[0]

        def print_one(item: tuple[SSAValue, BlockArgument, SSAValue]) -> None:
            operand, argument, size = item
            printer.print_ssa_value(operand)
            printer.print_string(" as ")
            printer.print_block_argument(argument)
            print_dimensions(printer, [size])

        items = zip(
            values(operation, "resource_operands"),
            region.block.args,
            values(operation, "resource_operand_sizes"),
            strict=True,
        )
        with printer.in_parens():
            printer.print_list(tuple(items), print_one)

    def print_region(self, printer: Printer, operation: Operation) -> None:
        region = operation.regions[0]
        printer.print_string(" ")
        printer.print_region(
            region,
            print_entry_block_args=False,
            print_block_terminators=not is_plain(region.block.last_op),
        )

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, "resource_operands", "resource_operand_sizes")
        types = [value.type for value in values(operation, "resource_operands")]
        if list(only_block(operation).arg_types) != types:
            raise VerifyException("expects arguments of its block as its resources are")

    def fits(self, operation: Operation) -> bool:
        return ends_with_yield(operation)


def only_block(operation: Operation) -> Block:
    """The block of an operation's region; raises VerifyException if that has not just one."""
    blocks = operation.regions[0].blocks
    if len(blocks) != 1:
        raise VerifyException(f"expects a region of one block, found {len(blocks)}")
    return blocks[0]


def ends_with_yield(operation: Operation) -> bool:
    """Whether a reader finds or adds just the terminator that a region has."""
    last = only_block(operation).last_op
    return last is not None and last.name == "stream.yield"


def end_with_yield(region: Region) -> None:
    """Add the `stream.yield` that is left out where it has no operands."""
    from .stream_async import YieldOp

    if not region.blocks:
        region.add_block(Block())
    block = region.block
    if not isinstance(block.last_op, YieldOp):
        block.add_op(YieldOp.create())


RESULTS = TiedResultTypes(
    ValueForm.RESOURCE, "resource_operands", "resource_operand_sizes", "results_", "result_sizes"
)


@dataclass(frozen=True, slots=True)
class ResourceRegion(Captures):
    """`(%r as %a: T{%size}) -> U{%size} {...}`: captures, then what the region gives."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return RESULTS.printed_attributes

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        arguments = self.parse_captures(parser, parsed)
        if parser.parse_optional_punctuation("->") is not None:
            RESULTS.parse(parser, parsed)
        self.parse_region(parser, parsed, arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_captures(printer, operation)
        if values(operation, "results_"):
            printer.print_string(" -> ")
            RESULTS.print(printer, operation)
        self.print_region(printer, operation)

    def verify(self, operation: Operation) -> None:
        Captures.verify(self, operation)
        RESULTS.verify(operation)

    def fits(self, operation: Operation) -> bool:
        return Captures.fits(self, operation) and RESULTS.fits(operation)


@dataclass(frozen=True, slots=True)
class CommandBody:
    """` {...}`: commands, with no value in or out."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        region = parser.parse_region()
        end_with_yield(region)
        parsed.regions["body"] = region

    def print(self, printer: Printer, operation: Operation) -> None:
        region = operation.regions[0]
        printer.print_string(" ")
        printer.print_region(region, print_block_terminators=not is_plain(region.block.last_op))

    def verify(self, operation: Operation) -> None:
        only_block(operation)

    def fits(self, operation: Operation) -> bool:
        return ends_with_yield(operation)


@dataclass(frozen=True, slots=True)
class YieldedResources:
    """` %a : T{%size}`, or nothing."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        Operands("resource_operands").parse(parser, parsed)
        if parsed.operands["resource_operands"]:
            parser.parse_punctuation(":")
            SizedTypes("resource_operands", "resource_operand_sizes").parse(parser, parsed)

    def print(self, printer: Printer, operation: Operation) -> None:
        if values(operation, "resource_operands"):
            types = SizedTypes("resource_operands", "resource_operand_sizes")
            print_pieces(printer, operation, (" ", Operands("resource_operands"), " : ", types))

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, "resource_operands", "resource_operand_sizes")


ACCESS = {"ro": 1, "wo": 2, "rw": 3}
"""How a command uses a resource, and the bits that stand for it."""

ACCESS_NAMES = {bits: name for name, bits in ACCESS.items()}


@dataclass(frozen=True, slots=True)
class DispatchResources:
    """` {ro %r[%offset for %length] : T{%size}, ...}`: what a kernel is bound to."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return ("resource_accesses",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        accesses: list[Attribute] = []
        resources: list[UnresolvedOperand] = []
        offsets: list[UnresolvedOperand] = []
        lengths: list[UnresolvedOperand] = []
        types: list[Attribute] = []
        sizes: list[UnresolvedOperand] = []

        def parse_one() -> None:
            word = parser.parse_keyword_in(tuple(ACCESS))
            accesses.append(IntegerAttr(ACCESS[word], i32))
            resources.append(parser.parse_unresolved_operand())
            parser.parse_punctuation("[")
            offsets.append(parser.parse_unresolved_operand())
            parser.parse_keyword("for")
            lengths.append(parser.parse_unresolved_operand())
            parser.parse_punctuation("]")
            parser.parse_punctuation(":")
            types.append(parser.parse_type())
            with parser.in_braces():
                sizes.append(parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_one)
        parsed.operands["resources"] = resources
        parsed.types["resources"] = types
        parsed.operands["resource_sizes"] = sizes
        parsed.operands["resource_offsets"] = offsets
        parsed.operands["resource_lengths"] = lengths
        parsed.attributes["resource_accesses"] = ArrayAttr(accesses)

    def print(self, printer: Printer, operation: Operation) -> None:
        accesses = cast(ArrayAttr[IntegerAttr], get_attribute(operation, "resource_accesses"))
        names = ("resources", "resource_sizes", "resource_offsets", "resource_lengths")
        columns = (values(operation, name) for name in names)

        def print_one(item: tuple[IntegerAttr, SSAValue, SSAValue, SSAValue, SSAValue]) -> None:
            access, resource, size, offset, length = item
            printer.print_string(f"{ACCESS_NAMES[access.value.data]} ")
            printer.print_ssa_value(resource)
            printer.print_string("[")
            printer.print_ssa_value(offset)
            printer.print_string(" for ")
            printer.print_ssa_value(length)
            printer.print_string("] : ")
            printer.print_attribute(resource.type)
            print_dimensions(printer, [size])

        printer.print_string(" {")
        items = zip(accesses, *columns, strict=True)
        printer.print_list(tuple(items), print_one)
        printer.print_string("}")

    def verify(self, operation: Operation) -> None:
        verify_columns(
            operation, "resources", "resource_sizes", "resource_offsets", "resource_lengths"
        )
        accesses = cast(ArrayAttr[IntegerAttr], get_attribute(operation, "resource_accesses"))
        resources = len(values(operation, "resources"))
        if len(accesses) != resources:
            raise VerifyException(f"{resources} resources, but accesses of {len(accesses)}")
        for access in accesses:
            if access.value.data not in ACCESS_NAMES:
                raise VerifyException(f"no resource is accessed in the way {access.value.data}")

    def fits(self, operation: Operation) -> bool:
        accesses = cast(ArrayAttr[IntegerAttr], get_attribute(operation, "resource_accesses"))
        return all(access == IntegerAttr(access.value.data, i32) for access in accesses)
