"""Execute the `util` dialect: globals with state, initializers, functions of host programs.

Each device has its own globals. They are initialised at the first access: with their initial
values, and then by the module's initializers in textual order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from ...dialects.util.dialect import CompositeAttr
from ...ir.attribute_access import attribute, operation_name, required, symbol
from ...ir.diagnostics import OperationError
from ...ir.syntax.resource_directives import RESOURCE
from ...ir.syntax.typed_values import type_carried_by
from ...runtime.abi.arrays import Value
from ...runtime.abi.values import dtype_of, holds_numbers, static_shape, undefined
from ...tiling.packed_arrays import Bytes
from ..constants import constant_array
from ..frames import Frame
from ..registry import Results, Routine, impl, impl_with_regions, terminates
from .stream.asynchronous import constant_bytes

terminates("util.return")

_GLOBALS = "util.globals"


@impl("util.buffer.constant")
def _buffer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (_constant_bytes(op, required(op, "value")),)


def _constant_bytes(op: Operation, value: Attribute) -> Bytes:
    """Return the bytes of a constant; a composite's parts are concatenated."""
    if isinstance(value, CompositeAttr):
        return np.concatenate([_constant_bytes(op, part) for part in value.parts])
    if isinstance(value, StringAttr):
        return np.frombuffer(value.data.encode(), np.uint8)
    return constant_bytes(op, value)


@impl("util.switch")
def _switch(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    index, default, *listed = operands
    return (listed[int(index)] if 0 <= int(index) < len(listed) else default,)


@impl("util.align")
def _align(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, alignment = (np.asarray(operand) for operand in operands)
    if np.any(alignment <= 0):
        raise OperationError(op, f"aligns to {int(alignment)}, expected a positive number")
    return (np.asarray(-(-value // alignment) * alignment),)


# --------------------------------------------------------------------------------------------
# Globals


@impl_with_regions("util.global.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    return (yield _load_value(_global(op, symbol(op, "global"), frame), frame))


@impl_with_regions("util.global.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    values: dict[Operation, Value] = yield _initialized(frame)
    values[_global(op, symbol(op, "global"), frame)] = operands[0]
    return ()


@impl("util.global.address")
def _address(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (_global(op, symbol(op, "global"), frame),)


@impl_with_regions("util.global.load.indirect")
def _load_indirect(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    return (yield _load_value(operands[0], frame))


@impl_with_regions("util.global.store.indirect")
def _store_indirect(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    values: dict[Operation, Value] = yield _initialized(frame)
    values[operands[1]] = operands[0]
    return ()


def _load_value(definition: Operation, frame: Frame) -> Routine:
    values: dict[Operation, Value] = yield _initialized(frame)
    if definition not in values:
        values[definition] = _initial_value(definition)
    return (values[definition],)


def _global(op: Operation, name: str, frame: Frame) -> Operation:
    found = frame.process.program.lookup(op, name)
    if found is None or operation_name(found) != "util.global":
        raise OperationError(op, f"names the global @{name}, which is not defined")
    return found


def _initial_value(definition: Operation) -> Value:
    value, value_type = attribute(definition, "initial_value"), required(definition, "type")
    if value is not None and value_type.name == RESOURCE:
        raise OperationError(
            definition,
            f"a resource that starts as {value} is not supported: expected an initializer "
            "that stores it",
        )
    if not holds_numbers(value_type):
        # A device or another opaque value that programs only pass around.
        return value if value is not None else definition
    if value is None:
        # Dynamic sizes are 0 until a tensor is stored.
        shape = [max(0, size) for size in static_shape(value_type) or ()]
        return np.zeros(shape, dtype_of(value_type))
    if str(value).startswith("#util.uninitialized"):
        return undefined(static_shape(type_carried_by(value) or value_type) or (), value_type)
    return constant_array(definition, value)


def _initialized(frame: Frame) -> Routine:
    """Run all initializers at the first access, and return this device's global values."""
    memory = frame.process.memory
    if _GLOBALS not in memory:
        memory[_GLOBALS] = {}
        for op in frame.process.program.module.walk():
            if operation_name(op) == "util.initializer":
                yield Frame(frame.process).run_region(op.regions[0], ())
    return memory[_GLOBALS]
