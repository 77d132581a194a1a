"""Convert running reductions: windows that reach from the first (or last) element to each element.

`jnp.cumsum` of n elements is a `stablehlo.reduce_window` with n windows of n elements, which would
take n * n steps. Here the dimension is cut into blocks. The running sum of each block is combined
with the running sum of the preceding blocks' totals, as XLA does it.

    1 2 3 | 4 5 6 | 7      blocks
    1 3 6 | 4 9 15 | 7     running sum of each block
    0     | 6      | 21    running sum of the totals of the blocks before
    1 3 6 | 10 15 21 | 28
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.windows import Window
from ....ir.attribute_access import attribute, is_splat
from ..data_movement.shapes import pad
from ..lowering.element_types import Kind, kind
from ..lowering.emitter import Emitter, dims, number_of, shape
from .combiners import Combiner, only_operation
from .window_loops import combine_windows

BLOCK = 8
"""The number of elements of a block. Dimensions of up to two blocks use windows directly."""

_THROUGH = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape"})


def running_dimension(op: Operation, windows: Sequence[Window]) -> tuple[int, bool] | None:
    """Return the dimension of a running reduction, and whether it starts at the last element.

    Return `None` if the op is not one, if it is short, or if its initial value is not an identity.
    """
    wide = [dimension for dimension, window in enumerate(windows) if not window.is_plain]
    if len(wide) != 1 or len(op.operands) != 2 or not _has_identity(op):
        return None
    (dimension,) = wide
    window, extent = windows[dimension], shape(op.operands[0])[dimension]
    if window.size != extent or extent <= 2 * BLOCK:
        return None
    for is_reversed in (False, True):
        low, high = (0, extent - 1) if is_reversed else (extent - 1, 0)
        if window == Window(extent, low=low, high=high):
            return dimension, is_reversed
    return None


def _has_identity(op: Operation) -> bool:
    """Return whether the initial value is an identity of the body and the body is associative.

    StableHLO requires a body and its initial value to be a monoid (specification of `reduce`). For
    bodies of one op this is checked; longer ones are assumed to conform.
    """
    body = only_operation(op.regions[0])
    if kind(op.operand_types[0]).quantization is not None:  # Its sums saturate.
        return False
    if body is None:
        return len(op.regions[0].block.ops) > 2
    initial = op.operands[1].owner
    while isinstance(initial, Operation) and initial.name in _THROUGH:
        initial = initial.operands[0].owner
    value = attribute(initial, "value") if isinstance(initial, Operation) else None
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return False
    number = cast("DenseIntOrFPElementsAttr[Any]", value)
    return is_splat(number) and number_of(number) in _identities(
        body.name, kind(op.regions[0].block.args[0].type)
    )


def _identities(body: str, element: Kind) -> Sequence[float]:
    """Return the identity of a body of one op that is associative; empty for other bodies.

    An integer is given both as signed and as unsigned number.
    """
    if body in ("stablehlo.add", "stablehlo.multiply"):
        return [0] if body == "stablehlo.add" else [1, -1] if element.name == "bool" else [1]
    if body not in ("stablehlo.maximum", "stablehlo.minimum") or element.name == "complex":
        return []
    if element.name == "float":
        return [float("inf" if body == "stablehlo.minimum" else "-inf")]
    values = 1 << element.width
    least = values // 2 if element.name == "signed" else 0
    identity = least if body == "stablehlo.maximum" else (least - 1) % values
    return [identity, identity - values]


def running_reduction(
    e: Emitter,
    combined: Combiner,
    value: SSAValue,
    initial: SSAValue,
    kinds: tuple[Kind, Kind],
    dimension: int,
) -> SSAValue:
    """Return the running reduction of a tensor along `dimension`, in the accumulator's type.

    `kinds` are the kinds of the elements and of the initial value. Recurses on the totals of
    blocks. Raises OperationError if the body does not work element by element.
    """
    (start,) = combined.to_carried(e, [initial], [kinds[1]])
    extent = shape(value)[dimension]
    if extent <= 2 * BLOCK:
        return _in_windows(e, combined, value, (initial, start), kinds[0], dimension)
    rank, blocks = len(shape(value)), -(-extent // BLOCK)
    sizes = e.sizes(value)
    none = [0] * rank
    value = pad(e, value, initial, none, _at(dimension, blocks * BLOCK - extent, rank))
    split = [*sizes[:dimension], blocks, BLOCK, *sizes[dimension + 1 :]]
    value = e.reshape(value, split)
    if only_operation(combined.region) is None:
        within = _in_windows(e, combined, value, (initial, start), kinds[0], dimension + 1)
    else:
        within = _in_block(e, combined, value, start, kinds[0], dimension + 1)
    last = [*split[: dimension + 1], 1, *split[dimension + 2 :]]
    totals = e.extract_slice(within, _at(dimension + 1, BLOCK - 1, rank + 1), last)
    totals = e.reshape(totals, [*split[: dimension + 1], *split[dimension + 2 :]])
    carried = combined.carried_kinds[0]
    before = running_reduction(e, combined, totals, start, (carried, carried), dimension)
    before = pad(e, before, start, _at(dimension, 1, rank), _at(dimension, -1, rank))
    kept = [each for each in range(rank + 1) if each != dimension + 1]
    (result,) = e.loops(
        [before, within],
        [dims(*kept, loops=rank + 1), dims(*range(rank + 1), loops=rank + 1)],
        [e.empty(split, carried.type)],
        None,
        lambda inner, args: combined.combine(inner, args[:1], args[1:2], [carried]),
    )
    merged = [*split[:dimension], blocks * BLOCK, *split[dimension + 2 :]]
    result = e.reshape(result, merged)
    return e.extract_slice(result, none, sizes)


def _at(dimension: int, number: int, rank: int) -> list[int]:
    return [number if each == dimension else 0 for each in range(rank)]


def _in_block(
    e: Emitter,
    combined: Combiner,
    value: SSAValue,
    start: SSAValue,
    element: Kind,
    dimension: int,
) -> SSAValue:
    """Combine each element of a block with all before it, by a body of one op.

    Half of the results are dropped, which takes less time than to write a padded tensor first.
    """
    rank = len(shape(value))
    read = [rank if each == dimension else each for each in range(rank)]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (found,) = combined.combine(inner, args[1:], args[:1], [element])
        before = inner.compare_integers("sle", inner.loop_index(rank), inner.loop_index(dimension))
        return [inner.select(before, found, args[1])]

    (result,) = e.loops(
        [value],
        [dims(*read, loops=rank + 1)],
        [e.fill(start, e.sizes(value))],
        [dims(*range(rank), loops=rank + 1)],
        body,
    )
    return result


def _in_windows(
    e: Emitter,
    combined: Combiner,
    value: SSAValue,
    starts: tuple[SSAValue, SSAValue],
    element: Kind,
    dimension: int,
) -> SSAValue:
    """Compute one window per element; `starts` are the initial value as given and as carried."""
    initial, start = starts
    extent, none = shape(value)[dimension], [0] * len(shape(value))
    padded = pad(e, value, initial, _at(dimension, extent - 1, len(none)), none)
    windows = [Window(extent if each == dimension else 1) for each in range(len(none))]
    combine = partial(combined.combine, given=[element])
    (result,) = combine_windows(e, combine, [padded], windows, [start])
    return result
