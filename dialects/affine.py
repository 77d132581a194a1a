"""The affine ops on indices that xDSL lacks or prints unlike MLIR, and `affine.if`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

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
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import number_list
from ..ir.dialect_extension import extended
from ..ir.syntax.assembly_format import Parsed, Syntax, values
from ..ir.syntax.operations import SyntaxOperation
from ..ir.syntax.region_headers import add_terminator
from ..ir.syntax.rows import PURE, Rows
from .affine_memory import OPERATIONS

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


row = Rows("affine", {"basis": DenseArrayBase.constr(i64), "map": AffineMapAttr})

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


@dataclass(frozen=True, slots=True)
class _Arguments:
    """`(%dimension, ...)[%symbol, ...]` for the map or set in a property, whose spaces they are."""

    space: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        lists = (
            parser.parse_optional_comma_separated_list(each, parser.parse_unresolved_operand)
            for each in (parser.Delimiter.PAREN, parser.Delimiter.SQUARE)
        )
        parsed.operands["arguments"] = [operand for found in lists for operand in found or ()]

    def print(self, printer: Printer, operation: Operation) -> None:
        dimensions = self._space(operation).num_dims
        with printer.in_parens():
            printer.print_list(operation.operands[:dimensions], printer.print_ssa_value)
        if operation.operands[dimensions:]:
            with printer.in_square_brackets():
                printer.print_list(operation.operands[dimensions:], printer.print_ssa_value)

    def verify(self, operation: Operation) -> None:
        space = self._space(operation)
        wanted = space.num_dims + space.num_symbols
        if len(operation.operands) != wanted:
            what = "affine map" if isinstance(space, AffineMap) else "integer set"
            raise VerifyException(
                f"operand count and {what} dimension and symbol count must match: "
                f"{len(operation.operands)} and {wanted}"
            )

    def _space(self, operation: Operation) -> AffineMap | AffineSet:
        return cast("AffineMapAttr | AffineSetAttr", operation.properties[self.space]).data


def _verify_one_result(operation: Operation) -> None:
    if len(cast(AffineMapAttr, operation.properties["map"]).data.results) != 1:
        raise VerifyException("mapping must produce one value")


ApplyOp = row(
    "apply",
    "arguments* -> result | map:map",
    (" $map", _Arguments("map"), " attr-dict"),
    traits=PURE,
    verify=_verify_one_result,
    doc="Return the result of an affine map of one result.",
)

MaxOp, MinOp = (
    row(
        name,
        "arguments* -> result | map:map",
        (" $map", _Arguments("map"), " attr-dict"),
        traits=PURE,
        doc=f"Return the {which} result of an affine map.",
    )
    for name, which in (("max", "largest"), ("min", "smallest"))
)


class _Branches:
    """`{...} else {...}`: terminators of regions without results and the second are optional."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        regions = [parser.parse_region()]
        if parser.parse_optional_keyword("else") is not None:
            regions.append(parser.parse_region())
        for region in regions:
            add_terminator(region, YieldOp)
        parsed.regions.update(zip(("then_region", "else_region"), regions, strict=False))

    def print(self, printer: Printer, operation: Operation) -> None:
        first, second = operation.regions
        printer.print_region(first, print_block_terminators=bool(operation.results))
        if second.blocks:
            printer.print_string(" else ")
            printer.print_region(second, print_block_terminators=bool(operation.results))


@irdl_op_definition
class IfOp(SyntaxOperation):
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

    SYNTAX: ClassVar[Syntax] = (
        " $condition",
        _Arguments("condition"),
        "( -> result-types($res))? ",
        _Branches(),
        " attr-dict",
    )

    def verify_(self) -> None:
        super().verify_()
        if self.res and not self.else_region.blocks:
            raise VerifyException("has results, but no else region")


_OWN = [ApplyOp, DelinearizeIndexOp, IfOp, LinearizeIndexOp, MaxOp, MinOp]

ExtendedAffine = extended(Affine, [*_OWN, *OPERATIONS])
