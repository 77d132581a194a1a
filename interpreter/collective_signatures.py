"""Signatures that devices compare before a collective, and the error of a mismatch.

The interpreter and host code share this module, so that all engines reject the same programs with
the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ..ir.attribute_access import attribute, flag, integer, integers, operation_name
from ..ir.diagnostics import Note, OperationError
from ..runtime.abi.values import element_type, static_shape
from ..sharding.collective_matching import (
    ANY_SIZE,
    CollectiveMismatch,
    CollectiveSignature,
    DeviceState,
    find_mismatch,
    names,
)
from ..sharding.collective_rows import COLLECTIVES, SHIFT, UPDATE_HALO
from ..sharding.sharding import ReductionKind


def reduction_kind(op: Operation) -> ReductionKind:
    """Return the reduction of a collective. Raises OperationError if its name is unknown."""
    found = attribute(op, "reduction")
    kind = getattr(found, "kind", found)
    name = str(getattr(kind, "data", ReductionKind.SUM))
    try:
        return ReductionKind(name)
    except ValueError as error:
        raise OperationError(op, f"has the unknown reduction '{name}'") from error


def collective_signature(
    op: Operation, group: Sequence[int], shape: Sequence[int], **numbers: Sequence[int]
) -> CollectiveSignature:
    """Return the signature of a collective to which a device contributes a tensor of `shape`.

    `numbers` are parameters that operands may give, such as the root's coordinates.
    """
    row = COLLECTIVES[operation_name(op)]
    parameters: dict[str, object] = {}
    if row.reduces:
        parameters["reduction"] = reduction_kind(op)
    parameters |= {name: integer(op, name) for name in row.numbers}
    if row is SHIFT and flag(op, "rotate"):
        parameters["rotate"] = "true"
    parameters |= {name: str(list(values)) for name, values in numbers.items()}
    if row is not UPDATE_HALO:
        parameters["grid_axes"] = str(list(integers(op, "grid_axes")))
    free = free_dimension(op, **numbers)
    sizes = tuple(ANY_SIZE if d == free else size for d, size in enumerate(shape))
    source, result = op.operands[0].type, op.results[0].type
    return CollectiveSignature(
        row.name,
        tuple(group),
        source,
        element_type(source),
        result,
        sizes,
        tuple(parameters.items()),
    )


def free_dimension(op: Operation, **numbers: Sequence[int]) -> int | None:
    """Return the dimension along which contributions may differ in size, or `None`.

    If the result type has dynamic sizes, it is the dimension of concatenation or of the halos.
    `numbers` are those of the signature.
    """
    shape = static_shape(op.results[0].type)
    if shape is not None and all(size >= 0 for size in shape):
        return None
    row = COLLECTIVES[operation_name(op)]
    if row is UPDATE_HALO:
        return numbers["dimension"][0]
    return integer(op, row.joins) if row.joins else None


def message_signature(
    op: Operation, kind: str, others: Sequence[int], shape: Sequence[int]
) -> CollectiveSignature:
    """Return the signature of a tensor of `shape` that a device sends or waits for.

    `others` is the receiver, or all possible senders.
    """
    value_type = op.results[0].type
    return CollectiveSignature(
        kind, tuple(others), value_type, element_type(value_type), value_type, tuple(shape)
    )


def mismatch_error(mismatch: CollectiveMismatch, function: Operation) -> OperationError:
    """Return the error at the first of two operations that do not match, with a note at the second.

    Notes also show where the other devices are, grouped by place. A device that has finished is
    shown at the return of `function`.
    """
    states = mismatch.states
    pair = find_mismatch(states)
    if pair is None:
        return OperationError(function, "runs on devices that wait for each other forever")
    first, second = pair
    here = _has((first,), states[first], states[second])
    there = _has((second,), states[second], states[first])
    notes = [Note(there, _place(states[second], function))]
    others: dict[tuple[Operation, str], list[int]] = {}
    for device in sorted(states.keys() - {first, second}):
        state = states[device]
        where = (_place(state, function), state.describe(states[first]))
        others.setdefault(where, []).append(device)
    for (operation, _), devices in others.items():
        notes.append(Note(_has(devices, states[devices[0]], states[first]), operation))
    message = f"must match on all devices of its group: {here}; {there}"
    return OperationError(_place(states[first], function), message, notes)


def _has(devices: Sequence[int], state: DeviceState, other: DeviceState) -> str:
    """Return `device 0 has all_reduce sum of tensor<4xf32> here`, or `devices 0, 1 have ended`."""
    verb = "has" if len(devices) == 1 else "have"
    here = "" if state.signature is None else " here"
    return f"{names(tuple(devices))} {verb} {state.describe(other)}{here}"


def _place(state: DeviceState, function: Operation) -> Operation:
    if isinstance(state.operation, Operation):
        return state.operation
    last = function.regions[0].blocks[-1].last_op if function.regions else None
    return function if last is None else last
