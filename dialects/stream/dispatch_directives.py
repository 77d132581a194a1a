"""Directives for operands of dispatches: resources, ranges, and the tensor types behind them.

A directive parses, prints and verifies its part of an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, Syntax, values
from ...ir.syntax.directives import verify_type
from ...ir.syntax.keyword_attributes import KeywordIndex
from ...ir.syntax.lines import print_lines
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.resource_directives import (
    RESOURCE,
    TiedFunctionType,
    ValueForm,
    dynamic_dimensions,
    operand_key,
    parse_dimensions,
    parse_results,
    parse_tied_type,
    print_dimensions,
    print_results,
    print_tied_type,
    set_ties,
    ties_fit,
    ties_of,
    verify_columns,
    verify_ties,
)
from ..util.types import UnusedType
from .types import STAGING

ACCESS = {"ro": 1, "wo": 2, "rw": 3}
"""How a command accesses a resource (read-only, write-only, read-write), and its bits."""

ACCESS_NAMES = {bits: name for name, bits in ACCESS.items()}


@dataclass(frozen=True, slots=True)
class DispatchOperands:
    """`(%r[%c0 to %end for %length], %n)`: ranges of resources mixed with other values.

    With `accesses` a range has no end, and a keyword in front of it gives the access.
    """

    accesses: str = ""
    """The property that holds the accesses; empty if there is none."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.accesses,) if self.accesses else ()

    @property
    def _ranges(self) -> dict[str, str]:
        """The operand segments of a range by the keyword in front of each."""
        words = {"": "offsets", "for": "lengths"}
        if not self.accesses:
            words = {"": "offsets", "to": "ends", "for": "lengths"}
        return {word: f"resource_operand_{name}" for word, name in words.items()}

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        operands: list[UnresolvedOperand] = []
        ranges: dict[str, list[UnresolvedOperand]] = {name: [] for name in self._ranges.values()}
        accesses: list[Attribute] = []

        def parse_one() -> None:
            access = parser.parse_optional_keyword_in(tuple(ACCESS)) if self.accesses else None
            operands.append(parser.parse_unresolved_operand())
            if access is not None:
                accesses.append(IntegerAttr(ACCESS[access], i32))
                parser.parse_punctuation("[")
            elif self.accesses or parser.parse_optional_punctuation("[") is None:
                return
            for word, name in self._ranges.items():
                if word:
                    parser.parse_keyword(word)
                ranges[name].append(parser.parse_unresolved_operand())
            parser.parse_punctuation("]")

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
        parsed.operands["resource_operands"] = operands
        parsed.operands.update(ranges)
        if self.accesses:
            parsed.attributes[self.accesses] = ArrayAttr(accesses)

    def print(self, printer: Printer, operation: Operation) -> None:
        ranges = zip(*(values(operation, name) for name in self._ranges.values()), strict=True)
        accesses = iter(self._accesses(operation))

        def print_one(value: SSAValue) -> None:
            resource = value.type.name == RESOURCE
            if resource and self.accesses:
                printer.print_string(f"{ACCESS_NAMES[next(accesses)]} ")
            printer.print_ssa_value(value)
            if not resource:
                return
            printer.print_string("[")
            for word, number in zip(self._ranges, next(ranges), strict=True):
                printer.print_string(f" {word} " if word else "")
                printer.print_ssa_value(number)
            printer.print_string("]")

        with printer.in_parens():
            printer.print_list(values(operation, "resource_operands"), print_one)

    def verify(self, operation: Operation) -> None:
        operands = values(operation, "resource_operands")
        if not self.accesses:
            _verify_not_staging((*operands, *operation.results))
        resources = sum(value.type.name == RESOURCE for value in operands)
        for name in self._ranges.values():
            found = len(values(operation, name))
            if found != resources:
                what = name.rpartition("_")[2]
                raise VerifyException(
                    f"expected {resources} {what}, one for each resource operand, found {found}"
                )
        if self.accesses:
            _verify_accesses(self._accesses(operation), resources)

    def _accesses(self, operation: Operation) -> list[int]:
        if not self.accesses:
            return []
        array = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop(self.accesses))
        return [access.value.data for access in array]


def _verify_not_staging(found: Sequence[SSAValue]) -> None:
    """Raise VerifyException if a value is a resource of `staging` lifetime."""
    if any(value.type == STAGING for value in found):
        raise VerifyException(f"works on resources of devices, not on {STAGING}")


def _verify_accesses(accesses: Sequence[int], resources: int) -> None:
    """Check that there is one valid access per resource. Raises VerifyException."""
    if len(accesses) != resources:
        raise VerifyException(
            f"expected {resources} accesses, one for each resource, found {len(accesses)}"
        )
    for access in accesses:
        if access not in ACCESS_NAMES:
            raise VerifyException(f"unknown resource access {access}")


