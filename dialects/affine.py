"""The affine ops on indices that xDSL lacks, and the syntax of `affine.if`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.affine import Affine, YieldOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import number_list
from ..ir.dialect_extension import extended
from ..ir.index_lists import INDEX
from ..ir.syntax.assembly_format import Parsed, values
from ..ir.syntax.region_headers import add_terminator, parse_types, print_types
from ..ir.syntax.rows import PURE, Rows

_FALSE = IntegerAttr(0, i1)


def _verify_basis(operation: Operation) -> None:
    basis = number_list(operation.properties["static_basis"])
    dynamic, count = values(operation, "dynamic_basis"), len(values(operation, "multi_index"))
    if basis.count(DYNAMIC_INDEX) != len(dynamic):
        raise VerifyException(
            f"mismatch between dynamic ({len(dynamic)}) and static "
            f"({basis.count(DYNAMIC_INDEX)}) basis sizes"
        )
    if len(basis) not in (count, count - 1):
        raise VerifyException(
            f"expected {count} or {count - 1} basis elements, one for each index (optional for "
            f"the first), found {len(basis)}"
        )
    if any(size < 1 for size in basis if size != DYNAMIC_INDEX):
        raise VerifyException("no basis element may be statically non-positive")


@dataclass(frozen=True, slots=True)
class Disjoint:
    """` disjoint`, or nothing, which MLIR stores as the property `false`."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("disjoint",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        found = parser.parse_optional_keyword("disjoint") is not None
        parsed.attributes["disjoint"] = UnitAttr() if found else _FALSE

    def print(self, printer: Printer, operation: Operation) -> None:
        if isinstance(operation.properties.get("disjoint"), UnitAttr):
            printer.print_string(" disjoint")


row = Rows("affine", {"basis": DenseArrayBase.constr(i64)})

DelinearizeIndexOp = row(
    "delinearize_index",
    "linear_index dynamic_basis* -> multi_index* | static_basis:basis",
    " $linear_index into dynamic-tuple($dynamic_basis, $static_basis) attr-dict"
    " : type($multi_index)",
    traits=PURE,
    verify=_verify_basis,
    doc="""Split a linear index into one index per dimension of a basis.

    The verifier asks for one basis element per result, or one less: the outermost bound is
    optional.
    """,
)

LinearizeIndexOp = row(
    "linearize_index",
    # `disjoint` is a unit attribute, or `false` as MLIR's generic syntax prints it.
    "multi_index* dynamic_basis* -> linear_index | static_basis:basis disjoint:attr?",
    (
        Disjoint(),
        " [$multi_index] by dynamic-tuple($dynamic_basis, $static_basis) attr-dict"
        " : type($linear_index)",
    ),
    traits=PURE,
    verify=_verify_basis,
    doc="""Combine one index per dimension of a basis into a linear index.

    The verifier asks for one basis element per index, or one less: the outermost bound is optional.
    """,
)


def _parse_arguments(parser: Parser) -> list[SSAValue]:
    """Read `(%dimension, ...)[%symbol, ...]`, each list only if it is there."""
    operands: list[SSAValue] = []
    for delimiter in (parser.Delimiter.PAREN, parser.Delimiter.SQUARE):
        unresolved = parser.parse_optional_comma_separated_list(
            delimiter, parser.parse_unresolved_operand
        )
        operands += [parser.resolve_operand(each, INDEX) for each in unresolved or ()]
    return operands


def _print_arguments(printer: Printer, arguments: Sequence[SSAValue], dimensions: int) -> None:
    with printer.in_parens():
        printer.print_list(arguments[:dimensions], printer.print_ssa_value)
    if arguments[dimensions:]:
        with printer.in_square_brackets():
            printer.print_list(arguments[dimensions:], printer.print_ssa_value)


@irdl_op_definition
class MaxOp(IRDLOperation):
    """Return the largest result of an affine map."""

    name = "affine.max"

    arguments = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    result = result_def(IndexType)

    traits = traits_def(Pure())

    # Custom parser: the map decides which operands are in parentheses and which in brackets.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        affine_map = parser.parse_attribute()
        return cls.create(
            operands=_parse_arguments(parser),
            result_types=[INDEX],
            properties={"map": affine_map},
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.map)
        _print_arguments(printer, self.arguments, self.map.data.num_dims)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        wanted = self.map.data.num_dims + self.map.data.num_symbols
        if len(self.arguments) != wanted:
            raise VerifyException(
                "operand count and affine map dimension and symbol count must match: "
                f"{len(self.arguments)} and {wanted}"
            )


@irdl_op_definition
class IfOp(IRDLOperation):
    """Run one of two regions, the first where all constraints of an integer set hold.

    Without results there may be no second region.
    """

    name = "affine.if"

    arguments = var_operand_def(IndexType)
    condition = prop_def(AffineSetAttr)
    res = var_result_def()
    then_region = region_def("single_block")
    else_region = region_def()

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    # Custom parser: the set decides which operands are in parentheses and which in brackets, and
    # the terminators of regions without results are optional.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_attribute()
        arguments = _parse_arguments(parser)
        types = parse_types(parser) if parser.parse_optional_punctuation("->") else ()
        regions = [parser.parse_region()]
        has_else = parser.parse_optional_keyword("else") is not None
        regions.append(parser.parse_region() if has_else else Region())
        for region in regions[: 1 + has_else]:
            add_terminator(region, YieldOp)
        return cls.create(
            operands=arguments,
            result_types=types,
            properties={"condition": condition},
            attributes=parser.parse_optional_attr_dict(),
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.condition)
        _print_arguments(printer, self.arguments, self.condition.data.num_dims)
        if self.res:
            printer.print_string(" -> ")
            print_types(printer, self.res.types)
        printer.print_string(" ")
        printer.print_region(self.then_region, print_block_terminators=bool(self.res))
        if self.else_region.blocks:
            printer.print_string(" else ")
            printer.print_region(self.else_region, print_block_terminators=bool(self.res))
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        space = self.condition.data
        wanted = space.num_dims + space.num_symbols
        if len(self.arguments) != wanted:
            raise VerifyException(
                "operand count and integer set dimension and symbol count must match: "
                f"{len(self.arguments)} and {wanted}"
            )
        if self.res and not self.else_region.blocks:
            raise VerifyException("has results, but no else region")


ExtendedAffine = extended(Affine, [DelinearizeIndexOp, IfOp, LinearizeIndexOp, MaxOp])
