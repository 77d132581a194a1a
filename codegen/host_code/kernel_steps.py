"""Lower steps that kernels execute: choose the memory of results, and the form of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...interpreter.dialects.stablehlo.lapack_calls import static_call
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.program import Register
from ..kernels.elements.kernel_text import (
    RESUMES,
    RUNNING,
    TURN,
    Bound,
    KernelText,
    SectionConstant,
)
from ..kernels.elements.pointwise import is_pointwise
from ..kernels.linear_algebra.lapack import write_lapack_call
from ..kernels.operations import is_data_movement
from ..kernels.products.panels import (
    BATCHES,
    COLUMNS,
    FIRST_BATCH,
    FIRST_COLUMN,
    FIRST_PANEL,
    FIRST_WORD,
    MIN_PANEL_PRODUCT,
    PANEL_COUNT,
    SECTION_COLUMNS,
    WORDS,
    PanelProduct,
)
from ..kernels.reductions.nests import loop_sizes
from ..kernels.schedule import Step
from .bound_tensors import result_binding
from .function_lowering import FunctionLowering, lowers
from .kernel_dispatch import Memory, run_kernel
from .values import HostTensor, Shape, element_dtype, type_shape


@lowers("kernel")
def _kernel(lowering: FunctionLowering, step: Step) -> None:
    kernel = step.kernel
    if kernel is None:
        return
    lowering.infer_shapes(step.operation)
    bound: dict[Bound, Memory] = {}
    for value in kernel.writes:
        if isinstance(value, SSAValue):
            bound[value] = _result(lowering, step, value)
    product = step.product
    if RESUMES in kernel.constants:
        _sections(lowering, step, kernel, bound)
    elif product is None:
        points = _points(lowering, step)
        run_kernel(lowering, kernel, bound, step.operation, points=points)
    else:
        _product(lowering, step, kernel, product, bound)
    for value in kernel.writes:
        if isinstance(value, SSAValue):
            memory = bound[value]
            if isinstance(memory, Register):
                memory = lowering.stored_scalar(memory, value.type, step.operation)
            lowering.bind(value, memory)


def _points(lowering: FunctionLowering, step: Step) -> IndexOrInt | None:
    """Return the number of elements of a step whose operations compute each on its own.

    A gather reads so many elements of its table. Returns `None` for other steps.
    """
    if not all(is_pointwise(each) or is_data_movement(each) for each in step.group):
        return None
    return lowering.builder.product(lowering.shape(step.operation.results[0]))


def _sections(
    lowering: FunctionLowering, step: Step, kernel: KernelText, bound: dict[Bound, Memory]
) -> None:
    """Run a kernel that pauses until it is done."""
    builder = lowering.builder
    for word in (RUNNING, TURN):
        bound[word] = lowering.scalar_register()
    running = bound[RUNNING]
    assert isinstance(running, Register)
    top, end = builder.label(), builder.label()
    with lowering.branch():
        builder.bind_label(top)
        run_kernel(lowering, kernel, bound, step.operation, {RESUMES: running})
        builder.jump_unless(running, end)
        builder.jump(top)
    builder.bind_label(end)


def _result(lowering: FunctionLowering, step: Step, value: SSAValue) -> Memory:
    """Return memory for a result: its destination, a dead operand's block, or a new one."""
    op, builder = step.operation, lowering.builder
    if type_shape(value.type, op) is None:
        return lowering.scalar_register()
    shape, dtype = lowering.shape(value), element_dtype(value.type, op)
    if lowering.fresh or lowering.tied:
        stored = result_binding(lowering, value, shape, step)
        if stored is not None:
            if step.kernel is not None and not _reads(lowering, step.kernel, stored):
                for operand, old in _alike(lowering, step, shape, dtype):
                    if old.is_whole and lowering.move_into(operand, stored.address):
                        break
            return stored
    for _, old in _alike(lowering, step, shape, dtype):
        if old.block is not None:
            size = builder.hold(old.bytes(builder))
            block = builder.compute("reuse", old.block, old.address, size)
            return HostTensor(block, block, shape, dtype)
    return lowering.new_tensor(op, shape, value)


def _reads(lowering: FunctionLowering, kernel: KernelText, stored: HostTensor) -> bool:
    """Return whether a kernel reads the memory that its result is to be stored to."""
    found = (lowering.values.get(each) for each in kernel.reads if isinstance(each, SSAValue))
    return any(isinstance(each, HostTensor) and each.address == stored.address for each in found)


def _alike(
    lowering: FunctionLowering, step: Step, shape: Shape, dtype: np.dtype[Any]
) -> Iterator[tuple[SSAValue, HostTensor]]:
    """Yield the dying operands whose memory a result may reuse."""
    for operand in step.aligned:
        old = lowering.values.get(operand)
        if (
            isinstance(old, HostTensor)
            and old.shape == shape
            and old.dtype.itemsize == dtype.itemsize
            and lowering.may_overwrite(operand)
        ):
            yield operand, old


def _product(
    lowering: FunctionLowering,
    step: Step,
    kernel: KernelText,
    product: PanelProduct,
    bound: dict[Bound, Memory],
) -> None:
    """Run a product by packed panels if it is large, otherwise by its loop kernel."""
    builder = lowering.builder
    sizes = loop_sizes(lowering.shape, product.contraction.view)
    work = builder.product(sizes)

    def by_panels() -> None:
        def run(text: KernelText, sections: Mapping[SectionConstant, IndexOrInt]) -> None:
            run_kernel(lowering, text, bound, step.operation, sections, work)

        panels = _run_product(lowering, product, sizes, bound, run)
        for each in panels:
            builder.emit("release", each)

    if isinstance(work, int):
        if work >= MIN_PANEL_PRODUCT:
            by_panels()
        else:
            run_kernel(lowering, kernel, bound, step.operation, products=work)
        return
    large, end = builder.label(), builder.label()
    builder.jump_if(builder.compare("sge", work, MIN_PANEL_PRODUCT), large)
    with lowering.branch():
        run_kernel(lowering, kernel, bound, step.operation, products=work)
        builder.jump(end)
    with lowering.branch():
        builder.bind_label(large)
        by_panels()
    builder.bind_label(end)


@lowers("stablehlo.cholesky", "stablehlo.custom_call", "stablehlo.triangular_solve")
def _lapack(lowering: FunctionLowering, op: Operation) -> None:
    """Lower what LAPACK computes: to a kernel that calls it, if sizes are known."""
    call = static_call(op)
    if call is None:
        lowers["python"](lowering, op)
        return
    lowering.infer_shapes(op)
    bound: dict[Bound, Memory] = {}
    for result in op.results:
        bound[result] = lowering.new_tensor(op, lowering.shape(result), result)
    run_kernel(lowering, lowering.program.text(op, lambda: write_lapack_call(op, call)), bound, op)
    for result in op.results:
        lowering.bind(result, bound[result])


_Run = Callable[[KernelText, Mapping[SectionConstant, IndexOrInt]], None]


def _run_product(
    lowering: FunctionLowering,
    product: PanelProduct,
    sizes: Sequence[IndexOrInt],
    bound: dict[Bound, HostTensor | Register],
    run: _Run,
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