@dataclass(eq=False)
class DispatchResources(Repeated):
    """`{ro %r[%offset for %length] : T{%size}, ...}`: the resources bound to a kernel."""

    entry: Syntax = (
        KeywordIndex("resource_accesses", tuple(ACCESS), first=1),
        " $resources[$resource_offsets for $resource_lengths] : type($resources){$resource_sizes}",
    )
    arrays: tuple[str, ...] = ("resource_accesses",)

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, *self.columns)
        accesses = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop("resource_accesses"))
        resources = len(values(operation, "resources"))
        _verify_accesses([access.value.data for access in accesses], resources)

    def fits(self, operation: Operation) -> bool:
        accesses = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop("resource_accesses"))
        return all(access.type == i32 for access in accesses)


FUNCTION_TYPE = TiedFunctionType(
    ValueForm.RESOURCE, "resource_operands", "resource_operand_sizes", "results_", "result_sizes"
)
"""The types of a dispatch's or call's operands and results, with sizes and ties."""

UNUSED = UnusedType()


@dataclass(slots=True)
class TensorList:
    """The parsed parts of a list of tensors that are stored in resources."""

    encodings: list[Attribute]
    types: list[Attribute]
    dimensions: list[UnresolvedOperand]
    sizes: list[UnresolvedOperand]

    @staticmethod
    def empty() -> TensorList:
        return TensorList([], [], [], [])

    def parse_encoding(self, parser: Parser) -> bool:
        """Parse `tensor<?xf32>{%n} in`, or the type of a value that is no tensor.

        Returns whether it was a tensor; `parse_resource` must follow then.
        """
        type_ = parser.parse_type()
        position = parser.pos
        dimensions = parse_dimensions(parser)
        if parser.parse_optional_keyword("in") is None:
            self.types.append(type_)
            self.encodings.append(UNUSED)
            return False
        if len(dimensions) != dynamic_dimensions(type_):
            parser.raise_error(
                f"expected {dynamic_dimensions(type_)} sizes for {type_}, found {len(dimensions)}",
                position,
            )
        self.encodings.append(type_)
        self.dimensions += dimensions
        return True

    def parse_resource(self, parser: Parser, type_: Attribute) -> None:
        """Parse the size of a resource, `{%s}`, after its type."""
        self.types.append(type_)
        with parser.in_braces():
            self.sizes.append(parser.parse_unresolved_operand())


@dataclass(frozen=True, slots=True)
class EncodedFunctionType:
    """The tensor types of a dispatch's operands and results, and which results are tied."""

    printed_attributes: ClassVar[tuple[str, ...]] = (
        "operand_encodings",
        "result_encodings",
        "tied_operands",
    )

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        operands, results = TensorList.empty(), TensorList.empty()
        names = [operand_key(operand) for operand in parsed.operands["mixed_operands"]]
        ties: list[int] = []

        def parse_operand() -> None:
            if operands.parse_encoding(parser):
                operands.parse_resource(parser, parser.parse_type())

        def parse_result() -> None:
            position = parser.pos
            if not results.parse_encoding(parser):
                parser.raise_error("expected the type of the tensor in the result", position)
            tie, type_ = parse_tied_type(parser, names, operands.types)
            ties.append(tie)
            results.parse_resource(parser, type_)

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_operand)
        parser.parse_punctuation("->")
        parse_results(parser, parse_result)
        parsed.types["mixed_operands"] = operands.types
        parsed.types["results_"] = results.types
        for what, found in (("operand", operands), ("result", results)):
            parsed.operands[f"{what}_sizes"] = found.sizes
            parsed.operands[f"{what}_encoding_dims"] = found.dimensions
            parsed.attributes[f"{what}_encodings"] = ArrayAttr(found.encodings)
        set_ties(parsed, ties)

    def print(self, printer: Printer, operation: Operation) -> None:
        operands = values(operation, "mixed_operands")
        operand_types = [operand.type for operand in operands]
        results = values(operation, "results_")
        print_tensor = tensor_printer(printer, operation, "operand")

        def print_operand(pair: tuple[SSAValue, Attribute]) -> None:
            print_tensor(*pair, lambda: printer.print_attribute(pair[0].type))

        with printer.in_parens():
            pairs = zip(operands, encodings(operation, "operand_encodings"), strict=True)
            printer.print_list(tuple(pairs), print_operand)
        printer.print_string(" -> ")
        print_tensor_result = tensor_printer(printer, operation, "result")

        def print_tied(tie: int) -> None:
            printer.print_ssa_value(operands[tie])

        def print_result(item: tuple[SSAValue, Attribute, int]) -> None:
            value, encoding, tie = item
            print_tensor_result(
                value,
                encoding,
                partial(print_tied_type, printer, value.type, tie, operand_types, print_tied),
            )

        ties = ties_of(operation, len(results))
        items = zip(results, encodings(operation, "result_encodings"), ties, strict=True)
        print_results(printer, tuple(items), print_result, always=False)

    def verify(self, operation: Operation) -> None:
        operands, results = values(operation, "mixed_operands"), values(operation, "results_")
        _verify_not_staging(operands)
        _verify_tensors(operation, operands, "operand")
        _verify_tensors(operation, results, "result")
        verify_ties(operation, len(operands), len(results))

    def fits(self, operation: Operation) -> bool:
        operands = values(operation, "mixed_operands")
        return ties_fit(operation, len(values(operation, "results_"))) and all(
            value.type.name == RESOURCE or encoding == UNUSED
            for value, encoding in zip(
                operands, encodings(operation, "operand_encodings"), strict=True
            )
        )


