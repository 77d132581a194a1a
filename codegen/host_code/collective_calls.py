"""One call of a collective: the shapes and numbers its rule reads, and the steps it adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...interpreter.frames import Frame, Process
from ...interpreter.registry import find_entry
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Value
from ...runtime.abi.elements import Element
from ...runtime.collectives import Collective, Group, Shape
from ...runtime.host.exchanges import COLLECTIVE, RECEIVE, SEND, ExchangeStep
from ...sharding.collective_matching import CollectiveSignature

PROCESS_DEPENDENT = frozenset(
    ("shard.process_linear_index", "shard.process_multi_index", "tensor.extract")
)
"""Operations, beside `arith`, whose results depend only on the process and their operands."""


class KnownNumbers:
    """Evaluates numbers that follow from constants and the number of the process."""

    def __init__(self, frame: Frame) -> None:
        """`frame` is the interpreter's frame of the process."""
        self._frame = frame
        self._found: dict[SSAValue, Value | None] = {}

    def of(self, value: SSAValue) -> Value | None:
        """Return the number of a value, `None` if it may depend on anything else."""
        if value not in self._found:
            self._found[value] = None
            self._found[value] = self._computed(value)
        return self._found[value]

    def _computed(self, value: SSAValue) -> Value | None:
        op = value.owner
        if not isinstance(op, Operation):
            return None
        name = op.name
        is_constant = name == "arith.constant"
        if isinstance(value.type, TensorType) and not is_constant:
            return None
        if not name.startswith("arith.") and name not in PROCESS_DEPENDENT:
            return None
        entry = find_entry(name)
        found = map(self.of, op.operands)
        operands = [each for each in found if each is not None]
        if entry is None or entry.execute is None or len(operands) < len(op.operands):
            return None
        try:
            results = entry.execute(op, operands, self._frame)
        except (OperationError, ArithmeticError, IndexError, TypeError, ValueError):
            return None
        return results[op.results.index(value)]


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
