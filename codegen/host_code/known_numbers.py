"""Evaluate numbers that every process can compute when a function is lowered for it."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...interpreter.frames import Frame
from ...interpreter.registry import find_entry
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Value

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
