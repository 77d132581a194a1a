"""Update loops: loops that only update tensors and compute numbers, which one kernel runs whole."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    IndexType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Operation, OpResult, SSAValue

from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....dialects.stream.affinity import own_affinity
from ....dialects.tensor.dialect import UPDATES
from ....ir.host_programs import CHOICES, CONTROL_FLOW, LOOPS
from ....ir.regions import inner_blocks, values_read
from ....ir.tensor_types import ranked
from ....ir.value_flow import initial_values
from ...sizes.updated_tensors import keeps_types, updated_tensor
from .iteration_space import REARRANGEMENTS
from .operation_kinds import FLOW_VIEWS, is_memory_effect_free, is_rematerialized

UPDATE_LOOP_OPERATIONS = (
    UPDATES
    | REARRANGEMENTS
    | FLOW_VIEWS
    | {"arith.constant", "tensor.empty", "tensor.from_elements", "tensor.splat"}
)
"""Operations on tensors, besides loop nests, that an update loop in a kernel may contain."""

SMALL_TENSOR = 1 << 8
"""The most elements of a tensor that a kernel may copy for an update loop."""

SHORT_STEP = 1 << 18
"""The most steps of a reduction in an update loop, and the most elements that a turn makes anew."""

SHORT_PRODUCT = 1 << 14
"""The most steps of a product that reads elements more than `LITTLE_REUSE` times: a larger one
gains more by layouts of its operands than by the loop being one kernel.
"""

LITTLE_REUSE = 8
"""The reads of each element of a large operand up to which layouts gain nothing."""

NUMBERS = (AnyFloat, ComplexType, IndexType, IntegerType)
"""The types of numbers that a loop in a kernel may carry."""


def is_update_loop(operation: Operation) -> bool:
    """Return whether a loop only updates tensors and computes numbers, in order.

    An iteration sets elements or slices of tensors, which it would copy if it were a dispatch, or
    computes tensors in so few steps that dispatches would take a large part of the time. If the
    loop carries both kinds, the kernel makes the large tensors that it updates, since a table that
    comes from outside would be copied.
    """
    if operation.name not in LOOPS or not operation.results:
        return False
    pairs = zip(initial_values(operation), operation.results, strict=False)
    carried = [(value, result) for value, result in pairs if ranked(result)]
    tables = [value for value, result in carried if _is_table(result)]
    return (
        any(isinstance(each.type, TensorType) for each in values_read(operation))
        and (len(tables) == len(carried) or all(map(_is_made_in_kernel, tables)))
        and _may_be_in_update_loop(operation)
    )


def _is_table(result: SSAValue) -> bool:
    return not _is_small(result, SMALL_TENSOR) and updated_tensor(result) is not None


def _is_made_in_kernel(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and is_rematerialized(value.op)


def _is_small(value: SSAValue, elements: int) -> bool:
    """Return whether a value is a number, or a tensor of so many elements at most."""
    tensor = ranked(value)
    if tensor is None:
        return isinstance(value.type, NUMBERS)
    shape = tensor.get_shape()
    return DYNAMIC_INDEX not in shape and prod(shape) <= elements


def _may_be_in_update_loop(operation: Operation) -> bool:
    """Return whether an operation computes numbers, elements, or reductions in few steps."""
    if operation.name in CONTROL_FLOW:
        return (operation.name in CHOICES or _carries_updates(operation)) and all(
            inner is block.last_op
            or (own_affinity(inner) is None and _may_be_in_update_loop(inner))
            for block in inner_blocks(operation)
            for inner in block.ops
        )
    if operation.name in UPDATE_LOOP_OPERATIONS:
        return True
    view = structured_view(operation)
    if view is not None:
        return not view.reduction_loops or _takes_few_steps(view)
    return is_memory_effect_free(operation) and not any(
        isinstance(result.type, TensorType) for result in operation.results
    )


def _takes_few_steps(view: StructuredView) -> bool:
    """Return whether a loop nest takes few steps, and gains nothing by layouts of operands."""
    sizes = view.loop_sizes()
    if None in sizes:
        return False
    steps, *elements = (
        prod(sizes[loop] or 0 for loop in loops)
        for loops in (range(len(sizes)), *(map_.used_dims() for map_ in view.input_maps))
    )
    return steps <= max(SHORT_PRODUCT, min(SHORT_STEP, LITTLE_REUSE * max(elements, default=0)))


def _carries_updates(loop: Operation) -> bool:
    """Return whether all that a loop carries is computed in few steps, or updated by it."""
    return keeps_types(loop) and all(
        _is_small(each, SHORT_STEP) or updated_tensor(each) is not None for each in loop.results
    )
