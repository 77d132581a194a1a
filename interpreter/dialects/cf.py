"""Execute the `cf` dialect: branches between the blocks of a region, and assertions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block, Operation

from ...ir.attribute_access import integers, text
from ...ir.diagnostics import OperationError
from ...ir.value_flow import given_to_successors
from ...runtime.abi.arrays import Value
from ..frames import Frame
from ..registry import Results, impl, impl_branch

Choice = tuple[Block, Sequence[Value]]


def _to(op: Operation, operands: Sequence[Value], number: int) -> Choice:
    return op.successors[number], given_to_successors(op, operands)[number]


@impl_branch("cf.br")
def _branch(op: Operation, operands: Sequence[Value]) -> Choice:
    return _to(op, operands, 0)


@impl_branch("cf.cond_br")
def _conditional(op: Operation, operands: Sequence[Value]) -> Choice:
    return _to(op, operands, 0 if operands[0] else 1)


@impl_branch("cf.switch")
def _switch(op: Operation, operands: Sequence[Value]) -> Choice:
    flag, cases = int(operands[0]), integers(op, "case_values")
    return _to(op, operands, cases.index(flag) + 1 if flag in cases else 0)


@impl("cf.assert", pointwise=True)
def _assert(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    if not np.all(operands[0]):
        raise OperationError(op, f"does not hold: {text(op, 'msg')}")
    return ()
