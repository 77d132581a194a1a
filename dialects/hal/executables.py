"""Executables of the `hal` dialect: kernels compiled for several targets, and their look-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import symbol
from ...ir.symbols import find_symbol
from ...ir.syntax.assembly_format import (
    ATTRIBUTES_WITH_KEYWORD,
    Parsed,
    Pieces,
    Syntax,
    parse_pieces,
    print_pieces,
)
from ...ir.syntax.directives import WorkgroupCountRegion, verify_returned
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.region_headers import (
    parse_arguments,
    parse_arrow_types,
    print_arguments,
    print_types,
)
from ...ir.syntax.resource_directives import print_results
from ...ir.syntax.rows import CREATES, PURE
from ...ir.syntax.symbol_directives import Visibility
from ..stream.executables import Executable, executable_end, executable_syntax
from .attributes import ExecutableObjectsAttr
from .interface import PipelineLayoutAttr
from .objects import ON_DEVICE, RESULT, row
from .targets import DeviceType, ExecutableTargetAttr

DEVICE_TYPE = DeviceType()


# Executables and their parts


ExecutableEndOp = executable_end(row, "executable_end")
ExecutableVariantEndOp = executable_end(row, "executable.variant_end")
ExecutableSourceEndOp = executable_end(row, "executable.source_end")


@irdl_op_definition
class ExecutableOp(Executable):
    """An executable with one or more variants; a device loads the first that it supports."""

    name = "hal.executable"
    lazy = opt_prop_def(UnitAttr)

    SYNTAX: ClassVar[Syntax] = executable_syntax(
        ExecutableEndOp, "( lazy$lazy)? @$sym_name attr-dict-with-keyword "
    )


@irdl_op_definition
class ExecutableVariantOp(Executable):
    """The kernels of an executable for one target.

    `objects` lists object files that are linked to it.
    """

    name = "hal.executable.variant"
    target = prop_def(ExecutableTargetAttr)
    objects = opt_prop_def(ArrayAttr[Attribute])
    sources = opt_prop_def(DictionaryAttr)

    SYNTAX: ClassVar[Syntax] = executable_syntax(
        ExecutableVariantEndOp,
        " @$sym_name target(stripped($target))( objects($objects))?( sources($sources))?"
        " attr-dict-with-keyword ",
    )


@irdl_op_definition
class ExecutableSourceOp(Executable):
    """The kernels of an executable before targets are chosen."""

    name = "hal.executable.source"
    objects = opt_prop_def(ExecutableObjectsAttr)

    SYNTAX: ClassVar[Syntax] = executable_syntax(
        ExecutableSourceEndOp, " @$sym_name", "struct($objects) attr-dict-with-keyword "
    )


ExecutableBinaryOp = row(
    "executable.binary",
    "| sym_visibility:str? sym_name:str format:str data:attr mime_type:str?",
    (
        Visibility(),
        " @$sym_name",
        "struct($format, $data, $mime_type) attr-dict-with-keyword",
    ),
    traits=(SymbolOpInterface(),),
    doc="The compiled kernels of an executable for one target.",
)


class ConditionRegion:
    """` condition(%device: !hal.device, ...) -> i1 {...} fallback(@other)`, or nothing."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("condition_fallback",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_keyword("condition") is None:
            return
        parsed.regions["condition"] = parse_condition_region(parser)
        parser.parse_keyword("fallback")
        with parser.in_parens():
            parsed.attributes["condition_fallback"] = SymbolRefAttr(parser.parse_symbol_name())

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(ExecutableExportOp, operation).condition
        fallback = operation.get_attr_or_prop("condition_fallback")
        if region.blocks and fallback is not None:
            printer.print_string(" condition")
            print_condition_region(printer, region)
            printer.print_string(" fallback(")
            printer.print_attribute(fallback)
            printer.print_string(")")

    def verify(self, operation: Operation) -> None:
        there = bool(cast(ExecutableExportOp, operation).condition.blocks)
        if there != (operation.get_attr_or_prop("condition_fallback") is not None):
            raise VerifyException("expects a condition and a fallback, or neither")
        if there:
            verify_condition_region(cast(ExecutableExportOp, operation).condition)
            fallback = symbol(operation, "condition_fallback")
            if find_symbol(operation, fallback) is None:
                raise VerifyException(f"undefined fallback entry point: @{fallback}")


def verify_condition_region(region: Region) -> None:
    """Check that a region returns a single i1. Raises VerifyException."""
    verify_returned(region, [i1], "target condition region must return a single i1 result")


def parse_condition_region(parser: Parser) -> Region:
    """Parse a region with arguments that returns an i1: `(%a: T, ...) -> i1 {...}`."""
    arguments = parse_arguments(parser)
    parser.parse_punctuation("->")
    position = parser.pos
    if parser.parse_type() != i1:
        parser.raise_error("expected i1", position)
    return parser.parse_region(arguments)


def print_condition_region(printer: Printer, region: Region) -> None:
    """Print a region that returns an i1: the inverse of `parse_condition_region`."""
    print_arguments(printer, region)
    printer.print_string(" -> i1 ")
    printer.print_region(region, print_entry_block_args=False)


