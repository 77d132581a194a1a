"""Loop nests of reductions: sums, products of operands that fit no tiles, and others."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from math import prod

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr, AffineExpr, AffineMap

from ....dialects.linalg.structured_view import StructuredView
from ....ir.diagnostics import OperationError
from ....ir.index_folding import V
from ..code.ast_builder import Term
from ..elements.expressions import written_loops
from ..elements.kernel_text import TileCount
from ..elements.scalar_operations import REDUCTION_FORMS
from ..elements.writer import Indices, KernelWriter
from ..loops.merging import merge_loops
from ..loops.tiles import Span, loops_over, tile_spans, write_tiled_loops

COLUMN_CHUNK = 2048
"""Elements in a tile of a reduction into one row; half as many if several rows are combined."""

FEW_ROWS = 16
"""The most rows that are combined together: a chunk of all of them fits the L1 cache."""

ROWS_TOGETHER = 4
"""The rows of a large operand that are reduced together."""

FEW_TERMS = 15
"""The terms of a result up to which LLVM unrolls the loop over them, and makes vectors of results.

Along rows of results they are unrolled here. More terms fill vectors of their own.
"""

LARGE_OPERAND = 1 << 16
"""The elements of an operand from which on it should be read only once."""

SHORT_ROWS = range(64, 129)
"""The sizes of rows of which two are combined at a time: memory is read almost in order.

