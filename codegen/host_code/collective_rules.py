"""The rules of the collectives of the `shard` dialect: a table by operation.

A rule adds the steps that one process performs in a call of the collective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...interpreter.collective_signatures import (
    collective_signature,
    message_signature,
    reduction_kind,
)
from ...interpreter.frames import Process
from ...interpreter.shard import (
    axes_on,
    halo_exchanges,
    place_in_group,
    resolve_grid,
    shift_neighbour,
)
from ...ir.attribute_access import integer
from ...ir.diagnostics import OperationError
from ...runtime.abi.elements import Element, element_of
from ...runtime.collectives import Collective, Group, Shape, group_of
from ...runtime.host.exchanges import ExchangeStep
from ...sharding.collective_matching import RECEIVE, CollectiveSignature
from ...sharding.collective_rows import COLLECTIVES, RECV, SEND, SHIFT, UPDATE_HALO, CollectiveRow
from ...sharding.grid import Grid
from ...sharding.sharding import Axes, ReductionKind
from ..kernels.collective_combiners import combiner
from ..kernels.static_values import tensor_element


@dataclass(slots=True, eq=False)
class CollectiveCall:
    """The input and output of a rule for a collective.

    - `shape`: the local operand's shape, with `DYNAMIC_SIZE` where dynamic;
    - `numbers`: the values of index operands;
    - `steps`: what the process does, which the rule adds.
    """

    process: Process
    shape: Shape
    numbers: Mapping[SSAValue, int]
    steps: list[ExchangeStep] = field(default_factory=list[ExchangeStep])

    def collective(
        self,
        kind: str,
        group: Group,
        elements: tuple[Element, Element],
        signature: CollectiveSignature,
        **more: Any,
    ) -> None:
        """Add a step in which a group meets, with the elements of operand and result.

        `more` are fields of `Collective`.
        """
        source, result = elements
        self.steps.append(
            Collective(kind, group, self.shape, source, (), result, **more, op_signature=signature)
        )


Rule = Callable[[CollectiveCall, Operation], None]


def _group(call: CollectiveCall, op: Operation) -> tuple[Grid, Axes, Group]:
    grid = resolve_grid(op, call.process)
    axes = axes_on(op, grid, "grid_axes")
    return grid, axes, group_of(grid, call.process.index, axes)


def _elements(op: Operation) -> tuple[Element, Element]:
    """Return the elements of operand and result."""
    source, result = tensor_element(op.operands[0]), tensor_element(op.results[0])
    return element_of(source, op), element_of(result, op)


def _rule(row: CollectiveRow) -> Rule:
    """Return the rule of a collective that all processes of a group join, some with a root."""

    def rule(call: CollectiveCall, op: Operation) -> None:
        grid, axes, group = _group(call, op)
        if not row.is_rooted:
            _meet(call, op, group, row, None)
            return
        root, index = _rank(call, op, grid, axes, "root")
        _meet(call, op, group, row, root, root=index)

    return rule


def _rank(
    call: CollectiveCall, op: Operation, grid: Grid, axes: Axes, name: str
) -> tuple[int, tuple[int, ...]]:
    """Return the rank in the group that an attribute names, and its multi-index."""
    return place_in_group(op, grid, axes, name, [call.numbers[each] for each in op.operands[1:]])


def _meet(
    call: CollectiveCall,
    op: Operation,
    group: Group,
    row: CollectiveRow,
    root_rank: int | None,
    **numbers: Sequence[int],
) -> None:
    along = [integer(op, name) for name in (row.divides, row.joins) if name]
    for each in along:
        if not 0 <= each < len(call.shape):
            raise OperationError(op, f"has no dimension {each}: its rank is {len(call.shape)}")
    axis, concat_axis = (*along, 0, 0)[:2]
    elements = _elements(op)
    call.collective(
        row.name,
        group,
        elements,
        collective_signature(op, group.processes, call.shape, **numbers),
        axis=axis,
        concat_axis=concat_axis,
        root=root_rank,
        reduction=_reduction(op, elements[1]) if row.reduces else ReductionKind.SUM,
    )


def _reduction(op: Operation, element: Element) -> ReductionKind:
    reduction = reduction_kind(op)
    if combiner(reduction, element) is None:
        raise OperationError(
            op, f"has reduction '{reduction}', which is not supported for {element.name}"
        )
    return reduction


def _shift(call: CollectiveCall, op: Operation) -> None:
    grid, axes, group = _group(call, op)
    offset, at = integer(op, "offset"), partial(shift_neighbour, op, grid, axes, group.index)

    signature = collective_signature(op, group.processes, call.shape)
    there = {"sender": at(-offset), "receiver": at(offset)}
    call.collective(SHIFT.name, group, _elements(op), signature, **there)


def _send(call: CollectiveCall, op: Operation) -> None:
    grid, axes, group = _group(call, op)
    receiver, _ = _rank(call, op, grid, axes, "destination")
    to = [group.processes[receiver]]
    call.steps.append(message_signature(op, SEND.name, to, call.shape))


def _receive(call: CollectiveCall, op: Operation) -> None:
    grid, axes, group = _group(call, op)
    senders = group.processes
    if op.get_attr_or_prop("source") is not None:
        sender, _ = _rank(call, op, grid, axes, "source")
        senders = (senders[sender],)
    call.steps.append(message_signature(op, RECEIVE, senders, call.shape))


def _update_halo(call: CollectiveCall, op: Operation) -> None:
    grid = resolve_grid(op, call.process)
    exchanges = halo_exchanges(op, [call.numbers[each] for each in op.operands[1:]])
    for dimension, axes, (low, high) in exchanges:
        group = group_of(grid, call.process.index, axes)
        signature = collective_signature(
            op, group.processes, call.shape, dimension=(dimension,), halo_sizes=(low, high)
        )
        where = {"axis": dimension, "low": low, "high": high}
        call.collective(UPDATE_HALO.name, group, _elements(op), signature, **where)


COLLECTIVE_RULES: dict[str, Rule] = {
    **{name: _rule(row) for name, row in COLLECTIVES.items()},
    RECV.operation: _receive,
    SEND.operation: _send,
    SHIFT.operation: _shift,
    UPDATE_HALO.operation: _update_halo,
}
"""The rule of each operation."""
