"""Large matrix products: pack operands into panels, then multiply tile by tile.

Every contraction of two operands is a matrix product whose rows, columns and depth are groups of
loops (`b x s x k` times `k x n` has the rows `b, s`). It has three kernels: one packs the left
operand into panels of a tile's rows, one packs the right operand into panels of a tile's columns,
and one multiplies panels in registers. They run for one section of the product after another, some
matrices of a batch or some columns, so that only the panels of one section need memory.

Packing converts elements: `f16` and `bf16` are multiplied in `f32`, and narrow integers as pairs of
16-bit integers, two terms at once. CPUs with suitable instructions multiply `bf16` and 8-bit
integers as they are stored. Other and small products are plain loop nests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from ....dialects.linalg.structured_view import structured_view
from ....runtime.abi.elements import F16, Element
from ..code.ast_builder import Term
from ..elements.expressions import write_element
from ..elements.kernel_text import Bound, KernelText, Panels, SectionConstant, TileCount
from ..elements.pointwise import is_pointwise
from ..elements.scalar_operations import element_of_value
from ..elements.writer import Indices, KernelWriter
from ..moves.permuted_operands import fold_rearranged
from ..reductions.nests import FEW_ROWS, loop_sizes
from .contractions import Contraction, contraction_of
from .deep import deep_product
from .mmt4d import PanelOperand, gains_from_repacking, mmt4d_tile, panel_blocks
from .panel_packing import PanelPacking
from .register_tiles import register_tiles
from .tile_stores import TileStore

MIN_PANEL_PRODUCT = 1 << 19
"""The multiplications below which packing costs more than it gains."""

ROW_BLOCK = 8
"""The row panels in a tile of work.

At a depth of 1024 floats they take 384 KiB, which fits the L2 cache beside a column panel.
"""

COLUMN_BLOCK = 4
"""The column panels in a tile of work: few, so that each section has work for several threads."""

SECTION_COLUMNS = 32
"""The most column panels that are packed at a time: 4 MiB at a depth of 1024 floats."""

FIRST_PANEL, PANEL_COUNT = SectionConstant("first panel"), SectionConstant("panels")
"""The panels that a kernel packs; panels of all matrices of the batch are numbered in order."""

FIRST_WORD, WORDS = SectionConstant("first word"), SectionConstant("words")
"""The words of depth that kernels pack or multiply.

