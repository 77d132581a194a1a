"""Find repeated layers in the order of a program, so that they are decided together.

Operations are given by a hashable description and by the operations whose results they read. A
layer repeats if the stretch of operations right after it looks the same and reads its results. The
first operations of all repetitions are then decided together, likewise the second ones, and so on:

    a b c | a b c | a b d      gives the layers `a b c`, twice

Equal stretches that do not read each other may be decided differently, such as the projections of
attention to queries, keys and values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

CANDIDATES = 24
"""Maximum number of periods that are tried."""
MIN_LENGTH = 2
"""Minimum number of operations in a layer."""


def repeated(looks: Sequence[Hashable], reads: Sequence[Sequence[int]]) -> list[int]:
    """Return for each operation the first one that it is decided together with, or itself.

    `reads[i]` are the operations whose results operation `i` reads. A chain that looks like `a b c
    a b c a b d` gives 0 1 2 0 1 2 0 1 8.
    """
    first = list(range(len(looks)))
    pending = [(0, len(looks))]
    while pending:
        start, end = pending.pop()
        found = _longest_run(looks, reads, start, end)
        if found is None:
            continue
        low, high, period = found
        for index in range(low + period, high):
            first[index] = first[index - period]
        pending += [(start, low), (high, end)]
    return first


def _longest_run(
    looks: Sequence[Hashable], reads: Sequence[Sequence[int]], start: int, end: int
) -> tuple[int, int, int] | None:
    """Return the longest repeating stretch as (start, end, period), or `None`."""
    best: tuple[int, int, int] | None = None
    for period in _periods(looks, start, end):
        for low, high in _runs(looks, start, end, period):
            length = high - low
            is_longer = best is None or (length, -period) > (best[1] - best[0], -best[2])
            if length >= 2 * period and is_longer and _is_chain(reads, low, period):
                best = low, high, period
    return best


def _is_chain(reads: Sequence[Sequence[int]], low: int, period: int) -> bool:
    """Return whether the second repetition reads a result of the first."""
    return any(
        low <= source < low + period
        for index in range(low + period, low + 2 * period)
        for source in reads[index]
    )


def _runs(
    looks: Sequence[Hashable], start: int, end: int, period: int
) -> Iterator[tuple[int, int]]:
    """Yield the stretches in which each operation looks like the one a period later."""
    low = start
    for index in range(start, end - period + 1):
        if index == end - period or looks[index] != looks[index + period]:
            if index > low:
                yield low, index + period
            low = index + 1


def _periods(looks: Sequence[Hashable], start: int, end: int) -> list[int]:
    """Return distances between operations that look alike, sorted by how much they explain."""
    last: dict[Hashable, int] = {}
    gaps: Counter[int] = Counter()
    for index in range(start, end):
        before = last.get(looks[index])
        if before is not None and index - before >= MIN_LENGTH:
            gaps[index - before] += index - before
        last[looks[index]] = index
    return [gap for gap, _ in sorted(gaps.items(), key=lambda each: (-each[1], each[0]))][
        :CANDIDATES
    ]
