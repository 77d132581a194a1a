"""Decompose tiling, and padding by elements: mirrored, repeated, or from the other end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .rules import decomposition, is_empty, is_static, require, torch

Ends = Callable[[Any, int, int, int], tuple[Any, Any]]
"""Returns what is put before and after a tensor along an axis, of the given sizes."""


def _padded(x: Any, padding: Sequence[Any], ends: Ends) -> Any:
    """Join a tensor with slices of it, and leave out elements where the padding is negative.

    PyTorch looks up each element by its index, and torch-mlir's linalg ignores negative padding.
    """
    require(is_static(padding))
    for dimension, sizes in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        axis = x.ndim - 1 - dimension
        before, after = (max(-size, 0) for size in sizes)
        # Elements that are left out may be repeated at the other end.
        first, last = ends(x, axis, *(max(size, 0) for size in sizes))
        x = torch.cat((first, x, last), axis)
        if before or after:
            x = x.narrow(axis, before, x.shape[axis] - before - after)
    return x


@decomposition(*(f"reflection_pad{rank}d.default" for rank in (1, 2, 3)))
def reflection_pad(x: Any, padding: Sequence[Any]) -> Any:
    def ends(x: Any, axis: int, before: int, after: int) -> tuple[Any, Any]:
        last = x.narrow(axis, x.shape[axis] - 1 - after, after)
        return x.narrow(axis, 1, before).flip(axis), last.flip(axis)

    return _padded(x, padding, ends)


@decomposition(*(f"replication_pad{rank}d.default" for rank in (1, 2, 3)))
def replication_pad(x: Any, padding: Sequence[Any]) -> Any:
    def ends(x: Any, axis: int, before: int, after: int) -> tuple[Any, Any]:
        one = x.narrow(axis, 0, 1), x.narrow(axis, x.shape[axis] - 1, 1)
        first, last = (
            each.expand([size if at == axis else -1 for at in range(x.ndim)])
            for each, size in zip(one, (before, after), strict=True)
        )
        return first, last

    return _padded(x, padding, ends)


@decomposition("_pad_circular.default")
def circular_pad(x: Any, padding: Sequence[Any]) -> Any:
    def ends(x: Any, axis: int, before: int, after: int) -> tuple[Any, Any]:
        return x.narrow(axis, x.shape[axis] - before, before), x.narrow(axis, 0, after)

    # Negative padding leaves out elements before others are repeated.
    require(is_static(padding) and min(padding) >= 0)
    return _padded(x, padding, ends)


@decomposition("repeat.default")
def repeat(x: Any, counts: Sequence[Any]) -> Any:
    """Return a tensor of no elements; torch-mlir divides an open size by the known ones."""
    shape = (*(1,) * (len(counts) - x.dim()), *x.shape)
    sizes = [count * size for count, size in zip(counts, shape, strict=True)]
    require(is_empty(sizes))
    return x.new_zeros(sizes)