They are not constants of a product whose depth fits in one block, which is processed whole.
"""

FIRST_BATCH, BATCHES = SectionConstant("first batch"), SectionConstant("batches")
FIRST_COLUMN, COLUMNS = SectionConstant("first column panel"), SectionConstant("column panels")
"""The matrices of the batch and the column panels that a kernel multiplies."""


def gains_from_panels(contraction: Contraction, is_fused: Callable[[SSAValue], bool]) -> bool:
    """Return whether packing panels may pay off: not for few rows or columns, nor if strips do."""
    view = contraction.view
    for group in (contraction.rows, contraction.columns):
        sizes = [view.loop_sizes()[loop] for loop in group]
        if None not in sizes and prod(size or 0 for size in sizes) <= FEW_ROWS:
            return False
    stored = [element_of_value(each, view.operation) for each in view.inputs]
    if contraction.tile.terms > 1 or F16 in stored:
        # Strips read scalars in place, and would widen them again for each strip.
        return True
    writer = KernelWriter(view.operation, (), is_fused, write_element)
    if deep_product(writer, view) is not None:
        return False
    tiles = register_tiles(writer, view, loop_sizes(writer.shape, view))
    return tiles is None or not tiles.is_small


@dataclass(frozen=True, slots=True)
class PanelProduct:
    """The three kernels of a contraction, and the panels that two write and the third reads."""

    contraction: Contraction
    panels: tuple[Panels, Panels]
    left: KernelText
    right: KernelText
    multiply: KernelText


def panel_product(
    operation: Operation, is_fused: Callable[[SSAValue], bool]
) -> PanelProduct | None:
    """Return the kernels that compute a product by panels, `None` where that does not pay off.

    Raises OperationError for unsupported element types.
    """
    view = structured_view(operation)
    if view is None or is_pointwise(operation):
        return None
    tile = mmt4d_tile(operation, is_fused)
    if tile is not None and not gains_from_repacking(operation, tile):
        return None

    def element(value: SSAValue) -> Element:
        return element_of_value(value, operation)

    contraction = contraction_of(fold_rearranged(view, is_fused), element)
    if contraction is None or (tile is None and not gains_from_panels(contraction, is_fused)):
        return None
    return _ProductWriter(contraction, is_fused).write()


class _ProductWriter:
    """Writes the kernels of a contraction."""

    def __init__(self, contraction: Contraction, is_fused: Callable[[SSAValue], bool]) -> None:
        self.contraction = contraction
        self.tile = contraction.tile
        self.panels = (Panels("left"), Panels("right"))
        self._is_fused = is_fused

    def write(self) -> PanelProduct:
        """Write all three kernels."""
        left, right, multiply = self._pack(0), self._pack(1), self._multiply()
        return PanelProduct(self.contraction, self.panels, left, right, multiply)

    def _writer(self, result: Bound) -> KernelWriter:
        operation = self.contraction.view.operation
        return KernelWriter(operation, (result,), self._is_fused, write_element)

    def _pack(self, position: int) -> KernelText:
        """Write the kernel that packs an operand."""
        contraction, panels = self.contraction, self.panels[position]
        writer = self._writer(panels)
        first, packed = (writer.constant(each) for each in (FIRST_PANEL, PANEL_COUNT))
        sizes = loop_sizes(writer.shape, contraction.view)
        packing = PanelPacking(writer, contraction, position, sizes, *self._words(writer, sizes))
        base = writer.address(panels)
        code, together = writer.code, packing.together
        with code.loop("first", "last") as tile:
            start = code.multiply(tile, together)
            packing.write(base, first, start, code.minimum(code.add(start, together), packed))
        return writer.finish(TileCount((((packed,), together),)))

    def _words(self, writer: KernelWriter, sizes: Indices) -> tuple[Term, Term]:
        """Return the first word of depth of a kernel's section, and the number of words."""
        code = writer.code
        depth = code.product([sizes[loop] for loop in self.contraction.depth])
        if isinstance(depth, int):
            words, block = self.contraction.depth_blocks(code, depth)
            if words == block:
                return 0, words
        return writer.constant(FIRST_WORD), writer.constant(WORDS)

    def _multiply(self) -> KernelText:
        contraction, tile = self.contraction, self.tile
        before, result = contraction.view.outputs[0], contraction.view.operation.results[0]
        writer = self._writer(result)
        code = writer.code
        name, item = contraction.element.name, contraction.element.storage_bytes
        left, right = (writer.address(each) for each in self.panels)
        scratch = code.load(f"scratch_{name}_{tile.rows * tile.columns}")
        sizes = loop_sizes(writer.shape, contraction.view)
        rows = code.product([sizes[loop] for loop in contraction.rows])
        first_word, words = self._words(writer, sizes)
        steps = code.floor_divide(words, tile.step)
        batches, first_batch, column_panels, start = (
            writer.constant(each) for each in (BATCHES, FIRST_BATCH, COLUMNS, FIRST_COLUMN)
        )
        row_panels = code.ceiling_divide(rows, tile.rows)
        sides = (
            PanelOperand(left, row_panels, code.multiply(words, tile.rows * item), ROW_BLOCK),
            PanelOperand(
                right, column_panels, code.multiply(words, tile.columns * item), COLUMN_BLOCK
            ),
        )
        with panel_blocks(code, *sides) as (batch, row, column, panels):
            store = TileStore(
                writer,
                contraction,
                sizes,
                code.add(first_batch, batch),
                code.multiply(row, tile.rows),
                code.multiply(code.add(start, column), tile.columns),
            )
            store.prefetch()
            code.run(contraction.microkernel, *panels, scratch, steps)
            if first_word == 0:
                store.write(scratch, before)
            else:
                with code.when(code.compare("eq", first_word, 0)):
                    store.write(scratch, before)
                with code.otherwise():
                    store.write(scratch, result)
        row_sizes = tuple(sizes[loop] for loop in contraction.rows)
        factors = (
            ((batches,), 1),
            (row_sizes, tile.rows * ROW_BLOCK),
            ((column_panels,), COLUMN_BLOCK),
        )
        return writer.finish(TileCount(factors))
