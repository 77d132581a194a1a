"""Permute the dimensions of tensors, in squares that fit in registers where the last one changes.

A row of the source is a column of the result. Squares are therefore loaded as vectors, transposed
in registers and stored as vectors: one at a time if their rows fill cache lines, otherwise four.
Where the rows of a result evict each other, blocks of squares are put together on the stack, and
then written row by row. Two or three rows are interleaved, or taken apart, instead. The remaining
edges are copied element by element. Reversed dimensions are read from their end, as in a rotated
image. If the last dimension stays, runs of elements are copied, in blocks of cache lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import gcd, isqrt, prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ....dialects.linalg.structured_view import structured_view
from ...microkernels.transpose_squares import CACHE_LINE, square_of
from ...microkernels.vectors import vector_bits
from ...scalar_ops.primitives import LAST_SCOPE
from ..code.ast_builder import AstBuilder, Term
from ..elements.kernel_text import TileCount
from ..elements.scalar_operations import is_scalar_operation
from ..elements.writer import Indices, KernelWriter
from ..loops.blocks import At, Blocks, WriteBlock, is_less, write_blocks
from .permuted_operands import Origin, merge_dimensions, permuted_source

MIN_SQUARE = 4
"""The least side of squares in registers; two or three rows are interleaved instead."""

BLOCKS = 4
"""The blocks in a tile of work, along each dimension."""

MIN_STREAMED_BYTES = 1 << 23
"""Bytes of a result from which on it is written by streaming stores.

Otherwise its cache lines are read before they are written.
"""

STREAMED_ROW_BYTES = 256
"""Bytes of a row of a block that streaming stores write, all lines of which are filled in order."""

CACHE_SET_STRIDE = 1 << 12
"""The distance in bytes of cache lines that map to the same set of an L1 cache.

At half this distance, a tile of work has one block down the rows, so that lines are complete before
others evict them.
"""

EVICTING_STRIDE = CACHE_SET_STRIDE // 8
"""Rows at a multiple of this distance share 8 sets, which hold the lines of 64 rows.

