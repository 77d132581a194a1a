"""Write loops over blocks of two dimensions, the rows and the columns, and over their edges."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from ..code.ast_builder import AstBuilder, Term
from ..elements.kernel_text import TileCount
from ..elements.writer import Indices
from .tiles import Span, loops_over, tile_spans

At = Callable[[Term, Term], Indices]
"""Returns the indices for a row and a column, inside of the loops over other dimensions."""


WriteBlock = Callable[[At, Term, Term], None]
"""Writes a block that begins at a row and a column."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The rows and columns of a block, and the blocks in a tile of work along each."""

    sides: tuple[int, int]
    counts: tuple[int, int]


def write_blocks(
    code: AstBuilder,
    factors: Sequence[Indices],
    row: int,
    blocks: Blocks,
    whole: WriteBlock,
    single: Callable[[Indices], None],
    smaller: tuple[tuple[int, int], WriteBlock] | None = None,
) -> TileCount:
    """Write loops over blocks of the dimension `row` and the last one, and over their edges.

    Edges are written in `smaller` blocks where they fit. The size of each dimension is a product of
    factors, which are numbers or constants.
    """
    shape = [code.product(each) for each in factors]
    sides, (down, across) = blocks.sides, blocks.counts
    last = column = len(shape) - 1
    outer = [each for each in range(last) if each != row]
    cuts = [(each, 1) for each in outer if shape[each] != 1][:2]
    # Consecutive tiles go along the rows of the source: where rows are not aligned to tiles, both
    # tiles read some of the same cache lines.
    cuts += [(column, sides[1] * across), (row, sides[0] * down)]

    def at(numbers: Sequence[Term], r: Term, c: Term) -> Indices:
        indices = dict(zip(outer, numbers, strict=True)) | {row: r, column: c}
        return tuple(indices[each] for each in range(len(shape)))

    with code.loop("first", "last") as work:
        pieces = tile_spans(code, work, [(shape[each], chunk) for each, chunk in cuts])
        spans = dict(zip([each for each, _ in cuts], pieces, strict=True))
        outside = [spans.get(each, (0, shape[each])) for each in outer]
        with loops_over(code, outside) as numbers:
            place = partial(at, numbers)
            rests: Iterable[Sequence[Span]] = [(spans[row], spans[column])]
            for each, write in ((sides, whole), *([smaller] if smaller else [])):
                edges: list[Sequence[Span]] = []
                for rows, columns in rests:
                    with _whole_blocks(code, rows, columns, each) as (r, c):
                        write(place, r, c)
                    edges += _remainders(code, rows, columns, each)
                rests = edges
            for rest in rests:
                with loops_over(code, rest) as (r, c):
                    single(place(r, c))
    return TileCount(tuple((factors[each], chunk) for each, chunk in cuts))


@contextmanager
def _whole_blocks(
    code: AstBuilder, rows: Span, columns: Span, sides: tuple[int, int]
) -> Generator[tuple[Term, Term]]:
    """Write loops over whole blocks of rows and columns; yield where each begins."""
    row_end, column_end = _whole(code, rows, sides[0]), _whole(code, columns, sides[1])
    with (
        code.loop(columns[0], column_end, sides[1]) as c,
        code.loop(rows[0], row_end, sides[0]) as r,
    ):
        yield r, c


def _remainders(
    code: AstBuilder, rows: Span, columns: Span, sides: tuple[int, int]
) -> Iterator[list[Span]]:
    """Yield the rows and columns outside of whole blocks: right of the blocks, then below them."""
    row_end, column_end = _whole(code, rows, sides[0]), _whole(code, columns, sides[1])
    beside: list[Span] = [(rows[0], row_end), (column_end, columns[1])]
    below: list[Span] = [(row_end, rows[1]), columns]
    for rest in (beside, below):
        if all(start != stop for start, stop in rest):
            yield rest


def is_less(size: Term, least: int) -> bool:
    """Return whether a size is known to be less than a number."""
    return isinstance(size, int) and size < least


def _whole(code: AstBuilder, span: Span, side: int) -> Term:
    """Return the end of the last whole block of a span."""
    size = code.subtract(span[1], span[0])
    return code.add(span[0], code.multiply(code.floor_divide(size, side), side))
