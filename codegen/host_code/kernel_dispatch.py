"""Emit `run` instructions: the bindings, constants and tile counts of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from ...runtime.abi.lapack import LapackFunction
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.long_instructions import UNDIVIDED_WORK
from ...runtime.host.program import FRAME_SIZE, Register
from ..kernels.elements.kernel_text import (
    Bound,
    Constant,
    FailedValue,
    IndexConstant,
    KernelText,
    SectionConstant,
)
from .function_lowering import FunctionLowering
from .small_kernels import write_small_kernel
from .values import HostTensor

Memory = HostTensor | Register
"""What a kernel is bound to: a tensor, or a scalar in a register."""


def run_kernel(
    lowering: FunctionLowering,
    kernel: KernelText,
    bound: Mapping[Bound, Memory],
    op: Operation,
    sections: Mapping[SectionConstant, IndexOrInt] | None = None,
    products: IndexOrInt = 0,
    points: IndexOrInt | None = None,
) -> None:
    """Run a kernel on values of the program; `bound` maps other buffers and results to memory.

    `products` is the number of multiplications, which is added to the estimate of work. `points` is
    the number of elements that the kernel reads or writes of each tensor at most, as for a slice.
    """
    builder = lowering.builder
    bindings = [_address(lowering, each, bound) for each in (*kernel.writes, *kernel.reads)]
    constants = [_constant(lowering, each, bound, sections) for each in kernel.constants]
    if write_small_kernel(builder, kernel, bindings):
        return
    work = builder.add(_bytes_moved(lowering, kernel, bound, points), products)
    tiles = _needed_tiles(lowering, kernel, bound, constants)
    _emit_run(lowering, kernel, op, tiles, work, bindings, constants)


def run_kernel_at(
    lowering: FunctionLowering,
    kernel: KernelText,
    op: Operation,
    addresses: Sequence[Register],
    constants: Sequence[IndexOrInt],
    work: IndexOrInt,
) -> None:
    """Run a kernel on addresses, results first; `work` is the number of bytes that it moves."""
    tiles = kernel.tiles.evaluate(lowering.builder, constants)
    _emit_run(lowering, kernel, op, tiles, work, addresses, constants)


def _emit_run(
    lowering: FunctionLowering,
    kernel: KernelText,
    op: Operation,
    tiles: IndexOrInt,
    work: IndexOrInt,
    bindings: Sequence[Register],
    constants: Sequence[IndexOrInt],
) -> None:
    builder = lowering.builder
    builder.emit(
        "run",
        lowering.program.kernel(kernel, op),
        FRAME_SIZE,
        builder.hold(tiles),
        builder.hold(_reported_work(builder, kernel, work)),
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
    if not any(written):
        return 0
    tiles = kernel.tiles.evaluate(builder, constants)
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
    raise ValueError("a kernel is bound to a value without memory")


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
    if isinstance(each, LapackFunction):
        return lowering.builder.constant(each)
    if isinstance(each, IndexConstant):
        return lowering.number(each.value)
    found = bound.get(each.tensor)
    if isinstance(found, HostTensor):
        return found.shape[each.dimension]
    if not isinstance(each.tensor, SSAValue):
        raise ValueError("panels have no sizes")
    return lowering.shape(each.tensor)[each.dimension]


def _bytes_moved(
    lowering: FunctionLowering,
    kernel: KernelText,
    bound: Mapping[Bound, Memory],
    points: IndexOrInt | None,
) -> IndexOrInt:
    """Return the number of bytes that a kernel reads and writes, an estimate of its work."""
    builder = lowering.builder
    total: IndexOrInt = 0
    for each in dict.fromkeys((*kernel.writes, *kernel.reads)):
        found = bound.get(each)
        if found is None and isinstance(each, SSAValue):
            found = lowering.values.get(each)
        if isinstance(found, HostTensor):
            count = builder.product(found.shape)
            if points is not None:
                count = builder.minimum(count, points)
            total = builder.add(total, builder.multiply(count, found.dtype.itemsize))
    return total
