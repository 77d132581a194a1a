"""Nests of loops that are cut into tiles of work."""

from __future__ import annotations

from collections.abc import Callable

from .ast_builder import AstBuilder, Term
from .kernel_text import TileCount
from .writer import Indices


def write_tiled_loops(
    code: AstBuilder, sizes: Indices, inner: Callable[[Indices], None]
) -> TileCount:
    """Loops over all of `sizes`, whose outermost one or two that matter are cut into tiles."""
    long = [dimension for dimension, size in enumerate(sizes) if size != 1]
    cut = long[:2] if len(long) > 2 else long[: max(1, len(long) - 1)]
    if not cut:
        with code.loop("first", "last"):
            inner((0,) * len(sizes))
        return TileCount()

    def nest(dimension: int, indices: Indices) -> None:
        if dimension == len(sizes):
            inner(indices)
        elif dimension in cut or sizes[dimension] == 1:
            nest(dimension + 1, indices)
        else:
            with code.loop(0, sizes[dimension]) as index:
                nest(
                    dimension + 1,
                    (*indices[:dimension], index, *indices[dimension + 1 :]),
                )

    with code.loop("first", "last") as tile:
        start: list[Term] = [0] * len(sizes)
        if len(cut) == 1:
            start[cut[0]] = tile
        else:
            start[cut[0]] = code.floor_divide(tile, sizes[cut[1]])
            start[cut[1]] = code.modulo(tile, sizes[cut[1]])
        nest(0, tuple(start))
    return TileCount(tuple(((sizes[dimension],), 1) for dimension in cut))
