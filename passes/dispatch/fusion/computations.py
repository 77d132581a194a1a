"""Which operations kernels compute on devices; the others are left to the host program."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from ...stream.analysis.device_placement import DevicePlacement
from .iteration_space import is_broadcast
from .operation_kinds import ENCODING_OPS, FLOW_VIEWS, is_collective, is_rematerialized
from .update_loops import is_update_loop

HOST_DIALECTS = frozenset(
    {"cf", "flow", "func", "hal", "ml_program", "scf", "shard", "stream", "util"}
)
"""Operations of these dialects belong to the host program, except parallel loops."""

HOST_OPERATIONS = frozenset(
    {"arith.constant", "tensor.dim", "tensor.extract", "tensor.rank", "tosa.variable_read"}
)
"""Further operations of the host program, although they make or read tensors."""

PARALLEL_LOOPS = frozenset({"scf.forall"})
"""Loops that run in a kernel, since their iterations are independent."""


def is_computation(operation: Operation) -> bool:
    """Return whether an operation computes tensors on a device."""
    if operation.name in PARALLEL_LOOPS or is_collective(operation):
        return bool(operation.results)
    if is_update_loop(operation):
        return True
    if operation.name.partition(".")[0] in HOST_DIALECTS or operation.name in HOST_OPERATIONS:
        return False
    if operation.name in FLOW_VIEWS:
        return False
    if operation.next_op is None and operation.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    return any(isinstance(result.type, TensorType) for result in operation.results)


def rematerialized_broadcasts(
    blocks: Sequence[Block], placement: DevicePlacement
) -> set[Operation]:
    """Return the broadcasts that each reading kernel repeats: all readers run on its device."""
    found: set[Operation] = set()
    for block in blocks:
        for operation in block.ops:
            if is_broadcast(operation) and is_computation(operation):
                affinity = placement.runs_on(operation)
                if all(
                    _is_kernel(use.operation) and placement.runs_on(use.operation) == affinity
                    for use in operation.results[0].uses
                ):
                    found.add(operation)
    return found


def _is_kernel(operation: Operation) -> bool:
    return (
        is_computation(operation)
        and operation.name not in ENCODING_OPS
        and not is_rematerialized(operation)
        and not is_collective(operation)
    )
