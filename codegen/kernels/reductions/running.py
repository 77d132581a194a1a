"""Write running reductions, such as running sums, in one pass over the terms (`running_nest`).

If other elements lie side by side, a vector combines one term of some columns, and what is combined
so far stays on the stack. If terms do, as along the last dimension, it stays in variables, for a
few rows at once: that hides the latency of additions, and memory bounds the time. Where the body
takes long, as a logarithm does, each lane of a vector takes another row: blocks of some rows are
transposed on the stack, and so are the results. Terms are combined in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....dialects.linalg.running_nests import RunningNest, running_nest
from ....dialects.linalg.structured_view import StructuredView
from ..code.ast_builder import Term
from ..elements.kernel_text import TileCount
from ..elements.pointwise import is_long
from ..elements.writer import Indices, KernelWriter
from ..loops.stack_arrays import TransposedBlock, load_all, stack_arrays, store_all
from ..loops.tiles import Span, tile_spans
from .nests import COLUMN_CHUNK, ReductionLoops

LANES = 32
"""The rows of a block: several vectors, whose chains of operations run side by side."""

TERMS = 16
"""The terms of each row in a block."""


def running_loops(writer: KernelWriter, view: StructuredView) -> RunningLoops | None:
    """Return the loops of a running reduction; `None` for other operations."""
    running = running_nest(view)
    return None if running is None else RunningLoops(writer, view, running)


class RunningLoops(ReductionLoops):
    """The loops of a running reduction."""

    def __init__(self, writer: KernelWriter, view: StructuredView, running: RunningNest) -> None:
        super().__init__(writer, view)
        self._running = running
        self.parallels = tuple(loop for loop in self.parallels if loop != running.place)
        self.is_short = not is_long(view.operation)
        self._size = self.sizes[running.term]
        arguments = view.body.args[: len(view.inputs)]
        self._terms = [
            number
            for number, each in enumerate(arguments)
            if each.first_use and (each not in running.starts or not each.has_one_use())
        ]

    def write(self) -> TileCount:
        """Write loops over columns, over blocks of rows, or over a few rows at once."""
        row = self._row_loop()
        if row in self.parallels:
            return self._in_tiles(row, COLUMN_CHUNK, self._columns)
        lane = next((i for i in reversed(self.parallels) if _fills(self.sizes[i], LANES)), None)
        if self.is_short or lane is None or not self._fits_squares():
            return self._write_in_variables()
        return self._in_tiles(lane, LANES, self._rows)

    def _fits_squares(self) -> bool:
        """Return whether all elements can be transposed."""
        values = (*(self.view.inputs[each] for each in self._terms), *self.view.outputs)
        found = [self.writer.element_of(each) for each in values]
        return all(each.storage_bytes <= 8 and each.container_width > 1 for each in found)

    def _in_tiles(
        self, last: int, chunk: int, write: Callable[[Callable[[Term], list[Term]], Span], None]
    ) -> TileCount:
        """Write tiles that are a chunk of one loop; `write` gets the points of its indices."""
        loops = [*(loop for loop in self.parallels if loop != last), last]
        cuts = [(self.sizes[loop], chunk if loop == last else 1) for loop in loops]
        with self.code.loop("first", "last") as tile:
            *outer, span = tile_spans(self.code, tile, cuts)
            starts = [start for start, _ in outer]
            write(lambda index: self._at(loops, (*starts, index)), span)
        return TileCount(tuple(((size,), each) for size, each in cuts))

    def _with(self, point: Sequence[Term], number: Term) -> Indices:
        """Return the point of a term and its place."""
        found = list(point)
        found[self._running.term] = found[self._running.place] = number
        if self._running.is_reversed:
            last = self.code.subtract(self._size, 1)
            found[self._running.place] = self.code.subtract(last, number)
        return tuple(found)

    # One term ---------------------------------------------------------------------------------

    def _starts(self, point: Indices) -> list[Term]:
        """Return what precedes the first term."""
        arguments: list[SSAValue] = list(self.view.body.args)
        return [self._element(arguments.index(each), point) for each in self._running.starts]

    def _read(self, point: Indices) -> list[Term]:
        """Return what the body reads of the inputs for a term."""
        return [self._element(number, point) for number in self._terms]

    def _combined(self, point: Indices, terms: Sequence[Term], held: Sequence[Term]) -> list[Term]:
        """Return what is held after a term."""
        known = (*(self.view.body.args[each] for each in self._terms), *self._running.held)
        for each, term in zip(known, (*terms, *held), strict=True):
            self.code.remember(each, term)
        self.writer.evaluate(self._running.operations, point)
        return [self.writer.scalar(each) for each in self._running.combined]

    def _chosen(self, held: Sequence[Term], combined: Sequence[Term]) -> Sequence[Term]:
        """Return the results at the place of a term."""
        return combined if self._running.is_inclusive else held

    # Orders of the loops ----------------------------------------------------------------------

    def _write_points(self, points: Sequence[list[Term]]) -> None:
        """Combine the terms of some rows together, in variables."""
        names = [
            [self.code.copy(each) for each in self._starts(self._with(point, 0))]
            for point in points
        ]
        self._go_on(points, names, (0, self._size))

    def _go_on(
        self, points: Sequence[list[Term]], names: Sequence[Sequence[str]], span: Span
    ) -> None:
        """Combine some terms of rows with what variables hold."""
        code = self.code
        with code.loop(*span) as number:
            for row, held in zip(points, names, strict=True):
                point = self._with(row, number)
                found = [code.copy(each) for each in self._combined(point, self._read(point), held)]
                self._store(self._positions(point), self._chosen(held, found))
                for name, each in zip(held, found, strict=True):
                    code.set(name, each)

    def _columns(self, at: Callable[[Term], list[Term]], span: Span) -> None:
        """Combine the terms of some columns, one row of terms after the other."""
        code, held = self.code, stack_arrays(self.writer, self.view.outputs, COLUMN_CHUNK)
        with code.loop(*span) as column:
            place = code.subtract(column, span[0])
            store_all(held, place, self._starts(self._with(at(column), 0)))
        with code.loop(0, self._size) as number, code.loop(*span) as column:
            place, point = code.subtract(column, span[0]), self._with(at(column), number)
            before = load_all(held, place)
            found = self._combined(point, self._read(point), before)
            store_all(held, place, found)
            self._store(self._positions(point), self._chosen(before, found))

    def _rows(self, at: Callable[[Term], list[Term]], span: Span) -> None:
        """Combine the terms of LANES rows in the lanes of vectors, or of fewer rows one by one."""
        code, (start, stop) = self.code, span

        def some_rows() -> None:
            with code.loop(start, stop) as row:
                self._write_points([at(row)])

        def lanes(lane: Term, number: Term) -> Indices:
            return self._with(at(code.add(start, lane)), number)

        is_whole = code.compare("eq", code.subtract(stop, start), LANES)
        code.branch(is_whole, lambda: self._in_lanes(lanes), some_rows)

    def _in_lanes(self, at: Callable[[Term, Term], Indices]) -> None:
        """Combine the terms of LANES rows; `at` returns the point of a lane and a term."""
        code, view = self.code, self.view
        held = stack_arrays(self.writer, view.outputs, LANES)
        inputs = [view.inputs[each] for each in self._terms]
        block = TransposedBlock(self.writer, inputs, TERMS, LANES)
        made = stack_arrays(self.writer, view.outputs, LANES * TERMS)
        with code.loop(0, LANES) as lane:
            store_all(held, lane, self._starts(at(lane, 0)))
        whole = code.multiply(code.floor_divide(self._size, TERMS), TERMS)
        with code.loop(0, whole, TERMS) as first:
            block.fill(lambda lane, term: self._read(at(lane, code.add(first, term))))
            with code.loop(0, TERMS) as term, code.loop(0, LANES) as lane:
                place, before = code.add(code.multiply(term, LANES), lane), load_all(held, lane)
                point = at(lane, code.add(first, term))
                found = self._combined(point, block.load(term, lane), before)
                store_all(made, place, self._chosen(before, found))
                store_all(held, lane, found)
            places = zip(*(self._positions(at(lane, first)) for lane in (0, 1)), strict=True)
            for array, result, (begin, next_row) in zip(
                made, view.operation.results, places, strict=True
            ):
                base, step = self.writer.address(result), code.subtract(next_row, begin)
                array.store_transposed(base, begin, step, LANES, TERMS)
        with code.loop(0, LANES) as lane:
            names = [code.copy(each) for each in load_all(held, lane)]
            self._go_on([list(at(lane, 0))], [names], (whole, self._size))


def _fills(size: Term, count: int) -> bool:
    return not isinstance(size, int) or size >= count