With eight at a time the maxima of the columns of 100,000 rows of 100 floats took 1.9 times as long.
Shorter rows would wait for their last sum, longer ones keep the prefetcher busy in any order.
"""

BLOCK = 16
"""The points of two reduction loops along which different operands are contiguous, as in `a[i, j] *
b[j, i]`, that are combined before the next: the rows of all operands stay in the L1 cache.
"""

SHORT_BODY = 6
"""The most operations of a body that is unrolled."""


def loop_sizes(
    shape_of: Callable[[SSAValue], Sequence[int | V]], view: StructuredView
) -> tuple[int | V, ...]:
    """Return the trip counts of a structured operation's loops, static if any operand's size is.

    `shape_of` returns the sizes of a tensor. Raises OperationError for a loop that no operand's
    dimension determines.
    """
    sizes: list[int | V | None] = [None] * len(view.iterators)
    for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        shape = shape_of(operand) if affine_map.results else ()
        for size, expression in zip(shape, affine_map.results, strict=True):
            if not isinstance(expression, AffineDimExpr):
                continue
            known = sizes[expression.position]
            if known is None or (isinstance(size, int) and not isinstance(known, int)):
                sizes[expression.position] = size
    found = [size for size in sizes if size is not None]
    if len(found) != len(sizes):
        loop = sizes.index(None)
        raise OperationError(
            view.operation, f"has no operand that determines the extent of loop d{loop}"
        )
    return tuple(found)


class ReductionLoops:
    """The loops of a structured operation that combines elements.

    There are three orders:

    - If results are indexed by more than single loops, as in `i + j` or `2 * i`, the results are
      set to the initial values, and all loops run in the order of the operation.
    - Otherwise, if the inputs are contiguous along a reduction loop, the accumulators stay in
      variables: `for parallel: acc = init; for reduction: acc = f(acc)`.
    - If the inputs are contiguous along the result's last dimension, that loop is innermost and
      accumulates into the result's row in memory. It vectorises without a change of the order of
      terms.
    """

    def __init__(self, writer: KernelWriter, view: StructuredView) -> None:
        self.writer = writer
        self.code = writer.code
        self.view = view
        self.operands = (*view.inputs, *view.outputs)
        written = written_loops(view)
        self.is_written_once = written is not None
        parallels = written or ()
        reductions = [loop for loop in range(len(view.iterators)) if loop not in parallels]
        sizes = loop_sizes(writer.shape, view)
        sizes, self.reductions = merge_loops(writer, view, sizes, reductions)
        self.sizes, self.parallels = merge_loops(writer, view, sizes, parallels)
        self.forms = reduction_forms(view)
        self.is_short = sum(1 for _ in view.body.ops) <= SHORT_BODY
        self.stores_more = len(writer.results) > len(view.operation.results)

    def write(self) -> TileCount:
        """Write the loops in the best order."""
        if not self.is_written_once:
            return self._write_in_order()
        row = self._row_loop()
        if row is None:
            return self._write_in_variables()
        return self._write_in_rows(row)

    def _row_loop(self) -> int | None:
        """Return the loop along the results' last dimension if it should be innermost."""
        if not self.reductions:
            return None
        last = {self._last_index(each) for each in self.view.output_maps}
        row = last.pop()
        if last or not isinstance(row, AffineDimExpr) or row.position in self.reductions:
            return None
        # Small operands, such as a number for each row, stay in the cache in any order.
        ranks = [
            sum(1 for loop in each.used_dims() if self.sizes[loop] != 1)
            for each in self.view.input_maps
        ]
        most = max(ranks, default=0)
        inputs = zip(self.view.input_maps, ranks, strict=True)
        ends = [self._last_index(each) for each, rank in inputs if rank == most]
        along_row = 1 + sum(1 for each in ends if _moves_by_one(each, row.position))
        along_reduction = max(
            sum(1 for each in ends if _moves_by_one(each, loop)) for loop in self.reductions
        )
        return row.position if along_row > along_reduction else None

    def _last_index(self, affine_map: AffineMap) -> AffineExpr | None:
        """Return the last index of a map that is not along a dimension of size 1."""
        for each in reversed(affine_map.results):
            if not isinstance(each, AffineDimExpr) or self.sizes[each.position] != 1:
                return each
        return None

    def _elements(self, loops: Indices) -> list[Term]:
        """Return the elements of the inputs that the body uses, at a point of the loops."""
        used = (argument.first_use is not None for argument in self.view.body.args)
        return [
            self._element(number, loops) if is_used else 0
            for number, is_used in zip(range(len(self.view.inputs)), used, strict=False)
        ]

    def _element(self, number: int, loops: Indices) -> Term:
        """Return the element of an input at a point of the loops."""
        indices = self.writer.apply_map(self.view.maps[number], loops)
        return self.writer.element(self.view.inputs[number], indices)

    def _positions(self, loops: Indices) -> list[Term]:
        """Return the row-major positions of the results' elements at a point of the loops."""
        return [
            self.code.linear(self.writer.apply_map(each, loops), self.writer.shape(result))
            for each, result in zip(self.view.output_maps, self.view.operation.results, strict=True)
        ]

    def _initial(self, loops: Indices) -> list[Term]:
        """Return the initial values of the results' elements at a point of the loops."""
        return [
            self.writer.element(output, self.writer.apply_map(each, loops))
            for output, each in zip(self.view.outputs, self.view.output_maps, strict=True)
        ]

    def _at(self, loops: Sequence[int], indices: Indices) -> list[Term]:
        point: list[Term] = [0] * len(self.sizes)
        for loop, index in zip(loops, indices, strict=True):
            point[loop] = index
        return point

    def _store(self, positions: Sequence[Term], elements: Sequence[Term]) -> None:
        for result, position, element in zip(
            self.view.operation.results, positions, elements, strict=True
        ):
            if result in self.writer.results:
                self.writer.store(result, position, element)

    def _write_in_order(self) -> TileCount:
        """Write one tile, because any two points may write the same element."""
        writer, code = self.writer, self.code
        results = self.view.operation.results

        def combine(loops: Indices) -> None:
            positions = self._positions(loops)
            before = [writer.load(each, at) for each, at in zip(results, positions, strict=True)]
            elements = (*self._elements(loops), *before)
            self._store(positions, writer.body(self.view.body, elements, loops))

        with code.loop("first", "last"):
            for output, result in zip(self.view.outputs, results, strict=True):
                shape = writer.shape(result)
                with code.loops(shape) as indices:
                    element = writer.element(output, indices)
                    writer.store(result, code.linear(indices, shape), element)
            with code.loops(self.sizes) as indices:
                combine(indices)
        return TileCount()

    def _write_in_variables(self) -> TileCount:
        code = self.code
        loops, fold = self._by_operand_size()
        sizes = tuple(self.sizes[loop] for loop in loops)
        if fold is None:
            return write_tiled_loops(
                code, sizes, lambda at: self._write_points([self._at(loops, at)])
            )
        cuts = [(self.sizes[loop], ROWS_TOGETHER if loop == fold else 1) for loop in loops[:2]]
        with code.loop("first", "last") as tile:
            spans = dict(zip(loops, tile_spans(code, tile, cuts), strict=False))
            others = [loop for loop in loops if loop != fold]
            outside = [spans.get(loop, (0, self.sizes[loop])) for loop in others]
            with loops_over(code, outside) as at:
                self._write_together(fold, spans[fold], self._at(others, at))
        return TileCount(tuple(((size,), chunk) for size, chunk in cuts))

    def _write_points(self, points: Sequence[list[Term]]) -> None:
        """Compute the results of some points together, in variables."""
        accumulators = [
            [self.code.copy(each) for each in self._initial(tuple(point))] for point in points
        ]
        self._reduce(list(self.reductions), points, accumulators)
        for point, results in zip(points, accumulators, strict=True):
            self._store(self._positions(tuple(point)), results)

    def _write_together(self, loop: int, span: Span, point: Sequence[Term]) -> None:
        """Compute the results of ROWS_TOGETHER points of a loop together, or of the last ones."""
        code, size, (start, stop) = self.code, self.sizes[loop], span

        def write(first: Term, count: int) -> None:
            rows = [code.add(first, row) for row in range(count)]
            self._write_points([[*point[:loop], row, *point[loop + 1 :]] for row in rows])

        left = size % ROWS_TOGETHER if isinstance(size, int) else None
        if left == 0:
            write(start, ROWS_TOGETHER)
            return
        with code.when(code.compare("eq", code.subtract(stop, start), ROWS_TOGETHER)):
            write(start, ROWS_TOGETHER)
        with code.otherwise():
            if left is None:
                with code.loop(start, stop) as index:
                    write(index, 1)
            else:
                write(start, left)

    def _by_operand_size(self) -> tuple[list[int], int | None]:
        """Order the parallel loops: those of the largest input come first, so it is read once.

        Also return one of these loops of which several points are computed together, or `None`.
        Reading as many rows of the input at once hides the latency of memory and additions.
        """
        known = self.view.loop_sizes()

        def turns(loop: int) -> int:
            size = self.sizes[loop]
            return size if isinstance(size, int) else 0

        volumes = [
            prod(known[loop] or 0 for loop in each.used_dims()) for each in self.view.input_maps
        ]
        largest = max(volumes, default=0)
        if sum(1 for each in volumes if 4 * each > largest) != 1 or largest < LARGE_OPERAND:
            return list(self.parallels), None
        used = self.view.input_maps[volumes.index(largest)].used_dims()
        loops = sorted(self.parallels, key=lambda loop: (loop not in used, self.sizes[loop] == 1))
        rows = [loop for loop in loops[:2] if loop in used and turns(loop) >= ROWS_TOGETHER]
        terms = prod(turns(loop) or LARGE_OPERAND for loop in self.reductions)
        # A row whose elements are computed and stored, too, has enough to do.
        together = self.is_short and not self.stores_more and terms > FEW_TERMS
        return loops, rows[-1] if rows and together else None

    def _reduce(
        self,
        loops: list[int],
        points: Sequence[list[Term]],
        accumulators: Sequence[list[str]],
    ) -> None:
        """Combine the terms of all reduction loops into the accumulators of some points."""
        code = self.code
        if len(loops) == 2 and self._are_crossed(loops):
            firsts = (code.loop(0, self.sizes[loop], BLOCK) for loop in loops)
            with ExitStack() as stack:
                starts = list(map(stack.enter_context, firsts))
                spans = [
                    (start, code.minimum(code.add(start, BLOCK), self.sizes[loop]))
                    for start, loop in zip(starts, loops, strict=True)
                ]
                points = [list(point) for point in points]
                for loop, span in zip(loops, spans, strict=True):
                    index = stack.enter_context(code.loop(*span))
                    for point in points:
                        point[loop] = index
                self._reduce([], points, accumulators)
            return
        if loops:
            with code.loop(0, self.sizes[loops[0]]) as index:
                points = [list(point) for point in points]
                for point in points:
                    point[loops[0]] = index
                self._reduce(loops[1:], points, accumulators)
            return
        for point, names in zip(points, accumulators, strict=True):
            elements = self._elements(tuple(point))
            body = self.view.body
            results = self.writer.body(body, (*elements, *names), tuple(point), self.forms)
            # An old value that moves to another accumulator must be copied before its variable is
            # assigned.
            moved = [
                code.copy(result) if result in names and result != name else result
                for name, result in zip(names, results, strict=True)
            ]
            for name, result in zip(names, moved, strict=True):
                code.set(name, result)

    def _are_crossed(self, loops: Sequence[int]) -> bool:
        """Return whether two loops may be cut into blocks, and should be.

        That changes the order of terms. Large operands are contiguous along different loops.
        """
        last, known = self.view.body.last_op, self.view.loop_sizes()
        ends = [self._last_index(each) for each in self.view.input_maps]
        return last is not None and (
            all(each.owner in self.forms for each in last.operands)
            and all((known[loop] or LARGE_OPERAND) > BLOCK for loop in loops)
            and all(any(_moves_by_one(each, loop) for each in ends) for loop in loops)
        )

    def _write_in_rows(self, row: int) -> TileCount:
        code, size = self.code, self.sizes[row]
        outer = [loop for loop in self.parallels if loop != row]
        long = [loop for loop in outer if self.sizes[loop] != 1]
        few = self.sizes[long[0]] if len(long) == 1 else 0
        if not long or (isinstance(few, int) and 0 < few <= FEW_ROWS):
            # A few rows are combined together, so that the inputs they share are read once, in
            # order.
            chunk = COLUMN_CHUNK // 2 if long else COLUMN_CHUNK
            with code.loop("first", "last") as tile:
                (span,) = tile_spans(code, tile, [(size, chunk)])
                self._combine_rows([0] * len(self.sizes), row, span, *long)
            return TileCount((((size,), chunk),))

        def inner(indices: Indices) -> None:
            self._combine_rows(self._at(outer, indices), row, (0, size))

        return write_tiled_loops(code, tuple(self.sizes[loop] for loop in outer), inner)

    def _combine_rows(
        self, point: list[Term], row: int, span: tuple[Term, Term], fold: int | None = None
    ) -> None:
        """Initialise a span of one row, or of each row along `fold`, and accumulate into it.

        A few terms are combined in variables instead.
        """
        sizes = [self.sizes[loop] for loop in self.reductions]
        static = [size for size in sizes if isinstance(size, int)]
        is_few = self.is_short and len(static) == len(sizes) and prod(static) <= FEW_TERMS
        terms = [*product(*map(range, static))] if is_few else []
        with self._points(point, fold, 1) as points, self.code.loop(*span) as index:
            for each in points:
                each[row] = index
                positions = self._positions(tuple(each))
                self._store(positions, self._after_terms(each, terms, self._initial(tuple(each))))
        if not is_few:
            self._reduce_rows(list(self.reductions), point, row, span, fold)

    @contextmanager
    def _points(
        self, point: list[Term], loop: int | None, count: int, rest: bool = False
    ) -> Generator[list[list[Term]]]:
        """Write a loop over `count` points at a time, or over the rest; yield the points."""
        if loop is None:
            yield [list(point)]
            return
        code, size = self.code, self.sizes[loop]
        whole = code.multiply(code.floor_divide(size, count), count)
        with code.loop(*((whole, size, 1) if rest else (0, whole, count))) as index:
            points = [list(point) for _ in range(1 if rest else count)]
            for number, each in enumerate(points):
                each[loop] = code.add(index, number)
            yield points

    def _parts(self, loop: int | None, count: int) -> list[tuple[int, bool]]:
        """Return how a loop is unrolled: by `count`, then by one for the remaining points."""
        size = 1 if loop is None else self.sizes[loop]
        if isinstance(size, int):
            count = max(1, min(size, count))
        is_whole = isinstance(size, int) and size % count == 0
        return [(count, False)] if is_whole else [(count, False), (count, True)]

    def _reduce_rows(
        self,
        loops: list[int],
        point: list[Term],
        row: int,
        span: tuple[Term, Term],
        fold: int | None,
    ) -> None:
        if len(loops) > 1:
            with self.code.loop(0, self.sizes[loops[0]]) as index:
                point = list(point)
                point[loops[0]] = index
                self._reduce_rows(loops[1:], point, row, span, fold)
            return
        # Several terms are combined per load and store of the row. The numbers that a product of
        # some rows and terms needs must stay in registers: at most eight.
        size = self.sizes[row]
        together = 2 if size in SHORT_ROWS else 8
        terms, rows = (1, 1) if not self.is_short else (together, 1) if fold is None else (4, 2)
        for count, rest in self._parts(loops[0], terms):
            with self._points(point, loops[0], count, rest) as steps:
                for height, rest_of_rows in self._parts(fold, rows):
                    with (
                        self._points(point, fold, height, rest_of_rows) as places,
                        self.code.loop(*span) as index,
                    ):
                        for place in places:
                            place[row] = index
                            self._combine_terms(place, steps)

    def _combine_terms(self, point: list[Term], steps: Sequence[Sequence[Term]]) -> None:
        """Combine the terms of some points of the reductions into the results at a point."""
        results = self.view.operation.results
        positions = self._positions(tuple(point))
        before = [
            self.writer.load(result, position)
            for result, position in zip(results, positions, strict=True)
        ]
        terms = [[step[loop] for loop in self.reductions] for step in steps]
        self._store(positions, self._after_terms(point, terms, before))

    def _after_terms(
        self, point: Sequence[Term], terms: Sequence[Sequence[Term]], before: Sequence[Term]
    ) -> Sequence[Term]:
        """Return the results at a point after some terms, the indices of the reduction loops."""
        combined, at = before, list(point)
        for term in terms:
            for loop, index in zip(self.reductions, term, strict=False):
                at[loop] = index
            elements = (*self._elements(tuple(at)), *combined)
            combined = self.writer.body(self.view.body, elements, tuple(at), self.forms)
        return combined


