"""Convert `select_and_scatter`, the gradient of a maximum over windows.

One loop nest computes the position of the element that each window selects. A second one adds, for
each element of the result, the source values of the windows that selected it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.stablehlo.windows import Window, reduction_windows
from ....ir.index import IndexList, IndexOrInt
from ..data_movement.shapes import pad
from ..lowering.element_types import element_kinds, kind
from ..lowering.emitter import BOOL, Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from .combiners import Combiner, combiner
from .window_loops import window_map, windows_of


@tensor_rule("stablehlo.select_and_scatter")
def _select_and_scatter(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Compute the selected position of each window, then what is scattered to each element."""
    e = lowering.emit
    combined = combiner(lowering, op, op.regions[1], 1, widen=False)
    (start,) = combined.to_carried(e, [e.element(operands[2])], element_kinds(op, 2, 1))
    if 0 in (*shape(operands[0]), *shape(operands[1])):
        return [e.fill(start, e.sizes(operands[0]))]
    windows = windows_of(op, reduction_windows)
    chosen = _choose(lowering, op, operands[0], e.sizes(operands[1]), windows)
    return [_scatter_chosen(e, combined, start, operands, chosen, windows)]


def _choose(
    lowering: Lowering,
    op: Operation,
    operand: SSAValue,
    counts: IndexList,
    windows: Sequence[Window],
) -> SSAValue:
    """Return the row-major position of each window's selected element, -1 for windows of padding.

    Positions count only dimensions in which windows are wider than one element.
    """
    e = lowering.emit
    rank, sizes = len(windows), e.sizes(operand)
    element = kind(operand.type).type
    wide = [dimension for dimension, each in enumerate(windows) if not each.is_plain]
    is_small = all(isinstance(size, int) for size in sizes) and prod(shape(operand)) < 1 << 31
    position_type = i32 if is_small else i64
    zero = e.constant(0, element)
    low, high = [each.low for each in windows], [each.high for each in windows]
    padded = pad(e, operand, zero, low, high, for_windows=True)
    loops = rank + len(wide)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        value, _, before, position = args
        inside = inner.constant(1, BOOL)
        linear: IndexOrInt = 0
        for loop, dimension in enumerate(wide, rank):
            first = inner.multiply(inner.loop_index(dimension), windows[dimension].stride)
            index = inner.add(first, inner.loop_index(loop))
            at = inner.index(inner.subtract(index, windows[dimension].low))
            is_one, bounded = inner.clamp_to_dimension(at, sizes[dimension])
            inside = inner.both(inside, is_one)
            linear = inner.add(inner.multiply(linear, sizes[dimension]), bounded)
        kept = lowering.inline_on_scalars(op.regions[0], [before, value], inner)[0]
        empty = inner.compare_integers("slt", position, inner.constant(0, position_type))
        new = inner.both(inside, inner.either(empty, inner.negated(kept)))
        here = inner.from_index(inner.index(linear), position_type)
        return [inner.select(new, value, before), inner.select(new, here, position)]

    return e.loops(
        [padded, e.empty([windows[dimension].size for dimension in wide], BOOL)],
        [window_map(windows, wide), dims(*range(rank, loops), loops=loops)],
        [e.fill(zero, counts), e.fill(e.constant(-1, position_type), counts)],
        [dims(*range(rank), loops=loops)] * 2,
        body,
    )[1]


MAX_SCATTER_PHASES = 16
"""The maximum product of strides for which each phase of the result gets its own loop nest."""


