"""Large matrix products: pack operands into panels, then multiply tile by tile.

Every contraction of two operands is a matrix product whose rows, columns and depth are groups of
loops (`b x s x k` times `k x n` has the rows `b, s`). Three kernels do it: one packs the left
operand into panels of a tile's rows, one the right operand into panels of its columns, and one
multiplies panels in registers. They run for one section of the product after another, so that
panels of one section at a time need memory: of some matrices of a batch, or of some columns.
Packing converts, so `f16` and `bf16` operands are multiplied in `f32`, and narrow integers as pairs
of 16-bit ones, two terms at once; where the CPU has instructions for it, those take `bf16` and
8-bit integers as they are stored. Anything else, and what is small, is a plain loop nest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...runtime.abi.elements import F32, F64, NATIVE_WIDTHS, Element, element_of
from ...runtime.abi.values import element_type
from ..microkernels.products import Tile, tile_of_product
from .ast_builder import Term
from .expressions import write_element
from .fusion import is_pointwise
from .kernel_text import Bound, KernelText, Panels, Portion, TileCount
from .moved_operands import read_through
from .packed_products import Side, gains_from_repacking, packed_tile, panel_blocks
from .panels import SCRATCH_SCOPE, Loops, PanelPacking, set_loops
from .product_sums import I32, Factor, product_factors
from .reduction_loops import FEW_ROWS, loop_sizes
from .register_tiles import register_tiles
from .writer import Indices, KernelWriter

SMALLEST_PRODUCT = 1 << 19
"""Multiplications below which packing costs more than it gains."""

ROW_BLOCK = 16
"""Row panels of one tile of work: with a depth of 1024 they fit the second-level cache."""

COLUMN_BLOCK = 4
"""Column panels of one tile of work: enough of them for several threads in each section."""

SECTION_COLUMNS = 16
"""Column panels that are packed at a time at most: with a depth of 1024 floats, 2 MiB."""

FIRST_PANEL, PANEL_COUNT = Portion("first panel"), Portion("panels")
"""What a kernel packs: panels of all matrices of the batch, one after the other."""

FIRST_BATCH, BATCHES = Portion("first batch"), Portion("batches")
FIRST_COLUMN, COLUMNS = Portion("first column panel"), Portion("column panels")
"""What a kernel multiplies."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """The loops of a product by their part in it, and the type that sums are kept in.

    `factors` are those of its operands, in their order, and `elements` what they are multiplied
    as.
    """

    view: StructuredView
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    element: Element
    factors: tuple[Factor, Factor]
    elements: tuple[Element, Element]

    @property
    def tile(self) -> Tile:
        """What is multiplied at once."""
        return tile_of_product(*self.elements, self.element)

    @property
    def microkernel(self) -> str:
        """The name of the primitive that multiplies panels."""
        tile, terms = self.tile, "_".join(each.name for each in self.elements)
        if tile.step > 1:
            return f"amx_{terms}"
        sums = f"{self.element.name}_{tile.rows}_{tile.columns}"
        return f"words_{terms}_{sums}" if tile.is_as_stored else f"microkernel_{sums}"


def contraction_of(
    view: StructuredView, element_of: Callable[[SSAValue], Element]
) -> Contraction | None:
    """A structured operation as a matrix product in `f32` or `f64`, or in `i32` of integers that
    fit 16 bits, if it is one."""
    if len(view.inputs) != 2 or len(view.outputs) != 1:
        return None
    element, factors = element_of(view.outputs[0]), product_factors(view.body)
    if factors is None or element not in (F32, F64, I32):
        return None
    if element == I32:
        for each in factors:
            width = element_of(view.inputs[each.argument]).width
            if width not in NATIVE_WIDTHS or width + each.is_unsigned > 16:
                return None
    uses = [_loops_of(each) for each in view.maps]
    if any(each is None for each in uses):
        return None
    left, right, result = (frozenset(each or ()) for each in uses)
    groups: dict[tuple[bool, bool, bool], list[int]] = {}
    for loop, iterator in enumerate(view.iterators):
        is_parallel = iterator is IteratorType.PARALLEL
        kind = (loop in left, loop in right, loop in result)
        if is_parallel != kind[2]:
            return None
        groups.setdefault(kind, []).append(loop)
    batch, rows, columns, depth = (
        tuple(groups.pop(kind, ()))
        for kind in (
            (True, True, True),
            (True, False, True),
            (False, True, True),
            (True, True, False),
        )
    )
    if groups or not (rows and columns and depth):
        return None
    left, right = sorted(factors, key=lambda each: each.argument)
    loaded = (
        left.loaded(element_of(view.inputs[0])),
        right.loaded(element_of(view.inputs[1])),
    )
    return Contraction(view, batch, rows, columns, depth, element, (left, right), loaded)


def _loops_of(affine_map: AffineMap) -> list[int] | None:
    """The loops of a map whose results are different loops."""
    loops = [each.position for each in affine_map.results if isinstance(each, AffineDimExpr)]
    complete = len(loops) == len(affine_map.results) and len(set(loops)) == len(loops)
    return loops if complete else None


def gains_from_panels(contraction: Contraction, is_inline: Callable[[SSAValue], bool]) -> bool:
    """Whether packing whole panels may pay: not for a few rows or columns, nor if strips do."""
    view = contraction.view
    for group in (contraction.rows, contraction.columns):
        sizes = [view.loop_sizes()[loop] for loop in group]
        if None not in sizes and prod(size or 0 for size in sizes) <= FEW_ROWS:
            return False
    if contraction.tile.terms > 1:
        # Strips take their numbers from where they lie, and widen them again for each.
        return True
    writer = KernelWriter(view.operation, (), is_inline, write_element)
    tiles = register_tiles(writer, view, loop_sizes(writer, view))
    return tiles is None or not tiles.is_small


@dataclass(frozen=True, slots=True)
class PackedProduct:
    """The three kernels of a contraction, and the panels that two write and the third reads."""

    contraction: Contraction
    panels: tuple[Panels, Panels]
    left: KernelText
    right: KernelText
    multiply: KernelText


def packed_product(
    operation: Operation, is_inline: Callable[[SSAValue], bool]
) -> PackedProduct | None:
    """The kernels that compute a large product by panels, `None` where that does not pay."""
    view = structured_view(operation)
    if view is None or is_pointwise(operation):
        return None
    tile = packed_tile(operation, is_inline)
    if tile is not None and not gains_from_repacking(operation, tile):
        return None

    def element(value: SSAValue) -> Element:
        return element_of(element_type(value.type), operation)

    contraction = contraction_of(read_through(view, is_inline), element)
    if contraction is None or (tile is None and not gains_from_panels(contraction, is_inline)):
        return None
    return _ProductWriter(contraction, is_inline).write()


class _ProductWriter:
    """Writes the kernels of a contraction."""

    def __init__(self, contraction: Contraction, is_inline: Callable[[SSAValue], bool]) -> None:
        self.contraction = contraction
        self.tile = contraction.tile
        self.panels = (Panels("left"), Panels("right"))
        self._is_inline = is_inline

    def write(self) -> PackedProduct:
        """All three."""
        contraction = self.contraction
        return PackedProduct(
            contraction,
            self.panels,
            self._pack(0, contraction.rows),
            self._pack(1, contraction.columns),
            self._multiply(),
        )

    def _writer(self, result: Bound) -> KernelWriter:
        operation = self.contraction.view.operation
        return KernelWriter(operation, (result,), self._is_inline, write_element)

    def _pack(self, position: int, group: Loops) -> KernelText:
        """Write panels of an operand."""
        contraction, panels = self.contraction, self.panels[position]
        writer = self._writer(panels)
        first, packed = (writer.constant(each) for each in (FIRST_PANEL, PANEL_COUNT))
        packing = PanelPacking(
            writer,
            contraction.view.inputs[position],
            contraction.view.maps[position],
            contraction.factors[position],
            contraction.batch,
            group,
            contraction.depth,
            loop_sizes(writer, contraction.view),
            contraction.element,
            self.tile,
            position == 0,
        )
        base = writer.address(panels)
        code, together = writer.code, packing.together
        with code.loop("first", "last") as tile:
            start = code.multiply(tile, together)
            packing.write(base, first, start, code.minimum(code.add(start, together), packed))
        return writer.finish(TileCount((((packed,), together),)))

    def _multiply(self) -> KernelText:
        contraction, tile = self.contraction, self.tile
        writer = self._writer(contraction.view.operation.results[0])
        code = writer.code
        name, item = contraction.element.name, contraction.element.storage_bytes
        left, right = (writer.address(each) for each in self.panels)
        scratch = code.load(f"scratch_{name}_{tile.rows * tile.columns}")
        sizes = loop_sizes(writer, contraction.view)
        rows, columns, depth = (
            code.product([sizes[loop] for loop in group])
            for group in (contraction.rows, contraction.columns, contraction.depth)
        )
        steps, words = tile.steps(code, depth), tile.words(code, depth)
        batches, first_batch, column_panels, start = (
            writer.constant(each) for each in (BATCHES, FIRST_BATCH, COLUMNS, FIRST_COLUMN)
        )
        row_panels = code.ceiling_divide(rows, tile.rows)
        sides = (
            Side(left, row_panels, code.multiply(words, tile.rows * item), ROW_BLOCK),
            Side(right, column_panels, code.multiply(words, tile.columns * item), COLUMN_BLOCK),
        )
        with panel_blocks(code, *sides) as (batch, row, column, panels):
            code.run(contraction.microkernel, *panels, scratch, steps)
            across = code.multiply(code.add(start, column), tile.columns)
            corner = (code.multiply(row, tile.rows), across)
            matrix = code.add(first_batch, batch)
            self._store(writer, sizes, scratch, matrix, corner, (rows, columns))
        row_sizes = tuple(sizes[loop] for loop in contraction.rows)
        factors = (
            ((batches,), 1),
            (row_sizes, tile.rows * ROW_BLOCK),
            ((column_panels,), COLUMN_BLOCK),
        )
        return writer.finish(TileCount(factors))

    def _store(
        self,
        writer: KernelWriter,
        sizes: Indices,
        scratch: Term,
        batch: Term,
        corner: tuple[Term, Term],
        extent: tuple[Term, Term],
    ) -> None:
        """Add a finished tile to the initial values, as far as it lies in the result."""
        contraction, tile, code = self.contraction, self.tile, writer.code
        view = contraction.view
        output, result = view.outputs[0], view.operation.results[0]
        name, add = contraction.element.name, "sumf" if contraction.element.is_float else "addi"
        height = code.minimum(code.subtract(extent[0], corner[0]), tile.rows)
        width = code.minimum(code.subtract(extent[1], corner[1]), tile.columns)
        point: list[Term] = [0] * len(sizes)
        set_loops(code, point, contraction.batch, sizes, batch)
        with code.loop(0, height) as i:
            set_loops(code, point, contraction.rows, sizes, code.add(corner[0], i))
            start = code.multiply(i, tile.columns)
            with code.loop(0, width) as j:
                set_loops(code, point, contraction.columns, sizes, code.add(corner[1], j))
                indices = writer.apply_map(view.output_maps[0], tuple(point))
                total = code.load(f"load_{name}_{SCRATCH_SCOPE}", scratch, code.add(start, j))
                initial = writer.element(output, indices)
                total = code.call(f"{add}_{name}", initial, total)
                writer.store(result, code.linear(indices, writer.shape(result)), total)
