"""Execute the operations of the `bufferization` dialect that work on tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ..ir.attribute_access import operand_groups
from ..runtime.abi.arrays import Value
from ..runtime.abi.values import undefined
from .frames import Frame
from .registry import Results, impl
from .tensor import filled_shape


@impl("bufferization.alloc_tensor")
def _alloc_tensor(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    sizes, copy, *_ = [*operand_groups(op, operands), ()]
    if copy:
        return (copy[0],)
    result_type = op.results[0].type
    return (undefined(filled_shape(op, result_type, sizes), result_type),)


@impl("bufferization.clone")
def _clone(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.array(operands[0]),)
