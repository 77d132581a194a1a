"""Emit loops over windows, and reductions over the elements of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from ....dialects.stablehlo.windows import Window
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..lowering.emitter import BOOL, Emitter, dims


def windows_of(op: Operation, read: Callable[[Operation], list[Window]]) -> list[Window]:
    """Return the windows that `read` finds in an op. Raises OperationError if they do not fit."""
    try:
        return read(op)
    except VerifyException as problem:
        raise OperationError(op, str(problem)) from problem


def window_count(e: Emitter, size: IndexOrInt, width: IndexOrInt, window: Window) -> IndexOrInt:
    """Return how many windows of `width` elements fit in a padded dimension of `size` elements."""
    if isinstance(size, int) and isinstance(width, int):
        return Window(width, window.stride, dilation=window.dilation).count(size)
    reach = e.add(e.multiply(e.add(width, -1), window.dilation), 1)
    room = e.subtract(e.add(size, window.stride), reach)
    # No number of windows is negative where each begins behind the end of another.
    is_apart = isinstance(width, int) and window.reach <= window.stride
    return e.divide(room if is_apart else e.maximum(room, 0), window.stride)


def window_map(windows: Sequence[Window], wide: Sequence[int]) -> AffineMap:
    """Return where loops over windows, then over their `wide` dimensions, read a padded tensor."""
    rank = len(windows)
    positions = [AffineExpr.dimension(n) * window.stride for n, window in enumerate(windows)]
    for loop, dimension in enumerate(wide, rank):
        positions[dimension] += AffineExpr.dimension(loop) * windows[dimension].dilation
    return dims(*positions, loops=rank + len(wide))


def combine_windows(
    e: Emitter,
    combine: Callable[[Emitter, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]],
    padded: Sequence[SSAValue],
    windows: Sequence[Window],
    starts: Sequence[SSAValue],
) -> list[SSAValue]:
    """Return the reduction of each window, in the types of the accumulators.

    `combine` combines accumulators with elements, inputs are padded already, and `starts` are the
    initial accumulators. A window dimension of size 1 gets no loop: it would keep the loops from
    being vectorised.
    """
    rank, half = len(windows), len(padded)
    sizes = [
        window_count(e, size, window.size, window)
        for size, window in zip(e.sizes(padded[0]), windows, strict=True)
    ]
    wide = [dimension for dimension, window in enumerate(windows) if window.size != 1]
    window = e.empty([windows[dimension].size for dimension in wide], BOOL)
    loops = rank + len(wide)
    return e.loops(
        [*padded, window],
        [*[window_map(windows, wide)] * half, dims(*range(rank, loops), loops=loops)],
        [e.fill(start, sizes) for start in starts],
        [dims(*range(rank), loops=loops)] * half,
        lambda inner, args: combine(inner, args[half + 1 :], args[:half]),
    )
