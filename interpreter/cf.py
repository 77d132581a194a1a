"""Execute the `cf` dialect: branches between the blocks of a region, and assertions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block, Operation

from ..ir.attribute_access import integers, operand_groups, text
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Value
from .frames import Frame
from .registry import Results, impl, impl_branch


@impl_branch("cf.br")
def _branch(op: Operation, operands: Sequence[Value]) -> tuple[Block, Sequence[Value]]:
    return op.successors[0], operands


@impl_branch("cf.cond_br")
def _conditional(op: Operation, operands: Sequence[Value]) -> tuple[Block, Sequence[Value]]:
    _, taken, other = operand_groups(op, operands)
    return (op.successors[0], taken) if operands[0] else (op.successors[1], other)


@impl_branch("cf.switch")
def _switch(op: Operation, operands: Sequence[Value]) -> tuple[Block, Sequence[Value]]:
    flag, default, cases = operand_groups(op, operands)
    values = integers(op, "case_values")
    sizes = integers(op, "case_operand_segments")
    start = 0
    for position, size in enumerate(sizes):
        if position < len(values) and values[position] == int(flag[0]):
            return op.successors[position + 1], cases[start : start + size]
        start += size
    return op.successors[0], default


@impl("cf.assert", pointwise=True)
def _assert(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    if not np.all(operands[0]):
        raise OperationError(op, f"does not hold: {text(op, 'msg')}")
    return ()
