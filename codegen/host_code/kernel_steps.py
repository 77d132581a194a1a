"""Lower kernels: allocate results, compute constants and tile counts, emit `run` instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...runtime.abi.values import integer_width
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.long_instructions import UNDIVIDED_WORK
from ...runtime.host.program import Register
from ..kernels.kernel_text import (
    Bound,
    Constant,
    FailedValue,
    IndexConstant,
    KernelText,
    SectionConstant,
)
from ..kernels.panel_products import MIN_PANEL_PRODUCT, PanelProduct
from ..kernels.schedule import Step
from .elements import load_element
from .function_lowering import FunctionLowering
from .panel_product_steps import run_product
from .rules import lowers
from .small_kernels import write_small_kernel
from .values import HostTensor, Shape, element_dtype, type_shape

LARGE_WORK = 1 << 20
"""An estimate of work for kernels that all workers of a device share."""

Memory = HostTensor | Register
"""What a kernel is bound to: a tensor, or a scalar in a register."""


@lowers("kernel")
def _kernel(lowering: FunctionLowering, step: Step) -> None:
    kernel = step.kernel
    if kernel is None:
        return
    builder = lowering.builder
    lowering.infer_shapes(step.operation)
    bound: dict[Bound, Memory] = {}
    for value in kernel.writes:
        if isinstance(value, SSAValue):
            bound[value] = _result(lowering, step, value)
    product = step.product
    if product is None:
        dispatch(lowering, kernel, bound, step.operation)
    else:
        _product(lowering, step, kernel, product, bound)
    for value in kernel.writes:
        if isinstance(value, SSAValue):
            memory = bound[value]
            if isinstance(memory, Register) and integer_width(value.type) is not None:
                # The kernel has stored low bytes; an integer fills its register by its sign.
                dtype = element_dtype(value.type, step.operation)
                address = builder.compute("address", memory)
                memory = load_element(builder, address, dtype)
            lowering.bind(value, memory)


def _result(lowering: FunctionLowering, step: Step, value: SSAValue) -> Memory:
    """Return memory for a result: its destination, a dead operand's block, or a new one."""
    op, builder = step.operation, lowering.builder
    if type_shape(value.type, op) is None:
        register = builder.register()
        builder.move(register, 0)
        return register
    shape, dtype = lowering.shape(value), element_dtype(value.type, op)
    if lowering.fresh or lowering.tied:
        stored = lowering.result_binding(lowering, value, shape, step)
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
    sizes = _loop_sizes(lowering, product)
    work = builder.product(sizes)

    def by_panels() -> None:
        def run(text: KernelText, sections: Mapping[SectionConstant, IndexOrInt]) -> None:
            dispatch(lowering, text, bound, step.operation, sections, work)

        panels = run_product(lowering, product, sizes, bound, run)
        for each in panels:
            builder.emit("release", each)

    if isinstance(work, int):
        if work >= MIN_PANEL_PRODUCT:
            by_panels()
        else:
            dispatch(lowering, kernel, bound, step.operation, None, work)
        return
    large, end = builder.label(), builder.label()
    condition = builder.hold(builder.compare("sge", work, MIN_PANEL_PRODUCT))
    builder.emit("jump_if", condition, large)
    with lowering.branch():
        dispatch(lowering, kernel, bound, step.operation, None, work)
        builder.jump(end)
    with lowering.branch():
        builder.bind_label(large)
        by_panels()
    builder.bind_label(end)


def _loop_sizes(lowering: FunctionLowering, product: PanelProduct) -> list[IndexOrInt]:
    """Return the trip counts of a product's loops."""
    view = product.contraction.view
    sizes: list[IndexOrInt] = [0] * len(view.iterators)
    for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        for size, each in zip(lowering.shape(operand), affine_map.results, strict=True):
            if isinstance(each, AffineDimExpr):
                known = sizes[each.position]
                if isinstance(size, int) or known == 0:
                    sizes[each.position] = size
    return sizes


