"""Dispatches of the `flow` dialect: regions, workgroups, executables and calls of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.directives import EntryPoints, RegionBody, WorkgroupCountRegion
from ...ir.syntax.resource_directives import TiedFunctionType, TiedResultTypes, ValueForm
from ...ir.syntax.rows import (
    ATTRIBUTES,
    ATTRIBUTES_WITH_KEYWORD,
    Dimensions,
    Operand,
    Operands,
    Optional,
    Parsed,
    Syntax,
    SyntaxOperation,
    Type,
    ValuesAndTypes,
)
from ..stream.executables import EXECUTABLE_SYNTAX, EXPORT_SYNTAX, ExecutableBody
from ..stream.workgroups import FLOW_WORKGROUP_NUMBERS

WORKLOAD = Optional(("[", Operands("workload"), "]"), anchor="workload")

DISPATCH_TYPE = TiedFunctionType(
    ValueForm.SHAPED, "arguments", "argument_dims", "results_", "result_dims"
)


@irdl_op_definition
class ReturnOp(SyntaxOperation):
    """Ends a region of a dispatch, with values or without."""

    name = "flow.return"
    arguments = var_operand_def()
    traits = traits_def(IsTerminator())

    SYNTAX: ClassVar[Syntax] = (ATTRIBUTES, ValuesAndTypes("arguments"))


@irdl_op_definition
class ExecutableEndOp(SyntaxOperation):
    """Ends an executable; not printed."""

    name = "flow.executable_end"
    traits = traits_def(IsTerminator())

    SYNTAX: ClassVar[Syntax] = (ATTRIBUTES,)


@irdl_op_definition
class ExecutableOp(SyntaxOperation):
    """A module of kernels and the names under which they are dispatched."""

    name = "flow.executable"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), SymbolTable())

    SYNTAX: ClassVar[Syntax] = (
        *EXECUTABLE_SYNTAX,
        ExecutableBody("body", terminator=False, end=ExecutableEndOp),
    )


@irdl_op_definition
class ExecutableExportOp(SyntaxOperation):
    """A kernel that can be dispatched, and how many workgroups a workload needs."""

    name = "flow.executable.export"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    function_ref = prop_def(SymbolRefAttr)
    workgroup_count = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = EXPORT_SYNTAX


@irdl_op_definition
class DispatchOp(SyntaxOperation):
    """Run a kernel of an executable."""

    name = "flow.dispatch"
    workload = var_operand_def(IndexType())
    entry_points = prop_def(ArrayAttr[SymbolRefAttr])
    arguments = var_operand_def()
    argument_dims = var_operand_def(IndexType())
    result_dims = var_operand_def(IndexType())
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        EntryPoints(),
        WORKLOAD,
        "(",
        Operands("arguments"),
        ")",
        ATTRIBUTES,
        " : ",
        DISPATCH_TYPE,
    )


@irdl_op_definition
class DispatchTieShapeOp(SyntaxOperation):
    """A dispatch tensor together with the sizes of its dynamic dimensions."""

    name = "flow.dispatch.tie_shape"
    operand = operand_def()
    dynamic_dims = var_operand_def(IndexType())
    result = result_def()

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("operand"),
        ATTRIBUTES,
        " : ",
        Type("operand", ("result",)),
        Dimensions("dynamic_dims"),
    )


@dataclass(frozen=True, slots=True)
class WorkgroupBody:
    """` = (%a: T, %b: U) {...}`: the kernel of a dispatch that is still in place."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parser.parse_punctuation("=")
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=True)
        )
        parsed.regions[self.name] = parser.parse_region(arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        printer.print_string(" = (")
        printer.print_list(region.blocks[0].args, printer.print_block_argument)
        printer.print_string(") ")
        printer.print_region(region, print_entry_block_args=False)

    def verify(self, operation: Operation) -> None:
        if not cast(Region, getattr(operation, self.name)).blocks:
            raise VerifyException("expects a kernel in its region, which is empty")


@irdl_op_definition
class DispatchWorkgroupsOp(SyntaxOperation):
    """A kernel in the place where it is dispatched."""

    name = "flow.dispatch.workgroups"
    workload = var_operand_def(IndexType())
    arguments = var_operand_def()
    argument_dims = var_operand_def(IndexType())
    result_dims = var_operand_def(IndexType())
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def()
    workgroup_body = region_def()
    workgroup_count = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove())

    SYNTAX: ClassVar[Syntax] = (
        WORKLOAD,
        "(",
        Operands("arguments"),
        ") : ",
        DISPATCH_TYPE,
        ATTRIBUTES_WITH_KEYWORD,
        WorkgroupBody("workgroup_body"),
        WorkgroupCountRegion("workgroup_count", "count"),
    )


@irdl_op_definition
class DispatchRegionOp(SyntaxOperation):
    """Operations that will be one dispatch."""

    name = "flow.dispatch.region"
    workload = var_operand_def(IndexType())
    result_dims = var_operand_def(IndexType())
    results_ = var_result_def()
    body = region_def()
    workgroup_count = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        WORKLOAD,
        " -> ",
        TiedResultTypes(ValueForm.SHAPED, "", "", "results_", "result_dims", parenthesized=True),
        ATTRIBUTES_WITH_KEYWORD,
        RegionBody("body"),
        WorkgroupCountRegion("workgroup_count", "count"),
    )


FLOW_DISPATCH_OPERATIONS: list[type[Operation]] = [
    DispatchOp,
    DispatchRegionOp,
    DispatchTieShapeOp,
    DispatchWorkgroupsOp,
    ExecutableEndOp,
    ExecutableExportOp,
    ExecutableOp,
    ReturnOp,
    *FLOW_WORKGROUP_NUMBERS,
]
