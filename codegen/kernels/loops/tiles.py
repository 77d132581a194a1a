"""Loop nests that are cut into tiles of work."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from ..code.ast_builder import AstBuilder, Term
from ..elements.kernel_text import TileCount
from ..elements.writer import Indices


def write_tiled_loops(
    code: AstBuilder,
    sizes: Indices,
    inner: Callable[[Indices], None],
    breaks: Sequence[int] = (),
) -> TileCount:
    """Write loops over all of `sizes`; tiles are iterations of the outermost one or two.

    Loops of size 1 are skipped. The innermost loop is cut at `breaks` into pieces with loops of
    their own, whose index ranges are known to the code in them.
    """
    long = [dimension for dimension, size in enumerate(sizes) if size != 1]
    cut = long[:2] if len(long) > 2 else long[: max(1, len(long) - 1)]
    if not cut:
        with code.loop("first", "last"):
            inner((0,) * len(sizes))
        return TileCount()

    last = long[-1]
    pieces = list(pairwise((0, *breaks, sizes[last])))

    def nest(dimension: int, indices: Indices) -> None:
        if dimension == len(sizes):
            inner(indices)
        elif dimension in cut or sizes[dimension] == 1:
            nest(dimension + 1, indices)
        else:
            for piece in pieces if dimension == last else [(0, sizes[dimension])]:
                with code.loop(*piece) as index:
                    if dimension == last:
                        code.bound(index, *piece)
                    nest(
                        dimension + 1,
                        (*indices[:dimension], index, *indices[dimension + 1 :]),
                    )

    start: list[Term] = [0] * len(sizes)
    if cut == [last]:
        for piece in pieces:
            begin, end = ("first", "last") if len(pieces) == 1 else _meeting(code, *piece)
            with code.loop(begin, end) as tile:
                code.bound(tile, *piece)
                start[last] = tile
                nest(0, tuple(start))
        return TileCount((((sizes[last],), 1),))
    with code.loop("first", "last") as tile:
        if len(cut) == 1:
            start[cut[0]] = tile
        else:
            start[cut[0]] = code.floor_divide(tile, sizes[cut[1]])
            start[cut[1]] = code.modulo(tile, sizes[cut[1]])
        nest(0, tuple(start))
    return TileCount(tuple(((sizes[dimension],), 1) for dimension in cut))


def _meeting(code: AstBuilder, start: Term, stop: Term) -> Span:
    """Return the span of the tiles from `first` to `last` that are in a span."""
    return code.call("maxsi_i64", "first", start), code.minimum("last", stop)


@contextmanager
def flat_loop(code: AstBuilder, size: Term, chunk: int) -> Generator[str]:
    """Write a loop over `range(size)` in which a tile of work is `chunk` numbers."""
    with code.loop("first", "last") as tile:
        start = code.multiply(tile, chunk)
        with code.loop(start, code.minimum(code.add(start, chunk), size)) as position:
            yield position


Span = tuple[Term, Term]
"""The begin and the end of a loop."""


def even_part(size: int, most: int, multiple: int = 1) -> int:
    """Return the length of few parts of similar length, of which `most` is a multiple: 7 of at most
    4 are 4 and 3.
    """
    count = -(-size // most)
    return -(-size // (count * multiple)) * multiple


def tiles_of_loop(
    code: AstBuilder, span: Span, size: Term, most: int
) -> list[tuple[Term, Term, int]]:
    """Return tiles that cover a span of a loop: where those of one length begin, end, the length.

    Several tiles with one point less beat one with few points: 56 points, at most 6 at once, are 6
    tiles of 6 and 4 of 5. `size` is that of the whole loop; a span is all of it, or its tiles of
    `most` points end where another span begins.
    """
    start, stop = span
    if isinstance(size, int) and (start, stop) == (0, size):
        count = -(-size // most)
        length = -(-size // count)
        end: Term = size - (count * length - size) * (length - 1)
        shorter = length - 1
    else:
        length, shorter = most, size % most if isinstance(size, int) else 1
        whole = code.multiply(code.floor_divide(code.subtract(stop, start), most), most)
        end = code.add(start, whole)
    tiles = [(start, end, length), (end, stop, shorter)]
    return [(first, last, count) for first, last, count in tiles if count and first != last]


def extent_of_tile(code: AstBuilder, size: Term, start: Term, most: int) -> Term:
    """Return the points of a tile of at most `most` points of a loop: less at the end."""
    if isinstance(size, int) and size % most == 0:
        return most
    return code.minimum(code.subtract(size, start), most)


def tile_spans(code: AstBuilder, tile: Term, cuts: Sequence[tuple[Term, int]]) -> list[Span]:
    """Return the spans of the loops in a tile of work; `cuts` are pairs of size and chunk."""
    spans: list[Span] = []
    for size, chunk in reversed(cuts):
        count = code.ceiling_divide(size, chunk)
        start = code.multiply(code.modulo(tile, count), chunk)
        spans.append((start, code.minimum(code.add(start, chunk), size)))
        tile = code.floor_divide(tile, count)
    return spans[::-1]


@contextmanager
def loops_over(
    code: AstBuilder, spans: Sequence[Span], indices: Indices = ()
) -> Generator[Indices]:
    """Write nested loops over spans; yield their indices."""
    if not spans:
        yield indices
        return
    with (
        code.loop(*spans[0]) as index,
        loops_over(code, spans[1:], (*indices, index)) as found,
    ):
        yield found
