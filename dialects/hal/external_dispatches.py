"""`hal.dispatch.extern`: a dispatch of a kernel that is linked from object files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed
from ...ir.syntax.directives import WorkgroupCountRegion
from ...ir.syntax.lines import print_lines
from ...ir.syntax.resource_directives import TiedFunctionType, ValueForm
from .executables import (
    DEVICE_TYPE,
    parse_condition_region,
    print_condition_region,
    verify_condition_region,
)
from .objects import row


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
        def print_one(item: tuple[Attribute, Attribute, Attribute, Region]) -> None:
            target, ordinal, objects, region = item
            printer.print_attribute(target)
            if region.blocks:
                printer.print_string(" if")
                print_condition_region(printer, region)
            printer.print_string(f" ordinal({cast(IntegerAttr, ordinal).value.data}) = ")
            printer.print_attribute(objects)

        printer.print_string(" objects(")
        print_lines(printer, zip(*self._columns(operation), strict=True), print_one)
        printer.print_string(")")

    def verify(self, operation: Operation) -> None:
        columns = self._columns(operation)
        if len(set(map(len, columns))) > 1:
            raise VerifyException("expects one condition, ordinal and object for each target")
        for region in columns[-1]:
            verify_condition_region(region)

    def _columns(
        self, operation: Operation
    ) -> tuple[Sequence[Attribute], Sequence[Attribute], Sequence[Attribute], Sequence[Region]]:
        """Return the targets, the ordinals, the objects and the condition regions."""
        targets, ordinals, objects = (
            cast("ArrayAttr[Attribute]", operation.properties[name]).data
            for name in self.printed_attributes
        )
        return targets, ordinals, objects, operation.regions[1:]


DispatchExternOp = row(
    "dispatch.extern",
    "workload* arguments:any* argument_dims* result_dims* -> results_:any*"
    " | export_name:str layout:layout targets:array target_ordinals:positions target_objects:array"
    " workgroup_size:array? subgroup_size:int? workgroup_local_memory:int?"
    " tied_operands:positions? | workgroup_count target_regions*",
    (
        " $export_name",
        "([$workload])?($arguments) : ",
        TiedFunctionType(ValueForm.SHAPED, "arguments", "argument_dims", "results_", "result_dims"),
        WorkgroupCountRegion("workgroup_count", "count", DEVICE_TYPE),
        " layout(stripped($layout))",
        ExternalTargets(),
        "struct($workgroup_size, $subgroup_size, $workgroup_local_memory) attr-dict-with-keyword",
    ),
    traits=(IsolatedFromAbove(),),
    doc="""Dispatch a kernel that is linked from object files.

    `targets`, `target_objects` and `target_ordinals` give the files for each target and the ordinal
    of the kernel in them; a target may have a condition region. The verifier asks for equally many
    of each.
    """,
)
