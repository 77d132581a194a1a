"""`hal.dispatch.extern`: a dispatch of a kernel that is linked from object files."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.directives import WorkgroupCountRegion
from ...ir.syntax.lines import print_lines
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.resource_directives import TiedFunctionType, ValueForm
from .executables import (
    DEVICE_TYPE,
    INDEX,
    parse_condition_region,
    print_condition_region,
    verify_condition_region,
)
from .interface import PipelineLayoutAttr


class ExternalTargets:
    """` objects({#target if(...) -> i1 {...} ordinal(0) = [objects], ...})`."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("targets", "target_ordinals", "target_objects")

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        columns: dict[str, list[Attribute]] = {name: [] for name in self.printed_attributes}
        regions = parsed.region_lists["target_regions"] = []

        def parse_one() -> None:
            columns["targets"].append(parser.parse_attribute())
            conditional = parser.parse_optional_keyword("if") is not None
            regions.append(parse_condition_region(parser) if conditional else Region())
            parser.parse_keyword("ordinal")
            with parser.in_parens():
                ordinal = parser.parse_integer(allow_boolean=False, allow_negative=False)
            columns["target_ordinals"].append(IntegerAttr.from_index_int_value(ordinal))
            parser.parse_punctuation("=")
            columns["target_objects"].append(parser.parse_attribute())

        parser.parse_keyword("objects")
        with parser.in_parens():
            parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_one)
        parsed.attributes.update({name: ArrayAttr(found) for name, found in columns.items()})

    def print(self, printer: Printer, operation: Operation) -> None:
        extern = cast(DispatchExternOp, operation)

        def print_one(item: tuple[Attribute, Region, IntegerAttr, Attribute]) -> None:
            target, region, ordinal, objects = item
            printer.print_attribute(target)
            if region.blocks:
                printer.print_string(" if")
                print_condition_region(printer, region)
            printer.print_string(f" ordinal({ordinal.value.data}) = ")
            printer.print_attribute(objects)

        items = zip(
            extern.targets,
            extern.target_regions,
            extern.target_ordinals,
            extern.target_objects,
            strict=True,
        )
        printer.print_string(" objects(")
        print_lines(printer, items, print_one)
        printer.print_string(")")

    def verify(self, operation: Operation) -> None:
        extern = cast(DispatchExternOp, operation)
        counts = {
            len(extern.targets),
            len(extern.target_regions),
            len(extern.target_ordinals),
            len(extern.target_objects),
        }
        if len(counts) > 1:
            raise VerifyException("expects one condition, ordinal and object for each target")
        for region in extern.target_regions:
            verify_condition_region(region)


@irdl_op_definition
class DispatchExternOp(SyntaxOperation):
    """Dispatch a kernel that is linked from object files.

    `targets`, `target_objects` and `target_ordinals` give the files for each target and the ordinal
    of the kernel in them; a target may have a condition region. The verifier asks for equally many
    of each.
    """

    name = "hal.dispatch.extern"
    export_name = prop_def(StringAttr)
    layout = prop_def(PipelineLayoutAttr)
    targets = prop_def(ArrayAttr[Attribute])
    target_ordinals = prop_def(ArrayAttr[IntegerAttr[IndexType]])
    target_objects = prop_def(ArrayAttr[Attribute])
    workgroup_size = opt_prop_def(ArrayAttr[IntegerAttr])
    subgroup_size = opt_prop_def(IntegerAttr)
    workgroup_local_memory = opt_prop_def(IntegerAttr)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    workload = var_operand_def(INDEX)
    arguments = var_operand_def()
    argument_dims = var_operand_def(INDEX)
    result_dims = var_operand_def(INDEX)
    results_ = var_result_def()
    workgroup_count = region_def()
    target_regions = var_region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove())

    SYNTAX: ClassVar[Syntax] = (
        " $export_name",
        "([$workload])?($arguments) : ",
        TiedFunctionType(ValueForm.SHAPED, "arguments", "argument_dims", "results_", "result_dims"),
        WorkgroupCountRegion("workgroup_count", "count", DEVICE_TYPE),
        " layout(stripped($layout))",
        ExternalTargets(),
        "struct($workgroup_size, $subgroup_size, $workgroup_local_memory) attr-dict-with-keyword",
    )
