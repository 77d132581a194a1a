"""Run large products: kernels pack panels of the operands and multiply them, section by section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...runtime.host.builder import IndexOrInt
from ...runtime.host.program import Register
from ..kernels.kernel_text import Bound, KernelText, SectionConstant
from ..kernels.panel_products import (
    BATCHES,
    COLUMNS,
    FIRST_BATCH,
    FIRST_COLUMN,
    FIRST_PANEL,
    FIRST_WORD,
    PANEL_COUNT,
    SECTION_COLUMNS,
    WORDS,
    PanelProduct,
)
from .function_lowering import FunctionLowering
from .values import HostTensor

Run = Callable[[KernelText, Mapping[SectionConstant, IndexOrInt]], None]


def run_product(
    lowering: FunctionLowering,
    product: PanelProduct,
    sizes: Sequence[IndexOrInt],
    bound: dict[Bound, HostTensor | Register],
    run: Run,
) -> list[Register]:
    """Run the kernels of a product for given loop sizes; return the blocks of its packed panels."""
    builder, contraction = lowering.builder, product.contraction
    tile = contraction.tile
    batch, rows, columns, depth = (
        builder.size([sizes[loop] for loop in group])
        for group in (contraction.batch, contraction.rows, contraction.columns, contraction.depth)
    )
    words, block = contraction.depth_blocks(builder, depth)
    row_panels = builder.ceiling_divide(rows, tile.rows)
    column_panels = builder.ceiling_divide(columns, tile.columns)
    if contraction.batch and batch != 1:
        # Pack half of the matrices at a time, so that panels take less memory than the operands,
        # and all columns of each: the panels of one matrix are contiguous.
        batches, section = builder.ceiling_divide(batch, 2), column_panels
    else:
        batches = 1
        section = builder.minimum(SECTION_COLUMNS, builder.ceiling_divide(column_panels, 2))
    dtype = contraction.element.dtype
    panels: list[Register] = []
    for name, factors in (
        (product.panels[0], (batches, row_panels, block, tile.rows)),
        (product.panels[1], (batches, section, block, tile.columns)),
    ):
        shape = (builder.size(factors),)
        packed = lowering.allocate(shape, dtype)
        bound[name] = packed
        panels.append(packed.address)
    with (
        builder.loop(0, batch, batches) as first_batch,
        builder.loop(0, words, block) as first_word,
    ):
        count = builder.minimum(batches, builder.subtract(batch, first_batch))
        depth_part = {
            FIRST_WORD: first_word,
            WORDS: builder.minimum(block, builder.subtract(words, first_word)),
        }
        left = builder.multiply(first_batch, row_panels)
        packed_rows = builder.multiply(count, row_panels)
        run(product.left, {FIRST_PANEL: left, PANEL_COUNT: packed_rows, **depth_part})
        with builder.loop(0, column_panels, section) as first:
            width = builder.minimum(section, builder.subtract(column_panels, first))
            start = builder.add(builder.multiply(first_batch, column_panels), first)
            right = {FIRST_PANEL: start, PANEL_COUNT: builder.multiply(count, width)}
            run(product.right, {**right, **depth_part})
            part = {FIRST_BATCH: first_batch, BATCHES: count, **depth_part}
            run(product.multiply, {**part, FIRST_COLUMN: first, COLUMNS: width})
    return panels
