"""What a partitioned program costs each device: bytes sent with ring algorithms, and work."""

from __future__ import annotations

from math import prod

from mesh_opt.dialects.linalg.structured_view import IteratorType, structured_view
from mesh_opt.passes.sharding.cost.collective_traffic import bytes_sent
from mesh_opt.sharding.collective_rows import PURE_COLLECTIVES, SEND
from xdsl.ir import Operation


def collective_bytes(module: Operation) -> float:
    """Return the bytes that a device sends in all collectives of a module. Loops count once.

    Raises ValueError for a collective on a tensor of dynamic size.
    """
    total = 0.0
    for operation in module.walk():
        if operation.name in PURE_COLLECTIVES or operation.name == SEND.operation:
            sent = bytes_sent(operation)
            if sent is None:
                raise ValueError(f"the bytes of {operation} are unknown")
            total += sent
    return total


def contraction_work(module: Operation) -> int:
    """Return the sum over all products of a module with static shapes. Loops count once.

    An operation is a product if it has at least two inputs and a reduction loop.
    """
    return sum(map(_work, module.walk()))


def _work(operation: Operation) -> int:
    view = structured_view(operation)
    if view is None or len(view.inputs) < 2 or IteratorType.REDUCTION not in view.iterators:
        return 0
    return 2 * prod(size or 1 for size in view.loop_sizes())
