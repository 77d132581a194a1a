"""Write `linalg.mmt4d` and `linalg.batch_mmt4d`, products of operands that are packed already.

Panels of the operands are passed to the microkernel as they are in memory. A tile of work is a
block of panels of each operand, so that they stay in the L2 cache.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....dialects.linalg.structured_view import structured_view
from ...microkernels.mmt4d import Mmt4dTile
from ...microkernels.products import tile_of_product
from ..code.ast_builder import AstBuilder, Term
from ..elements.expressions import write_element
from ..elements.kernel_text import KernelText, TileCount
from ..elements.scalar_operations import element_of_value
from ..elements.static_values import shape_of
from ..elements.writer import KernelWriter
from .panel_packing import SCRATCH_SCOPE

MMT4D = {"linalg.mmt4d": 0, "linalg.batch_mmt4d": 1}
"""Products of packed operands, and their number of batch dimensions."""

BLOCK_ROWS = 256
BLOCK_COLUMNS = 512
"""The rows and columns of a tile of work: the rows take 1 MiB at a depth of 1024 floats."""


def mmt4d_tile(operation: Operation, is_fused: Callable[[SSAValue], bool]) -> Mmt4dTile | None:
    """Return the tile of an mmt4d that a microkernel computes, `None` for anything else.

    Raises OperationError for unsupported element types.
    """
    if operation.name not in MMT4D:
        return None
    view = structured_view(operation)
    if view is None or any(is_fused(each) for each in view.inputs):
        return None
    cast = operation.get_attr_or_prop("cast")
    if cast is not None and "unsigned" in str(cast):
        return None
    left, right = view.inputs
    rows, depth = shape_of(left)[-2:]
    columns, _ = shape_of(right)[-2:]
    if min(rows, columns, depth) < 1:
        return None
    left_element, right_element, total = (
        element_of_value(each, operation) for each in (left, right, view.outputs[0])
    )
    tile = Mmt4dTile(left_element, right_element, total, rows, columns, depth)
    return tile if tile.is_supported else None


def gains_from_repacking(operation: Operation, tile: Mmt4dTile) -> bool:
    """Return whether an mmt4d is faster if its operands are packed again for this CPU.

    The tile must be unsuitable: it does not fill this CPU's vectors, or it has narrow floats that
    would be widened again for each tile, or this CPU multiplies them as they are stored, the
    only case for integers. The operands must be at least as wide as a tile of this CPU.
    """
    own = tile_of_product(tile.left, tile.right, tile.total)
    if not own.is_as_stored:
        is_narrow = tile.left.is_narrow_float or tile.right.is_narrow_float
        if not tile.total.is_float or (tile.fills_vectors and not is_narrow):
            return False
    batches = MMT4D[operation.name]
    for operand, width, least in (
        (operation.operands[0], tile.rows, own.rows),
        (operation.operands[1], tile.columns, own.lanes),
    ):
        panels = shape_of(operand)[batches]
        if 0 <= panels * width < least:
            return False
    return True


@dataclass(frozen=True, slots=True)
class PanelOperand:
    """An operand of a product in panels: its address, and the number of panels of each matrix.

    - `size`: the bytes of a panel;
    - `block`: the panels in a tile of work.
    """

    base: Term
    count: Term
    size: Term
    block: int


@contextmanager
def panel_blocks(
    code: AstBuilder, left: PanelOperand, right: PanelOperand, *, is_batched: bool = True
) -> Generator[tuple[Term, Term, Term, tuple[Term, Term]]]:
    """Write loops over tiles of work, and over the pairs of panels in each.

    Yields the numbers of the matrix, the row panel and the column panel, and the addresses of both
    panels.
    """
    row_blocks, column_blocks = (
        code.ceiling_divide(each.count, each.block) for each in (left, right)
    )
    with code.loop("first", "last") as work:
        block = code.floor_divide(work, column_blocks)
        batch = code.floor_divide(block, row_blocks) if is_batched else 0
        first_row = code.multiply(code.modulo(block, row_blocks), left.block)
        first_column = code.multiply(code.modulo(work, column_blocks), right.block)
        last_row = code.minimum(code.add(first_row, left.block), left.count)
        last_column = code.minimum(code.add(first_column, right.block), right.count)

        def panel(side: PanelOperand, number: Term) -> Term:
            position = code.add(code.multiply(batch, side.count), number)
            return code.add(side.base, code.multiply(position, side.size))

        with (
            code.loop(first_column, last_column) as column,
            code.loop(first_row, last_row) as row,
        ):
            yield batch, row, column, (panel(left, row), panel(right, column))


def write_mmt4d(
    operation: Operation, tile: Mmt4dTile, is_fused: Callable[[SSAValue], bool]
) -> KernelText:
    """Return the kernel of an mmt4d: microkernel tiles, added to the initial values.

    Raises ValueError for any other operation.
    """
    view = structured_view(operation)
    if view is None:
        raise ValueError(f"{operation.name} is not a structured operation")
    result, (left, right), output = operation.results[0], view.inputs, view.outputs[0]
    writer = KernelWriter(operation, (result,), is_fused, write_element)
    code = writer.code
    batches = MMT4D[operation.name]
    total = tile.total
    scratch = code.load(f"scratch_{total.name}_{tile.rows * tile.columns * tile.parts}")
    row_panels, depth = writer.shape(left)[batches : batches + 2]
    column_panels = writer.shape(right)[batches]
    height, width = max(1, BLOCK_ROWS // tile.rows), max(1, BLOCK_COLUMNS // tile.columns)
    left_bytes = tile.rows * tile.depth * tile.left.storage_bytes
    right_bytes = tile.columns * tile.depth * tile.right.storage_bytes
    sides = (
        PanelOperand(writer.address(left), row_panels, code.multiply(depth, left_bytes), height),
        PanelOperand(
            writer.address(right), column_panels, code.multiply(depth, right_bytes), width
        ),
    )
    with panel_blocks(code, *sides, is_batched=bool(batches)) as (batch, row, column, panels):
        code.run(tile.primitive, *panels, scratch, depth)
        with code.loop(0, tile.rows) as i, code.loop(0, tile.columns) as j:
            indices = (*((batch,) * batches), row, column, i, j)
            start = code.multiply(code.add(code.multiply(i, tile.columns), j), tile.parts)
            add = "sumf" if total.is_float else "addi"
            value: Term = writer.element(output, indices)
            for step in range(tile.parts):
                place = code.add(start, step)
                term = code.load(f"load_{total.name}_{SCRATCH_SCOPE}", scratch, place)
                value = code.call(f"{add}_{total.name}", value, term)
            writer.store(result, code.linear(indices, writer.shape(result)), value)
    matrices = [((size,), 1) for size in writer.shape(left)[:batches]]
    return writer.finish(TileCount((*matrices, ((row_panels,), height), ((column_panels,), width))))
