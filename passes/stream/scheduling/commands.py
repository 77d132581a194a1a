"""Convert asynchronous operations to commands on ranges of storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ....dialects.stream.async_ops import AsyncDispatchOp
from ....dialects.stream.channels import CmdCollectiveOp
from ....dialects.stream.commands import (
    CmdCopyOp,
    CmdDispatchOp,
    CmdFillOp,
    CmdFlushOp,
    CmdInvalidateOp,
)
from ....dialects.stream.dispatch_directives import ACCESS
from ....dialects.stream.functions import CmdCallOp
from ....dialects.stream.types import lifetime_of
from ....ir.diagnostics import OperationError
from ....ir.index import BuilderIndices
from ....ir.rules import Rules
from ....ir.syntax.assembly_format import values
from ..analysis.storage import is_resource, stored_in
from ..conversion.stored_tensors import PlacedBuilder


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a value is stored: a resource, the resource's size, and the offset in it, in bytes."""

    resource: SSAValue
    size: SSAValue
    offset: SSAValue


@dataclass(frozen=True, slots=True)
class CommandLowering:
    """What the rules need: the storage of each value, and where to emit arithmetic."""

    storages: Mapping[SSAValue, Storage]
    outside: PlacedBuilder
    """In front of the commands, on their device."""

    def offset(self, storage: Storage, offset: SSAValue | int) -> SSAValue:
        """Return an offset into a value as an offset into its storage."""
        return BuilderIndices(self.outside.builder).sum(storage.offset, offset)


@dataclass(frozen=True, slots=True)
class AccessedRange:
    """A range of a value that a command accesses, in bytes."""

    access: str
    """`ro`, `rw` or `wo`."""
    resource: SSAValue
    offset: SSAValue | int
    length: SSAValue


CommandRule = Callable[[CommandLowering, Any], Sequence[Operation]]

to_command = Rules[CommandRule]()
"""Rules that return the commands for an asynchronous operation, by operation name."""


