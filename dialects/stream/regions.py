"""Regions of asynchronous ops and of commands, and the timepoints that order them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ...ir.diagnostics import OperationError
from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Parsed, Syntax, is_plain, values
from ...ir.syntax.directives import end_with
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.resource_directives import (
    TiedResultTypes,
    ValueForm,
    print_dimensions,
    verify_columns,
)
from ...ir.syntax.rows import PURE
from .rows import CANONICALIZATION, PLACED, row
from .types import TIMEPOINT, ResourceType


@dataclass(frozen=True, slots=True)
class Captures:
    """`(%r as %a: T{%size}, ...) {...}`: a region that sees only the captured resources."""

    ends_plainly: ClassVar[bool] = True
    """Whether a `stream.yield` without operands is not printed."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        self.parse_region(parser, parsed, self.parse_captures(parser, parsed))

    def parse_captures(self, parser: Parser, parsed: Parsed) -> list[Parser.Argument]:
        arguments: list[Parser.Argument] = []
        operands: list[UnresolvedOperand] = []
        sizes: list[UnresolvedOperand] = []

        def parse_one() -> None:
            operands.append(parser.parse_unresolved_operand())
            parser.parse_keyword("as")
            arguments.append(parser.parse_argument(expect_type=True))
            with parser.in_braces():
                sizes.append(parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
        parsed.operands["resource_operands"] = operands
        parsed.operands["resource_operand_sizes"] = sizes
        parsed.types["resource_operands"] = [argument.type for argument in arguments]
        return arguments

    def parse_region(
        self, parser: Parser, parsed: Parsed, arguments: list[Parser.Argument]
    ) -> None:
        region = parser.parse_region(arguments)
        end_with(YieldOp, region)
        parsed.regions["body"] = region

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_captures(printer, operation)
        self.print_region(printer, operation)

    def print_captures(self, printer: Printer, operation: Operation) -> None:
        region = operation.regions[0]

        def print_one(item: tuple[SSAValue, BlockArgument, SSAValue]) -> None:
            operand, argument, size = item
            printer.print_ssa_value(operand)
            printer.print_string(" as ")
            printer.print_block_argument(argument)
            print_dimensions(printer, [size])

        items = zip(
            values(operation, "resource_operands"),
            region.block.args,
            values(operation, "resource_operand_sizes"),
            strict=True,
        )
        with printer.in_parens():
            printer.print_list(tuple(items), print_one)

    def print_region(self, printer: Printer, operation: Operation) -> None:
        region = operation.regions[0]
        printer.print_string(" ")
        printer.print_region(
            region,
            print_entry_block_args=False,
            print_block_terminators=not (self.ends_plainly and is_plain(region.block.last_op)),
        )

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, "resource_operands", "resource_operand_sizes")
        types = [value.type for value in values(operation, "resource_operands")]
        if list(only_block(operation).arg_types) != types:
            raise VerifyException(
                "expects block arguments of types "
                f"({', '.join(map(str, types))}), as its resource operands"
            )
        for inner in only_block(operation).ops:
            for value in inner.operands:
                if isinstance(value.type, ResourceType) and not operation.is_ancestor(value.owner):
                    raise OperationError(
                        inner,
                        "used resource not listed in explicit captures (or produced internally)",
                    )

    def fits(self, operation: Operation) -> bool:
        return isinstance(only_block(operation).last_op, YieldOp)


def only_block(operation: Operation) -> Block:
    """Return the block of an op's region. Raises VerifyException unless there is exactly one."""
    blocks = operation.regions[0].blocks
    if len(blocks) != 1:
        raise VerifyException(f"expects a region of one block, found {len(blocks)}")
    return blocks[0]


COMMAND_REGIONS = ("stream.cmd.execute", "stream.cmd.serial", "stream.cmd.concurrent")
"""Operations whose regions consist of commands."""

COMMANDS = ("stream.async.", "stream.cmd.", "stream.resource.subview", "stream.yield")
"""How the names of operations in these regions begin."""


def verify_parent(operation: Operation, names: Sequence[str]) -> None:
    """Raise VerifyException unless an op is in a region of an op of one of the names."""
    parent = operation.parent_op()
    if parent is None or parent.name not in names:
        raise VerifyException(f"expects parent op to be one of '{', '.join(names)}'")


def verify_commands(operation: Operation) -> None:
    """Raise OperationError for an op in a region of commands that is no command."""
    for inner in only_block(operation).ops:
        if not inner.name.startswith(COMMANDS):
            raise OperationError(inner, "explicit execution regions must only contain explicit ops")


RESULTS = TiedResultTypes(
    ValueForm.RESOURCE, "resource_operands", "resource_operand_sizes", "results_", "result_sizes"
)


