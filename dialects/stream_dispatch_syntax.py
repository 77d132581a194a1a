"""How dispatches list their resources and the ranges of these that they touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..ir.syntax.resource_directives import RESOURCE, verify_columns
from ..ir.syntax.rows import Parsed, print_dimensions, values


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
        accesses = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop("resource_accesses"))
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
        accesses = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop("resource_accesses"))
        resources = len(values(operation, "resources"))
        if len(accesses) != resources:
            raise VerifyException(f"{resources} resources, but accesses of {len(accesses)}")
        for access in accesses:
            if access.value.data not in ACCESS_NAMES:
                raise VerifyException(f"no resource is accessed in the way {access.value.data}")

    def fits(self, operation: Operation) -> bool:
        accesses = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop("resource_accesses"))
        return all(access == IntegerAttr(access.value.data, i32) for access in accesses)
