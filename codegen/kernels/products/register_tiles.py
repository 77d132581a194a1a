"""Keep sums of products in registers: convolutions, and matrix products whose depth fits the cache.

The loop along the result's rows is cut into vectors, and another loop into a few points, so that a
tile of sums stays in registers over the whole depth:

    for strip of columns:                  # two vectors
      copy the operand's columns to a contiguous strip
      for rows, a few at a time:           # sums[row][vector] = initial values
        for depth: sums[row][vector] += left[row] * right[vector]
        store the sums

A matrix of few columns needs no strip, because it is contiguous already, and one of a few rows is
read as fast without.

An operand that the column loop does not index gives a scalar per row, any other a vector. The terms
of a sum are added in the order of the loops, and each product is rounded once. Narrow integers are
multiplied in pairs of terms, which takes half as many instructions.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod

from xdsl.ir.affine import AffineDimExpr

from ....dialects.linalg.structured_view import IteratorType, StructuredView
from ....runtime.abi.elements import Element
from ...scalar_ops.primitives import LAST_SCOPE
from ..code.ast_builder import Term
from ..elements.expressions import written_loops
from ..elements.kernel_text import TileCount
from ..elements.writer import Indices, KernelWriter
from ..loops.merging import merge_loops, without_unit_windows
from ..loops.tiles import Span, even_part, loops_over, tile_spans, tiles_of_loop
from .factors import (
    TOTALS,
    Operand,
    has_far_scalars,
    has_windows,
    initial_scalar,
    initial_vector,
    operand_of,
    paired_loop,
    product_factors,
    rows_in_cache,
)
from .tile_shapes import TileShape, narrow_rows, rows_of_copy, strip_shapes, tile_shape

MAX_STRIP_DEPTH = 1024
"""The most terms of a sum in one strip, which then has at most 64 KiB.

Convolutions with more terms use several strips one after another.
"""

FEW_COLUMNS = 16
"""The most columns of a matrix that is read in place at any depth, if it needs no widening."""

SMALL_OPERAND, SMALL_DEEP_OPERAND = 1 << 18, 50_000
"""The most elements of the operand that is copied strip by strip, such as 512 rows of 512; the
second if strips are collected from separate places in chunks of terms.
"""

MIN_WORK = 512
"""The multiplications below which a scalar loop nest is as fast."""

ROW_CHUNK = 16
"""The tiles of rows in a tile of work, if no other loop encloses them."""

SHALLOW = 8
"""The most terms of a sum at which stores bound the time.

