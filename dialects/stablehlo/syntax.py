"""Directives for the custom syntax of StableHLO's ops, and the constructor of op classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    EqIntConstraint,
    IRDLOperation,
    ParamAttrConstraint,
    RangeOf,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait, Pure, RecursiveMemoryEffect

from ...ir.attribute_access import element_type, integer, with_element
from ...ir.syntax.assembly_format import Parsed, PrintsProperty, Syntax, directive, values
from ...ir.syntax.keyword_attributes import OpaqueKeywordAttribute
from ...ir.syntax.rows import Kind, RowOperation, Rows
from .attributes import (
    ChannelHandleAttr,
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    FftTypeAttr,
    ReplicaGroupMeshAxesAttr,
    ResultAccuracyAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
    TransposeAttr,
)
from .element_checks import with_element_kinds

Verifier = Callable[[Operation], None]


def _dense(rank: int) -> AttrConstraint:
    """Return the constraint to dense numbers of i64 with a number of dimensions."""
    shape = ArrayAttr.constr(RangeOf(AnyAttr()).of_length(EqIntConstraint(rank)))
    tensor = ParamAttrConstraint(TensorType, (shape, EqAttrConstraint(i64), AnyAttr()))
    return ParamAttrConstraint(DenseIntOrFPElementsAttr, (tensor, AnyAttr()))


_TABLE = _dense(2)

_KINDS: Mapping[str, Kind] = {
    "accuracy": ResultAccuracyAttr,
    "bool": IntegerAttr.constr(i1),
    "channel": ChannelHandleAttr,
    "comparison": ComparisonTypeAttr,
    "direction": ComparisonDirectionAttr,
    "float": FloatAttr,
    "distribution": RngDistributionAttr,
    "groups": _TABLE | BaseAttr(ReplicaGroupMeshAxesAttr),
    "numbers": DenseArrayBase.constr(i64) | _dense(1),
    "rng_algorithm": RngAlgorithmAttr,
    "table": _TABLE,
    "transform": FftTypeAttr,
    "transposition": TransposeAttr,
}
"""Kinds of attributes in rows, besides those of all dialects. Old versions have dense numbers."""


def define(
    name: str,
    values: str,
    syntax: Syntax = "",
    *,
    pure: bool = True,
    effects: OpTrait | None = None,
    verify: Verifier | None = None,
    base: type[IRDLOperation] | None = None,
) -> type[RowOperation]:
    """Return the class of an op, described as a row (`ir/syntax/rows.py`).

    Its values may have any type; an attribute is of the kind that the row names, or of any. Without
    `syntax`, or a `base` that has one, it is printed in the generic syntax. `effects` decides for
    each op that is not always pure.
    """
    dialect, _, own_name = name.partition(".")
    traits: tuple[OpTrait, ...] = () if effects is None else (effects,)
    if pure and effects is None:
        traits = (RecursiveMemoryEffect() if values.count("|") > 1 else Pure(),)
    row = Rows(dialect, _KINDS, default="any")
    verify = with_element_kinds(name, verify)
    return row(own_name, values, syntax, traits=traits, verify=verify, same_sizes=True, base=base)


# Types -------------------------------------------------------------------------------------------


@directive("leading")
@dataclass(frozen=True, slots=True)
class LeadingOperands:
    """`%a, %b,`: operands, possibly none, each followed by a comma, at the end of the operands.

    If there are none, StableHLO still prints a comma, which its own parser rejects.
    """

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        found = parsed.operands.setdefault(self.name, [])
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            found.append(operand)
            parser.parse_punctuation(",")
        if not found:
            parser.parse_optional_punctuation(",")

    def print(self, printer: Printer, operation: Operation) -> None:
        for position, value in enumerate(values(operation, self.name)):
            printer.print_string(", " if position else "")
            printer.print_ssa_value(value)
        printer.print_string(",")


# Attributes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Custom:
    """A piece of syntax that is parsed and printed by two functions."""

    parse_function: Callable[[Parser, Parsed], None]
    print_function: Callable[[Printer, Operation], None]
    printed_attributes: tuple[str, ...] = ()
    fits_function: Callable[[Operation], bool] | None = None

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        self.parse_function(parser, parsed)

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_function(printer, operation)

    def fits(self, operation: Operation) -> bool:
        return self.fits_function is None or self.fits_function(operation)


@dataclass(frozen=True, slots=True)
class WordList(PrintsProperty):
    """`, precision = [DEFAULT, HIGH]`: an array of keywords, or nothing."""

    keyword: str
    name: str
    kind: type[OpaqueKeywordAttribute]

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword(self.keyword)
            self.parse_list(parser, parsed)

    def parse_list(self, parser: Parser, parsed: Parsed) -> None:
        """Parse the text after the keyword."""
        parser.parse_punctuation("=")
        words = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: self.kind.parse_word(parser)
        )
        parsed.attributes[self.name] = ArrayAttr(words)

    def print(self, printer: Printer, operation: Operation) -> None:
        words = operation.get_attr_or_prop(self.name)
        if isinstance(words, ArrayAttr):
            listed = cast("ArrayAttr[OpaqueKeywordAttribute]", words)
            shown = ", ".join(word.data for word in listed)
            printer.print_string(f", {self.keyword} = [{shown}]")


def string(attribute: Attribute | None) -> str | None:
    """Return the value of a string attribute; `None` for others."""
    return attribute.data if isinstance(attribute, StringAttr) else None


# Parts of several forms --------------------------------------------------------------------------


def _parse_format(parser: Parser, parsed: Parsed) -> None:
    position = parser.pos
    word = parser.parse_identifier()
    found = re.fullmatch(r"e([0-9]{1,4})m([0-9]{1,4})", word)
    if found is None:
        parser.raise_error(f"expected a format such as e5m10, got {word}", position)
    for name, text in zip(("exponent_bits", "mantissa_bits"), found.groups(), strict=True):
        parsed.attributes[name] = IntegerAttr(int(text), 32)


def _print_format(printer: Printer, operation: Operation) -> None:
    exponent, mantissa = (integer(operation, name) for name in ("exponent_bits", "mantissa_bits"))
    printer.print_string(f"e{exponent}m{mantissa}")


EXPONENT_MANTISSA = Custom(_parse_format, _print_format, ("exponent_bits", "mantissa_bits"))
"""`e5m10`."""


def _parse_select(parser: Parser, parsed: Parsed) -> None:
    position = parser.pos
    first = parser.parse_type()
    if isinstance(first, FunctionType):
        inputs, outputs = first.inputs.data, first.outputs.data
        if len(inputs) != 3 or len(outputs) != 1:
            parser.raise_error("expected the types of 3 operands and 1 result", position)
        types = (*inputs, *outputs)
    else:
        parser.parse_punctuation(",")
        second = parser.parse_type()
        types = (first, second, second, second)
    for name, type_ in zip(("pred", "on_true", "on_false", "result"), types, strict=True):
        parsed.types[name] = [type_]


def _print_select(printer: Printer, operation: Operation) -> None:
    _, first, second = operation.operand_types
    if first == second == operation.results[0].type:
        printer.print_attribute(operation.operand_types[0])
        printer.print_string(", ")
        printer.print_attribute(first)
    else:
        printer.print_operation_type(operation)


SELECT_TYPES = Custom(_parse_select, _print_select)
"""`tensor<2xi1>, tensor<2xf32>`, or a function type."""


def _parse_parts(parser: Parser, parsed: Parsed) -> None:
    position = parser.pos
    found = parser.parse_type()
    if isinstance(found, FunctionType):
        types = (*found.inputs.data, *found.outputs.data)
        if len(types) != 3:
            parser.raise_error("expected the types of 2 operands and 1 result", position)
    else:
        element = getattr(element_type(found), "element_type", None)
        if not isinstance(element, Attribute):
            parser.raise_error("expected a type of complex numbers", position)
        part = with_element(found, element)
        types = (part, part, found)
    for name, type_ in zip(("lhs", "rhs", "result"), types, strict=True):
        parsed.types[name] = [type_]


def _print_parts(printer: Printer, operation: Operation) -> None:
    result = operation.results[0].type
    element = getattr(element_type(result), "element_type", None)
    if isinstance(element, Attribute) and set(operation.operand_types) == {
        with_element(result, element)
    }:
        printer.print_attribute(result)
    else:
        printer.print_operation_type(operation)


COMPLEX_TYPES = Custom(_parse_parts, _print_parts)
"""The complex type, which implies the type of the parts, or a function type."""
