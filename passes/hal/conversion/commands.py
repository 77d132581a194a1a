"""Convert `stream.cmd.execute` to a command buffer, or to a single queue operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import AndIOp, SelectOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
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
from ....ir.index_lists import INDEX
from ....ir.regions import outermost
from ....ir.rules import Rules
from ....ir.symbols import symbol_at
from ....ir.syntax.assembly_format import values
from .rules import NOT_FLAGS, HalBuilder, flags, reference, to_hal

COMMANDS, EXECUTABLE = CommandBufferType(), ExecutableType()
FORMAT = "hal.executable.format"
WRITES = 2

NESTING_COMMANDS = {"stream.cmd.concurrent": False, "stream.cmd.serial": True}
"""Commands that contain others, and whether these run in order."""

RUNNING = frozenset({"stream.cmd.call", "stream.cmd.collective", "stream.cmd.dispatch"})
"""Commands that run code instead of only moving bytes."""

CommandRule = Callable[[HalBuilder, SSAValue, Operation], None]

command_rule = Rules[CommandRule]()
"""Rules that record a command into a command buffer, by operation name."""


@to_hal("stream.cmd.execute")
def _execute(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    block = op.regions[0].block
    for argument, operand in zip(block.args, values(op, "resource_operands"), strict=True):
        argument.replace_all_uses_with(operand)
    commands = _commands_of(block)
    if len(commands) == 1 and commands[0].name in TRANSFERS:
        name, operands = _transferred(commands[0])
        return (hal.enqueue(f"hal.device.queue.{name}", operands, flags=NOT_FLAGS),)
    device, queue = hal.device_and_queues()
    runs_code = any(command.name in RUNNING for command in op.walk())
    # Commands that wait for a fence must not run while they are recorded.
    inline = () if values(op, "await_timepoint") else ("AllowInlineExecution",)
    (recorded,) = hal.emit(
        "hal.command_buffer.create",
        [device, queue, ()],
        [COMMANDS],
        modes=flags("command-modes", "OneShot", *inline),
        command_categories=flags(
            "command-categories", "Transfer", *(("Dispatch",) if runs_code else ())
        ),
    )
    _record(hal, recorded, commands, in_order=True)
    hal.emit("hal.command_buffer.finalize", [recorded])
    wait, signal = hal.fences(device)
    hal.emit("hal.device.queue.execute", [device, queue, wait, signal, recorded], flags=NOT_FLAGS)
    return (signal,)


def _commands_of(block: Block) -> list[Operation]:
    return [command for command in block.ops if command.name != "stream.yield"]


def _record(
    hal: HalBuilder, recorded: SSAValue, commands: Sequence[Operation], *, in_order: bool
) -> None:
    """Record commands; if they are in order, a barrier follows each."""
    for command in commands:
        if command.name in NESTING_COMMANDS:
            inner = _commands_of(command.regions[0].block)
            _record(hal, recorded, inner, in_order=NESTING_COMMANDS[command.name])
        elif (rule := command_rule.get(command.name)) is not None:
            rule(hal, recorded, command)
        else:
            raise OperationError(command, "cannot be recorded into a command buffer")
        if in_order:
            hal.emit(
                "hal.command_buffer.execution_barrier",
                [recorded],
                source_stage_mask=flags(
                    "execution-stages", "Dispatch", "Transfer", "CommandRetire"
                ),
                target_stage_mask=flags("execution-stages", "CommandIssue", "Dispatch", "Transfer"),
                flags=NOT_FLAGS,
            )


TRANSFERS = {
    "stream.cmd.fill": ("target", "target_offset", "target_length", "value"),
    "stream.cmd.copy": ("source", "source_offset", "target", "target_offset", "length"),
}
"""Commands that also exist as queue operations, and the operands that these take."""


def _transferred(op: Operation) -> tuple[str, list[SSAValue]]:
    """Return the kind of a transfer and the operands of the operation that it becomes."""
    operands = [values(op, name)[0] for name in TRANSFERS[op.name]]
    return op.name.removeprefix("stream.cmd."), operands


@command_rule(*TRANSFERS)
def _transfer(hal: HalBuilder, recorded: SSAValue, op: Operation) -> None:
    name, operands = _transferred(op)
    hal.emit(f"hal.command_buffer.{name}_buffer", [recorded, *operands], flags=NOT_FLAGS)


@command_rule("stream.cmd.discard", "stream.cmd.flush", "stream.cmd.invalidate")
def _no_command(hal: HalBuilder, recorded: SSAValue, op: Operation) -> None:
    """Record nothing: the barrier that follows makes writes visible."""


@command_rule("stream.cmd.collective")
def _collective(hal: HalBuilder, recorded: SSAValue, op: Operation) -> None:
    (channel,), (count,) = values(op, "channel"), values(op, "element_count")
    kind = cast(StreamCollectiveAttr, op.properties["op"])
    send: list[Sequence[SSAValue]] = [(), (), ()]
    receive: list[Sequence[SSAValue]] = [(), (), ()]
    for is_written, *range_ in zip(_written_ranges(op), *_ranges(op), strict=True):
        end = receive if is_written else send
        end[:] = [(value,) for value in range_]
    hal.emit(
        "hal.command_buffer.collective",
        [recorded, channel, count, values(op, "param"), *send, *receive],
        op=CollectiveAttr(kind.kind, kind.reduction, kind.element),
    )


def _written_ranges(op: Operation) -> list[bool]:
    """Return for each resource range of a command whether it is written."""
    accesses = cast(ArrayAttr[IntegerAttr], op.properties["resource_accesses"])
    return [bool(access.value.data & WRITES) for access in accesses]


def _ranges(op: Operation) -> tuple[Sequence[SSAValue], ...]:
    """Return the buffers, offsets and lengths of a command's resource ranges."""
    return tuple(values(op, f"resource{name}") for name in ("s", "_offsets", "_lengths"))


