"""Convert `stream.cmd.execute` to a command buffer, or to a single queue operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import AndIOp, SelectOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i1,
    i64,
)
from xdsl.dialects.scf import ExecuteRegionOp, IfOp, IndexSwitchOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects.hal.attributes import CollectiveAttr
from ....dialects.hal.executables import ExecutableExportOp, ExecutableVariantOp
from ....dialects.hal.targets import DEVICE
from ....dialects.hal.types import CommandBufferType, ExecutableType
from ....dialects.stream.types import CollectiveAttr as StreamCollectiveAttr
from ....ir.diagnostics import OperationError
from ....ir.regions import enclosing, inner_blocks
from ....ir.rules import Rules
from ....ir.symbols import root_symbol
from ....ir.syntax.assembly_format import values
from .rules import NOT_FLAGS, Maker, affinity_in, flags, reference, to_hal

COMMANDS, EXECUTABLE = CommandBufferType(), ExecutableType()
FORMAT = "hal.executable.format"
INDEX = IndexType()
WRITES = 2

GROUPS = {"stream.cmd.concurrent": False, "stream.cmd.serial": True}
"""Commands that contain others, and whether these run in order."""

RUNNING = frozenset({"stream.cmd.call", "stream.cmd.collective", "stream.cmd.dispatch"})
"""Commands that run code instead of only moving bytes."""

CommandRule = Callable[[Maker, SSAValue, Operation], None]

command_rule = Rules[CommandRule]()
"""Rules that record a command into a command buffer, by operation name."""


@to_hal("stream.cmd.execute")
def _execute(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    block = op.regions[0].block
    for argument, operand in zip(block.args, values(op, "resource_operands"), strict=True):
        argument.replace_all_uses_with(operand)
    commands = [each for each in block.ops if each.name != "stream.yield"]
    if len(commands) == 1 and commands[0].name in TRANSFERS:
        what, ends = TRANSFERS[commands[0].name]
        return (maker.queued(f"hal.device.queue.{what}", ends(commands[0]), flags=NOT_FLAGS),)
    device, queue = maker.device(affinity_in(op))
    runs = any(each.name in RUNNING for each in op.walk())
    (recorded,) = maker.make(
        "hal.command_buffer.create",
        [device, queue, ()],
        [COMMANDS],
        modes=flags("command-modes", "OneShot", *(("AllowInlineExecution",) if commands else ())),
        command_categories=flags(
            "command-categories", "Transfer", *(("Dispatch",) if runs else ())
        ),
    )
    _record(maker, recorded, commands, in_order=True)
    maker.make("hal.command_buffer.finalize", [recorded])
    wait, signal = maker.fences(device)
    maker.make("hal.device.queue.execute", [device, queue, wait, signal, recorded], flags=NOT_FLAGS)
    return (signal,)


def _record(
    maker: Maker, recorded: SSAValue, commands: Sequence[Operation], *, in_order: bool
) -> None:
    """Record commands; if they are in order, a barrier follows each."""
    for command in commands:
        if command.name in GROUPS:
            inner = [each for each in command.regions[0].block.ops if each.name != "stream.yield"]
            _record(maker, recorded, inner, in_order=GROUPS[command.name])
        elif (rule := command_rule.get(command.name)) is not None:
            rule(maker, recorded, command)
        else:
            raise OperationError(command, "is no command that can be recorded")
        if in_order:
            maker.make(
                "hal.command_buffer.execution_barrier",
                [recorded],
                source_stage_mask=flags(
                    "execution-stages", "Dispatch", "Transfer", "CommandRetire"
                ),
                target_stage_mask=flags("execution-stages", "CommandIssue", "Dispatch", "Transfer"),
                flags=NOT_FLAGS,
            )


def _fill_ends(op: Operation) -> Sequence[SSAValue]:
    target, _, offset, length, pattern = op.operands
    return target, offset, length, pattern


def _copy_ends(op: Operation) -> Sequence[SSAValue]:
    source, _, source_offset, target, _, target_offset, length = op.operands
    return source, source_offset, target, target_offset, length


TRANSFERS = {
    "stream.cmd.fill": ("fill", _fill_ends),
    "stream.cmd.copy": ("copy", _copy_ends),
}
"""Commands that also exist as queue operations: the name there, and the operands that it takes."""


@command_rule(*TRANSFERS)
def _transfer(maker: Maker, recorded: SSAValue, op: Operation) -> None:
    what, ends = TRANSFERS[op.name]
    maker.make(f"hal.command_buffer.{what}_buffer", [recorded, *ends(op)], flags=NOT_FLAGS)


@command_rule("stream.cmd.discard", "stream.cmd.flush", "stream.cmd.invalidate")
def _visible(maker: Maker, recorded: SSAValue, op: Operation) -> None:
    """Record nothing: the barrier that follows makes writes visible."""


@command_rule("stream.cmd.collective")
def _collective(maker: Maker, recorded: SSAValue, op: Operation) -> None:
    (channel,), (count,) = values(op, "channel"), values(op, "element_count")
    kind = cast(StreamCollectiveAttr, op.properties["op"])
    send: list[Sequence[SSAValue]] = [(), (), ()]
    receive: list[Sequence[SSAValue]] = [(), (), ()]
    for access, buffer, offset, length in _ranges(op):
        ends = receive if access & WRITES else send
        ends[:] = [(buffer,), (offset,), (length,)]
    maker.make(
        "hal.command_buffer.collective",
        [recorded, channel, count, values(op, "param"), *send, *receive],
        op=CollectiveAttr(kind.kind, kind.reduction, kind.element),
    )


def _ranges(op: Operation) -> list[tuple[int, SSAValue, SSAValue, SSAValue]]:
    """Return the access, buffer, offset and length of each resource range."""
    accesses = cast(ArrayAttr[IntegerAttr], op.properties["resource_accesses"])
    columns = (values(op, f"resource{name}") for name in ("s", "_offsets", "_lengths"))
    return [(each.value.data, *where) for each, *where in zip(accesses, *columns, strict=True)]  # pyright: ignore[reportReturnType]


@command_rule("stream.cmd.call")
def _call(maker: Maker, recorded: SSAValue, op: Operation) -> None:
    """Call an external function with the command buffer; a buffer is passed as a buffer range."""
    start = maker.index(0)
    passed: list[SSAValue] = [recorded]
    offsets = iter(values(op, "resource_operand_offsets"))
    lengths = iter(values(op, "resource_operand_lengths"))
    for value in values(op, "resource_operands"):
        if value.type.name in ("stream.resource", "hal.buffer"):
            passed += [start, value, next(offsets), next(lengths)]
        else:
            passed.append(value)
    if op.results:
        raise OperationError(op, "returns a resource: commands only write to what they are given")
    maker.make("util.call", [passed], [[]], callee=op.properties["callee"])


# Dispatches ---------------------------------------------------------------------------------


@command_rule("stream.cmd.dispatch")
def _dispatch(maker: Maker, recorded: SSAValue, op: Operation) -> None:
    """Record a dispatch; of several variants, the first that the device can run is chosen."""
    (device,) = maker.make("hal.command_buffer.device", [recorded], [DEVICE])
    entries = tuple(cast(ArrayAttr[SymbolRefAttr], op.properties["entry_points"]))
    if len(entries) == 1:
        _dispatch_to(maker, (recorded, device), op, entries[0])
        return
    fits = [_fits(maker, device, _variant(op, entry)) for entry in entries]
    chosen = maker.index(-1)
    for number, fit in reversed(tuple(enumerate(fits))):
        chosen = maker.builder.insert(SelectOp(fit, maker.index(number), chosen)).result
    regions: list[Region] = []
    for entry in entries:
        block = Block()
        _dispatch_to(maker.inside(block), (recorded, device), op, entry)
        block.add_op(YieldOp())
        regions.append(Region(block))
    maker.builder.insert(
        IndexSwitchOp(
            chosen,
            DenseArrayBase.from_list(i64, list(range(len(entries)))),
            Region(Block([YieldOp()])),
            regions,
            [],
        )
    )


def _variant(op: Operation, entry: SymbolRefAttr) -> ExecutableVariantOp:
    """Return the executable variant that contains an entry point."""
    found = _named(op, [entry.root_reference.data, *_nested(entry)[:-1]])
    if not isinstance(found, ExecutableVariantOp):
        raise OperationError(op, f"dispatches {entry}, which is in no variant of an executable")
    return found


def _nested(entry: SymbolRefAttr) -> list[str]:
    return [name.data for name in entry.nested_references]


def _named(op: Operation, names: Sequence[str]) -> Operation | None:
    """Return the operation that a symbol path names, or `None`."""
    *_, found = enclosing(op)
    for name in names:
        inner = (each for block in inner_blocks(found) for each in block.ops)
        following = next((each for each in inner if root_symbol(each, "sym_name") == name), None)
        if following is None:
            return None
        found = following
    return found


def _fits(maker: Maker, device: SSAValue, variant: ExecutableVariantOp) -> SSAValue:
    """Emit whether the device supports the variant's format and the variant's condition holds."""
    target = variant.target
    _, fits = maker.make(
        "hal.device.query",
        [device],
        [i1, i1],
        category=StringAttr(FORMAT),
        key=target.format,
        default_value=IntegerAttr(0, i1),
    )
    for each in variant.body.block.ops:
        if each.name == "hal.executable.condition":
            block = Block()
            (met,) = _inlined(each, each.regions[0], [device], maker.inside(block).builder)
            block.add_op(YieldOp(met))
            there = maker.builder.insert(ExecuteRegionOp([i1], Region(block))).results[0]
            fits = maker.builder.insert(AndIOp(fits, there)).result
    return fits


def _dispatch_to(
    maker: Maker, at: tuple[SSAValue, SSAValue], op: Operation, entry: SymbolRefAttr
) -> None:
    """Record a dispatch of one entry point."""
    recorded, device = at
    executable = reference(entry.root_reference.data)
    (loaded,) = maker.make("hal.executable.lookup", [device], [EXECUTABLE], executable=executable)
    function, *workgroups = _chosen(maker, (loaded, device), op, (entry,))
    ranges = _ranges(op)
    maker.make(
        "hal.command_buffer.dispatch",
        [
            recorded,
            loaded,
            function,
            *workgroups,
            values(op, "uniform_operands"),
            [buffer for _, buffer, _, _ in ranges],
            [offset for _, _, offset, _ in ranges],
            [length for _, _, _, length in ranges],
        ],
        flags=NOT_FLAGS,
    )


def _chosen(
    maker: Maker,
    at: tuple[SSAValue, SSAValue],
    op: Operation,
    entries: tuple[SymbolRefAttr, ...],
) -> Sequence[SSAValue]:
    """Emit the choice of the last entry point or its fallback; return function and workgroups.

    The entry points before the last one have fallen back to it.
    """
    loaded, device = at
    entry = entries[-1]
    export = _named(op, [entry.root_reference.data, *_nested(entry)])
    if not isinstance(export, ExecutableExportOp):
        raise OperationError(op, f"dispatches {entry}, which exports nothing")
    arguments = [device, *values(op, "workload")]

    def run(maker: Maker) -> Sequence[SSAValue]:
        (function,) = maker.make(
            "hal.executable.lookup.function", [loaded], [i64], entry_point=entry
        )
        if not export.workgroup_count.blocks:
            return function, *[maker.index(1)] * 3
        return function, *_inlined(export, export.workgroup_count, arguments, maker.builder)

    if export.condition_fallback is None:
        return run(maker)
    other = reference(
        entry.root_reference.data,
        *_nested(entry)[:-1],
        export.condition_fallback.root_reference.data,
    )
    if other in entries:
        raise OperationError(export, f"falls back to {other}, which falls back to it")
    (met,) = _inlined(export, export.condition, arguments, maker.builder)
    blocks = Block(), Block()
    blocks[0].add_op(YieldOp(*run(maker.inside(blocks[0]))))
    blocks[1].add_op(YieldOp(*_chosen(maker.inside(blocks[1]), at, op, (*entries, other))))
    types = [i64, INDEX, INDEX, INDEX]
    return maker.builder.insert(IfOp(met, types, [blocks[0]], [blocks[1]])).results


def _inlined(
    owner: Operation, region: Region, arguments: Sequence[SSAValue], builder: Builder
) -> Sequence[SSAValue]:
    """Clone a region of one block; return the values that it yields for these arguments."""
    if len(region.blocks) != 1:
        raise OperationError(
            owner, "expected a region of one block: it runs where it is dispatched"
        )
    block = region.block
    if len(block.args) != len(arguments) or block.last_op is None:
        raise OperationError(
            owner, f"takes {len(block.args) - 1} sizes, and is dispatched with {len(arguments) - 1}"
        )
    known: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    for each in block.ops:
        if each is not block.last_op:
            builder.insert(each.clone(known))
    return [known.get(value, value) for value in block.last_op.operands]


def drop_workgroup_counts(module: Operation) -> None:
    """Erase the workgroup counts and conditions of exports: each dispatch has computed them."""
    for executable in module.regions[0].block.ops:
        if executable.name == "hal.executable":
            for export in executable.walk():
                if isinstance(export, ExecutableExportOp):
                    for region in (export.workgroup_count, export.condition):
                        for block in tuple(region.blocks):
                            region.detach_block(block)
                            block.erase()
                    export.properties.pop("condition_fallback", None)
