"""Products of a large matrix and a few columns, whose terms fill vectors and whose columns do not.

Vectors run along the depth, and the lanes of each sum are added up at the end:

    copy the columns, so that the terms of each are contiguous
    for rows, 4 at a time:
      for columns, up to 4 at a time:
        for 16 terms: sums[row][column] += large[row][terms] * narrow[column][terms]

Vectors along 7 columns would leave half of AVX-512's lanes empty, and read each term of the large
matrix for itself. Vectors along its rows, as in `8x64 * (512x64)^T`, would have to gather them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.linalg.structured_view import StructuredView
from ....ir.linear_forms import loops_of
from ....runtime.abi.elements import F32, F64
from ...microkernels.products import tile_of
from ...microkernels.vectors import vector_bits
from ...scalar_ops.primitives import LAST_SCOPE
from ..code.ast_builder import Term
from ..elements.kernel_text import TileCount
from ..elements.writer import Indices, KernelWriter
from ..loops.tiles import even_part, loops_over, tile_spans
from ..reductions.nests import FEW_TERMS, LARGE_OPERAND, ROWS_TOGETHER, ReductionLoops
from .contractions import contraction_of
from .factors import is_stored

DEEP = 256
"""The terms of a sum from which on adding up the lanes of its vector takes little of the time."""

TERMS_OF_COLUMN, MAX_GATHERED_COLUMNS = 4, 64
"""The terms for each column, and the most columns, if other vectors would have to be gathered."""

MAX_NARROW, MAX_COPY = 1 << 17, 1 << 15
"""The most elements of all columns, which stay in the L2 cache, and of those that are copied."""

ROW_CHUNK = 256
"""The most rows in a tile of work, which copies the columns for itself."""


class DeepProduct(ReductionLoops):
    """The loops of such a product: one for its rows, one for its columns, and one for its depth."""

    def __init__(
        self,
        writer: KernelWriter,
        view: StructuredView,
        loops: Sequence[int],
        batch: Sequence[int],
    ) -> None:
        """`loops` are those of the left operand, of the right operand, and of both."""
        super().__init__(writer, view)
        known = view.loop_sizes()
        left, right, self._terms = (known[loop] or 0 for loop in loops)
        self._narrow = 0 if left < right else 1
        """The number of the operand that has the columns."""
        self._column, self._row = loops[:2] if left < right else loops[1::-1]
        self._columns, self._rows = sorted((left, right))
        self._term = loops[2]
        self._batch = batch
        self._is_copied = not self._is_along_depth(self._narrow)
        self._memory: Term = 0

    def _is_along_depth(self, number: int) -> bool:
        """Return whether the terms of an operand are contiguous."""
        return loops_of(self.view.maps[number])[-1] == self._term

    @property
    def pays_off(self) -> bool:
        """Whether these loops beat others."""
        view = self.view
        large = view.inputs[1 - self._narrow]
        if loops_of(view.output_maps[0])[-1] == self._row:
            least = max(FEW_TERMS + 1, TERMS_OF_COLUMN * self._columns)
            most = MAX_GATHERED_COLUMNS
        else:
            least, most = DEEP, tile_of(self.writer.element_of(large)).lanes
        size = self._columns * self._terms
        return (
            1 < self._columns <= most
            and self._terms >= least
            and size <= (MAX_COPY if self._is_copied else MAX_NARROW)
            and self._rows >= 4 * self._columns
            and self._rows * self._terms >= LARGE_OPERAND
            and self._is_along_depth(1 - self._narrow)
            and is_stored(self.writer, large)
        )

    def write(self) -> TileCount:
        """Write the loops; a tile of work has all columns of some rows."""
        code, rows = self.code, self._rows
        chunk = even_part(rows, ROW_CHUNK, ROWS_TOGETHER)
        cuts = [*((self.sizes[loop], 1) for loop in self._batch), (rows, chunk)]
        if self._is_copied:
            self._memory = code.load(f"scratch_{self._name}_{self._columns * self._terms}")
        with code.loop("first", "last") as tile:
            *outside, (start, stop) = tile_spans(code, tile, cuts)
            with loops_over(code, outside) as at:
                point = self._at(self._batch, at)
                self._copy_columns(point)
                count = code.floor_divide(code.subtract(stop, start), ROWS_TOGETHER)
                middle = code.add(start, code.multiply(count, ROWS_TOGETHER))
                with code.loop(start, middle, ROWS_TOGETHER) as row:
                    self._write_rows(point, row, ROWS_TOGETHER)
                if rest := rows % ROWS_TOGETHER:
                    with code.loop(middle, stop, rest) as row:
                        self._write_rows(point, row, rest)
        return TileCount(tuple(((size,), length) for size, length in cuts))

    def _write_rows(self, point: Sequence[Term], first: Term, count: int) -> None:
        """Write the sums of a few rows: as many columns at once as registers hold sums for."""
        width = even_part(self._columns, 4 if vector_bits() == 512 else 3)
        for left in range(0, self._columns, width):
            points: list[list[Term]] = []
            for row in range(count):
                for column in range(left, min(left + width, self._columns)):
                    points.append(list(point))
                    points[-1][self._row] = self.code.add(first, row)
                    points[-1][self._column] = column
            self._write_points(points)

    def _copy_columns(self, point: Sequence[Term]) -> None:
        """Copy the columns so that the terms of each are contiguous, if they are not."""
        if not self._is_copied:
            return
        at = list(point)
        with loops_over(self.code, [(0, self._columns), (0, self._terms)]) as indices:
            at[self._column], at[self._term] = indices
            element = super()._element(self._narrow, tuple(at))
            store = f"store_{self._name}_{LAST_SCOPE}"
            self.code.run(store, self._memory, self._place(tuple(at)), element)

    @property
    def _name(self) -> str:
        return self.writer.element_of(self.view.inputs[self._narrow]).name

    def _place(self, loops: Indices) -> Term:
        """Return the position of a term in the copy."""
        at = loops[self._column], loops[self._term]
        return self.code.linear(at, (self._columns, self._terms))

    def _element(self, number: int, loops: Indices) -> Term:
        if number != self._narrow or not self._is_copied:
            return super()._element(number, loops)
        return self.code.load(f"load_{self._name}_{LAST_SCOPE}", self._memory, self._place(loops))


def deep_product(writer: KernelWriter, view: StructuredView) -> DeepProduct | None:
    """Return the loops of a structured operation if it is such a product, else `None`.

    Raises OperationError for unsupported element types.
    """
    found = contraction_of(view, writer.element_of)
    if (
        found is None
        or found.element not in (F32, F64)
        or found.elements != (found.element, found.element)
    ):
        return None
    known = view.loop_sizes()
    batch, *groups = (
        [loop for loop in group if known[loop] != 1]
        for group in (found.batch, found.rows, found.columns, found.depth)
    )
    if any(len(group) != 1 for group in groups):
        return None
    product = DeepProduct(writer, view, [loop for (loop,) in groups], batch)
    return product if product.pays_off else None