def dispatch(
    lowering: FunctionLowering,
    kernel: KernelText,
    bound: Mapping[Bound, Memory],
    op: Operation,
    sections: Mapping[SectionConstant, IndexOrInt] | None = None,
    products: IndexOrInt = 0,
) -> None:
    """Run a kernel on values of the program; `bound` maps other buffers and results to memory.

    `products` is the number of multiplications, which is added to the estimate of work.
    """
    builder = lowering.builder
    bindings = [_address(lowering, each, bound) for each in (*kernel.writes, *kernel.reads)]
    constants = [_constant(lowering, each, bound, sections) for each in kernel.constants]
    if write_small_kernel(builder, kernel, bindings):
        return
    work = _work(lowering, kernel, bound)
    builder.emit(
        "run",
        lowering.program.kernel(kernel, op),
        0,
        builder.hold(_needed_tiles(lowering, kernel, bound, constants)),
        builder.hold(_reported_work(builder, kernel, builder.add(work, products))),
        tuple(bindings),
        builder.hold_all(constants),
    )


def _reported_work(builder: Builder, kernel: KernelText, work: IndexOrInt) -> IndexOrInt:
    """Return the estimate of work that the `run` instruction carries.

    Below UNDIVIDED_WORK one call runs all tiles. LLVM may then order a reassociable sum
    differently, so that kernels with such sums get an estimate that keeps their tiles in calls of
    their own.
    """
    if not kernel.has_free_sums:
        return work
    if isinstance(work, int):
        return max(work, UNDIVIDED_WORK)
    return builder.compute("maxsi_i64", work, builder.constant(UNDIVIDED_WORK))


def run_kernel(
    lowering: FunctionLowering,
    kernel: KernelText,
    op: Operation,
    bindings: Sequence[Register],
    constants: Sequence[IndexOrInt],
) -> None:
    """Run a kernel on addresses, results first, and constants."""
    builder = lowering.builder
    builder.emit(
        "run",
        lowering.program.kernel(kernel, op),
        0,
        builder.hold(kernel.tiles.evaluate(builder, constants)),
        builder.constant(LARGE_WORK),
        tuple(bindings),
        builder.hold_all(constants),
    )


def _needed_tiles(
    lowering: FunctionLowering,
    kernel: KernelText,
    bound: Mapping[Bound, Memory],
    constants: Sequence[IndexOrInt],
) -> IndexOrInt:
    """Return the number of tiles of a kernel, 0 if all tensors that it writes are empty.

    An empty tensor may have other dimensions of any size, over which a kernel must not loop.
    """
    builder = lowering.builder
    written: list[IndexOrInt] = []
    for each in kernel.writes:
        found = bound.get(each)
        written.append(builder.size(found.shape) if isinstance(found, HostTensor) else 1)
    tiles = kernel.tiles.evaluate(builder, constants)
    if not any(written):
        return 0
    if any(isinstance(size, int) and size > 0 for size in written):
        return tiles
    total: IndexOrInt = 0
    for size in written:
        total = builder.add(total, size)
    some = builder.hold(builder.compare("ne", total, 0))
    return builder.compute("select_i64", some, builder.hold(tiles), builder.constant(0))


def _address(lowering: FunctionLowering, each: Bound, bound: Mapping[Bound, Memory]) -> Register:
    found = bound.get(each)
    if found is None and isinstance(each, SSAValue):
        value = lowering.value(each)
        found = lowering.builder.hold(value) if isinstance(value, int) else value
    if isinstance(found, HostTensor):
        return found.address
    if isinstance(found, Register):
        # The element is in the low bytes of the register.
        return lowering.builder.compute("address", found)
    raise ValueError("a kernel is bound to what is no memory")


def _constant(
    lowering: FunctionLowering,
    each: Constant,
    bound: Mapping[Bound, Memory],
    sections: Mapping[SectionConstant, IndexOrInt] | None,
) -> IndexOrInt:
    if isinstance(each, SectionConstant):
        return (sections or {})[each]
    if isinstance(each, FailedValue):
        return 0
    if isinstance(each, IndexConstant):
        return lowering.number(each.value)
    found = bound.get(each.tensor)
    if isinstance(found, HostTensor):
        return found.shape[each.dimension]
    if not isinstance(each.tensor, SSAValue):
        raise ValueError("panels have no sizes")
    return lowering.shape(each.tensor)[each.dimension]


def _work(
    lowering: FunctionLowering, kernel: KernelText, bound: Mapping[Bound, Memory]
) -> IndexOrInt:
    """Return the number of bytes that a kernel reads and writes, as an estimate of work."""
    builder = lowering.builder
    total: IndexOrInt = 0
    for each in dict.fromkeys((*kernel.writes, *kernel.reads)):
        found = bound.get(each)
        if found is None and isinstance(each, SSAValue):
            found = lowering.values.get(each)
        if isinstance(found, HostTensor):
            total = builder.add(total, builder.product((*found.shape, found.dtype.itemsize)))
    return total
