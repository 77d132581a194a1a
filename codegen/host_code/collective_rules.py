"""The rules of the collectives of the `shard` dialect: a table by operation.

A rule adds the steps that one process performs in a call of the collective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...interpreter.collective_signatures import (
    collective_signature,
    message_signature,
    reduction_kind,
)
from ...interpreter.frames import Process
from ...interpreter.process_groups import GridGroup, halo_exchanges
from ...ir.attribute_access import integer, mixed
from ...ir.diagnostics import OperationError
from ...runtime.abi.elements import Element
from ...runtime.collectives import Collective, Group, Shape
from ...runtime.host.exchanges import ExchangeStep
from ...sharding.collective_matching import RECEIVE, CollectiveSignature
from ...sharding.collective_rows import COLLECTIVES, RECV, SEND, SHIFT, UPDATE_HALO, CollectiveRow
from ...sharding.sharding import ReductionKind
from ..kernels.collective_combiners import combiner
from ..kernels.elements.scalar_operations import element_of_value


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

    def numbers_of(self, op: Operation) -> list[int]:
        """Return the values of an operation's index operands."""
        return [self.numbers[each] for each in op.operands[1:]]


Rule = Callable[[CollectiveCall, Operation], None]


def _elements(op: Operation) -> tuple[Element, Element]:
    """Return the elements of operand and result."""
    return element_of_value(op.operands[0], op), element_of_value(op.results[0], op)


def _rule(row: CollectiveRow) -> Rule:
    """Return the rule of a collective that all processes of a group join, some with a root."""

    def rule(call: CollectiveCall, op: Operation) -> None:
        group = GridGroup.of(op, call.process)
        if not row.is_rooted:
            _meet(call, op, group, row, None)
            return
        numbers = call.numbers_of(op)
        root = group.position("root", numbers)
        _meet(call, op, group, row, root, root=mixed(op, "root", numbers))

    return rule


def _meet(
    call: CollectiveCall,
    op: Operation,
    group: GridGroup,
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
        group.members,
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
    group, offset = GridGroup.of(op, call.process), integer(op, "offset")
    signature = collective_signature(op, group.processes, call.shape)
    own = group.members.index
    there = {"sender": group.shifted(own, -offset), "receiver": group.shifted(own, offset)}
    call.collective(SHIFT.name, group.members, _elements(op), signature, **there)


def _send(call: CollectiveCall, op: Operation) -> None:
    group = GridGroup.of(op, call.process)
    to = group.processes[group.position("destination", call.numbers_of(op))]
    call.steps.append(message_signature(op, SEND.name, [to], call.shape))


def _receive(call: CollectiveCall, op: Operation) -> None:
    group = GridGroup.of(op, call.process)
    senders = group.processes
    if op.get_attr_or_prop("source") is not None:
        senders = (senders[group.position("source", call.numbers_of(op))],)
    call.steps.append(message_signature(op, RECEIVE, senders, call.shape))


def _update_halo(call: CollectiveCall, op: Operation) -> None:
    for each in halo_exchanges(op, call.numbers_of(op)):
        group, low, high = GridGroup.of(op, call.process, each.axes), each.low, each.high
        numbers = {"dimension": (each.dimension,), "halo_sizes": (low, high)}
        signature = collective_signature(op, group.processes, call.shape, **numbers)
        where = {"axis": each.dimension, "low": low, "high": high}
        call.collective(UPDATE_HALO.name, group.members, _elements(op), signature, **where)


COLLECTIVE_RULES: dict[str, Rule] = {
    **{name: _rule(row) for name, row in COLLECTIVES.items()},
    RECV.operation: _receive,
    SEND.operation: _send,
    SHIFT.operation: _shift,
    UPDATE_HALO.operation: _update_halo,
}
"""The rule of each operation."""
