"""Tensors whose dimensions change places, where the last one does: square by square.

Elements that lie in a row of the source lie in a column of the result. So squares are read as
vectors, transposed in registers and written as vectors, one at a time if its rows fill cache lines,
else four. What is left at the edges is copied one by one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import product

from xdsl.ir import SSAValue

from ..microkernels.transposes import square_of
from .ast_builder import AstBuilder, Term
from .kernel_text import TileCount
from .moved_operands import moved_source
from .tiled_loops import Span, loops_over, tile_spans
from .writer import Indices, KernelWriter

CACHE_LINE = 64

BLOCKS = 4
"""Blocks of a tile of work along either side."""


def write_transpose(writer: KernelWriter) -> TileCount | None:
    """The loops of a kernel that only permutes a stored tensor; `None` for any other."""
    code = writer.code
    (result,) = writer.results if len(writer.results) == 1 else (None,)
    found = moved_source(result, writer.is_inline) if isinstance(result, SSAValue) else None
    if found is None or not isinstance(result, SSAValue):
        return None
    source, permutation = found
    shape, last = writer.shape(result), len(permutation) - 1
    row, column = permutation[last] if permutation else 0, last
    element = writer.element_of(result)
    square = square_of(element.storage_bytes)
    side = square if square * element.storage_bytes == CACHE_LINE else 2 * square
    if row == column or any(_is_less(shape[each], side) for each in (row, column)):
        return None
    base, start = writer.address(result), writer.address(source)
    source_shape = tuple(shape[each] for each in permutation)

    def places(indices: Indices) -> tuple[Term, Term]:
        at = tuple(indices[each] for each in permutation)
        return code.linear(indices, shape), code.linear(at, source_shape)

    def stride(sizes: Indices, dimension: int) -> Term:
        return code.product(sizes[dimension + 1 :])

    steps = stride(shape, row), stride(source_shape, permutation.index(column))
    primitive = f"transpose_{element.storage_bytes}"

    def copy_square(indices: Indices) -> None:
        to, taken = places(indices)
        code.run(primitive, base, to, steps[0], start, taken, steps[1])

    def copy(indices: Indices) -> None:
        to, taken = places(indices)
        writer.store(result, to, writer.load(source, taken))

    outer = [each for each in range(last) if each != row]
    cuts = [(each, 1) for each in outer if shape[each] != 1][:2]
    cuts += [(row, side * BLOCKS), (column, side * BLOCKS)]

    def at(numbers: Sequence[Term], r: Term, c: Term) -> Indices:
        indices = dict(zip(outer, numbers, strict=True)) | {row: r, column: c}
        return tuple(indices[each] for each in range(len(shape)))

    with code.loop("first", "last") as work:
        pieces = tile_spans(code, work, [(shape[each], chunk) for each, chunk in cuts])
        spans = dict(zip([each for each, _ in cuts], pieces, strict=True))
        outside = [spans.get(each, (0, shape[each])) for each in outer]
        with loops_over(code, outside) as numbers:
            with _whole_blocks(code, spans[row], spans[column], side) as (r, c):
                for down, right in product(range(0, side, square), repeat=2):
                    copy_square(at(numbers, code.add(r, down), code.add(c, right)))
            for rest in _remainders(code, spans[row], spans[column], side):
                with loops_over(code, rest) as (r, c):
                    copy(at(numbers, r, c))
    return TileCount(tuple(((shape[each],), chunk) for each, chunk in cuts))


@contextmanager
def _whole_blocks(
    code: AstBuilder, rows: Span, columns: Span, side: int
) -> Generator[tuple[Term, Term]]:
    """Loops over the whole blocks of rows and columns: where each begins."""
    row_end, column_end = _whole(code, rows, side), _whole(code, columns, side)
    with code.loop(columns[0], column_end, side) as c, code.loop(rows[0], row_end, side) as r:
        yield r, c


def _remainders(code: AstBuilder, rows: Span, columns: Span, side: int) -> Iterator[list[Span]]:
    """The rows and columns that are in no whole block: beside the blocks, and below them."""
    row_end, column_end = _whole(code, rows, side), _whole(code, columns, side)
    beside: list[Span] = [(rows[0], row_end), (column_end, columns[1])]
    below: list[Span] = [(row_end, rows[1]), columns]
    for rest in (beside, below):
        if all(start != stop for start, stop in rest):
            yield rest


def _is_less(size: Term, least: int) -> bool:
    return isinstance(size, int) and size < least


def _whole(code: AstBuilder, span: Span, side: int) -> Term:
    """Where the last whole block of a span ends."""
    size = code.subtract(span[1], span[0])
    return code.add(span[0], code.multiply(code.floor_divide(size, side), side))
