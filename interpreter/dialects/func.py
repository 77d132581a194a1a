"""Execute calls: direct, recursive and indirect ones of the `func` dialect, and `util.call`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...ir.attribute_access import symbol
from ...runtime.abi.arrays import Value
from ..calls import call
from ..frames import Frame
from ..registry import Results, Routine, impl, impl_with_regions, terminates

terminates("func.return")


@impl_with_regions("func.call", "util.call")
def _call(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    return (yield call(op, symbol(op, "callee"), operands, frame))


@impl("func.constant")
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (symbol(op, "value"),)


@impl_with_regions("func.call_indirect")
def _call_indirect(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    return (yield call(op, operands[0], operands[1:], frame))
