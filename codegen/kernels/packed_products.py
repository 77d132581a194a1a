"""`linalg.mmt4d` and `linalg.batch_mmt4d`: products of operands that are packed already.

Panels of the operands go to the microkernel as they lie in memory. A tile of work is a block of
panels on either side, so that they stay in the second-level cache.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import element_type
from ..microkernels.mmt4d import PackedTile
from ..microkernels.products import tile_of_product
from .ast_builder import Term
from .expressions import write_element
from .kernel_text import KernelText, TileCount
from .static_values import shape_of
from .writer import KernelWriter

MMT4D = {"linalg.mmt4d": 0, "linalg.batch_mmt4d": 1}
"""Products of packed operands, and how many batch dimensions they have."""

SCRATCH_SCOPE = 3
"""The alias scope of the finished tile: after those of the result and the two operands."""

BLOCK_ROWS = 256
BLOCK_COLUMNS = 512
"""Rows and columns of a tile of work: with a depth of 1024 floats, the rows are a megabyte."""


def packed_tile(operation: Operation, is_inline: Callable[[SSAValue], bool]) -> PackedTile | None:
    """The tile of an mmt4d that a microkernel computes, `None` for anything else."""
    if operation.name not in MMT4D:
        return None
    view = structured_view(operation)
    if view is None or any(is_inline(each) for each in view.inputs):
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
        element_of(element_type(each.type), operation) for each in (left, right, view.outputs[0])
    )
    tile = PackedTile(left_element, right_element, total, rows, columns, depth)
    return tile if tile.is_supported else None


def gains_from_repacking(operation: Operation, tile: PackedTile) -> bool:
    """Whether an mmt4d of large operands is faster with them packed anew for this CPU.

    The tile is one for another machine, which does not fill the vectors of this one, or its floats
    are narrow ones that would be widened again for each tile, or the CPU multiplies them as they
    are stored; and the operands are no narrower than a tile of ours.
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


def write_packed_product(
    operation: Operation, tile: PackedTile, is_inline: Callable[[SSAValue], bool]
) -> KernelText:
    """The kernel of an mmt4d: microkernel tiles, added to the initial values."""
    view = structured_view(operation)
    if view is None:
        raise ValueError(f"{operation.name} is no structured operation")
    result, (left, right), output = operation.results[0], view.inputs, view.outputs[0]
    writer = KernelWriter(operation, (result,), is_inline, write_element)
    code = writer.code
    batches = MMT4D[operation.name]
    left_base, right_base = writer.address(left), writer.address(right)
    total = tile.total
    scratch = code.load(f"scratch_{total.name}_{tile.rows * tile.columns * tile.parts}")
    row_panels, depth = writer.shape(left)[batches : batches + 2]
    column_panels = writer.shape(right)[batches]
    height, width = max(1, BLOCK_ROWS // tile.rows), max(1, BLOCK_COLUMNS // tile.columns)
    row_blocks = code.ceiling_divide(row_panels, height)
    column_blocks = code.ceiling_divide(column_panels, width)

    def panel(base: Term, batch: Term, count: Term, number: Term, size: int) -> Term:
        position = code.add(code.multiply(batch, count), number)
        return code.add(base, code.multiply(position, code.multiply(depth, size)))

    left_bytes = tile.rows * tile.depth * tile.left.storage_bytes
    right_bytes = tile.columns * tile.depth * tile.right.storage_bytes
    with code.loop("first", "last") as work:
        block = code.floor_divide(work, column_blocks)
        batch = code.floor_divide(block, row_blocks) if batches else 0
        first_row = code.multiply(code.modulo(block, row_blocks), height)
        first_column = code.multiply(code.modulo(work, column_blocks), width)
        last_row = code.minimum(code.add(first_row, height), row_panels)
        last_column = code.minimum(code.add(first_column, width), column_panels)
        with (
            code.loop(first_column, last_column) as column,
            code.loop(first_row, last_row) as row,
        ):
            left_panel = panel(left_base, batch, row_panels, row, left_bytes)
            right_panel = panel(right_base, batch, column_panels, column, right_bytes)
            code.run(tile.primitive, left_panel, right_panel, scratch, depth)
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
    sizes = ((writer.shape(left)[0],), 1)
    factors = (((row_panels,), height), ((column_panels,), width))
    return writer.finish(TileCount((sizes, *factors) if batches else factors))
