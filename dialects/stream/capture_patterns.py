"""Canonicalization patterns of what regions of commands capture."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, Use
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.canonicalization import Patterns
from ...ir.regions import detach_regions
from ...ir.syntax.assembly_format import operand_index, values
from .commands import CmdExecuteOp
from .copy_patterns import sum_outside_commands
from .resources import ResourceSubviewOp
from .timepoint_patterns import SEGMENTS

rewrites = Patterns()


@rewrites(CmdExecuteOp)
def capture_whole_resource(op: Operation, rewriter: PatternRewriter) -> None:
    """Capture the resource of a subview instead of the subview, and move the accesses."""
    first, first_size = (
        operand_index(op, name) for name in ("resource_operands", "resource_operand_sizes")
    )
    for index, argument in enumerate(op.regions[0].block.args):
        subview = op.operands[first + index].owner
        places = [_size_and_offset(use) for use in argument.uses]
        if not isinstance(subview, ResourceSubviewOp) or None in places:
            continue
        resource, size, start, _ = subview.operands
        for use, (size_at, offset_at) in zip(
            list(argument.uses), filter(None, places), strict=True
        ):
            accessed = use.operation.operands
            offset = sum_outside_commands(use.operation, start, accessed[offset_at], rewriter)
            accessed[size_at], accessed[offset_at] = size, offset
        op.operands[first + index], op.operands[first_size + index] = resource, size
        rewriter.notify_op_modified(op)


def _size_and_offset(use: Use) -> tuple[int, int] | None:
    """Return the positions of the size and offset that a command lists for a resource it uses."""
    op = use.operation
    names = [name for name, _ in cast(IRDLOperation, op).get_irdl_definition().operands]
    for name in names:
        plural = "s" if name.endswith("s") else ""
        at = use.index - operand_index(op, name)
        parts = [f"{name.removesuffix('s')}_{part}{plural}" for part in ("size", "offset")]
        if 0 <= at < len(values(op, name)) and set(parts) <= set(names):
            size, offset = (operand_index(op, part) + at for part in parts)
            return size, offset
    return None


@rewrites(CmdExecuteOp)
def capture_once(op: Operation, rewriter: PatternRewriter) -> None:
    """Capture a resource once."""
    resources, block = values(op, "resource_operands"), op.regions[0].block
    first = dict(reversed(list(zip(resources, block.args, strict=True))))
    if len(first) == len(resources):
        return
    for resource, argument in reversed(list(zip(resources, block.args, strict=True))):
        if first[resource] is not argument:
            argument.replace_all_uses_with(first[resource])
            block.erase_arg(argument)
    kept = [resources.index(resource) for resource in dict.fromkeys(resources)]
    sizes = values(op, "resource_operand_sizes")
    new = CmdExecuteOp.build(
        operands=[
            [resources[index] for index in kept],
            [sizes[index] for index in kept],
            values(op, "await_timepoint"),
        ],
        result_types=op.result_types,
        properties={key: value for key, value in op.properties.items() if key != SEGMENTS},
        attributes=op.attributes,
        regions=detach_regions(op),
    )
    new.location = op.location
    rewriter.replace(op, new)
