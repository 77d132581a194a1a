"""Which dimensions a slice keeps whose type has fewer of them than it has sizes."""

from __future__ import annotations

from collections.abc import Sequence


def kept_dimensions(sizes: Sequence[int], slice_shape: Sequence[int]) -> tuple[int, ...] | None:
    """For each dimension of a slice's type, the dimension of the tensor that it is a part of.

    Dimensions of size 1 may be dropped, the last ones first where several could be, as in MLIR's
    `computeRankReductionMask`. Sizes known at run time are negative on both sides. `None` where
    the shape is not that of such a slice.
    """
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        wanted = slice_shape[len(kept)] if len(kept) < len(slice_shape) else None
        if wanted is not None and (size == wanted or (size < 0 and wanted < 0)):
            kept.append(dimension)
        elif size != 1:
            return None
    return tuple(kept) if len(kept) == len(slice_shape) else None
