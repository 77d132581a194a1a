"""Resources of the `stream` dialect as storage: allocation, subviews, and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Optional, Parsed, Syntax, values
from ...ir.syntax.directives import Operand, verify_same_type
from ...ir.syntax.lines import print_lines
from ...ir.syntax.rows import PURE
from .async_ops import PlacedOperation
from .rows import PLACED, row
from .types import TIMEPOINT, ResourceType, TimepointType

ResourceAllocOp = row(
    "resource.alloc",
    "storage_size -> result:any_resource | affinity:attr? uninitialized:unit?",
    "( uninitialized$uninitialized)?( on($affinity))? attr-dict : type($result){$storage_size}",
    traits=PLACED,
    doc="Allocate long-lived storage.",
)


AWAIT = Optional((" await(", Operand("await_timepoint"), ") =>"), "await_timepoint")


@dataclass(frozen=True, slots=True)
class AwaitOrColon:
    """` await(%tp) =>`, or ` :` if there is no timepoint to await."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        AWAIT.parse(parser, parsed)
        if "await_timepoint" not in parsed.operands:
            parser.parse_punctuation(":")

    def print(self, printer: Printer, operation: Operation) -> None:
        if AWAIT.is_present(operation):
            AWAIT.print(printer, operation)
        else:
            printer.print_string(" :")


@irdl_op_definition
class ResourceAllocaOp(PlacedOperation):
    """Allocate transient storage, available from `result_timepoint` until it is deallocated."""

    name = "stream.resource.alloca"
    storage_size = operand_def(INDEX)
    indeterminate_lifetime = opt_prop_def(UnitAttr)
    await_timepoint = opt_operand_def(TIMEPOINT)
    result = result_def(ResourceType)
    result_timepoint = result_def(TimepointType)

    SYNTAX: ClassVar[Syntax] = (
        " uninitialized( indeterminate$indeterminate_lifetime)?( on($affinity))?",
        AwaitOrColon(),
        " attr-dict type($result){$storage_size} => type($result_timepoint)",
    )


ResourceDeallocaOp = row(
    "resource.dealloca",
    "operand:any_resource operand_size await_timepoint:timepoint? ->"
    " result_timepoint:timepoint | affinity:attr? prefer_origin:unit?",
    "( origin$prefer_origin)?( on($affinity))?( await($await_timepoint) =>)? $operand"
    " : type($operand){$operand_size} => type($result_timepoint) attr-dict",
    traits=PLACED,
    doc="Deallocate transient storage once a timepoint is reached.",
)


ResourceSizeOp = row(
    "resource.size",
    "operand:any_resource -> result | affinity:attr?",
    "( on($affinity))? $operand attr-dict : type($operand)",
    traits=(*PLACED, *PURE),
    doc="Return the size of a resource in bytes.",
)


ResourceSubviewOp = row(
    "resource.subview",
    "source:any_resource source_size source_offset result_size -> result:any_resource",
    " $source[$source_offset] : type($source){$source_size}"
    " -> type($result){$result_size} attr-dict-with-keyword",
    traits=PURE,
    verify=partial(verify_same_type, names=("source", "result")),
    doc="Return a range of a resource without a copy.",
)


