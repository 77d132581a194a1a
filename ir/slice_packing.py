"""Pack slices into one allocation; slices may overlap only if their lifetimes do not."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

ALIGNMENT = 64
"""The default alignment of offsets in bytes, as on IREE's host devices."""

Lifetime = tuple[int, int]
"""The first and last step at which a slice is live."""


def pack_slices(
    lifetimes: Sequence[Lifetime], sizes: Sequence[int], alignment: int = ALIGNMENT
) -> tuple[int, list[int]]:
    """Return the size of the allocation in bytes and the offset of each slice (first fit)."""
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
    """Round a size up to the alignment."""
    return -(-size // alignment) * alignment
