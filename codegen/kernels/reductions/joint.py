"""Reduce rows jointly, such as to maxima and their indices, in the lanes of vectors.

Blocks of the elements of some rows are transposed on the stack, so that a vector has one element of
each row. A single long row is cut into parts, which take the place of rows:

    1,024 elements in 32 lanes: lane 0 reduces elements 0 to 31, lane 1 elements 32 to 63, ...

At the end, its lanes are combined in order: the first of equal elements stays the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....dialects.linalg.joint_combiners import JointCombiner, joint_combiner
from ....dialects.linalg.structured_view import StructuredView
from ..code.ast_builder import Term
from ..elements.kernel_text import TileCount
from ..elements.writer import Indices, KernelWriter
from ..loops.stack_arrays import StackArray, TransposedBlock, load_all, stack_arrays, store_all
from ..loops.tiles import tile_spans, write_tiled_loops
from .nests import ReductionLoops

LANES = 32
"""The rows or parts: two vectors of 512 bits, whose chains of operations run side by side."""

TERMS = 16
"""The elements of each lane in a block."""


def joint_reduction(writer: KernelWriter, view: StructuredView) -> JointReduction | None:
    """Return the loops of a joint reduction that fills lanes; `None` for other operations.

    The body is then known to be associative.
    """
    combiner = joint_combiner(view)
    loops = None if combiner is None else JointReduction(writer, view, combiner)
    return loops if loops is not None and loops.fills_lanes() else None


class JointReduction(ReductionLoops):
    """The loops of a reduction whose body chooses between candidates and accumulators."""

    def __init__(self, writer: KernelWriter, view: StructuredView, combiner: JointCombiner) -> None:
        super().__init__(writer, view)
        self._combiner = combiner
        chosen = set(combiner.operations)
        self._own_operations = [each for each in view.body.ops if each not in chosen][:-1]
        (self._loop,) = view.reduction_loops
        self._size = self.sizes[self._loop]

    def fills_lanes(self) -> bool:
        """Return whether there are enough rows, or elements in a row."""
        if self.reductions != (self._loop,) or self._row_loop() is not None:
            return False
        least = TERMS if self._has_many_rows() else LANES * TERMS
        return not isinstance(self._size, int) or self._size >= least

    def _has_many_rows(self) -> bool:
        rows = self.sizes[self.parallels[-1]] if self.parallels else 1
        return isinstance(rows, int) and rows >= LANES

    def write(self) -> TileCount:
        """Write loops over LANES rows each, or over single rows."""
        code, sizes = self.code, tuple(self.sizes[loop] for loop in self.parallels)
        if not self._has_many_rows():
            return write_tiled_loops(code, sizes, self._parts_in_lanes)
        cuts = [*((size, 1) for size in sizes[:-1]), (sizes[-1], LANES)]
        with code.loop("first", "last") as tile:
            *others, (start, stop) = tile_spans(code, tile, cuts)
            outer = [each for each, _ in others]

            def reduce_some() -> None:
                with code.loop(start, stop) as row:
                    self._reduce_row((*outer, row))

            is_whole = code.compare("eq", code.subtract(stop, start), LANES)
            code.branch(is_whole, lambda: self._rows_in_lanes(outer, start), reduce_some)
        return TileCount(tuple(((size,), chunk) for size, chunk in cuts))

    def _reduce_row(self, at: Indices) -> None:
        self._write_points([self._at(self.parallels, at)])

    def _rows_in_lanes(self, outer: Sequence[Term], start: Term) -> None:
        """Reduce a row in each lane."""
        code, held = self.code, stack_arrays(self.writer, self.view.operation.results, LANES)

        def at(lane: Term, position: Term = 0) -> Indices:
            point = self._at(self.parallels, (*outer, code.add(start, lane)))
            point[self._loop] = position
            return tuple(point)

        with code.loop(0, LANES) as lane:
            store_all(held, lane, self._initial(at(lane)))
        whole = code.multiply(code.floor_divide(self._size, TERMS), TERMS)
        self._reduce_blocks(held, whole, at)
        with code.loop(whole, self._size) as position, code.loop(0, LANES) as lane:
            candidates = self._candidates(at(lane, position))
            store_all(held, lane, self._combined(candidates, load_all(held, lane)))
        with code.loop(0, LANES) as lane:
            self._store(self._positions(at(lane)), load_all(held, lane))

    def _parts_in_lanes(self, at: Indices) -> None:
        """Reduce a part of a row in each lane, then the elements that fill no block.

        The initial values take part in each lane, which does not change the result.
        """
        code, held = self.code, stack_arrays(self.writer, self.view.operation.results, LANES)
        point = self._at(self.parallels, at)
        accumulators = [code.copy(each) for each in self._initial(tuple(point))]
        length = code.multiply(code.floor_divide(self._size, LANES * TERMS), TERMS)

        def place(lane: Term, term: Term) -> Indices:
            position = code.add(code.multiply(lane, length), term)
            return *point[: self._loop], position, *point[self._loop + 1 :]

        with code.loop(0, LANES) as lane:
            store_all(held, lane, accumulators)
        self._reduce_blocks(held, length, place)
        with code.loop(0, LANES) as lane:
            self._assign(accumulators, self._combined(load_all(held, lane), accumulators))
        with code.loop(code.multiply(length, LANES), self._size) as position:
            candidates = self._candidates(place(0, position))
            self._assign(accumulators, self._combined(candidates, accumulators))
        self._store(self._positions(tuple(point)), accumulators)

    def _assign(self, names: Sequence[str], terms: Sequence[Term]) -> None:
        """Set variables to terms that may depend on all of them."""
        found = [self.code.copy(each) for each in terms]
        for name, term in zip(names, found, strict=True):
            self.code.set(name, term)

    def _reduce_blocks(
        self, held: Sequence[StackArray], size: Term, at: Callable[[Term, Term], Indices]
    ) -> None:
        """Combine the first elements of each lane, a multiple of TERMS, with what is held."""
        code = self.code
        block = TransposedBlock(self.writer, self.view.operation.results, TERMS, LANES)
        with code.loop(0, size, TERMS) as first:
            block.fill(lambda lane, term: self._candidates(at(lane, code.add(first, term))))
            # The steps are unrolled, so that LLVM makes vectors of lanes that stay in registers.
            with code.loop(0, LANES) as lane:
                found = load_all(held, lane)
                for term in range(TERMS):
                    found = self._combined(block.load(term, lane), found)
                store_all(held, lane, found)

    def _candidates(self, loops: Indices) -> list[Term]:
        """Return what the body computes from the inputs at a point of the loops."""
        for each, term in zip(self.view.body.args, self._elements(loops), strict=False):
            self.code.remember(each, term)
        self.writer.evaluate(self._own_operations, loops)
        return [self.writer.scalar(each) for each in self._combiner.candidates]

    def _combined(self, candidates: Sequence[Term], held: Sequence[Term]) -> list[Term]:
        """Combine candidates with what is held."""
        known = (*self._combiner.candidates, *self._combiner.accumulators)
        for each, term in zip(known, (*candidates, *held), strict=True):
            self.code.remember(each, term)
        self.writer.evaluate(self._combiner.operations)
        return [self.writer.scalar(each) for each in self._combiner.results]