@dataclass(frozen=True, slots=True)
class Slices:
    """`[0, 2] = %size, ...`: the lifetime interval of each slice and its size in bytes."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("lifetime_intervals",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        ends: list[Attribute] = []
        sizes: list[UnresolvedOperand] = []

        def parse_rest() -> None:
            ends.append(IntegerAttr.from_index_int_value(parser.parse_integer()))
            parser.parse_punctuation(",")
            ends.append(IntegerAttr.from_index_int_value(parser.parse_integer()))
            parser.parse_punctuation("]")
            parser.parse_punctuation("=")
            sizes.append(parser.parse_unresolved_operand())

        with parser.in_braces():
            # A comma may follow the last slice.
            while parser.parse_optional_punctuation("[") is not None:
                parse_rest()
                if parser.parse_optional_punctuation(",") is None:
                    break
        parsed.attributes["lifetime_intervals"] = ArrayAttr(ends)
        parsed.operands["dynamic_slice_sizes"] = sizes
        parsed.types["packed_offsets"] = [INDEX] * len(sizes)

    def print(self, printer: Printer, operation: Operation) -> None:
        ends = cast("ArrayAttr[IntegerAttr]", operation.get_attr_or_prop("lifetime_intervals")).data
        numbers = [end.value.data for end in ends]

        def print_one(item: tuple[int, int, SSAValue]) -> None:
            printer.print_string(f"[{item[0]}, {item[1]}] = ")
            printer.print_ssa_value(item[2])

        sizes = values(operation, "dynamic_slice_sizes")
        items = zip(numbers[::2], numbers[1::2], sizes, strict=True)
        if sizes:
            print_lines(printer, items, print_one)
        else:
            printer.print_string("{}")


@irdl_op_definition
class ResourcePackOp(PlacedOperation):
    """Assign offsets in one allocation to slices.

    Slices may overlap if their lifetime intervals do not. `total_length` is the size of the
    allocation in bytes.
    """

    name = "stream.resource.pack"
    offset = opt_operand_def(INDEX)
    lifetime_intervals = prop_def(ArrayAttr[IntegerAttr[IndexType]])
    dynamic_slice_sizes = var_operand_def(INDEX)
    total_length = result_def(INDEX)
    packed_offsets = var_result_def(INDEX)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))?( offset($offset))? slices(",
        Slices(),
        ") : type($total_length) attr-dict-with-keyword",
    )

    def result_groups(self) -> Sequence[Sequence[OpResult]]:
        """Return all results: they share a name."""
        return [self.results]

    def verify_(self) -> None:
        super().verify_()
        slices = len(self.dynamic_slice_sizes)
        if len(self.lifetime_intervals) != 2 * slices or len(self.packed_offsets) != slices:
            raise VerifyException(
                f"expected {2 * slices} ends of lifetime intervals and {slices} offsets for "
                f"{slices} slices, found {len(self.lifetime_intervals)} and "
                f"{len(self.packed_offsets)}"
            )


ResourceTryMapOp = row(
    "resource.try_map",
    "source:host source_offset result_size -> did_map:i1 result:resource | affinity:attr?",
    "( on($affinity))? $source[$source_offset] : type($source)"
    " -> type($did_map), type($result){$result_size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Try to map host memory as a resource without a copy; return whether it worked.",
)


FileConstantOp = row(
    "file.constant",
    "source:host source_size source_offset source_length -> result:file | affinity:attr?",
    "( on($affinity))? $source[$source_offset for $source_length]"
    " : type($source){$source_size} -> type($result) attr-dict-with-keyword",
    traits=PLACED,
    doc="Return a range of host memory as a file.",
)


FileReadOp = row(
    "file.read",
    "source:file source_offset:i64 target:resource target_size target_offset length"
    " await_timepoint:timepoint? -> result_timepoint:timepoint | affinity:attr?",
    (
        "( on($affinity))?",
        AwaitOrColon(),
        " $source[$source_offset], $target[$target_offset], $length : type($source)"
        " -> type($target){$target_size} => type($result_timepoint) attr-dict-with-keyword",
    ),
    traits=PLACED,
    doc="Read a range of a file into a resource once a timepoint is reached.",
)


FileWriteOp = row(
    "file.write",
    "source:resource source_size source_offset target:file target_offset:i64 length"
    " await_timepoint:timepoint? -> result_timepoint:timepoint | affinity:attr?",
    (
        "( on($affinity))?",
        AwaitOrColon(),
        " $source[$source_offset], $target[$target_offset], $length"
        " : type($source){$source_size} -> type($target) => type($result_timepoint)"
        " attr-dict-with-keyword",
    ),
    traits=PLACED,
    doc="Write a range of a resource to a file once a timepoint is reached.",
)
