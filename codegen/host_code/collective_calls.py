"""One call of a collective: the shapes and numbers its rule reads, and the steps it adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from ...interpreter.frames import Process
from ...runtime.abi.elements import Element
from ...runtime.collectives import Collective, Group, Shape
from ...runtime.host.exchanges import COLLECTIVE, RECEIVE, SEND, ExchangeStep
from ...sharding.collective_matching import CollectiveSignature


class CollectiveCall:
    """The input and output of a rule for a collective."""

    def __init__(self, process: Process, shape: Shape, numbers: Mapping[SSAValue, int]) -> None:
        """Prepare a call without steps.

        - `shape`: the local operand's shape, with `DYNAMIC_SIZE` where dynamic;
        - `numbers`: the values of index operands.
        """
        self.process = process
        self.shape = shape
        self.steps: list[ExchangeStep] = []
        self._numbers = numbers

    def number(self, value: SSAValue) -> int:
        """Return the value of an index operand."""
        return self._numbers[value]

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
        collective = Collective(
            kind, group, self.shape, source, (), result, **more, op_signature=signature
        )
        self.steps.append(ExchangeStep(COLLECTIVE, collective))

    def send(self, signature: CollectiveSignature) -> None:
        """Add a message to another process."""
        self.steps.append(ExchangeStep(SEND, signature))

    def receive(self, signature: CollectiveSignature) -> None:
        """Add the reception of a message from another process."""
        self.steps.append(ExchangeStep(RECEIVE, signature))