@irdl_op_definition
class ExecutableExportOp(SyntaxOperation):
    """Export a kernel with its pipeline layout and the workgroup count of a workload.

    The verifier asks for a condition region and a `condition_fallback`, or neither; a condition
    returns an i1.
    """

    name = "hal.executable.export"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    ordinal = opt_prop_def(IntegerAttr[IndexType])
    layout = prop_def(PipelineLayoutAttr)
    condition_fallback = opt_prop_def(SymbolRefAttr)
    workgroup_size = opt_prop_def(ArrayAttr[IntegerAttr])
    subgroup_size = opt_prop_def(IntegerAttr)
    workgroup_local_memory = opt_prop_def(IntegerAttr)
    source_locs = opt_prop_def(DictionaryAttr)
    workgroup_count = region_def()
    condition = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = (
        Visibility(),
        " @$sym_name( ordinal(index($ordinal)))? layout($layout)",
        ConditionRegion(),
        WorkgroupCountRegion("workgroup_count", "count", DEVICE_TYPE),
        "struct($workgroup_size, $subgroup_size, $workgroup_local_memory, $source_locs)"
        " attr-dict-with-keyword",
    )


@dataclass(eq=False)
class FunctionBody:
    """`(%a: T) -> (R, S)`, the pieces `between`, and a region: a function without a name."""

    between: Pieces = ()

    printed_attributes: ClassVar[tuple[str, ...]] = ("function_type",)

    @property
    def pieces(self) -> Pieces:
        return self.between

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        arguments = parse_arguments(parser)
        parsed.attributes["function_type"] = FunctionType.from_lists(
            [argument.type for argument in arguments], parse_arrow_types(parser)
        )
        parse_pieces(parser, parsed, self.between)
        parsed.regions["body"] = parser.parse_region(arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        (region,) = operation.regions
        print_arguments(printer, region)
        results = cast(FunctionType, operation.properties["function_type"]).outputs.data
        if results:
            printer.print_string(" -> ")
            print_types(printer, results)
        print_pieces(printer, operation, self.between)
        printer.print_string(" ")
        printer.print_region(region, print_entry_block_args=False)

    def verify(self, operation: Operation) -> None:
        (region,) = operation.regions
        inputs = cast(FunctionType, operation.properties["function_type"]).inputs.data
        if len(region.blocks) != 1 or tuple(region.block.arg_types) != inputs:
            raise VerifyException(
                "expects a body of one block with arguments of types "
                f"({', '.join(map(str, inputs))})"
            )
        results = cast(FunctionType, operation.properties["function_type"]).outputs.data
        verify_returned(region, results, f"the body must return ({', '.join(map(str, results))})")


class Keys:
    """` as "key"` or ` as ("key", "other")`: the keys of constants."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("keys",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parser.parse_keyword("as")
        several = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_attribute
        )
        parsed.attributes["keys"] = ArrayAttr(
            [parser.parse_attribute()] if several is None else several
        )

    def print(self, printer: Printer, operation: Operation) -> None:
        keys = cast("ArrayAttr[Attribute]", operation.properties["keys"])
        printer.print_string(" as ")
        print_results(printer, keys.data, printer.print_attribute, always=False)


def _verify_condition(condition: Operation) -> None:
    """Check that a condition takes a device and returns an i1. Raises VerifyException."""
    function_type = cast(FunctionType, condition.properties["function_type"])
    if function_type.inputs.data != (DEVICE_TYPE,):
        raise VerifyException(f"expected one argument, {DEVICE_TYPE}")
    if function_type.outputs.data != (i1,):
        raise VerifyException("target condition region must return one i1")


ExecutableConditionOp = row(
    "executable.condition",
    "| function_type:function | body",
    (FunctionBody(), " attr-dict-with-keyword"),
    traits=(IsolatedFromAbove(),),
    verify=_verify_condition,
    doc="Decide whether a device supports the enclosing variant.",
)


def _verify_constant_block(block: Operation) -> None:
    function_type = cast(FunctionType, block.properties["function_type"])
    if function_type.inputs.data not in ((), (DEVICE_TYPE,)):
        raise VerifyException(f"initializer must take a {DEVICE_TYPE} or nothing")
    results = len(function_type.outputs)
    keys = cast(ArrayAttr[StringAttr], block.properties["keys"])
    if len(keys) != results:
        raise VerifyException(f"expected {results} keys, one for each constant, found {len(keys)}")


ExecutableConstantBlockOp = row(
    "executable.constant.block",
    "| function_type:function keys:names | body",
    (FunctionBody((Keys(), ATTRIBUTES_WITH_KEYWORD)),),
    traits=(IsolatedFromAbove(),),
    verify=_verify_constant_block,
    doc="""Compute constants of an executable when it is loaded on a device.

    The body takes the device or nothing, and returns one value for each key.
    """,
)


ROWS = (
    row(
        "executable.calculate_workgroups",
        "device:device workload* -> workgroup_x workgroup_y workgroup_z | entry_point:symbol",
        f"{ON_DEVICE} target($entry_point)( workload([$workload]))?"
        " : type($workgroup_x), type($workgroup_y), type($workgroup_z) attr-dict-with-keyword",
        traits=PURE,
    ),
    row(
        "executable.constant.load",
        "-> result:number | key:str",
        " $key attr-dict : type($result)",
        traits=PURE,
    ),
    row(
        "executable.create",
        "device:device queue_affinity:i64 constants:i32* -> result:executable"
        " | executable_target:symbol",
        f"{ON_DEVICE} affinity($queue_affinity) target($executable_target)"
        f"( constants([$constants]))?{RESULT}",
        traits=CREATES,
    ),
    row(
        "executable.lookup",
        "device:device -> result:executable | executable:symbol",
        f"{ON_DEVICE} executable($executable){RESULT}",
        traits=PURE,
    ),
    row(
        "executable.lookup.function",
        "executable:executable -> result:i64 | entry_point:symbol",
        f" target($executable : type($executable)) function($entry_point){RESULT}",
        traits=PURE,
    ),
    row(
        "executable.export.ordinal",
        "-> result | entry_point:symbol",
        f" target($entry_point){RESULT}",
        traits=PURE,
    ),
)
