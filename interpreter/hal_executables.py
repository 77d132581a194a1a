"""Executables of the `hal` dialect: kernels are found, dispatched, and ask what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Operation

from ..dialects.hal.executables import ExecutableExportOp
from ..dialects.hal.targets import DeviceTargetAttr, ExecutableTargetAttr
from ..ir.attribute_access import attribute, integer, operand_groups, required, symbol, text
from ..ir.diagnostics import OperationError
from ..runtime.abi.values import Value, dtype_of
from .bindings import Binding
from .frames import Frame
from .hal_commands import CommandBuffer
from .kernels import bound_tensor, run_workgroups
from .registry import Results, Routine, impl
from .storage import Resource
from .stream_commands import write_back

_KERNELS, _INTERFACE = "hal.kernels", "hal.interface"
FORMAT = "hal.executable.format"


@dataclass(frozen=True, slots=True, eq=False)
class Interface:
    """What a kernel is given with a dispatch."""

    constants: Sequence[Value]
    bindings: Sequence[Binding]


@impl("hal.device.query")
def _query(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """A device takes code of the formats of its targets; of anything else it knows nothing."""
    device = operands[0]
    if text(op, "category") == FORMAT and isinstance(device, DeviceTargetAttr):
        targets = cast("Sequence[Attribute]", device.targets)
        formats = {
            target.format.data for target in targets if isinstance(target, ExecutableTargetAttr)
        }
        return np.bool_(True), np.bool_(text(op, "key") in formats)
    default = attribute(op, "default_value")
    value = 0 if default is None else integer(op, "default_value")
    return np.bool_(False), np.asarray(value, dtype_of(op.results[1].type))[()]


@impl("hal.executable.lookup")
def _lookup(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (symbol(op, "executable"),)


@impl("hal.executable.lookup.function")
def _function(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """The number of a kernel among those that the program has asked for."""
    entry = required(op, "entry_point")
    assert isinstance(entry, SymbolRefAttr)
    names = [entry.root_reference.data, *(name.data for name in entry.nested_references)]
    program = frame.device.program
    export = program.lookup(op, "::".join(names))
    if not isinstance(export, ExecutableExportOp):
        raise OperationError(op, f"asks for the function @{'::'.join(names)}, which is not defined")
    known: list[Operation] = frame.device.memory.setdefault(_KERNELS, [])
    if export not in known:
        known.append(export)
    return (np.int64(known.index(export)),)


def _kernel(op: Operation, export: Operation, frame: Frame) -> Operation:
    """The function that an export stands for."""
    name = symbol(export, "sym_name")
    for inner in export.parent.ops if export.parent is not None else ():
        if inner.name == "builtin.module":
            first = inner.regions[0].block.first_op
            found = frame.device.program.lookup(first, name) if first is not None else None
            if found is not None and found.regions:
                return found
    raise OperationError(op, f"dispatches @{name}, which is not defined")


@impl("hal.command_buffer.dispatch")
def _dispatch(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (recorded,), _, (entry,), *counts, constants, buffers, offsets, lengths = operand_groups(
        op, operands
    )
    commands: CommandBuffer = recorded
    export = frame.device.memory[_KERNELS][int(entry)]
    groups = tuple(int(count) for (count,) in counts)
    ranges = list(zip(buffers, offsets, lengths, strict=True))

    def run() -> Routine:
        parts = [buffer.part(op, offset, length) for buffer, offset, length in ranges]
        bindings = [Binding(Resource(part)) for part in parts]
        frame.device.memory[_INTERFACE] = Interface(constants, bindings)
        yield run_workgroups(_kernel(op, export, frame).regions[0], groups, (), frame)
        write_back(op, bindings, parts)

    commands.commands.append(run)
    return ()


# Inside kernels -----------------------------------------------------------------------------


@impl("hal.interface.constant.load")
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    given: Interface = frame.device.memory[_INTERFACE]
    number = integer(op, "ordinal")
    if number >= len(given.constants):
        raise OperationError(op, f"loads constant {number} of {len(given.constants)}")
    return (given.constants[number],)


@impl("hal.interface.binding.subspan")
def _subspan(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    offset, dims = operand_groups(op, operands)
    given: Interface = frame.device.memory[_INTERFACE]
    number = integer(op, "binding")
    if number >= len(given.bindings):
        raise OperationError(op, f"uses binding {number} of {len(given.bindings)}")
    return (bound_tensor(op, given.bindings[number], offset[0] if offset else 0, dims),)