@dataclass(frozen=True, slots=True)
class ResourceRegion(Captures):
    """`(%r as %a: T{%size}) -> U{%size} {...}`: captures, then the types of the results."""

    ends_plainly: ClassVar[bool] = False

    printed_attributes: ClassVar[tuple[str, ...]] = RESULTS.printed_attributes

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        arguments = self.parse_captures(parser, parsed)
        if parser.parse_optional_punctuation("->") is not None:
            RESULTS.parse(parser, parsed)
        self.parse_region(parser, parsed, arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_captures(printer, operation)
        if values(operation, "results_"):
            printer.print_string(" -> ")
            RESULTS.print(printer, operation)
        self.print_region(printer, operation)

    def verify(self, operation: Operation) -> None:
        Captures.verify(self, operation)
        RESULTS.verify(operation)
        last = only_block(operation).last_op
        yielded = values(last, "resource_operands") if last is not None else ()
        wanted = [value.type for value in values(operation, "results_")]
        if [value.type for value in yielded] != wanted:
            raise VerifyException(
                f"expects to yield ({', '.join(map(str, wanted))}), its results, but yields "
                f"({', '.join(str(value.type) for value in yielded)})"
            )

    def fits(self, operation: Operation) -> bool:
        return Captures.fits(self, operation) and RESULTS.fits(operation)


YieldOp = row(
    "yield",
    "resource_operands:any_resource* resource_operand_sizes*",
    " attr-dict( $resource_operands : sized($resource_operands, $resource_operand_sizes))?",
    traits=(IsTerminator(),),
    same_sizes=True,
    doc="Terminate a region of asynchronous ops or of commands; yield its results.",
)


TimepointImmediateOp = row(
    "timepoint.immediate",
    "-> result_timepoint:timepoint",
    " attr-dict => type($result_timepoint)",
    traits=PURE,
    doc="Return a timepoint that has already been reached.",
)


TimepointImportOp = row(
    "timepoint.import",
    "sources:any* -> result_timepoint:timepoint | affinity:attr?",
    "( on($affinity))? $sources : (type($sources)) => type($result_timepoint)"
    " attr-dict-with-keyword",
    traits=PLACED,
    doc="Import fences of the caller as a timepoint.",
)


TimepointExportOp = row(
    "timepoint.export",
    "await_timepoint:timepoint -> results_:any* | affinity:attr?",
    "( on($affinity))? $await_timepoint => (type($results_)) attr-dict-with-keyword",
    traits=PLACED,
    doc="Export a timepoint as fences for the caller.",
)


TimepointChainExternalOp = row(
    "timepoint.chain_external",
    "await_timepoint:timepoint external_values:any* | affinity:attr?",
    "( on($affinity))? $await_timepoint => ($external_values"
    " : type($external_values)) attr-dict-with-keyword",
    traits=PLACED,
    doc="Signal fences of the caller when a timepoint is reached.",
)


TimepointJoinOp = row(
    "timepoint.join",
    "await_timepoints:timepoint* -> result_timepoint:timepoint",
    " max($await_timepoints) => type($result_timepoint) attr-dict-with-keyword",
    traits=PURE,
    doc="Return the timepoint at which all of several timepoints have been reached.",
)


TimepointBarrierOp = row(
    "timepoint.barrier",
    "resource:any_resource resource_size -> result:any_resource result_timepoint:timepoint |"
    " affinity:attr?",
    "( on($affinity))? $resource : type($resource, $result){$resource_size}"
    " => type($result_timepoint) attr-dict-with-keyword",
    traits=PLACED,
    doc="Return a resource and the timepoint at which it is available.",
)


@irdl_op_definition
class TimepointAwaitOp(SyntaxOperation):
    """Return resources that are available once a timepoint is reached."""

    name = "stream.timepoint.await"
    resource_operands = var_operand_def(ResourceType)
    resource_operand_sizes = var_operand_def(INDEX)
    await_timepoint = operand_def(TIMEPOINT)
    sync = opt_prop_def(UnitAttr)
    results_ = var_result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(CANONICALIZATION)

    SYNTAX: ClassVar[Syntax] = (
        "( sync$sync)? $await_timepoint => $resource_operands"
        " : sized($resource_operands, $resource_operand_sizes, $results_) attr-dict-with-keyword"
    )


def joined(timepoints: Sequence[SSAValue], builder: Builder) -> SSAValue:
    """Return the join of some timepoints, built if needed; for none an immediate timepoint."""
    if len(timepoints) == 1:
        return timepoints[0]
    types = [TIMEPOINT]
    if not timepoints:
        return builder.insert(TimepointImmediateOp.build(result_types=types)).results[0]
    join = TimepointJoinOp.build(operands=[list(timepoints)], result_types=types)
    return builder.insert(join).results[0]


def awaited(resource: SSAValue, size: SSAValue, timepoint: SSAValue, builder: Builder) -> SSAValue:
    """Return a resource of `size` bytes after an await of a timepoint."""
    wait = TimepointAwaitOp.build(
        operands=[[resource], [size], timepoint], result_types=[[resource.type]]
    )
    return builder.insert(wait).results[0]
