"""Commands of the `stream` dialect: what devices do, in which order, to which bytes.

What is verified beyond the types of operands is in the directives of `SYNTAX`
(`dispatch_syntax.py`, `regions.py`, `ir/syntax/resource_directives.py`).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
)

from ...ir.syntax.assembly_format import (
    Syntax,
)
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.symbol_directives import EntryPoints
from .async_ops import INDEX, TIMEPOINT, PlacedOperation
from .dispatch_syntax import DispatchResources
from .regions import Captures, CommandBody
from .types import ResourceType, TimepointType


class RangeCommand(SyntaxOperation):
    """A command about a range of one resource."""

    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_length = operand_def(INDEX)


@irdl_op_definition
class CmdFlushOp(RangeCommand):
    """Make what was written visible to another device."""

    name = "stream.cmd.flush"
    source_affinity = opt_prop_def(Attribute)

    SYNTAX: ClassVar[Syntax] = (
        "( to($source_affinity))? $target[$target_offset for $target_length]"
        " : type($target){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class CmdInvalidateOp(RangeCommand):
    """See what another device has written."""

    name = "stream.cmd.invalidate"
    source_affinity = opt_prop_def(Attribute)

    SYNTAX: ClassVar[Syntax] = (
        "( from($source_affinity))? $target[$target_offset for $target_length]"
        " : type($target){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class CmdDiscardOp(RangeCommand):
    """Contents that nobody reads any more."""

    name = "stream.cmd.discard"

    SYNTAX: ClassVar[Syntax] = (
        " $target[$target_offset for $target_length] : type($target){$target_size}"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class CmdFillOp(SyntaxOperation):
    """Write a pattern over and over."""

    name = "stream.cmd.fill"
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_length = operand_def(INDEX)
    value = operand_def()

    SYNTAX: ClassVar[Syntax] = (
        " $value, $target[$target_offset for $target_length] : type($value)"
        " -> type($target){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class CmdCopyOp(SyntaxOperation):
    """Copy a range of one resource to another."""

    name = "stream.cmd.copy"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    length = operand_def(INDEX)

    SYNTAX: ClassVar[Syntax] = (
        " $source[$source_offset], $target[$target_offset], $length"
        " : type($source){$source_size} -> type($target){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class CmdDispatchOp(SyntaxOperation):
    """Run a kernel on ranges of resources."""

    name = "stream.cmd.dispatch"
    workload = var_operand_def(INDEX)
    entry_points = prop_def(ArrayAttr[SymbolRefAttr])
    uniform_operands = var_operand_def()
    resources = var_operand_def(ResourceType)
    resource_sizes = var_operand_def(INDEX)
    resource_offsets = var_operand_def(INDEX)
    resource_lengths = var_operand_def(INDEX)
    resource_accesses = prop_def(ArrayAttr[IntegerAttr])
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        EntryPoints(),
        "([$workload])?(($uniform_operands : type($uniform_operands)))?",
        DispatchResources(),
        " attr-dict-with-keyword",
    )


@irdl_op_definition
class CmdExecuteOp(PlacedOperation):
    """Run commands once a timepoint is reached."""

    name = "stream.cmd.execute"
    resource_operands = var_operand_def(ResourceType)
    resource_operand_sizes = var_operand_def(INDEX)
    once = opt_prop_def(UnitAttr)
    await_timepoint = opt_operand_def(TIMEPOINT)
    result_timepoint = result_def(TimepointType)
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( once$once)?( on($affinity))?( await($await_timepoint) =>)? with",
        Captures(),
        " => type($result_timepoint) attr-dict-with-keyword",
    )


@irdl_op_definition
class CmdSerialOp(SyntaxOperation):
    """Commands one after another."""

    name = "stream.cmd.serial"
    body = region_def()

    SYNTAX: ClassVar[Syntax] = (
        CommandBody(),
        " attr-dict-with-keyword",
    )


@irdl_op_definition
class CmdConcurrentOp(SyntaxOperation):
    """Commands at the same time."""

    name = "stream.cmd.concurrent"
    body = region_def()

    SYNTAX: ClassVar[Syntax] = (
        CommandBody(),
        " attr-dict-with-keyword",
    )
