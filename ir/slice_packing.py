"""Offsets of slices of one storage, which overlap only where their lifetimes do not."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

ALIGNMENT = 64
"""What offsets of resources are multiples of, as on IREE's hosts."""

Lifetime = tuple[int, int]
"""The first and the last step at which a slice is needed."""


def pack_slices(
    lifetimes: Sequence[Lifetime], sizes: Sequence[int], alignment: int = ALIGNMENT
) -> tuple[int, list[int]]:
    """The bytes of the storage, and the first byte of each slice: the lowest that is free."""
    placed: list[tuple[int, int, Lifetime]] = []
    offsets: list[int] = []
    for (first, last), size in zip(lifetimes, sizes, strict=True):
        offset = 0
        for start, end, (others_first, others_last) in placed:
            if others_first <= last and first <= others_last:
                if offset + size <= start:
                    break
                offset = max(offset, end)
        offsets.append(offset)
        insort(placed, (offset, offset + aligned(size, alignment), (first, last)))
    return max((end for _, end, _ in placed), default=0), offsets


def aligned(size: int, alignment: int = ALIGNMENT) -> int:
    """A size with what is left free behind it."""
    return -(-size // alignment) * alignment
