"""Where buffers lie in one block of memory: those that live at the same time do not overlap."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector."""

MANY = 2000
"""Buffers for which comparing each with each takes too long."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer of `size` bytes that is needed from one command to another, both included."""

    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The byte offset of every buffer, and the size of the whole."""

    offsets: tuple[int, ...]
    size: int


def aligned(size: int) -> int:
    """A size rounded up to whole cache lines."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place(lifetimes: Sequence[Lifetime]) -> Placement:
    """Place buffers in some orders, each in the lowest gap that is free while it lives.

    The best order is taken: by size, by size and time together, or as they are first needed. The
    first is "greedy by size" (Pisarchyk and Lee, "Efficient memory management for deep neural net
    inference", 2020); where few buffers of similar size make up the peak, another is often better.
    """
    if len(lifetimes) > MANY:
        return _place_in_time(lifetimes)
    least = peak(lifetimes)
    best = _place_in_time(lifetimes)
    for key in ORDERS:
        if best.size <= least:
            break
        order = sorted(range(len(lifetimes)), key=lambda index: key(lifetimes[index]))
        found = _place_in_order(lifetimes, order)
        best = min(best, found, key=lambda placement: placement.size)
    return best


ORDERS: tuple[Callable[[Lifetime], tuple[int, ...]], ...] = (
    lambda one: (-one.size, one.first),
    lambda one: (-one.size * (one.last - one.first + 1), one.first),
    lambda one: (one.first - one.last, -one.size),
    lambda one: (-one.size, -one.last),
)
"""What to place first."""


def peak(lifetimes: Sequence[Lifetime]) -> int:
    """The bytes of what lives at the same time at most: no placement needs less."""
    changes: dict[int, int] = {}
    for one in lifetimes:
        size = aligned(one.size)
        changes[one.first] = changes.get(one.first, 0) + size
        changes[one.last + 1] = changes.get(one.last + 1, 0) - size
    highest = now = 0
    for position in sorted(changes):
        now += changes[position]
        highest = max(highest, now)
    return highest


def _place_in_order(lifetimes: Sequence[Lifetime], order: Sequence[int]) -> Placement:
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    total = 0
    for index in order:
        own = lifetimes[index]
        size = aligned(own.size)
        occupied = sorted(
            (offsets[other], offsets[other] + aligned(lifetimes[other].size))
            for other in placed
            if lifetimes[other].first <= own.last and own.first <= lifetimes[other].last
        )
        offset = 0
        for start, end in occupied:
            if offset + size <= start:
                break
            offset = max(offset, end)
        offsets[index] = offset
        placed.append(index)
        total = max(total, offset + size)
    return Placement(tuple(offsets), total)


def _place_in_time(lifetimes: Sequence[Lifetime]) -> Placement:
    """Place buffers in the order in which they are first needed, each in the lowest free gap."""
    offsets = [0] * len(lifetimes)
    alive: list[tuple[int, int, int]] = []
    total = 0
    for index in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first):
        own = lifetimes[index]
        size = aligned(own.size)
        alive = [entry for entry in alive if entry[2] >= own.first]
        offset = 0
        for start, end, _ in alive:
            if offset + size <= start:
                break
            offset = max(offset, end)
        offsets[index] = offset
        insort(alive, (offset, offset + size, own.last))
        total = max(total, offset + size)
    return Placement(tuple(offsets), total)
