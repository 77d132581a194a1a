"""Execute the `hal` operations on executables: look up kernels, and record dispatches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import Attribute, Operation

from ....dialects.hal.executables import ExecutableExportOp
from ....dialects.hal.targets import DeviceSelectAttr, DeviceTargetAttr, ExecutableTargetAttr
from ....ir.attribute_access import attribute, integer, operand_groups, symbol, text
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Value
from ....runtime.abi.values import dtype_of
from ...frames import Frame
from ...registry import Results, Routine, impl
from .commands import CommandBuffer, Table, named
from .dispatch import Dispatch

_KERNELS = "hal.kernels"
FORMAT = "hal.executable.format"


@impl("hal.device.query")
def _query(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Answer whether a device accepts an executable format. Other queries are not supported."""
    if text(op, "category") == FORMAT:
        formats = _formats(operands[0])
        return np.bool_(True), np.bool_(not formats or text(op, "key") in formats)
    default = attribute(op, "default_value")
    value = 0 if default is None else integer(op, "default_value")
    return np.bool_(False), np.asarray(value, dtype_of(op.results[1].type))[()]


def _formats(device: Value) -> set[str]:
    """Return the executable formats that a device may accept; an empty set if unknown."""
    if isinstance(device, DeviceSelectAttr):
        return {name for choice in device.devices for name in _formats(choice)}
    if not isinstance(device, DeviceTargetAttr):
        return set()
    targets = cast("Sequence[Attribute]", device.targets)
    return {target.format.data for target in targets if isinstance(target, ExecutableTargetAttr)}


@impl("hal.executable.lookup")
def _lookup(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (symbol(op, "executable"),)


@impl("hal.executable.lookup.function")
def _function(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Return the index of a kernel among those that the program has looked up."""
    entry = symbol(op, "entry_point")
    program = frame.process.program
    export = program.lookup(op, entry)
    if not isinstance(export, ExecutableExportOp):
        raise OperationError(op, f"looks up the function @{entry}, which is not defined")
    known: list[Operation] = frame.process.memory.setdefault(_KERNELS, [])
    if export not in known:
        known.append(export)
    return (np.int64(known.index(export)),)


@impl("hal.command_buffer.dispatch")
def _dispatch(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (recorded,), _, (entry,), *counts, constants, buffers, offsets, lengths = operand_groups(
        op, operands
    )
    commands: CommandBuffer = recorded
    export = frame.process.memory[_KERNELS][int(entry)]
    groups = tuple(int(count) for (count,) in counts)
    ranges = list(zip(buffers, offsets, lengths, strict=True))

    def run(table: Table) -> Routine:
        parts = [named(op, buffer, table).part(op, *bounds) for buffer, *bounds in ranges]
        yield Dispatch(op, export, parts, constants).run(groups, frame)

    commands.commands.append(run)
    return ()