@to_command("stream.async.alloca", "stream.async.constant")
def _nothing(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    """Return no command: storage is allocated before the commands."""
    return ()


@to_command("stream.async.splat")
def _splat(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    storage = to.storages[op.results[0]]
    value, size = op.operands[-2:]
    return (_fill(op, storage, storage.offset, size, value),)


@to_command("stream.async.fill")
def _fill_range(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    target, _, start, _, length, value = op.operands
    storage = to.storages[target]
    return (_fill(op, storage, to.offset(storage, start), length, value),)


def _fill(
    op: Operation, storage: Storage, offset: SSAValue, length: SSAValue, value: SSAValue
) -> Operation:
    if value.type == i64:
        raise OperationError(
            op,
            "fills with a pattern of 64 bits, expected at most 32: run "
            "iree-stream-materialize-builtins, which dispatches a kernel for it",
        )
    return CmdFillOp.build(operands=[storage.resource, storage.size, offset, length, value])


@to_command("stream.async.clone")
def _clone(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    source, _, size = op.operands
    return (_copy(to, (source, 0), (op.results[0], 0), size),)


@to_command("stream.async.transfer")
def _transfer(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    """Return a copy, and what makes the writes of others visible here, and its own to others."""
    before = _made_visible(to, CmdInvalidateOp, op.operands[0], op, "source")
    after = _made_visible(to, CmdFlushOp, op.results[0], op, "target")
    return (*before, *_clone(to, op), *after)


def _made_visible(
    to: CommandLowering, op_class: type[IRDLOperation], end: SSAValue, op: Operation, name: str
) -> Sequence[Operation]:
    """Return a flush or invalidation of one end of a transfer that is not this device's own."""
    affinity = op.properties.get(f"{name}_affinity")
    is_staged = lifetime_of(end.type) == "staging"
    if not is_staged and affinity in (None, to.outside.affinity):
        return ()
    storage = to.storages[end]
    return (
        op_class.build(
            operands=[storage.resource, storage.size, storage.offset, op.operands[-1]],
            properties={"source_affinity": affinity},
        ),
    )


@to_command("stream.async.slice")
def _slice(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    source, _, start, _, size = op.operands
    return (_copy(to, (source, start), (op.results[0], 0), size),)


@to_command("stream.async.update")
def _update(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    target, _, start, _, update, size = op.operands
    return (_copy(to, (update, 0), (target, start), size),)


@to_command("stream.async.copy")
def _copy_range(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    target, _, target_start, _, source, _, source_start, _, length = op.operands
    return (_copy(to, (source, source_start), (target, target_start), length),)


Start = tuple[SSAValue, SSAValue | int]
"""A value, and an offset in it in bytes."""


def _copy(to: CommandLowering, source: Start, target: Start, length: SSAValue) -> Operation:
    ends: list[SSAValue] = []
    for resource, start in (source, target):
        storage = to.storages[resource]
        ends += [storage.resource, storage.size, to.offset(storage, start)]
    return CmdCopyOp.build(operands=[*ends, length])


@to_command("stream.async.collective")
def _collective(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    ranges: list[AccessedRange] = []
    for access, end in (("ro", "source"), ("wo", "target")):
        resource, start, length = (
            values(op, f"{end}{part}")[0] for part in ("", "_offset", "_length")
        )
        ranges.append(AccessedRange(access, resource, start, length))
    (channel,), (count,) = values(op, "channel"), values(op, "element_count")
    columns, accesses = _columns(to, ranges)
    return (
        CmdCollectiveOp.build(
            operands=[channel, count, values(op, "param"), *columns],
            properties={"op": op.properties["op"], "resource_accesses": accesses},
        ),
    )


def _accessed(op: Operation) -> list[AccessedRange]:
    """Return the operand ranges of a dispatch or call, followed by those of its untied results."""
    tied = [stored_in(op, index) for index in range(len(op.results))]
    resources = [value for value in values(op, "resource_operands") if is_resource(value)]
    starts, lengths = (values(op, f"resource_operand_{name}") for name in ("offsets", "lengths"))
    ranges: list[AccessedRange] = []
    for resource, start, length in zip(resources, starts, lengths, strict=True):
        access = "rw" if resource in tied else "ro"
        ranges.append(AccessedRange(access, resource, start, length))
    sizes = values(op, "result_sizes")
    for result, target, size in zip(op.results, tied, sizes, strict=True):
        if target is None:
            ranges.append(AccessedRange("wo", result, 0, size))
    return ranges


@to_command("stream.async.call")
def _call(to: CommandLowering, op: Operation) -> Sequence[Operation]:
    """Return the call, with results passed as operands, since commands return nothing."""
    columns, accesses = _columns(to, _accessed(op))
    resources = iter(columns[0])
    operands = [
        next(resources) if is_resource(value) else value
        for value in values(op, "resource_operands")
    ]
    return (
        CmdCallOp.build(
            operands=[[*operands, *resources], *columns[1:], ()],
            result_types=[[]],
            properties={
                "callee": op.properties["callee"],
                "resource_operand_accesses": accesses,
            },
        ),
    )


@to_command("stream.async.dispatch")
def _dispatch(to: CommandLowering, dispatch: AsyncDispatchOp) -> Sequence[Operation]:
    columns, accesses = _columns(to, _accessed(dispatch))
    uniform = [value for value in dispatch.resource_operands if not is_resource(value)]
    return (
        CmdDispatchOp.build(
            operands=[dispatch.workload, uniform, *columns],
            properties={
                "entry_points": dispatch.entry_points,
                "resource_accesses": accesses,
            },
        ),
    )


def _columns(
    to: CommandLowering, ranges: Sequence[AccessedRange]
) -> tuple[list[list[SSAValue]], ArrayAttr[IntegerAttr]]:
    """Return ranges as commands list them (resources, sizes, offsets, lengths) and accesses."""
    storages = [to.storages[range_.resource] for range_ in ranges]
    columns = [
        [storage.resource for storage in storages],
        [storage.size for storage in storages],
        [to.offset(storage, r.offset) for storage, r in zip(storages, ranges, strict=True)],
        [range_.length for range_ in ranges],
    ]
    return columns, ArrayAttr([IntegerAttr(ACCESS[range_.access], i32) for range_ in ranges])