def _verify_tensors(operation: Operation, found: Sequence[SSAValue], what: str) -> None:
    """Check that each value has a tensor type, with a size for each dynamic dimension.

    Raises VerifyException.
    """
    types = encodings(operation, f"{what}_encodings")
    if len(types) != len(found):
        raise VerifyException(
            f"expected {len(found)} {what} encodings, one for each {what}, found {len(types)}"
        )
    for type_ in types:
        verify_type(f"{what}_encodings", type_)
    expected = sum(dynamic_dimensions(type_) for type_ in types)
    dims = len(values(operation, f"{what}_encoding_dims"))
    if dims != expected:
        raise VerifyException(
            f"{what} encodings have {expected} dynamic dimensions, but {dims} sizes are given"
        )
    resources = sum(value.type.name == RESOURCE for value in found)
    sizes = len(values(operation, f"{what}_sizes"))
    if sizes != resources:
        raise VerifyException(
            f"expected {resources} sizes, one for each {what} resource, found {sizes}"
        )


def encodings(operation: Operation, name: str) -> tuple[Attribute, ...]:
    """Return the tensor types in a list property."""
    return tuple(cast("ArrayAttr[Attribute]", operation.get_attr_or_prop(name)))


def tensor_printer(
    printer: Printer, operation: Operation, what: str
) -> Callable[[SSAValue, Attribute, Callable[[], None]], None]:
    """Return a function that prints one tensor after another.

    It takes their dynamic dimensions and sizes from the op's segments in order.
    """
    dimensions: Iterator[SSAValue] = iter(values(operation, f"{what}_encoding_dims"))
    sizes: Iterator[SSAValue] = iter(values(operation, f"{what}_sizes"))

    def print_tensor(value: SSAValue, encoding: Attribute, print_type: Callable[[], None]) -> None:
        if value.type.name != RESOURCE:
            print_type()
            return
        printer.print_attribute(encoding)
        print_dimensions(printer, [next(dimensions) for _ in range(dynamic_dimensions(encoding))])
        printer.print_string(" in ")
        print_type()
        print_dimensions(printer, [next(sizes)])

    return print_tensor


@dataclass(frozen=True, slots=True)
class TracedTensors:
    """`[%r : tensor<?xf32>{%n} in !stream.resource<staging>{%s}, ...]`."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("resource_encodings",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        tensors = TensorList.empty()
        resources: list[UnresolvedOperand] = []

        def parse_one() -> None:
            resources.append(parser.parse_unresolved_operand())
            parser.parse_punctuation(":")
            position = parser.pos
            if not tensors.parse_encoding(parser):
                parser.raise_error("expected the type of the tensor in the resource", position)
            tensors.parse_resource(parser, parser.parse_type())

        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_one)
        parsed.operands["resources"] = resources
        parsed.types["resources"] = tensors.types
        parsed.operands["resource_sizes"] = tensors.sizes
        parsed.operands["resource_encoding_dims"] = tensors.dimensions
        parsed.attributes["resource_encodings"] = ArrayAttr(tensors.encodings)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_tensor = tensor_printer(printer, operation, "resource")

        def print_one(pair: tuple[SSAValue, Attribute]) -> None:
            printer.print_ssa_value(pair[0])
            printer.print_string(" : ")
            print_tensor(*pair, lambda: printer.print_attribute(pair[0].type))

        resources = values(operation, "resources")
        pairs = zip(resources, encodings(operation, "resource_encodings"), strict=True)
        print_lines(printer, pairs, print_one, ("[", "]"))

    def verify(self, operation: Operation) -> None:
        _verify_tensors(operation, values(operation, "resources"), "resource")
