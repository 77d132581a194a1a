"""Canonicalization of `hal` ops, by name: imports and exports, subspans of buffers, fences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.canonicalization import Patterns
from ...ir.locations import made_by
from ...ir.regions import operations_between
from ...ir.syntax.assembly_format import operand_index, values
from ..util.memory import NullOp
from .buffers import TensorBarrierOp
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


_DISPATCHES = ("hal.command_buffer.dispatch", "hal.command_buffer.dispatch.indirect")


@rewrites(*(f"hal.command_buffer.{name}" for name in _FILLS), "hal.buffer_view.create")
@rewrites(*_DISPATCHES)
def access_buffer_of_subspan(op: Operation, rewriter: PatternRewriter) -> None:
    """Let a command on a subspan of a buffer go to the buffer."""
    names = dict(cast(IRDLOperation, op).get_irdl_definition().operands)
    for name in names:
        offsets = name.replace("buffer", "offset")
        if offsets not in names or offsets == name:
            continue
        first, first_offset = operand_index(op, name), operand_index(op, offsets)
        accessed = zip(values(op, name), values(op, offsets), strict=True)
        for index, (part, offset) in enumerate(accessed):
            if (inner := made_by(part, "hal.buffer.subspan")) is not None:
                buffer, start, _ = inner.operands
                op.operands[first + index] = buffer
                moved = rewriter.insert(AddiOp(start, offset)).result
                op.operands[first_offset + index] = moved
                rewriter.notify_op_modified(op)


@rewrites("hal.tensor.barrier")
def signal_once_for_each(op: Operation, rewriter: PatternRewriter) -> None:
    """List each tensor of a barrier once."""
    sources = values(op, "sources")
    distinct = list(dict.fromkeys(sources))
    if len(distinct) < len(sources):
        types = [source.type for source in distinct]
        operands = [distinct, values(op, "signal_fence")]
        new = TensorBarrierOp.build(operands=operands, result_types=[types])
        after = dict(zip(distinct, new.results, strict=True))
        rewriter.replace(op, new, [after[source] for source in sources])


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
def select_same(op: Operation, rewriter: PatternRewriter) -> None:
    """Return the device, or the queues, of a selection if all candidates have the same."""
    for result, name in zip(op.results, ("devices", "queue_affinities"), strict=True):
        candidates = set(values(op, name))
        if len(candidates) == 1 and result.uses:
            rewriter.replace_all_uses_with(result, candidates.pop())


@rewrites("hal.executable.constant.block")
def join_constant_blocks(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute all constants of a variant in one block, each key once, in the first block.

    The blocks need the device only if an op in them uses it.
    """
    (block,) = op.regions[0].blocks
    after = op.next_op
    while after is not None and after.name != op.name:
        after = after.next_op
    if after is None:
        _drop_unneeded(op, block, rewriter)
        return
    (second,) = after.regions[0].blocks
    if second.args and not block.args:
        block.insert_arg(second.args[0].type, 0)
    for old, new in zip(second.args, block.args, strict=False):
        old.replace_all_uses_with(new)
    first_end, end = cast(Operation, block.last_op), cast(Operation, second.last_op)
    end.operands = [*first_end.operands, *end.operands]
    rewriter.erase(first_end)
    for moved in list(second.ops):
        moved.detach()
        block.add_op(moved)
    _set_constants(op, block, [*_keys(op), *_keys(after)])
    rewriter.erase(after)
    rewriter.notify_op_modified(op)


def _keys(block: Operation) -> list[StringAttr]:
    return list(cast("ArrayAttr[StringAttr]", block.properties["keys"]))


def _set_constants(op: Operation, block: Block, keys: Sequence[StringAttr]) -> None:
    """State the keys of the values that a block returns, and its type."""
    end = cast(Operation, block.last_op)
    inputs = [argument.type for argument in block.args]
    op.properties["keys"] = ArrayAttr(keys)
    op.properties["function_type"] = FunctionType.from_lists(inputs, list(end.operand_types))


def _drop_unneeded(op: Operation, block: Block, rewriter: PatternRewriter) -> None:
    """Drop a block without constants, repeated keys, and a device that is not used."""
    keys, end = _keys(op), cast(Operation, block.last_op)
    if not keys:
        rewriter.erase(op)
        return
    constants: dict[StringAttr, SSAValue] = {}
    for key, value in zip(keys, end.operands, strict=True):
        constants.setdefault(key, value)
    unused = [argument for argument in block.args if not argument.uses]
    if len(constants) == len(keys) and not unused:
        return
    end.operands = list(constants.values())
    for argument in unused:
        block.erase_arg(argument)
    _set_constants(op, block, list(constants))
    rewriter.notify_op_modified(op)


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