def _scatter_chosen(
    e: Emitter,
    combined: Combiner,
    start: SSAValue,
    operands: Tensors,
    chosen: SSAValue,
    windows: Sequence[Window],
) -> SSAValue:
    """Return, for each element, the values scattered to it by the windows that cover it, in order.

    Elements are counted from the start of the first window, in blocks as long as the stride. With
    windows of 3 at 0, 2, 4, ... the first elements of the blocks (0, 2, 4, ...) are in two windows
    each, and the second ones in one. Each such phase gets a loop nest that reads windows along its
    blocks. If there are too many phases, or sizes are dynamic, one loop nest covers all elements of
    the blocks.
    """
    sizes = e.sizes(operands[0])
    scatter = _ScatterSelected(e, combined, start, operands[1], chosen, sizes, windows)
    is_known = all(size >= 0 for each in operands[:2] for size in shape(each))
    if not is_known or prod(each.stride for each in windows) > MAX_SCATTER_PHASES:
        return scatter.all_elements()
    result = e.fill(start, sizes)
    for phase in product(*(range(each.stride) for each in windows)):
        rows = [
            _phase(each, first, size, count)
            for each, first, size, count in zip(
                windows, phase, shape(operands[0]), shape(operands[1]), strict=True
            )
        ]
        if all(row.reach > 0 and row.count != 0 for row in rows):
            offsets = [
                row.block * each.stride + first - each.low
                for row, each, first in zip(rows, windows, phase, strict=True)
            ]
            made = scatter.block_elements(rows, phase)
            result = e.insert_slice(made, result, offsets, [each.stride for each in windows])
    return result


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks along one dimension, and the windows that cover their elements."""

    block: int
    """The number of the first block."""
    count: IndexOrInt
    reach: int
    """How many windows cover an element: that of its own block and `reach - 1` before it."""
    high: int
    """How many windows have to be added after the last one; if negative, how many are not read."""

    @property
    def low(self) -> int:
        """How many windows have to be added before the first one."""
        return self.reach - 1 - self.block


def _phase(window: Window, first: int, size: int, count: int) -> _Blocks:
    """Return the blocks of a dimension of `size` elements with an element at offset `first`."""
    block = max(-((first - window.low) // window.stride), 0)
    last = (size - 1 + window.low - first) // window.stride
    reach = max(-((first - window.size) // window.stride), 0)
    return _Blocks(block, max(last + 1 - block, 0), reach, last + 1 - count)


@dataclass(frozen=True, slots=True)
class _ScatterSelected:
    """The second loop nest: what windows scatter to the positions that they selected."""

    emit: Emitter
    combined: Combiner
    start: SSAValue
    source: SSAValue
    chosen: SSAValue
    sizes: IndexList
    """The sizes of the result."""
    windows: Sequence[Window]

    def all_elements(self) -> SSAValue:
        """Compute all elements of all blocks, and slice those that the result has."""
        e, windows = self.emit, self.windows
        blocks = [
            e.maximum(e.divide(e.add(size, each.low + each.stride - 1), each.stride), 1)
            for size, each in zip(self.sizes, windows, strict=True)
        ]
        rows = [
            # An upper bound of the number of blocks that exceed the number of windows.
            _Blocks(0, count, -(-each.size // each.stride), max(most, 0))
            for count, each in zip(blocks, windows, strict=True)
            for most in [(each.size - each.high + 3 * each.stride - 3) // each.stride - 1]
        ]
        lengths = [e.multiply(n, each.stride) for n, each in zip(blocks, windows, strict=True)]
        made = e.reshape(self.block_elements(rows), lengths)
        made = e.pad(made, [max(-each.low, 0) for each in windows], [0] * len(windows), self.start)
        offsets = [max(each.low, 0) for each in windows]
        return e.extract_slice(made, offsets, self.sizes)

    def block_elements(
        self, rows: Sequence[_Blocks], phase: Sequence[int] | None = None
    ) -> SSAValue:
        """Compute the element at offset `phase` of each block.

        Without `phase`, all elements of each block.

        The result has a dimension over blocks and, without `phase`, one over elements of a block
        for each dimension with wide windows. These loops precede the reductions over windows.
        """
        e, windows = self.emit, self.windows
        wide = [dimension for dimension, each in enumerate(windows) if not each.is_plain]
        low, high = [row.low for row in rows], [row.high for row in rows]
        zero = e.constant(0, kind(self.source.type).type)
        position = kind(self.chosen.type).type
        extents: list[IndexOrInt] = []
        along: list[int] = []
        for row, each in zip(rows, windows, strict=True):
            along.append(len(extents))
            extents += (
                [row.count] if phase is not None or each.is_plain else [row.count, each.stride]
            )
        outer, loops = len(extents), len(extents) + len(wide)
        slid = [AffineExpr.dimension(loop) for loop in along]
        for loop, dimension in enumerate(wide, outer):
            slid[dimension] += AffineExpr.dimension(loop)
        given = element_kinds(self.combined.operation, 1, 1)

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value, at, _, carried = args
            linear: IndexOrInt = 0
            for dimension in wide:
                block = inner.add(inner.loop_index(along[dimension]), rows[dimension].block)
                own = inner.loop_index(along[dimension] + 1) if phase is None else phase[dimension]
                first = inner.add(inner.multiply(block, windows[dimension].stride), own)
                index = inner.subtract(first, windows[dimension].low)
                linear = inner.add(inner.multiply(linear, self.sizes[dimension]), index)
            here = inner.from_index(inner.index(linear), position)
            added = self.combined.combine(inner, [carried], [value], given)
            hit = inner.compare_integers("eq", at, here)
            return [inner.select(hit, added[0], carried)]

        of_source = dims(*slid, loops=loops)
        return e.loops(
            [
                pad(e, self.source, zero, low, high),
                pad(e, self.chosen, e.constant(-1, position), low, high),
                e.empty([rows[dimension].reach for dimension in wide], BOOL),
            ],
            [of_source, of_source, dims(*range(outer, loops), loops=loops)],
            [e.fill(self.start, extents)],
            [dims(*range(outer), loops=loops)],
            body,
        )[0]