def _moves_by_one(expression: AffineExpr | None, loop: int) -> bool:
    """Return whether an index advances by one with a loop."""
    if isinstance(expression, AffineDimExpr):
        return expression.position == loop
    if isinstance(expression, AffineBinaryOpExpr) and expression.kind.name == "Add":
        return _moves_by_one(expression.lhs, loop) or _moves_by_one(expression.rhs, loop)
    return False


def reduction_forms(view: StructuredView) -> dict[Operation, str]:
    """Return the operations of a body that may combine their terms in any order, with their form.

    These are a sum or product that is the only use of its accumulator, and the multiplication that
    computes the new term of such a sum, which may be contracted to a fused multiply-add.
    """
    forms: dict[Operation, str] = {}
    last = view.body.last_op
    if last is None:
        return forms
    accumulators = view.body.args[len(view.inputs) :]
    for accumulator, yielded in zip(accumulators, last.operands, strict=False):
        combiner = yielded.owner
        if isinstance(combiner, Block) or not combiner.name.startswith("arith."):
            continue
        form = REDUCTION_FORMS.get(combiner.name.removeprefix("arith."))
        uses = accumulator.uses
        if form is None or accumulator not in combiner.operands or uses.get_length() != 1:
            continue
        forms[combiner] = form
        for operand in combiner.operands:
            term = operand.owner
            if isinstance(term, Operation) and term.name == "arith.mulf" and form == "sumf":
                forms[term] = "termf"
    return forms
