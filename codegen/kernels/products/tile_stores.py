"""Store a finished tile of a matrix product: from the scratch memory of its sums to the result.

Where columns are contiguous, whole rows of a tile are stored as vectors. For a whole tile, LLVM
forwards the vectors from registers. The cache lines of the result are prefetched before the tile is
multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ..code.ast_builder import Term
from ..elements.writer import Indices, KernelWriter
from ..loops.tiles import extent_of_tile
from .contractions import Contraction
from .factors import initial_scalar, initial_vector, is_stored
from .panel_packing import SCRATCH_SCOPE, set_loops


class TileStore:
    """The place of a tile in the result of a product: the matrix, the first row and column."""

    def __init__(
        self,
        writer: KernelWriter,
        contraction: Contraction,
        sizes: Indices,
        matrix: Term,
        row: Term,
        column: Term,
    ) -> None:
        self._writer, self._code = writer, writer.code
        self._contraction, self._sizes = contraction, sizes
        self._matrix, self._row, self._column = matrix, row, column
        self._view = contraction.view
        self._result: SSAValue = contraction.view.operation.results[0]
        last = self._view.output_maps[0].results[-len(contraction.columns) :]
        places = [each.position for each in last if isinstance(each, AffineDimExpr)]
        self._is_in_rows = places == list(contraction.columns)

    def prefetch(self) -> None:
        """Prefetch the cache lines of the tile, if its rows are contiguous."""
        if not self._is_in_rows:
            return
        element, tile = self._contraction.element, self._contraction.tile
        for row in range(tile.rows):
            start = self._position(row, 0)
            for lane in range(0, tile.columns, tile.lanes):
                place = self._code.add(start, lane)
                address = self._writer.address(self._result)
                self._code.run(f"prefetch_{element.name}", address, place)

    def write(self, scratch: Term, before: SSAValue) -> None:
        """Add the sums at an address to the values of `before`, for elements inside the result."""
        code, tile = self._code, self._contraction.tile
        height, width = (
            extent_of_tile(code, code.product([self._sizes[loop] for loop in loops]), at, most)
            for loops, at, most in (
                (self._contraction.rows, self._row, tile.rows),
                (self._contraction.columns, self._column, tile.columns),
            )
        )

        def rows(write: Callable[[Term], None]) -> None:
            with code.loop(0, height) as row:
                write(row)

        def elements(row: Term) -> None:
            self._write_elements(scratch, before, row, width)

        def vectors(row: Term) -> None:
            self._write_vectors(scratch, before, row)

        has_vectors = initial_scalar(self._writer, before) is not None
        if not self._is_in_rows or not (has_vectors or is_stored(self._writer, before)):
            rows(elements)
            return

        def all_rows() -> None:
            for row in range(tile.rows):
                vectors(row)

        def whole_rows() -> None:
            code.branch(code.compare("sge", height, tile.rows), all_rows, partial(rows, vectors))

        code.branch(code.compare("sge", width, tile.columns), whole_rows, partial(rows, elements))

    def _position(self, row: Term, column: Term) -> Term:
        """Return the row-major position in the result of a sum of the tile."""
        return self._code.linear(self._indices(row, column), self._writer.shape(self._result))

    def _indices(self, row: Term, column: Term) -> Indices:
        code, contraction = self._code, self._contraction
        point: list[Term] = [0] * len(self._sizes)
        for loops, index in (
            (contraction.batch, self._matrix),
            (contraction.rows, code.add(self._row, row)),
            (contraction.columns, code.add(self._column, column)),
        ):
            set_loops(code, point, loops, self._sizes, index)
        return self._writer.apply_map(self._view.output_maps[0], tuple(point))

    def _write_vectors(self, scratch: Term, before: SSAValue, row: Term) -> None:
        """Add a row of the tile that is entirely inside of the result."""
        code, writer = self._code, self._writer
        element, tile = self._contraction.element, self._contraction.tile
        name, lanes = element.name, tile.lanes
        start = self._position(row, 0)
        for lane in range(0, tile.columns, lanes):
            position = code.add(start, lane)
            place = code.add(code.multiply(row, tile.columns), lane)
            total = code.load(f"vload_{name}_{name}_{lanes}_{SCRATCH_SCOPE}", scratch, place)
            initial = initial_vector(writer, before, position, element, lanes)
            total = code.call(f"vadd_{name}_{lanes}", initial, total)
            writer.store_vector(self._result, position, total, lanes)

    def _write_elements(self, scratch: Term, before: SSAValue, row: Term, width: Term) -> None:
        """Add the first `width` elements of a row of the tile."""
        code, element = self._code, self._contraction.element
        add = "sumf" if element.is_float else "addi"
        start = code.multiply(row, self._contraction.tile.columns)
        with code.loop(0, width) as column:
            indices = self._indices(row, column)
            place = code.add(start, column)
            total = code.load(f"load_{element.name}_{SCRATCH_SCOPE}", scratch, place)
            initial = self._writer.element(before, indices)
            total = code.call(f"{add}_{element.name}", initial, total)
            position = code.linear(indices, self._writer.shape(self._result))
            self._writer.store(self._result, position, total)
