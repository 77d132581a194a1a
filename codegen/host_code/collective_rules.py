"""What each collective of the `shard` dialect means for the runtime: a table by operation.

A rule compares what the processes of a group bring, adds commands to a call, and returns the
result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from ...interpreter.shard import axes_on, halo_exchanges, place_in_group, resolve_grid
from ...interpreter.signatures import collective_signature, message_signature, reduction_kind
from ...ir.attribute_access import flag, integer
from ...ir.diagnostics import OperationError
from ...runtime.abi.elements import Element, element_of, moved_element
from ...runtime.collectives import Collective, Group, Shape, group_of
from ...sharding.collective_matching import (
    ANY_SIZE,
    RECEIVE,
    CollectiveSignature,
    DeviceState,
)
from ...sharding.collectives import (
    COLLECTIVES,
    RECV,
    SEND,
    SHIFT,
    UPDATE_HALO,
    CollectiveRow,
)
from ...sharding.grid import Grid
from ...sharding.sharding import Axes, ReductionKind
from ..kernels.reductions import combiner
from ..kernels.static_values import tensor_element
from .collective_calls import CollectiveCall, SharedTensor

Rule = Callable[[CollectiveCall, Operation], SharedTensor]


def _group(call: CollectiveCall, op: Operation) -> tuple[Grid, Axes, Group]:
    grid = resolve_grid(op, call.device)
    axes = axes_on(op, grid, "grid_axes")
    return grid, axes, group_of(grid, call.device.process, axes)


def _elements(op: Operation, *, reduces: bool = False) -> tuple[Element, Element]:
    """The elements of operand and result. What is only moved may be floats that fit in a byte."""
    of = element_of if reduces else moved_element
    return of(tensor_element(op.operands[0]), op), of(tensor_element(op.results[0]), op)


def _shapes_of_group(
    call: CollectiveCall, op: Operation, group: Group, signature: CollectiveSignature
) -> tuple[Shape, ...]:
    """What the group brings, where that may differ; nothing if all bring the same."""
    if ANY_SIZE not in signature.sizes or group.size == 1:
        return ()
    own = call.tensor(op.operands[0]).shape
    state = DeviceState(signature, op)
    return tuple(call.communicator.sizes(group, state, own))


def _rule(row: CollectiveRow) -> Rule:
    """A collective in which all processes of a group meet; one of them may be the root."""

    def rule(call: CollectiveCall, op: Operation) -> SharedTensor:
        grid, axes, group = _group(call, op)
        if not row.is_rooted:
            return _meet(call, op, group, row, None)
        root, index = _rank(call, op, grid, axes, "root")
        return _meet(call, op, group, row, root, root=index)

    return rule


def _rank(
    call: CollectiveCall, op: Operation, grid: Grid, axes: Axes, name: str
) -> tuple[int, tuple[int, ...]]:
    """The rank in the group at which an attribute points, and its multi-index."""
    return place_in_group(op, grid, axes, name, [call.number(each) for each in op.operands[1:]])


def _meet(
    call: CollectiveCall,
    op: Operation,
    group: Group,
    row: CollectiveRow,
    root_rank: int | None,
    **numbers: Sequence[int],
) -> SharedTensor:
    source = call.tensor(op.operands[0])
    along = [integer(op, name) for name in (row.divides, row.joins) if name]
    for each in along:
        if not 0 <= each < len(source.shape):
            raise OperationError(op, f"has no dimension {each}: its rank is {len(source.shape)}")
    axis, concat_axis = (*along, 0, 0)[:2]
    signature = collective_signature(op, group.processes, source.shape, **numbers)
    shapes = _shapes_of_group(call, op, group, signature)
    source_element, result_element = _elements(op, reduces=row.reduces)
    reduction = _reduction(op, result_element) if row.reduces else ReductionKind.SUM
    collective = Collective(
        row.name,
        group,
        source.shape,
        source_element,
        row.result_shape(shapes or (source.shape,) * group.size, group.rank, axis, concat_axis),
        result_element,
        axis,
        concat_axis,
        root_rank,
        reduction=reduction,
        shapes=shapes,
        meant=signature,
    )
    return call.meet(collective, source)


def _reduction(op: Operation, element: Element) -> ReductionKind:
    reduction = reduction_kind(op)
    if combiner(reduction, element) is None:
        raise OperationError(op, f"has reduction '{reduction}', which {element.name} does not have")
    return reduction


def _shift(call: CollectiveCall, op: Operation) -> SharedTensor:
    grid, axes, group = _group(call, op)
    axis, offset, rotate = integer(op, "shift_axis"), integer(op, "offset"), flag(op, "rotate")
    if axis not in axes:
        raise OperationError(op, f"shifts along axis {axis}, which is none of {list(axes)}")
    extents = [grid.shape[each] or 0 for each in axes]
    place = axes.index(axis)
    here = [int(each) for each in np.unravel_index(group.rank, extents)]

    def at(distance: int) -> int | None:
        there = list(here)
        there[place] += distance
        if rotate:
            there[place] %= extents[place]
        if not 0 <= there[place] < extents[place]:
            return None
        return int(np.ravel_multi_index(there, extents))

    return _permute(call, op, group, at(-offset), at(offset))


def _permute(
    call: CollectiveCall, op: Operation, group: Group, sender: int | None, receiver: int | None
) -> SharedTensor:
    source = call.tensor(op.operands[0])
    source_element, result_element = _elements(op)
    collective = Collective(
        "permute",
        group,
        source.shape,
        source_element,
        source.shape,
        result_element,
        sender=sender,
        receiver=receiver,
        meant=collective_signature(op, group.processes, source.shape),
    )
    return call.meet(collective, source)


def _send(call: CollectiveCall, op: Operation) -> SharedTensor:
    grid, axes, group = _group(call, op)
    receiver, _ = _rank(call, op, grid, axes, "destination")
    source = call.tensor(op.operands[0])
    signature = message_signature(op, SEND.name, [group.processes[receiver]], source.shape)
    state = DeviceState(signature, op)
    call.commands.append(call.communicator.send_command(source.buffer, state))
    return source


def _receive(call: CollectiveCall, op: Operation) -> SharedTensor:
    grid, axes, group = _group(call, op)
    senders = group.processes
    if op.get_attr_or_prop("source") is not None:
        sender, _ = _rank(call, op, grid, axes, "source")
        senders = (senders[sender],)
    shape = call.tensor(op.operands[0]).shape
    target = SharedTensor.new(shape, _elements(op)[1].dtype)
    state = DeviceState(message_signature(op, RECEIVE, senders, shape), op)
    call.commands.append(call.communicator.receive_command(target.buffer, state))
    return target


def _update_halo(call: CollectiveCall, op: Operation) -> SharedTensor:
    grid = resolve_grid(op, call.device)
    tensor = call.tensor(op.operands[0])
    element = _elements(op)[0]
    exchanges = halo_exchanges(op, [call.number(each) for each in op.operands[1:]])
    for dimension, axes, (low, high) in exchanges:
        if tensor.shape[dimension] < low + high:
            raise OperationError(
                op, f"has {tensor.shape[dimension]} elements to hold halos of {low} and {high}"
            )
        group = group_of(grid, call.device.process, axes)
        signature = collective_signature(
            op, group.processes, tensor.shape, dimension=(dimension,), halo_sizes=(low, high)
        )
        collective = Collective(
            "halo",
            group,
            tensor.shape,
            element,
            tensor.shape,
            element,
            dimension,
            low=low,
            high=high,
            shapes=_shapes_of_group(call, op, group, signature),
            meant=signature,
        )
        tensor = call.meet(collective, tensor)
    return tensor


COLLECTIVE_RULES: dict[str, Rule] = {
    **{name: _rule(row) for name, row in COLLECTIVES.items()},
    RECV.operation: _receive,
    SEND.operation: _send,
    SHIFT.operation: _shift,
    UPDATE_HALO.operation: _update_halo,
}
"""Rules by operation."""
