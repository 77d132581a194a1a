"""Count the bytes that each device of a partitioned program sends with ring algorithms."""

from __future__ import annotations

from mesh_opt.passes.sharding.collective_traffic import bytes_sent
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
