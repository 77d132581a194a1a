"""Find sequential loops over small tensors that an iteration replaces.

    %r = scf.for %i = %low to %high step %step iter_args(%y = %initial) -> tensor<3xf32> {
      %a = tensor.extract_slice %y[1] [1] [1]        # elements are read anywhere
      %n = tensor.concat dim(0) %b, %c, %d
      scf.yield %n
    }

Each element is a variable while the loop runs, and is computed by code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from .index_ranges import CONTROL_FLOW
from .static_values import constant_attribute, shape_of

MAX_ELEMENTS = 16
"""The most elements that such a loop carries, whose code is written one by one."""

MAX_OPERATIONS = 128
"""The most operations of its body."""


def updates_small_tensors(
    block: Block,
    carried: Sequence[SSAValue],
    yielded: Sequence[SSAValue],
    is_pointwise: Callable[[Operation], bool],
) -> bool:
    """Return whether a loop carries few elements, and computes each element on its own.

    `is_pointwise` tells whether elements of an operation's results can be computed alone.
    """
    shapes = [shape_of(each) for each in carried]
    steps = [each for each in block.ops if each is not block.last_op]
    return (
        bool(carried)
        and all(min(shape, default=0) >= 0 for shape in shapes)
        and sum(map(prod, shapes)) <= MAX_ELEMENTS
        and len(steps) <= MAX_OPERATIONS
        and all(_is_known(each, is_pointwise) for each in steps)
        and len({shape_of(new) for new in yielded} | set(shapes)) == len(set(shapes))
    )


def _is_known(operation: Operation, is_pointwise: Callable[[Operation], bool]) -> bool:
    tensors = [each for each in operation.results if isinstance(each.type, TensorType)]
    if operation.name in ("tensor.extract", *CONTROL_FLOW):
        inner = list(operation.walk())
        reads = (each for each in inner if each.name == "tensor.extract")
        results = (each for inside in inner for each in inside.results)
        return not any(isinstance(each.type, TensorType) for each in results) and all(
            _is_constant(index) for each in reads for index in each.operands[1:]
        )
    values = (*operation.operands, *operation.results)
    if any(
        isinstance(each.type, TensorType) and min(shape_of(each), default=0) < 0 for each in values
    ):
        return False
    if not tensors or operation.name in ("arith.constant", "tensor.empty"):
        return True
    # The code of a body stores what is inserted.
    return operation.name != "tensor.insert" and is_pointwise(operation)


def _is_constant(index: SSAValue) -> bool:
    return constant_attribute(index) is not None