A tile of rows then visits all columns, and reads the vectors that it shares in place.
"""

STRIP_CHUNK = 4
"""The strips of columns in a tile of work."""


class RegisterTiles:
    """The loops of a sum of products, as the module's docstring describes them.

    - `row`: the loop along the result's last dimension;
    - `fold`: the loop of which a tile has a few points, `None` if vectors are not shared by rows;
    - `shared`: the operand whose vectors are the same for all points of `fold` and `repeated`;
    - `outer`: the other parallel loops.
    """

    def __init__(
        self,
        writer: KernelWriter,
        view: StructuredView,
        operands: tuple[Operand, Operand],
        total: Element,
        sizes: Indices,
        row: int,
    ) -> None:
        self.writer, self.code, self.view = writer, writer.code, view
        self.operands, self.total, self.row = operands, total, row
        loops = range(len(sizes))
        parallels = [each for each in loops if view.iterators[each] is IteratorType.PARALLEL]
        sizes, self.reductions = merge_loops(writer, view, sizes, view.reduction_loops)
        sizes, parallels = merge_loops(writer, view, sizes, parallels)
        self.sizes = sizes
        outer = [each for each in parallels if each != row]
        shared = [each for each in operands if each.is_vector]
        counts = [[loop for loop in outer if not each.uses(loop)] for each in shared]
        self.shared = shared[counts.index(max(counts, key=len))]
        repeated = max(counts, key=len)
        long = [loop for loop in repeated if sizes[loop] != 1]
        self.fold = long[-1] if long else None
        self.repeated = [loop for loop in repeated if loop != self.fold]
        self.outer = [loop for loop in outer if loop not in repeated]
        self.paired = paired_loop(operands, self.shared, self.reductions, sizes, total)
        columns = sizes[row]
        self.most_rows = rows_in_cache(operands, self.fold, sizes[self.fold or 0])
        self.tile = tile_shape(
            total,
            columns,
            self.most_rows,
            has_vectors=len(shared) > 1,
            is_paired=self.paired is not None,
        )
        self.depth = prod(self._steps(loop) for loop in self.reductions)
        has_few_columns = isinstance(columns, int) and columns <= FEW_COLUMNS
        needs_no_strip = has_few_columns or self.depth <= SHALLOW
        if has_windows(view):
            needs_no_strip = self.fold is None
        is_stored = self.shared.is_contiguous and self.shared.element == total
        self.is_in_place = needs_no_strip and is_stored
        self.chunk = None if self.is_in_place else self._chunk()
        self._first_term: Term = 0
        self.result = view.operation.results[0]

    def _chunk(self) -> int | None:
        """Return the steps of the first reduction loop in a strip, `None` for all of them."""
        first = self.reductions[0]
        steps, each = self._steps(first), self._terms_of_step()
        if steps * each <= MAX_STRIP_DEPTH or not self.shared.uses(first):
            return None
        most = max(1, MAX_STRIP_DEPTH // each)
        return max(count for count in range(1, most + 1) if steps % count == 0)

    def _terms_of_step(self) -> int:
        """Return the terms in a strip for each step of the first reduction loop."""
        return prod(self._steps(loop) for loop in self.reductions[1:] if self.shared.uses(loop))

    @property
    def _has_long_strips(self) -> bool:
        """Whether chunks have enough terms: they divide the depth, which may be prime."""
        return self.chunk is None or self.chunk * self._terms_of_step() >= MAX_STRIP_DEPTH // 4

    def _steps(self, loop: int) -> int:
        """Return the static trip count of a reduction loop; a paired loop has half as many."""
        size = self.sizes[loop]
        assert isinstance(size, int)
        return size // 2 if loop == self.paired else size

    @property
    def is_reused(self) -> bool:
        """Whether vectors are read often enough to copy them to a strip."""
        count = 1
        for loop in (*self.repeated, *([] if self.fold is None else [self.fold])):
            size = self.sizes[loop]
            count *= size if isinstance(size, int) else 1024
        if self.is_in_place:
            return count >= self.tile.rows
        if has_windows(self.view):
            # The alternative is to accumulate in memory.
            return self.fold is not None
        return count >= rows_of_copy(self.tile, self.depth, is_contiguous=self.shared.is_contiguous)

    @property
    def is_small(self) -> bool:
        """Whether the product is known to be so small that packed panels gain nothing."""
        loops = [loop for loop in range(len(self.sizes)) if self.shared.uses(loop)]
        sizes = [self.sizes[loop] for loop in loops if loop not in self.outer]
        known = [size for size in sizes if isinstance(size, int)]
        is_gathered = self.chunk is not None and not self.shared.is_contiguous
        most = min(SMALL_OPERAND, SMALL_DEEP_OPERAND) if is_gathered else SMALL_OPERAND
        is_known = len(known) == len(sizes) and prod(known) <= most
        are_apart = any(
            has_far_scalars(each, self.sizes, self.reductions) for each in self.operands
        )
        return is_known and not are_apart and self._has_long_strips

    # Loops ------------------------------------------------------------------------------------

    def write(self) -> TileCount:
        """Write the loops; a tile of work has some rows and some strips of columns."""
        code, sizes = self.code, self.sizes
        scratch = self._scratch()
        cuts = self._cuts()
        with code.loop("first", "last") as work:
            pieces = tile_spans(code, work, [(sizes[loop], chunk) for loop, chunk in cuts])
            spans = dict(zip([loop for loop, _ in cuts], pieces, strict=True))
            point: list[Term] = [0] * len(sizes)
            with self._over(self.outer, point, spans):
                self._strips(point, spans, scratch)
        return TileCount(tuple(((sizes[loop],), chunk) for loop, chunk in cuts))

    def _scratch(self) -> Term:
        """Return the address of the strip, 0 if there is none."""
        if self.is_in_place:
            return 0
        depth = prod(self._steps(loop) for loop in self._strip_loops())
        if self.chunk is not None:
            depth = depth // self._steps(self.reductions[0]) * self.chunk
        return self.code.load(f"scratch_{self.total.name}_{depth * self.tile.columns}")

    def _cuts(self) -> list[tuple[int, int]]:
        """Return the loops that are cut into tiles of work, outermost first, and piece lengths."""
        cuts = [(loop, 1) for loop in self.outer if self.sizes[loop] != 1][:2]
        long = [loop for loop in self.repeated if self.sizes[loop] != 1]
        most = narrow_rows(self.tile, self.most_rows)
        rows = most if self.depth <= SHALLOW else ROW_CHUNK * self.tile.rows
        if long:
            inner = 1
            for loop in (*long[1:], self.fold):
                size = 0 if loop is None else self.sizes[loop]
                inner *= size if isinstance(size, int) else 64
            cuts.append((long[0], max(1, rows // max(1, inner))))
        elif self.fold is not None:
            size = self.sizes[self.fold]
            if isinstance(size, int) and size > rows:
                rows = even_part(size, rows, most)
            cuts.append((self.fold, rows))
        cuts.append((self.row, STRIP_CHUNK * self.tile.columns))
        return cuts

    @contextmanager
    def _over(
        self, loops: Sequence[int], point: list[Term], spans: dict[int, Span]
    ) -> Generator[None]:
        """Write nested loops over the spans, or the whole, of some loops; set `point`."""
        found = [spans.get(loop, (0, self.sizes[loop])) for loop in loops]
        with loops_over(self.code, found) as indices:
            for loop, index in zip(loops, indices, strict=True):
                point[loop] = index
            yield

    def _strips(self, point: list[Term], spans: dict[int, Span], scratch: Term) -> None:
        """Write strips of whole tiles, then of single vectors, then of the remaining columns."""
        code = self.code
        start, stop = spans[self.row]
        size = self.sizes[self.row]
        is_paired = self.paired is not None
        for shape in strip_shapes(self.tile, size, self.most_rows, is_paired=is_paired):
            width = shape.columns
            if isinstance(size, int) and size < width:
                continue
            whole = code.multiply(code.floor_divide(code.subtract(stop, start), width), width)
            end = code.add(start, whole)
            with code.loop(start, end, width) as column:
                point[self.row] = column
                self._strip(point, spans, shape, scratch)
            if isinstance(size, int):
                size %= width
                if not size:
                    return
            start = end

    def _strip(
        self, point: list[Term], spans: dict[int, Span], shape: TileShape, scratch: Term
    ) -> None:
        """Write all rows of a strip, over its whole depth or one chunk of terms after another."""
        if self.chunk is None:
            if not self.is_in_place:
                self._pack(point, shape, scratch)
            with self._over(self.repeated, point, spans):
                self._rows(point, spans, shape, scratch)
            return
        at = list(point)
        rows = self.repeated if self.fold is None else [*self.repeated, self.fold]
        with self._over(rows, at, spans):
            for position in self._positions(at, shape):
                initial = self._initial(position, shape.lanes)
                self.writer.store_vector(self.result, position, initial, shape.lanes)
        with self.code.loop(0, self._steps(self.reductions[0]), self.chunk) as self._first_term:
            self._pack(point, shape, scratch)
            with self._over(self.repeated, point, spans):
                self._rows(point, spans, shape, scratch)

    def _positions(self, point: Sequence[Term], shape: TileShape) -> list[Term]:
        """Return the row-major positions of a row's vectors in the result."""
        code, at, positions = self.code, list(point), list[Term]()
        for vector in range(shape.vectors):
            at[self.row] = code.add(point[self.row], vector * shape.lanes)
            indices = self.writer.apply_map(self.view.output_maps[0], tuple(at))
            positions.append(code.linear(indices, self.writer.shape(self.result)))
        return positions

    def _rows(
        self,
        point: list[Term],
        spans: dict[int, Span],
        shape: TileShape,
        scratch: Term,
    ) -> None:
        """Write tiles of a few points of the folded loop, then a tile of the remaining points."""
        code, fold = self.code, self.fold
        if fold is None:
            self._tile_of_sums([point], shape, scratch)
            return
        span = spans.get(fold, (0, self.sizes[fold]))
        for first, last, count in tiles_of_loop(code, span, self.sizes[fold], shape.rows):
            with code.loop(first, last, count) as index:
                points = [list(point) for _ in range(count)]
                for row, each in enumerate(points):
                    each[fold] = code.add(index, row)
                self._tile_of_sums(points, shape, scratch)

    # One tile ---------------------------------------------------------------------------------

    def _strip_loops(self) -> list[int]:
        return [loop for loop in self.reductions if self.shared.uses(loop)]

    def _terms_of_strip(self) -> dict[int, Span]:
        """Return the spans of the reduction loops in a strip."""
        spans: dict[int, Span] = {loop: (0, self._steps(loop)) for loop in self.reductions}
        if self.chunk is not None:
            first = self._first_term
            spans[self.reductions[0]] = (first, self.code.add(first, self.chunk))
        return spans

    def _pack(self, point: Sequence[Term], shape: TileShape, scratch: Term) -> None:
        """Copy a strip's columns of the shared operand, over its depth, in the order of use."""
        code, point = self.code, list(point)
        loops = self._strip_loops()
        with self._over(loops, point, self._terms_of_strip()):
            if self.shared.stride not in (1, 2):
                self._pack_numbers(point, shape, scratch)
                return
            for vector in range(shape.vectors):
                terms = [
                    self._load(self.shared, each, vector, shape) for each in self._terms(point)
                ]
                value = terms[0]
                if len(terms) > 1:
                    value = code.call(f"vwords_{shape.lanes}_2", *terms)
                place = self._place(point, vector, shape)
                code.run(
                    f"vstore_{self.total.name}_{shape.lanes}_{LAST_SCOPE}", scratch, place, value
                )

    def _pack_numbers(self, point: Sequence[Term], shape: TileShape, scratch: Term) -> None:
        """Copy the elements of a step one by one, because they are not contiguous."""
        code, name, at = self.code, self.total.name, list(point)
        place = self._place(point, 0, shape)
        with code.loop(0, shape.columns) as column:
            at[self.row] = code.add(point[self.row], column)
            value = self._number(self.shared, at)
            code.run(f"store_{name}_{LAST_SCOPE}", scratch, code.add(place, column), value)

    def _terms(self, point: Sequence[Term]) -> list[list[Term]]:
        """Return the points of the terms that are multiplied at once."""
        points = [list(point)]
        if self.paired is not None:
            first = self.code.multiply(point[self.paired], 2)
            points.append(list(point))
            for number, each in enumerate(points):
                each[self.paired] = self.code.add(first, number)
        return points

    def _place(self, point: Sequence[Term], vector: int, shape: TileShape) -> Term:
        """Return the position of a vector in the strip."""
        code, loops = self.code, self._strip_loops()
        at = [point[loop] for loop in loops]
        if self.chunk is not None:
            at[0] = code.subtract(at[0], self._first_term)
        step = code.linear(at, [self._steps(loop) for loop in loops])
        return code.add(code.multiply(step, shape.columns), vector * shape.lanes)

    def _load(self, operand: Operand, point: Sequence[Term], vector: int, shape: TileShape) -> Term:
        """Return a vector of an operand, widened to the element of the sums."""
        code, at = self.code, list(point)
        at[self.row] = code.add(at[self.row], vector * shape.lanes)
        indices = self.writer.apply_map(operand.map, tuple(at))
        position = code.linear(indices, self.writer.shape(operand.value))
        element = operand.loaded
        loaded = operand.value, position, element, self.total, shape.lanes
        return self.writer.load_vector(*loaded, operand.stride)

    def _splat(self, operand: Operand, point: Sequence[Term], lanes: int) -> Term:
        """Return one number of an operand, or a pair of adjacent ones, in all lanes."""
        writer, element = self.writer, operand.loaded
        is_widened = operand.is_stored and element.is_narrow_float
        if self.paired is None and not is_widened:
            return self.code.call(f"vsplat_{self.total.name}_{lanes}", self._number(operand, point))
        at = point if self.paired is None else self._terms(point)[0]
        indices = writer.apply_map(operand.map, tuple(at))
        position = self.code.linear(indices, writer.shape(operand.value))
        if self.paired is None:
            return writer.load_splat(operand.value, position, element, self.total, lanes)
        return writer.load_pair(operand.value, position, element, lanes)

    def _number(self, operand: Operand, point: Sequence[Term]) -> Term:
        """Return one number of an operand, converted to the element of the sums."""
        value = self.writer.element(operand.value, self.writer.apply_map(operand.map, tuple(point)))
        source, name = self.writer.element_of(operand.value).register, self.total.name
        if source == name:
            return value
        return self.code.call(f"{operand.factor.conversion(self.total)}_{source}_{name}", value)

    def _tile_of_sums(self, points: Sequence[list[Term]], shape: TileShape, scratch: Term) -> None:
        """Write the sums of some rows over the whole depth, from initial values to stores."""
        code, name, lanes = self.code, self.total.name, shape.lanes
        positions = [each for point in points for each in self._positions(point, shape)]
        sums = [(code.copy(self._sum_before(each, lanes)), each) for each in positions]
        inner = [list(point) for point in points]
        spans = self._terms_of_strip()
        combine = f"vmuladd_{name}_{lanes}" if self.paired is None else f"vdot_{lanes}"
        with self._over(self.reductions, inner[0], spans):
            for point in inner[1:]:
                for loop in self.reductions:
                    point[loop] = inner[0][loop]
            remaining = iter(sums)
            for point in inner:
                for vector in range(shape.vectors):
                    factors = [
                        self._vector(each, point, inner[0], vector, shape, scratch)
                        for each in self.operands
                    ]
                    total, _ = next(remaining)
                    code.set(total, code.load(combine, *factors, total))
        for total, position in sums:
            self.writer.store_vector(self.result, position, total, lanes)

    def _vector(
        self,
        operand: Operand,
        point: Sequence[Term],
        first: Sequence[Term],
        vector: int,
        shape: TileShape,
        scratch: Term,
    ) -> Term:
        """Return a factor of one row and vector; equal code is shared by the rows of a tile."""
        if not operand.is_vector:
            return self._splat(operand, point, shape.lanes)
        if operand is not self.shared:
            return self._load(operand, point, vector, shape)
        if self.is_in_place:
            return self._load(operand, first, vector, shape)
        name = self.total.name
        primitive = f"vload_{name}_{name}_{shape.lanes}_{LAST_SCOPE}"
        return self.code.call(primitive, scratch, self._place(first, vector, shape))

    def _sum_before(self, position: Term, lanes: int) -> Term:
        if self.chunk is None:
            return self._initial(position, lanes)
        return self.writer.load_vector(self.result, position, self.total, self.total, lanes)

    def _initial(self, position: Term, lanes: int) -> Term:
        return initial_vector(self.writer, self.view.outputs[0], position, self.total, lanes)


