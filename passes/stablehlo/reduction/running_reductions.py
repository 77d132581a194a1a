"""Convert running reductions: windows that reach from the first (or last) element to each element.

`jnp.cumsum` of n elements is a `stablehlo.reduce_window` with n windows of n elements, which would
take n * n steps. Here the dimension is cut into blocks. Each element is combined with those before
it in its block, and with the running sum of the preceding blocks' totals. XLA cuts it so, too. On
one device, operations that do not round, and those on f64, have one block.

    1 2 3 | 4 5 6 | 7      blocks
    6     | 15    | 7      totals
    0     | 6     | 21     exclusive running sum of the totals
    1 3 6 | 10 15 21 | 28
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.windows import Window
from ....ir.attribute_access import attribute, element_type, is_splat
from ....ir.locations import source_behind
from ..data_movement.shapes import pad
from ..lowering.element_types import Kind, kind
from ..lowering.emitter import Body, Emitter, dims, dims_but, number_of, shape
from .combiners import Combiner, only_operation

BLOCK = 32
"""The number of elements of a block; dimensions of up to two blocks are one."""

_CHOICES = frozenset(("stablehlo.maximum", "stablehlo.minimum", "arith.maximumf", "arith.minimumf"))
"""Bodies on floats that do not round."""

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
    initial = source_behind(op.operands[1], *_THROUGH).owner
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
    *,
    is_inclusive: bool = True,
) -> SSAValue:
    """Return the running reduction of a tensor along `dimension`, in the accumulator's type.

    `kinds` are the kinds of the elements and of the initial value. An exclusive one combines the
    elements before each. Recurses on the totals of blocks. Raises OperationError if the body does
    not work element by element.
    """
    (start,) = combined.to_carried(e, [initial], [kinds[1]])
    sizes, extent, rank = e.sizes(value), shape(value)[dimension], len(shape(value))
    size = extent if _is_whole(combined) else _block_of(extent)
    blocks, none = -(-extent // size), [0] * rank
    longer = [blocks * size if each == dimension else 0 for each in range(rank)]
    value = pad(e, value, initial, none, [max(0, each - extent) for each in longer])
    one_each = [*sizes[:dimension], blocks, *sizes[dimension + 1 :]]
    value = e.reshape(value, [*one_each[: dimension + 1], size, *one_each[dimension + 1 :]])
    before = e.fill(start, one_each)
    kept = dims_but(dimension + 1, rank + 1)

    def combine(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return combined.combine(inner, args[1:], args[:1], kinds[:1])

    if blocks > 1:
        carried = combined.carried_kinds[0]
        (totals,) = e.loops([value], None, [before], [kept], combine)
        before = running_reduction(
            e, combined, totals, start, (carried, carried), dimension, is_inclusive=False
        )
    result = _in_blocks(e, combine, value, before, dimension + 1, is_inclusive)
    result = e.reshape(result, [each or size for each, size in zip(longer, sizes, strict=True)])
    return e.extract_slice(result, none, sizes)


def _block_of(extent: int) -> int:
    """Return the size of blocks: the whole extent if it is short, a divisor if there is one."""
    if extent <= 2 * BLOCK:
        return extent
    divisors = [each for each in range(BLOCK // 2, 2 * BLOCK) if extent % each == 0]
    return min(divisors, key=lambda each: abs(each - BLOCK), default=BLOCK)


def _is_whole(combined: Combiner) -> bool:
    """Return whether a dimension is one block, so that elements are read once.

    Blocks are split over devices, and round less: a sum of `n` floats has about `log(n)` roundings.
    """
    body, carried = only_operation(combined.region), combined.carried_kinds[0]
    is_choice = body is not None and body.name in _CHOICES
    is_rounded = carried.name in ("float", "complex") and carried.width < 64 and not is_choice
    return combined.lowering.is_on_one_device and not is_rounded


def _in_blocks(
    e: Emitter,
    combine: Body,
    value: SSAValue,
    before: SSAValue,
    dimension: int,
    is_inclusive: bool,
) -> SSAValue:
    """Combine each element of a block with those before it in the block, and with `before`.

    Kernels and the interpreter know this form (`running_nest`), and take one pass.
    """
    rank = len(shape(value))
    empty = e.empty(e.sizes(value), element_type(before.type))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        term, place = inner.loop_index(rank), inner.loop_index(dimension)
        is_first = inner.compare_integers("eq", term, inner.index(0))
        is_before = inner.compare_integers("sle" if is_inclusive else "slt", term, place)
        held = inner.select(is_first, args[1], args[2])
        return [inner.select(is_before, combine(inner, [args[0], held])[0], held)]

    read = [rank if each == dimension else each for each in range(rank)]
    rest = [each for each in range(rank) if each != dimension]
    maps = [dims(*each, loops=rank + 1) for each in (read, rest, range(rank))]
    return e.loops([value, before], maps[:2], [empty], maps[2:], body)[0]
