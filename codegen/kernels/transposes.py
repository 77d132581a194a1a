"""Transpose tensors whose last dimension changes, in squares that fit in registers.

A row of the source is a column of the result. Squares are therefore loaded as vectors, transposed
in registers and stored as vectors: one at a time if their rows fill cache lines, otherwise four.
The remaining edges are copied element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ..microkernels.transposes import CACHE_LINE, square_of
from ..scalar_ops.scalars import is_scalar_operation
from .ast_builder import AstBuilder, Term
from .kernel_text import TileCount
from .permuted_operands import Permutation, permuted_source
from .tiled_loops import Span, loops_over, tile_spans
from .writer import Indices, KernelWriter

BLOCKS = 4
"""The blocks in a tile of work, along each dimension."""

STREAMED_BLOCKS = 2
"""The blocks in a tile of work, down the rows of a result with streaming stores."""

MIN_STREAMED_BYTES = 1 << 23
"""Bytes of a result from which on it is written by streaming stores.

Otherwise its cache lines are read before they are written.
"""

MIN_STREAMED_CONFLICT_BYTES = 1 << 20
"""The same limit for rows a multiple of `CACHE_SET_STRIDE` apart, whose lines evict each other."""

CACHE_SET_STRIDE = 1 << 12
"""The distance in bytes of cache lines that map to the same set of an L1 cache.

