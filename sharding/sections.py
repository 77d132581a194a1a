"""Sections: the parts of a split dimension that processes read, and how they come to them.

A process holds its own part. What it lacks is sent to it by its neighbours as borders, or by
whoever has it in pieces, or all parts are gathered: whatever is the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from .factors import Window
from .local_shape import default_borders
from .pieces import Exchange, Interval, plan_exchange

Borders = tuple[int, int]
"""How many elements of the neighbours below and above a process needs."""

MOST_PARTS = 64
"""Pieces are planned for so many processes at most, since each may have some for each."""


def best_way(
    owned: Sequence[Interval], wanted: Sequence[Interval]
) -> tuple[Borders | Exchange | None, int]:
    """What to exchange (`None`: gather all), and how many elements each process sends then.

    `owned` are the parts of the dimension and `wanted` the sections, in the processes' order.
    """
    low = high = 0
    for (first, last), (start, end) in zip(wanted, owned, strict=True):
        if first < last:
            low, high = max(low, start - first), max(high, last - end)
    smallest = min(end - start for start, end in owned)
    least = owned[-1][1] - smallest
    found: Borders | Exchange | None = None
    if max(low, high) <= smallest and low + high <= least:
        # Of two processes each is the other's neighbour on one side only.
        found, least = (low, high), low + high if len(owned) > 2 else max(low, high)
    exchange = plan_exchange(owned, wanted) if least and len(owned) <= MOST_PARTS else None
    if exchange is None:
        return found, least
    # One round that sends as much as a gather would leaves less to hold.
    leaves_less = exchange.sent == least and found is None and len(exchange.rounds) == 1
    return (exchange, exchange.sent) if exchange.sent < least or leaves_less else (found, least)


@lru_cache(maxsize=4096)
def _elements(window: Window, size: int, parts: int) -> int:
    owned = list(pairwise(default_borders(window.extent, parts)))
    wanted = [window.read(start, end) for start, end in pairwise(default_borders(size, parts))]
    return best_way(owned, wanted)[1]


def window_bytes(window: Window, size: int, parts: int, whole: float) -> float:
    """What each process sends for all to have what they read of an operand of `whole` bytes.

    `size` is the extent of the factor along which the operand is read, split in `parts` parts; of
    other splits of the operand `whole` is one process's share.
    """
    return whole * _elements(window, size, parts) / max(1, window.extent)