def register_tiles(
    writer: KernelWriter, view: StructuredView, sizes: Indices
) -> RegisterTiles | None:
    """Return the register tiles of a structured operation that sums products, else `None`.

    Raises OperationError for unsupported element types.
    """
    factors = product_factors(view.body)
    is_convolution, view = has_windows(view), without_unit_windows(view, sizes)
    if factors is None or len(view.outputs) != 1 or written_loops(view) is None:
        return None
    total = writer.element_of(view.outputs[0])
    last = view.output_maps[0].results[-1:]
    if total not in TOTALS or not last or not isinstance(last[0], AffineDimExpr):
        return None
    row = last[0].position
    operands = tuple(operand_of(writer, view, each, row, total) for each in factors)
    left, right = operands
    if left is None or right is None or not (left.is_vector or right.is_vector):
        return None
    output = view.outputs[0]
    if writer.is_fused(output) and initial_scalar(writer, output) is None:
        return None
    depth, work = 1, 1
    for loop, size in enumerate(sizes):
        if loop in view.reduction_loops:
            if not isinstance(size, int):
                return None
            depth *= size
        work *= size if isinstance(size, int) else MIN_WORK
    columns = sizes[row]
    if not depth or work < MIN_WORK or (columns in (0, 1)):
        return None
    tiles = RegisterTiles(writer, view, (left, right), total, sizes, row)
    if depth > MAX_STRIP_DEPTH and not (tiles.is_in_place or is_convolution or tiles.is_small):
        return None
    if any(not each.is_contiguous and each is not tiles.shared for each in (left, right)):
        return None
    # An operand that few rows read is better read without a copy.
    return tiles if tiles.is_reused else None