@command_rule("stream.cmd.call")
def _call(hal: HalBuilder, recorded: SSAValue, op: Operation) -> None:
    """Call an external function with the command buffer; a buffer is passed as a buffer range."""
    start = hal.index(0)
    arguments: list[SSAValue] = [recorded]
    offsets = iter(values(op, "resource_operand_offsets"))
    lengths = iter(values(op, "resource_operand_lengths"))
    for value in values(op, "resource_operands"):
        if value.type.name in ("stream.resource", "hal.buffer"):
            arguments += [start, value, next(offsets), next(lengths)]
        else:
            arguments.append(value)
    if op.results:
        raise OperationError(
            op, "returns a resource, but commands only write to the resources that they take"
        )
    hal.emit("util.call", [arguments], [[]], callee=op.properties["callee"])


# Dispatches ---------------------------------------------------------------------------------


@command_rule("stream.cmd.dispatch")
def _dispatch(hal: HalBuilder, recorded: SSAValue, op: Operation) -> None:
    """Record a dispatch; of several variants, the first that the device can run is chosen."""
    (device,) = hal.emit("hal.command_buffer.device", [recorded], [DEVICE])
    entries = tuple(cast(ArrayAttr[SymbolRefAttr], op.properties["entry_points"]))
    if len(entries) == 1:
        _dispatch_to(hal, recorded, device, op, entries[0])
        return
    is_supported = [_is_supported(hal, device, _variant(op, entry)) for entry in entries]
    chosen = hal.index(-1)
    for number, condition in reversed(tuple(enumerate(is_supported))):
        chosen = hal.builder.insert(SelectOp(condition, hal.index(number), chosen)).result
    regions: list[Region] = []
    for entry in entries:
        block = Block()
        _dispatch_to(hal.at_end_of(block), recorded, device, op, entry)
        block.add_op(YieldOp())
        regions.append(Region(block))
    hal.builder.insert(
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
    variant = _named(op, [entry.root_reference.data, *_nested(entry)[:-1]])
    if not isinstance(variant, ExecutableVariantOp):
        raise OperationError(op, f"dispatches {entry}, which is not in a variant of an executable")
    return variant


def _nested(entry: SymbolRefAttr) -> list[str]:
    return [name.data for name in entry.nested_references]


def _named(op: Operation, names: Sequence[str]) -> Operation | None:
    """Return the operation that a symbol path names, or `None`."""
    return symbol_at(outermost(op), names)


def _is_supported(hal: HalBuilder, device: SSAValue, variant: ExecutableVariantOp) -> SSAValue:
    """Emit whether the device supports the variant's format and the variant's condition holds."""
    target = variant.target
    _, is_supported = hal.emit(
        "hal.device.query",
        [device],
        [i1, i1],
        category=StringAttr(FORMAT),
        key=target.format,
        default_value=IntegerAttr(0, i1),
    )
    for inner in variant.body.block.ops:
        if inner.name == "hal.executable.condition":
            block = Block()
            (holds,) = _inlined(inner, inner.regions[0], [device], hal.at_end_of(block).builder)
            block.add_op(YieldOp(holds))
            condition = hal.builder.insert(ExecuteRegionOp([i1], Region(block))).results[0]
            is_supported = hal.builder.insert(AndIOp(is_supported, condition)).result
    return is_supported


def _dispatch_to(
    hal: HalBuilder, recorded: SSAValue, device: SSAValue, op: Operation, entry: SymbolRefAttr
) -> None:
    """Record a dispatch of one entry point."""
    executable = reference(entry.root_reference.data)
    (loaded,) = hal.emit("hal.executable.lookup", [device], [EXECUTABLE], executable=executable)
    function, *workgroups = _function_and_workgroups(hal, loaded, device, op, (entry,))
    hal.emit(
        "hal.command_buffer.dispatch",
        [
            recorded,
            loaded,
            function,
            *workgroups,
            values(op, "uniform_operands"),
            *_ranges(op),
        ],
        flags=NOT_FLAGS,
    )


def _function_and_workgroups(
    hal: HalBuilder,
    loaded: SSAValue,
    device: SSAValue,
    op: Operation,
    entries: tuple[SymbolRefAttr, ...],
) -> Sequence[SSAValue]:
    """Emit the choice of the last entry point or its fallback; return function and workgroups.

    The entry points before the last one have fallen back to it.
    """
    entry = entries[-1]
    export = _named(op, [entry.root_reference.data, *_nested(entry)])
    if not isinstance(export, ExecutableExportOp):
        raise OperationError(op, f"dispatches {entry}, which is not an export")
    arguments = [device, *values(op, "workload")]

    def run(hal: HalBuilder) -> Sequence[SSAValue]:
        (function,) = hal.emit("hal.executable.lookup.function", [loaded], [i64], entry_point=entry)
        if not export.workgroup_count.blocks:
            return function, *[hal.index(1)] * 3
        return function, *_inlined(export, export.workgroup_count, arguments, hal.builder)

    if export.condition_fallback is None:
        return run(hal)
    other = reference(
        entry.root_reference.data,
        *_nested(entry)[:-1],
        export.condition_fallback.root_reference.data,
    )
    if other in entries:
        raise OperationError(export, f"falls back to {other}, which falls back to it in turn")
    (condition,) = _inlined(export, export.condition, arguments, hal.builder)
    then, otherwise = Block(), Block()
    then.add_op(YieldOp(*run(hal.at_end_of(then))))
    fallback = _function_and_workgroups(
        hal.at_end_of(otherwise), loaded, device, op, (*entries, other)
    )
    otherwise.add_op(YieldOp(*fallback))
    types = [i64, INDEX, INDEX, INDEX]
    return hal.builder.insert(IfOp(condition, types, [then], [otherwise])).results


def _inlined(
    owner: Operation, region: Region, arguments: Sequence[SSAValue], builder: Builder
) -> Sequence[SSAValue]:
    """Clone a region of one block; return the values that it yields for these arguments."""
    if len(region.blocks) != 1:
        raise OperationError(owner, "expected a region of one block, to inline it at the dispatch")
    block = region.block
    if len(block.args) != len(arguments) or block.last_op is None:
        raise OperationError(
            owner,
            f"takes {len(block.args) - 1} sizes, but the dispatch passes {len(arguments) - 1}",
        )
    known: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    for operation in block.ops:
        if operation is not block.last_op:
            builder.insert(operation.clone(known))
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