A block of more squares than that is then put together on the stack, unless the rows of squares fill
cache lines. Squares that are written at once would find their lines evicted, half full, by other
rows.
"""

MAX_STACK_BLOCK = 1 << 14
"""Bytes of a block on the stack: half of a small L1 cache."""

BLOCK_BYTES = 128
"""Bytes of a row of a block on the stack."""


def write_transpose(writer: KernelWriter) -> TileCount | None:
    """Write a kernel that only permutes a stored tensor; return `None` for any other kernel.

    Raises OperationError for unsupported element types.
    """
    (result,) = writer.results if len(writer.results) == 1 else (None,)
    found = permuted_source(result, writer.is_fused) if isinstance(result, SSAValue) else None
    if found is None or not isinstance(result, SSAValue):
        return None
    move = _Move(writer, result, found)
    if move.rank < 2 or move.row == move.column:
        return None
    if move.run != 1:
        return move.write_runs()
    sizes = [each for each in (move.rows, move.columns) if isinstance(each, int)]
    square = square_of(move.bytes)
    while square > min(sizes, default=square):
        square //= 2
    if square >= min(MIN_SQUARE, square_of(move.bytes)):
        return move.write_squares(square)
    return move.write_zipped() if square > 1 else None


class _Move:
    """A permutation of a stored tensor, and how to copy blocks of it.

    - `shape`: the sizes of the result's dimensions that change places;
    - `run`: the elements that stay side by side;
    - `row`, `column`: the dimension that is the last one of the source, and that of the result.
    """

    def __init__(self, writer: KernelWriter, result: SSAValue, origin: Origin) -> None:
        code, self.code = writer.code, writer.code
        self._writer, self._result, self._source = writer, result, origin.source
        self._element = writer.element_of(result)
        self.bytes = self._element.storage_bytes
        factors, order, self._reversed = merge_dimensions(
            writer.shape(result), origin.places, origin.reversed
        )
        self.run: Term = 1
        if order and order[-1] == len(order) - 1 and order[-1] not in self._reversed:
            *factors, run = factors
            order, self.run = order[:-1], code.product(run)
        self.rank = len(order)
        shape = tuple(code.product(each) for each in factors)
        self.shape, self._order, self._factors = shape, order, tuple(factors)
        self._source_shape = tuple(shape[each] for each in order)
        self.column = self.rank - 1
        self.row = order[-1] if order else 0
        if self.rank > 1:
            self.rows, self.columns = shape[self.row], shape[-1]
            self._step = _stride(code, shape, self.row)
            self._pitch = _stride(code, self._source_shape, order.index(self.column))
            if self.column in self._reversed:
                self._pitch = code.multiply(self._pitch, -1)

    def _places(self, indices: Indices) -> tuple[Term, Term]:
        """Return the positions of an element, or of a run of them, in the result and the source."""
        code, numbers = self.code, list(indices)
        for each in self._reversed:
            numbers[each] = code.subtract(code.subtract(self.shape[each], 1), indices[each])
        at = tuple(numbers[each] for each in self._order)
        places = code.linear(indices, self.shape), code.linear(at, self._source_shape)
        return code.multiply(places[0], self.run), code.multiply(places[1], self.run)

    def _square(self, square: int, at: At, r: Term, c: Term) -> tuple[tuple[Term, Term], Term]:
        """Return where a square is written, the distance of its rows, and where it is read.

        If the rows are reversed, the first one that is read is written last.
        """
        if self.row not in self._reversed:
            to, taken = self._places(at(r, c))
            return (to, self._step), taken
        to, taken = self._places(at(self.code.add(r, square - 1), c))
        return (to, self.code.multiply(self._step, -1)), taken

    def _copy(self, indices: Indices) -> None:
        code = self.code
        to, taken = self._places(indices)
        with code.loop_unless_one(self.run) as index:
            element = self._writer.load(self._source, code.add(taken, index))
            self._writer.store(self._result, code.add(to, index), element)

    def write_runs(self) -> TileCount:
        """Write loops over blocks whose rows are some cache lines, in source and result alike."""
        code, sizes = self.code, (self.run, self.rows, self.columns)
        run, *most = (each if isinstance(each, int) else BLOCK_BYTES for each in sizes)
        run_bytes = max(1, run) * self.bytes
        part = gcd(run_bytes, CACHE_LINE)  # Streaming stores write at least 16 bytes.
        shape = *self.shape[:-1], code.multiply(self.columns, self.run)
        is_streamed = part >= 16 and _is_streamed(shape, self.bytes)
        widths = BLOCK_BYTES, STREAMED_ROW_BYTES if is_streamed else BLOCK_BYTES
        pairs = zip(most, widths, strict=True)
        down, across = (max(1, min(size, width // run_bytes)) for size, width in pairs)

        def copy_block(copy: Callable[[Indices], None], at: At, r: Term, c: Term) -> None:
            with code.loop(0, down) as i, code.loop(0, across) as j:
                copy(at(code.add(r, i), code.add(c, j)))

        block, whole = Blocks((down, across), (BLOCKS, BLOCKS)), partial(copy_block, self._copy)
        if not is_streamed:
            return write_blocks(code, self._factors, self.row, block, whole, self._copy)
        stream = partial(copy_block, partial(self._stream, part // self.bytes))
        return self._write_streamed(block, stream, whole)

    def _stream(self, count: int, indices: Indices) -> None:
        """Copy a run with streaming stores of `count` elements."""
        base, start = self._writer.address(self._result), self._writer.address(self._source)
        to, taken = self._places(indices)
        with self.code.loop(0, self.run, count) as index:
            places = self.code.add(to, index), self.code.add(taken, index)
            self.code.run(f"streampart_{self.bytes}_{count}", base, places[0], start, places[1])

    def _write_streamed(self, block: Blocks, stream: WriteBlock, whole: WriteBlock) -> TileCount:
        """Write blocks with streaming stores if the result begins at a cache line."""
        code = self.code

        def write(at: At, r: Term, c: Term) -> None:
            place = code.modulo(self._writer.address(self._result), CACHE_LINE)
            is_aligned = code.compare("eq", place, 0)
            code.branch(is_aligned, lambda: stream(at, r, c), lambda: whole(at, r, c))

        tiles = write_blocks(code, self._factors, self.row, block, write, self._copy)
        code.run("fence")
        return tiles

    def write_zipped(self) -> TileCount | None:
        """Write loops that interleave a few rows, or that take them apart again.

        Return `None` if the elements of a row of the source, or of the result, are not neighbours.
        """
        code, count = self.code, square_of(self.bytes)
        base, start = self._writer.address(self._result), self._writer.address(self._source)
        width = min(each for each in (self.rows, self.columns) if isinstance(each, int))
        is_apart = self.rows == width
        is_near = self._pitch == width if is_apart else self._step == width
        if self._reversed or not is_near or is_less(self.columns if is_apart else self.rows, count):
            return None

        def copy_block(at: At, r: Term, c: Term) -> None:
            to, taken = self._places(at(r, c))
            if is_apart:
                code.run(f"unzip_{self.bytes}_{width}", base, to, self._step, start, taken)
            else:
                code.run(f"zip_{self.bytes}_{width}", base, to, start, taken, self._pitch)

        sides = (width, count) if is_apart else (count, width)
        block = Blocks(sides, (BLOCKS**2, BLOCKS**2))
        return write_blocks(code, self._factors, self.row, block, copy_block, self._copy)

    def write_squares(self, square: int) -> TileCount:
        """Write loops over squares that are transposed in registers."""
        code, bytes_ = self.code, self.bytes
        fills_lines = square * bytes_ == CACHE_LINE
        wide = square if fills_lines else 2 * square
        sides = (
            square if is_less(self.rows, wide) else wide,
            square if is_less(self.columns, wide) else wide,
        )
        squares = partial(self._copy_squares, square, sides)
        fills_rows = sides[1] * bytes_ % CACHE_LINE == 0
        is_streamed = fills_rows and _is_streamed(self.shape, bytes_)
        side = 1 << (isqrt(MAX_STACK_BLOCK // bytes_).bit_length() - 1)
        is_small = is_less(self.rows, side) or is_less(self.columns, side)
        evicts = self._has_rows_apart(EVICTING_STRIDE) and not (is_streamed or fills_lines)
        if evicts and not is_small:
            block, write = Blocks((side, side), (1, 1)), partial(self._copy_block, square, side)
            edges = sides, squares
            return write_blocks(code, self._factors, self.row, block, write, self._copy, edges)
        is_near = self._has_rows_apart(CACHE_SET_STRIDE // 2)
        block = Blocks(sides, (1 if is_near and not is_streamed else BLOCKS, BLOCKS))
        if is_streamed:
            stream = partial(self._stream_lines, square, sides)
            return self._write_streamed(block, stream, squares)
        return write_blocks(code, self._factors, self.row, block, squares, self._copy)

    def _has_rows_apart(self, stride: int) -> bool:
        """Whether the rows of the result are known to be a multiple of a number of bytes apart."""
        return isinstance(self._step, int) and self._step * self.bytes % stride == 0

    def _copy_squares(self, square: int, sides: tuple[int, int], at: At, r: Term, c: Term) -> None:
        """Write the squares of a small block from registers to the result."""
        code = self.code
        base, start = self._writer.address(self._result), self._writer.address(self._source)
        for below, right in product(range(0, sides[0], square), range(0, sides[1], square)):
            to, taken = self._square(square, at, code.add(r, below), code.add(c, right))
            name = f"transpose_{self.bytes}_{square}"
            code.run(name, base, *to, start, taken, self._pitch)

    def _stream_lines(self, square: int, sides: tuple[int, int], at: At, r: Term, c: Term) -> None:
        """Write the same with streaming stores."""
        code, line = self.code, CACHE_LINE // self.bytes
        base, start = self._writer.address(self._result), self._writer.address(self._source)
        for below, right in product(range(0, sides[0], square), range(0, sides[1], line)):
            to, taken = self._square(square, at, code.add(r, below), code.add(c, right))
            if not (self._reversed or is_less(self.rows, 2 * sides[0] * BLOCKS)):
                # Prefetch what the next tile reads.
                following = code.add(taken, sides[0] * BLOCKS)
                for number in range(line):
                    place = code.add(following, code.multiply(self._pitch, number))
                    code.run(f"prefetch_{self._element.name}", start, place)
            name = f"streamtranspose_{self.bytes}_{square}"
            code.run(name, base, *to, start, taken, self._pitch)

    def _copy_block(self, square: int, side: int, at: At, r: Term, c: Term) -> None:
        """Write the squares of a large block to the stack, then its rows to the result."""
        code, line = self.code, CACHE_LINE // self.bytes
        base, start = self._writer.address(self._result), self._writer.address(self._source)
        pitch = side + line  # Rows on the stack must not evict each other, either.
        memory = code.load(f"scratch_{self._element.name}_{side * pitch}")
        with code.loop(0, side, square) as right, code.loop(0, side, square) as down:
            self._prefetch_next(square, side, at, (r, c), (right, down))
            _, taken = self._square(square, at, code.add(r, down), code.add(c, right))
            to, step = code.add(code.multiply(down, pitch), right), pitch
            if self.row in self._reversed:
                to, step = code.add(to, pitch * (square - 1)), -pitch
            name = f"transpose_{self.bytes}_{square}"
            code.run(name, memory, to, step, start, taken, self._pitch)
        with code.loop(0, side) as row, code.loop(0, side, line) as column:
            to, _ = self._places(at(code.add(r, row), code.add(c, column)))
            taken = code.add(code.multiply(row, pitch), column)
            code.run(f"line_{self.bytes}", base, to, memory, taken)

    def _prefetch_next(
        self, square: int, side: int, at: At, block: tuple[Term, Term], place: tuple[Term, Term]
    ) -> None:
        """Prefetch, with each square of a block, a share of what the block below it reads."""
        code, (r, c), (right, down) = self.code, block, place
        start, count = self._writer.address(self._source), max(1, square * square // side)
        first = code.add(right, code.multiply(code.floor_divide(down, square), count))
        for row, column in product(range(count), range(0, side, CACHE_LINE // self.bytes)):
            number = code.add(c, code.add(first, row))
            _, taken = self._places(at(code.add(r, side + column), number))
            code.run(f"prefetch_{self._element.name}", start, taken)


def _is_streamed(shape: Indices, storage_bytes: int) -> bool:
    """Return whether a result is known to be large, of rows that are whole cache lines."""
    # Only x86 has wider vectors; the fence is one of its instructions.
    if vector_bits() <= 128:
        return False
    known = [each for each in shape if isinstance(each, int)]
    size, row = prod(known) * storage_bytes, known[-1] * storage_bytes if known else 0
    return len(known) == len(shape) and size >= MIN_STREAMED_BYTES and row % CACHE_LINE == 0


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
        each
        for each in _permuted_operands(writer, results).items()
        if each[1].places[column] != column
    ]
    rows = {origin.places[column] for _, origin in found}
    if len(rows) != 1:
        return None
    (row,) = rows
    widest = max(writer.element_of(value).storage_bytes for value, _ in found)
    side = BLOCK_BYTES // widest
    if widest > 8 or any(is_less(shape[each], side) for each in (row, column)):
        return None
    stored = [_Block(writer, *each, side) for each in found]

    def compute_block(at: At, r: Term, c: Term) -> None:
        for each in stored:
            each.transpose(at, r, c)
        with code.loop(0, side) as i, code.loop(0, side) as j:
            indices = at(code.add(r, i), code.add(c, j))
            place = code.add(code.multiply(i, side), j)
            for each in stored:
                code.remember((each.value, indices), each.load(place))
            store(indices)

    block = Blocks((side, side), (BLOCKS, BLOCKS))
    return write_blocks(code, [(size,) for size in shape], row, block, compute_block, store)


class _Block:
    """A block of a permuted tensor, on the stack in the order of the result."""

    def __init__(self, writer: KernelWriter, value: SSAValue, origin: Origin, side: int) -> None:
        element, code = writer.element_of(value), writer.code
        shape = writer.shape(value)
        self.value, self._code, self._side = value, code, side
        self._bytes, self._name = element.storage_bytes, element.name
        self._start, self._permutation = writer.address(origin.source), origin.places
        self._memory = code.load(f"scratch_{element.name}_{side * side}")
        self._shape = tuple(shape[each] for each in origin.places)
        self._step = _stride(code, self._shape, origin.places.index(len(shape) - 1))

    def transpose(self, at: At, r: Term, c: Term) -> None:
        """Fill the block from a row and column on; reads are in the order of cache lines."""
        code, square = self._code, square_of(self._bytes)
        # Loops: a block of bytes has 64 squares, whose code in a row takes LLVM seconds.
        with (
            code.loop(0, self._side, square) as right,
            code.loop(0, self._side, square) as down,
        ):
            indices = at(code.add(r, down), code.add(c, right))
            taken = code.linear(tuple(indices[each] for each in self._permutation), self._shape)
            to = code.add(code.multiply(down, self._side), right)
            primitive = f"transpose_{self._bytes}"
            code.run(primitive, self._memory, to, self._side, self._start, taken, self._step)

    def load(self, place: Term) -> Term:
        """Return an element of the block."""
        return self._code.load(f"load_{self._name}_{LAST_SCOPE}", self._memory, place)


def _permuted_operands(writer: KernelWriter, results: Sequence[SSAValue]) -> dict[SSAValue, Origin]:
    """Return the fused tensors, read at the result's indices, that permute stored ones."""
    found: dict[SSAValue, Origin] = {}
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
            if origin is None or origin.reversed:
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


def _stride(code: AstBuilder, sizes: Indices, dimension: int) -> Term:
    return code.product(sizes[dimension + 1 :])
