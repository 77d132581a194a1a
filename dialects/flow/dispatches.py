"""Dispatches of the `flow` dialect: regions, workgroups, executables and dispatch ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, SymbolRefAttr
from xdsl.ir import Operation, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.directives import WorkgroupCountRegion, verify_returned
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.region_headers import parse_body, print_body
from ...ir.syntax.resource_directives import TiedFunctionType, TiedResultTypes, ValueForm
from ...ir.syntax.rows import Rows
from ...ir.syntax.symbol_directives import EntryPoints
from ..stream.executables import Executable, ExecutableExport, executable_end, executable_syntax

row = Rows("flow", {"symbols": ArrayAttr.constr(BaseAttr(SymbolRefAttr))})
DISPATCH_TYPE = TiedFunctionType(
    ValueForm.SHAPED, "arguments", "argument_dims", "results_", "result_dims"
)


ReturnOp = row(
    "return",
    "arguments:any*",
    " attr-dict( $arguments : type($arguments))?",
    traits=(IsTerminator(),),
    doc="Terminate a region of a dispatch and return its values, if any.",
)


ExecutableEndOp = executable_end(row, "executable_end")


@irdl_op_definition
class ExecutableOp(Executable):
    """A module of kernels with their exports."""

    name = "flow.executable"

    SYNTAX: ClassVar[Syntax] = executable_syntax(ExecutableEndOp)


@irdl_op_definition
class ExecutableExportOp(ExecutableExport):
    """Export a function of the executable's module as a kernel that can be dispatched."""

    name = "flow.executable.export"


DispatchOp = row(
    "dispatch",
    "workload* arguments:any* argument_dims* result_dims* -> results_:any*"
    " | entry_points:symbols tied_operands:positions?",
    (" ", EntryPoints(), "([$workload])?($arguments) attr-dict : ", DISPATCH_TYPE),
    doc="""Dispatch a kernel of an executable.

    `workload` determines the number of workgroups. Results are new tensors, or tied to operands.
    """,
)


DispatchTieShapeOp = row(
    "dispatch.tie_shape",
    "operand:any dynamic_dims* -> result:any",
    " $operand attr-dict : shaped($dynamic_dims, $operand, $result)",
    doc="Tie a dispatch tensor to the sizes of its dynamic dimensions.",
)


@dataclass(frozen=True, slots=True)
class WorkgroupBody:
    """` = (%a: T, %b: U) {...}`: the inline kernel of a dispatch."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parser.parse_punctuation("=")
        parsed.regions[self.name] = parse_body(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        printer.print_string(" =")
        with printer.indented(), printer.indented():
            printer.print_string("\n")
        print_body(printer, region)

    def verify(self, operation: Operation) -> None:
        if not cast(Region, getattr(operation, self.name)).blocks:
            raise VerifyException("expects a kernel in its region, but the region is empty")


@irdl_op_definition
class DispatchWorkgroupsOp(SyntaxOperation):
    """Dispatch an inline kernel.

    The kernel is the region `workgroup_body`, which is isolated from above.
    """

    name = "flow.dispatch.workgroups"
    workload = var_operand_def(INDEX)
    arguments = var_operand_def()
    argument_dims = var_operand_def(INDEX)
    result_dims = var_operand_def(INDEX)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def()
    workgroup_body = region_def()
    workgroup_count = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove())

    SYNTAX: ClassVar[Syntax] = (
        "([$workload])?($arguments) : ",
        DISPATCH_TYPE,
        " attr-dict-with-keyword",
        WorkgroupBody("workgroup_body"),
        WorkgroupCountRegion("workgroup_count", "count"),
    )


@irdl_op_definition
class DispatchRegionOp(SyntaxOperation):
    """Group ops that will form one dispatch.

    The region may use outer values; it returns the results, whose types the verifier compares.
    """

    name = "flow.dispatch.region"
    result_dims = var_operand_def(INDEX)
    workload = var_operand_def(INDEX)
    results_ = var_result_def()
    body = region_def()
    workgroup_count = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "([$workload])? -> ",
        TiedResultTypes(ValueForm.SHAPED, "", "", "results_", "result_dims", parenthesized=True),
        " attr-dict-with-keyword $body",
        WorkgroupCountRegion("workgroup_count", "count"),
    )

    def verify_(self) -> None:
        super().verify_()
        types = self.results_.types
        verify_returned(self.body, types, "operand types do not match with parent results")