At half this distance, a tile of work has one block down the rows, so that lines are complete before
others evict them.
"""

BLOCK_BYTES = 128
"""Bytes of a row of a block on the stack."""

BLOCK_SCOPE = 31
"""The alias scope of such blocks: the last one, not used by kernels of so few operands."""


def write_transpose(writer: KernelWriter) -> TileCount | None:
    """Write a kernel that only permutes a stored tensor; return `None` for any other kernel.

    Raises OperationError for unsupported element types.
    """
    code = writer.code
    (result,) = writer.results if len(writer.results) == 1 else (None,)
    found = permuted_source(result, writer.is_fused) if isinstance(result, SSAValue) else None
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
    steps = _stride(code, shape, row), _stride(code, source_shape, permutation.index(column))
    bytes_ = element.storage_bytes
    is_streamed = _is_streamed(shape, bytes_, steps[0])
    is_near = isinstance(steps[0], int) and steps[0] * bytes_ % (CACHE_SET_STRIDE // 2) == 0
    down = STREAMED_BLOCKS if is_streamed else 1 if is_near else BLOCKS

    def places(indices: Indices) -> tuple[Term, Term]:
        at = tuple(indices[each] for each in permutation)
        return code.linear(indices, shape), code.linear(at, source_shape)

    def copy_squares(primitive: str, at: At, r: Term, c: Term) -> None:
        for below, right in product(range(0, side, square), repeat=2):
            to, taken = places(at(code.add(r, below), code.add(c, right)))
            if is_streamed:
                # Prefetch what the next tile reads.
                following = code.add(taken, side * down)
                for number in range(square):
                    place = code.add(following, code.multiply(steps[1], number))
                    code.run(f"prefetch_{element.name}", start, place)
            code.run(primitive, base, to, steps[0], start, taken, steps[1])

    def copy_block(at: At, r: Term, c: Term) -> None:
        if not is_streamed:
            copy_squares(f"transpose_{bytes_}", at, r, c)
            return
        with code.when(code.compare("eq", code.modulo(base, CACHE_LINE), 0)):
            copy_squares(f"streamtranspose_{bytes_}", at, r, c)
        with code.otherwise():
            copy_squares(f"transpose_{bytes_}", at, r, c)

    def copy(indices: Indices) -> None:
        to, taken = places(indices)
        writer.store(result, to, writer.load(source, taken))

    tiles = _write_blocks(code, shape, row, (side, down), copy_block, copy)
    if is_streamed:
        code.run("fence")
    return tiles


def _is_streamed(shape: Indices, storage_bytes: int, step: Term) -> bool:
    """Return whether a result is large, and vectors fill the cache lines of its rows.

    `step` is the distance in elements between the rows of a block.
    """
    known = [each for each in shape if isinstance(each, int)]
    size, row = prod(known) * storage_bytes, known[-1] * storage_bytes if known else 0
    is_known = len(known) == len(shape)
    is_line = square_of(storage_bytes) * storage_bytes == CACHE_LINE
    is_apart = isinstance(step, int) and step * storage_bytes % CACHE_SET_STRIDE == 0
    least = MIN_STREAMED_CONFLICT_BYTES if is_apart else MIN_STREAMED_BYTES
    return is_known and is_line and size >= least and row % CACHE_LINE == 0


def write_with_transposes(
    writer: KernelWriter, results: Sequence[SSAValue], store: Callable[[Indices], None]
) -> TileCount | None:
    """Write a kernel that reads permuted tensors, among others; return `None` for other kernels.

    Blocks of the permuted tensors are transposed to memory on the stack, from which elements are
    read. Raises OperationError for unsupported element types.
    """
    code, shape = writer.code, writer.shape(results[0])
    column = len(shape) - 1
    if column < 1:
        return None
    found = [
        (value, *origin)
        for value, origin in _permuted_operands(writer, results).items()
        if origin[1][column] != column
    ]
    rows = {permutation[column] for _, _, permutation in found}
    if len(rows) != 1:
        return None
    (row,) = rows
    widest = max(writer.element_of(value).storage_bytes for value, _, _ in found)
    side = BLOCK_BYTES // widest
    if widest > 8 or any(_is_less(shape[each], side) for each in (row, column)):
        return None
    stored = [_Block(writer, value, source, order, side) for value, source, order in found]

    def compute_block(at: At, r: Term, c: Term) -> None:
        for each in stored:
            each.transpose(at, r, c)
        with code.loop(0, side) as i, code.loop(0, side) as j:
            indices = at(code.add(r, i), code.add(c, j))
            place = code.add(code.multiply(i, side), j)
            for each in stored:
                code.remember((each.value, indices), each.load(place))
            store(indices)

    return _write_blocks(code, shape, row, (side, BLOCKS), compute_block, store)


class _Block:
    """A block of a permuted tensor, on the stack in the order of the result."""

    def __init__(
        self,
        writer: KernelWriter,
        value: SSAValue,
        source: SSAValue,
        permutation: Permutation,
        side: int,
    ) -> None:
        element, code = writer.element_of(value), writer.code
        shape = writer.shape(value)
        self.value, self._code, self._side = value, code, side
        self._bytes, self._name = element.storage_bytes, element.name
        self._start, self._permutation = writer.address(source), permutation
        self._memory = code.load(f"scratch_{element.name}_{side * side}")
        self._shape = tuple(shape[each] for each in permutation)
        self._step = _stride(code, self._shape, permutation.index(len(shape) - 1))

    def transpose(self, at: At, r: Term, c: Term) -> None:
        """Fill the block from a row and column on; reads are in the order of cache lines."""
        code, square = self._code, square_of(self._bytes)
        for right, down in product(range(0, self._side, square), repeat=2):
            indices = at(code.add(r, down), code.add(c, right))
            taken = code.linear(tuple(indices[each] for each in self._permutation), self._shape)
            to = down * self._side + right
            primitive = f"transpose_{self._bytes}"
            code.run(primitive, self._memory, to, self._side, self._start, taken, self._step)

    def load(self, place: Term) -> Term:
        """Return an element of the block."""
        return self._code.load(f"load_{self._name}_{BLOCK_SCOPE}", self._memory, place)


def _permuted_operands(
    writer: KernelWriter, results: Sequence[SSAValue]
) -> dict[SSAValue, tuple[SSAValue, Permutation]]:
    """Return the fused tensors, read at the result's indices, that permute stored ones."""
    found: dict[SSAValue, tuple[SSAValue, Permutation]] = {}
    pending, seen = list(results), set(results)
    while pending:
        operation = pending.pop().owner
        if not isinstance(operation, Operation):
            continue
        for operand in _read_at_result_indices(operation):
            if operand in seen or not writer.is_fused(operand):
                continue
            seen.add(operand)
            origin = permuted_source(operand, writer.is_fused)
            if origin is None:
                pending.append(operand)
            else:
                found[operand] = origin
    return found


