"""Base classes of executables and exports, and the executable ops of `stream`.

`flow` and `hal` derive their executables from the same classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface, SymbolTable

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.directives import RegionBody, WorkgroupCountRegion
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import RowOperation, Rows
from ...ir.syntax.symbol_directives import Visibility
from .rows import row
from .types import BindingType


def executable_syntax(end: type[Operation], *header: str) -> Syntax:
    """Return the syntax of an executable: visibility, header, and a body that ends in `end`."""
    header = header or (" @$sym_name attr-dict-with-keyword ",)
    return (Visibility(), *header, RegionBody("body", terminator=False, end=end))


class Executable(SyntaxOperation):
    """Base of executables: a symbol table of kernels and their exports."""

    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), SymbolTable())


@dataclass(frozen=True, slots=True)
class ExportName:
    """`@function`, or `@function as("alias")` if the export's name differs."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("sym_name", "function_ref")

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        name = parser.parse_symbol_name()
        parsed.attributes["function_ref"] = SymbolRefAttr(name)
        if parser.parse_optional_keyword("as") is not None:
            with parser.in_parens():
                name = StringAttr(parser.parse_str_literal())
        parsed.attributes["sym_name"] = name

    def print(self, printer: Printer, operation: Operation) -> None:
        name = cast(StringAttr, operation.properties["sym_name"])
        function = cast(SymbolRefAttr, operation.properties["function_ref"]).root_reference
        printer.print_symbol_name(function.data)
        if function != name:
            printer.print_string(" as(")
            printer.print_string_literal(name.data)
            printer.print_string(")")

    def fits(self, operation: Operation) -> bool:
        return not cast(SymbolRefAttr, operation.properties["function_ref"]).nested_references


class ExecutableExport(SyntaxOperation):
    """Base of exports: the symbol of a kernel, and the workgroup count of a workload."""

    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    function_ref = prop_def(SymbolRefAttr)
    workgroup_count = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = (
        Visibility(),
        " ",
        ExportName(),
        WorkgroupCountRegion("workgroup_count"),
        " attr-dict-with-keyword",
    )


def executable_end(row: Rows, name: str) -> type[RowOperation]:
    """Return the class of the implied terminator of an executable or of a part of it."""
    doc = "Terminate an executable; not printed."
    return row(name, "", " attr-dict", traits=(IsTerminator(),), doc=doc)


ExecutableEndOp = executable_end(row, "executable.end")


@irdl_op_definition
class ExecutableOp(Executable):
    """A module of kernels with their exports."""

    name = "stream.executable"

    SYNTAX: ClassVar[Syntax] = executable_syntax(ExecutableEndOp)

    def exports(self) -> list[ExecutableExportOp]:
        """Return the exports in order."""
        return [each for each in self.body.block.ops if isinstance(each, ExecutableExportOp)]

    def inner_module(self) -> ModuleOp | None:
        """Return the module of kernels; `None` if the executable has been emptied."""
        for operation in self.body.block.ops:
            if isinstance(operation, ModuleOp):
                return operation
        return None


@irdl_op_definition
class ExecutableExportOp(ExecutableExport):
    """Export a function of the executable's module as a kernel that can be dispatched."""

    name = "stream.executable.export"

    def function(self) -> Operation | None:
        """Return the kernel's function; `None` if the symbol cannot be resolved."""
        executable = self.parent_op()
        if not isinstance(executable, ExecutableOp):
            return None
        module = executable.inner_module()
        if module is None:
            return None
        return SymbolTable.lookup_symbol(module, self.function_ref)


@irdl_op_definition
class BindingSubspanOp(SyntaxOperation):
    """Return the tensor that a binding holds, starting at a byte offset."""

    name = "stream.binding.subspan"
    binding = operand_def(BindingType)
    byte_offset = operand_def(INDEX)
    dynamic_dims = var_operand_def(INDEX)
    result = result_def()
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $binding[$byte_offset] attr-dict : type($binding) -> shaped($dynamic_dims, $result)"
    )


ReturnOp = row(
    "return",
    "arguments:any*",
    " attr-dict( $arguments : type($arguments))?",
    traits=(IsTerminator(),),
    doc="Terminate a workgroup count region.",
)
