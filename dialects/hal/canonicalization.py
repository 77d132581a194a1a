"""Canonicalization of `hal` ops, by name: imports and exports, subspans of buffers, fences."""

from __future__ import annotations

from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.canonicalization import Patterns
from ...ir.locations import made_by
from ...ir.regions import operations_between
from ...ir.syntax.assembly_format import values
from ..util.memory import NullOp
from .objects import FenceSignalOp

rewrites = Patterns()

EXPORT, IMPORT = "hal.tensor.export", "hal.tensor.import"


@rewrites(EXPORT, IMPORT)
def drop_round_trip(op: Operation, rewriter: PatternRewriter) -> None:
    """Return what was imported and exported again, or the other way, if nothing is waited for."""
    inner = made_by(op.operands[0], EXPORT if op.name == IMPORT else IMPORT)
    if inner is None or inner.operands[0].type != op.results[0].type:
        return
    imports, exports = (op, inner) if op.name == IMPORT else (inner, op)
    encoding = imports.properties["target_encoding"]
    is_plain = not values(imports, "wait_fence") and not values(imports, "byte_offset")
    if is_plain and encoding == exports.properties["source_encoding"]:
        rewriter.replace(op, (), (inner.operands[0],))


_FILLS = ("fill_buffer", "flush_buffer", "invalidate_buffer", "copy_buffer", "update_buffer")


@rewrites(*(f"hal.command_buffer.{name}" for name in _FILLS), "hal.buffer_view.create")
def access_buffer_of_subspan(op: Operation, rewriter: PatternRewriter) -> None:
    """Let a command on a subspan of a buffer go to the buffer."""
    for name in ("", "source_", "target_"):
        accessed = (*values(op, f"{name}buffer"), *values(op, f"{name}offset"))
        inner = made_by(accessed[0], "hal.buffer.subspan") if len(accessed) == 2 else None
        if inner is None:
            continue
        buffer, start, _ = inner.operands
        at = list(op.operands).index(accessed[0])
        op.operands[at] = buffer
        op.operands[at + 1] = rewriter.insert(AddiOp(start, accessed[1])).result
        rewriter.notify_op_modified(op)


@rewrites("hal.command_buffer.device")
def fold_device(op: Operation, rewriter: PatternRewriter) -> None:
    """Return the device that a command buffer was created for."""
    create = made_by(op.operands[0], "hal.command_buffer.create")
    if create is not None:
        rewriter.replace(op, (), values(create, "device"))


@rewrites("hal.allocator.select")
def select_only_device(op: Operation, rewriter: PatternRewriter) -> None:
    """Return the device of an allocator that is selected from one."""
    pairs = set(zip(values(op, "devices"), values(op, "queue_affinities"), strict=True))
    if len(pairs) == 1:
        rewriter.replace(op, (), next(iter(pairs)))


@rewrites("hal.allocator.select")
def select_queue(op: Operation, rewriter: PatternRewriter) -> None:
    """Return the queues of a selected device if all candidates have the same."""
    queues = set(values(op, "queue_affinities"))
    queue = op.results[1]
    if len(queues) == 1 and queue.uses:
        rewriter.replace_all_uses_with(queue, queues.pop())


# Fences ------------------------------------------------------------------------------------------


def _is_reached(fence: SSAValue) -> bool:
    return made_by(fence, "util.null") is not None


@rewrites("hal.fence.await", "hal.fence.join")
def drop_fences(op: Operation, rewriter: PatternRewriter) -> None:
    """Wait once for each fence, and not for those that are reached."""
    fences = values(op, "fences")
    awaited = [fence for fence in dict.fromkeys(fences) if not _is_reached(fence)]
    if len(awaited) < len(fences):
        op.operands = [*op.operands[: len(op.operands) - len(fences)], *awaited]
        rewriter.notify_op_modified(op)


@rewrites("hal.fence.join")
def fold_join(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a join of one fence to it, and of none to a fence that is reached."""
    fences = op.operands
    if not fences:
        rewriter.replace(op, NullOp.build(result_types=[op.results[0].type]))
    elif len(fences) == 1:
        rewriter.replace(op, (), fences)


@rewrites("hal.fence.await")
def fold_await(op: Operation, rewriter: PatternRewriter) -> None:
    """Waiting for no fence succeeds."""
    if not values(op, "fences"):
        rewriter.replace(op, ConstantOp.from_int_and_width(0, i32))


@rewrites("hal.device.queue.barrier")
def signal_reached_barrier(op: Operation, rewriter: PatternRewriter) -> None:
    """Signal at once what a barrier signals after a fence that is reached."""
    if _is_reached(*values(op, "wait_fence")):
        fences = values(op, "signal_fence")
        rewriter.replace(op, FenceSignalOp.build(operands=fences))


@rewrites("hal.fence.signal")
def drop_signalled(op: Operation, rewriter: PatternRewriter) -> None:
    """Replace a new fence by one that is reached if it is signalled before all other uses."""
    create = made_by(op.operands[0], "hal.fence.create")
    if create is None or create.parent is not op.parent or _is_used_between(create, op):
        return
    rewriter.erase(op)
    rewriter.replace(create, NullOp.build(result_types=[create.results[0].type]))


def _is_used_between(create: Operation, last: Operation) -> bool:
    """Return whether an op between two of a block, or one within it, uses the first's result."""
    (fence,) = create.results
    between = operations_between(create, last)
    return any(fence in inner.operands for each in between for inner in each.walk())