def _read_at_result_indices(operation: Operation) -> list[SSAValue]:
    """Return the tensors that an elementwise operation reads at the result's indices."""
    if is_scalar_operation(operation.name):
        return [each for each in operation.operands if isinstance(each.type, TensorType)]
    view = structured_view(operation)
    if view is None or len(set(view.output_maps)) != 1:
        return []
    pairs = zip(view.inputs, view.input_maps, strict=True)
    return [operand for operand, affine_map in pairs if affine_map == view.output_maps[0]]


At = Callable[[Term, Term], Indices]
"""Returns the indices for a row and a column, inside of the loops over other dimensions."""


def _write_blocks(
    code: AstBuilder,
    shape: Indices,
    row: int,
    block: tuple[int, int],
    whole: Callable[[At, Term, Term], None],
    single: Callable[[Indices], None],
) -> TileCount:
    """Write loops over blocks of the dimension `row` and the last one, and over their edges.

    `block` is the side of a block, and the number of blocks in a tile of work down the rows.
    """
    side, down = block
    last = column = len(shape) - 1
    outer = [each for each in range(last) if each != row]
    cuts = [(each, 1) for each in outer if shape[each] != 1][:2]
    # Consecutive tiles go along the rows of the source: where rows are not aligned to tiles, both
    # tiles read some of the same cache lines.
    cuts += [(column, side * BLOCKS), (row, side * down)]

    def at(numbers: Sequence[Term], r: Term, c: Term) -> Indices:
        indices = dict(zip(outer, numbers, strict=True)) | {row: r, column: c}
        return tuple(indices[each] for each in range(len(shape)))

    with code.loop("first", "last") as work:
        pieces = tile_spans(code, work, [(shape[each], chunk) for each, chunk in cuts])
        spans = dict(zip([each for each, _ in cuts], pieces, strict=True))
        outside = [spans.get(each, (0, shape[each])) for each in outer]
        with loops_over(code, outside) as numbers:
            with _whole_blocks(code, spans[row], spans[column], side) as (r, c):
                whole(partial(at, numbers), r, c)
            for rest in _remainders(code, spans[row], spans[column], side):
                with loops_over(code, rest) as (r, c):
                    single(at(numbers, r, c))
    return TileCount(tuple(((shape[each],), chunk) for each, chunk in cuts))


def _stride(code: AstBuilder, sizes: Indices, dimension: int) -> Term:
    return code.product(sizes[dimension + 1 :])


@contextmanager
def _whole_blocks(
    code: AstBuilder, rows: Span, columns: Span, side: int
) -> Generator[tuple[Term, Term]]:
    """Write loops over whole blocks of rows and columns; yield where each begins."""
    row_end, column_end = _whole(code, rows, side), _whole(code, columns, side)
    with code.loop(columns[0], column_end, side) as c, code.loop(rows[0], row_end, side) as r:
        yield r, c


def _remainders(code: AstBuilder, rows: Span, columns: Span, side: int) -> Iterator[list[Span]]:
    """Yield the rows and columns outside of whole blocks: right of the blocks, then below them."""
    row_end, column_end = _whole(code, rows, side), _whole(code, columns, side)
    beside: list[Span] = [(rows[0], row_end), (column_end, columns[1])]
    below: list[Span] = [(row_end, rows[1]), columns]
    for rest in (beside, below):
        if all(start != stop for start, stop in rest):
            yield rest


def _is_less(size: Term, least: int) -> bool:
    return isinstance(size, int) and size < least


def _whole(code: AstBuilder, span: Span, side: int) -> Term:
    """Return the end of the last whole block of a span."""
    size = code.subtract(span[1], span[0])
    return code.add(span[0], code.multiply(code.floor_divide(size, side), side))
