"""Canonicalization patterns of sizes, subviews, and ops on ranges of subviews."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.canonicalization import Patterns
from ...ir.index import BuilderIndices, known
from ...ir.syntax.assembly_format import values
from .commands import CmdCopyOp, CmdDiscardOp, CmdFillOp, CmdFlushOp, CmdInvalidateOp
from .resources import ResourceSizeOp, ResourceSubviewOp
from .storage import ResourceLoadOp, ResourceStoreOp

rewrites = Patterns()

SIZES_OF_RESULTS = ("result_size", "target_size", "storage_size", "resource_size", "size")
"""Names of the operands that are the size of an op's resource; the first that it has counts."""


def replace_operand(op: Operation, old: SSAValue, new: SSAValue, start: int) -> int:
    """Replace the next operand that is `old`, from an index on; return the index after it."""
    index = next(i for i in range(start, len(op.operands)) if op.operands[i] is old)
    op.operands[index] = new
    return index + 1


@rewrites(ResourceSizeOp)
def fold_size_of_resource(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold the size of a resource to the one that the op that defines it was given."""
    owner = op.operands[0].owner
    if not isinstance(owner, Operation) or not owner.name.startswith("stream."):
        return
    resources = [each for each in owner.results if each.type == op.operands[0].type]
    sizes = [size for name in SIZES_OF_RESULTS for size in values(owner, name)]
    if sizes and len(resources) == 1:
        rewriter.replace(op, (), sizes[:1])


@rewrites(ResourceSubviewOp)
def fold_subview(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a subview of a subview, and a subview of a whole resource."""
    source, source_size, offset, size = op.operands
    inner = source.owner
    if isinstance(inner, ResourceSubviewOp):
        resource, resource_size, start, _ = inner.operands
        total = BuilderIndices(rewriter).sum(start, offset)
        op.operands = [resource, resource_size, total, size]
        rewriter.notify_op_modified(op)
    elif known(offset) == 0 and known(size) == known(source_size):
        rewriter.replace(op, (), (source,))


@rewrites(
    CmdCopyOp, CmdDiscardOp, CmdFillOp, CmdFlushOp, CmdInvalidateOp, ResourceLoadOp, ResourceStoreOp
)
def fold_range_of_subview(op: Operation, rewriter: PatternRewriter) -> None:
    """Let an op on a range of a subview access the resource of the subview."""
    for name in ("source", "target"):
        accessed = (
            *values(op, name),
            *values(op, f"{name}_size"),
            *values(op, f"{name}_offset"),
        )
        if len(accessed) != 3 or not isinstance(accessed[0].owner, ResourceSubviewOp):
            continue
        resource, size, start, _ = accessed[0].owner.operands
        offset = BuilderIndices(rewriter).sum(start, accessed[2])
        following = 0
        for old, new in zip(accessed, (resource, size, offset), strict=True):
            following = replace_operand(op, old, new, following)
        rewriter.notify_op_modified(op)
