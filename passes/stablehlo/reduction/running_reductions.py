"""Convert running reductions: windows that reach from the first (or last) element to each element.

`jnp.cumsum` of n elements is a `stablehlo.reduce_window` with n windows of n elements, which would
take n * n steps. Here the dimension is cut into blocks. Each element is combined with those before
it in its block, and with the running sum of the preceding blocks' totals. XLA cuts it so, too. On
one device, only sums and products of f32 and narrower floats have several blocks: they round less.

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
from xdsl.ir.affine import AffineMap

from ....dialects.stablehlo.windows import Window
from ....ir.attribute_access import attribute, element_type, is_splat
from ....ir.locations import source_behind
from ..data_movement.shapes import pad
from ..lowering.element_types import Kind, kind
from ..lowering.emitter import BOOL, Body, Emitter, dims, dims_but, number_of, shape
from .combiners import Combiner, only_operation

MIN_EXTENT = 9
"""The least elements along such a dimension; fewer are combined window by window."""

BLOCK = 32
"""The number of elements of a block; dimensions of up to two blocks are one."""

_ROUNDED = frozenset(("stablehlo.add", "stablehlo.multiply", "arith.addf", "arith.mulf"))
"""Bodies that round less in blocks."""

_THROUGH = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape"})


def running_dimension(op: Operation, windows: Sequence[Window]) -> tuple[int, bool] | None:
    """Return the dimension of a running reduction, and whether it starts at the last element.

    Return `None` if the op is not one, if it is short, or if its initial value is not an identity.
    """
    wide = [dimension for dimension, window in enumerate(windows) if not window.is_plain]
    if len(wide) != 1 or not _has_identity(op):
        return None
    (dimension,) = wide
    window, extent = windows[dimension], shape(op.operands[0])[dimension]
    if window.size != extent or extent < MIN_EXTENT:
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
    if any(kind(each).quantization is not None for each in op.operand_types):  # Sums saturate.
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
    values: Sequence[SSAValue],
    initial: Sequence[SSAValue],
    kinds: tuple[Sequence[Kind], Sequence[Kind]],
    dimension: int,
    *,
    is_reversed: bool = False,
    is_inclusive: bool = True,
) -> list[SSAValue]:
    """Return the running reductions of tensors along `dimension`, in the accumulators' types.

    `kinds` are the kinds of the elements and of the initial values. An exclusive one combines the
    elements before each; a reversed one starts at the last. Recurses on the totals of blocks.
    Raises OperationError if the body does not work element by element.
    """
    starts, count = combined.to_carried(e, initial, kinds[1]), len(values)
    sizes, extent, rank = e.sizes(values[0]), shape(values[0])[dimension], len(shape(values[0]))
    size = extent if _is_whole(combined) else _block_of(extent)
    blocks, none = -(-extent // size), [0] * rank
    longer = [blocks * size if each == dimension else 0 for each in range(rank)]
    one_each = [*sizes[:dimension], blocks, *sizes[dimension + 1 :]]
    cut = [*one_each[: dimension + 1], size, *one_each[dimension + 1 :]]
    missing = [max(0, each - extent) for each in longer]
    padded = [pad(e, *each, none, missing) for each in zip(values, initial, strict=True)]
    values = [e.reshape(each, cut) for each in padded]
    before: Sequence[SSAValue] = [e.fill(start, one_each) for start in starts]
    kept = dims_but(dimension + 1, rank + 1)

    def combine(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return combined.combine(inner, args[-count:], args[:count], kinds[0])

    if blocks > 1:
        carried = combined.carried_kinds
        every = range(rank + 1)
        terms = _Terms(e, every, dimension + 1, size, rank + 1, is_reversed)
        read, maps = [*values, *terms.extents], [*[terms.read] * count, *terms.maps]
        totals = e.loops(read, maps, before, [kept] * count, combine)
        of_totals = carried, carried
        before = running_reduction(
            *(e, combined, totals, starts, of_totals, dimension),
            is_reversed=is_reversed,
            is_inclusive=False,
        )
    results = _in_blocks(e, combine, values, before, dimension + 1, is_inclusive, is_reversed)
    whole = [each or size for each, size in zip(longer, sizes, strict=True)]
    return [e.extract_slice(e.reshape(each, whole), none, sizes) for each in results]


class _Terms:
    """How a nest of `loops` loops reads terms: by the loops `indices`, of which one is over terms.

    - `read`: the map of what is read; term 0 is the last one if the order is reversed;
    - `extents`, `maps`: an operand, and its map, from which the loop over terms has its extent.
    """

    def __init__(
        self,
        e: Emitter,
        indices: Sequence[int],
        place: int,
        size: int,
        loops: int,
        is_reversed: bool,
    ) -> None:
        results = list(dims(*indices, loops=loops).results)
        term = indices[place]
        self.extents = [e.empty([size], BOOL)] if is_reversed else []
        self.maps = [dims(term, loops=loops)] if is_reversed else []
        if is_reversed:
            results[place] = results[place] * -1 + (size - 1)
        self.read = AffineMap(loops, 0, tuple(results))


def _block_of(extent: int) -> int:
    """Return the size of blocks: the whole extent if it is short, a divisor if there is one."""
    if extent <= 2 * BLOCK:
        return extent
    divisors = [each for each in range(BLOCK // 4, 4 * BLOCK) if extent % each == 0]
    return min(divisors, key=lambda each: abs(each - BLOCK), default=BLOCK)


def _is_whole(combined: Combiner) -> bool:
    """Return whether a dimension is one block, so that elements are read once.

    Blocks are split over devices, and sums round less: `n` floats have about `log(n)` roundings.
    """
    body, (carried, *_) = only_operation(combined.region), combined.carried_kinds
    is_narrow = carried.name in ("float", "complex") and carried.width < 64
    is_rounded = is_narrow and body is not None and body.name in _ROUNDED
    return combined.lowering.is_on_one_device and not is_rounded


def _in_blocks(
    e: Emitter,
    combine: Body,
    values: Sequence[SSAValue],
    before: Sequence[SSAValue],
    dimension: int,
    is_inclusive: bool,
    is_reversed: bool,
) -> list[SSAValue]:
    """Combine each element of a block with those before it in the block, and with `before`.

    Kernels and the interpreter know this form (`running_nest`), and take one pass.
    """
    rank, count, size = len(shape(values[0])), len(values), shape(values[0])[dimension]
    empty = [e.empty(e.sizes(values[0]), element_type(each.type)) for each in before]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        term, place = inner.loop_index(rank), inner.loop_index(dimension)
        is_first = inner.compare_integers("eq", term, inner.index(0))
        if is_reversed:
            place = inner.op("arith.subi", inner.index(size - 1), place)
        is_before = inner.compare_integers("sle" if is_inclusive else "slt", term, place)
        pairs = zip(args[count : 2 * count], args[-count:], strict=True)
        held = [inner.select(is_first, *each) for each in pairs]
        found = combine(inner, [*args[:count], *held])
        return [inner.select(is_before, *each) for each in zip(found, held, strict=True)]

    indices = [rank if each == dimension else each for each in range(rank)]
    terms = _Terms(e, indices, dimension, size, rank + 1, is_reversed)
    rest = dims(*(each for each in range(rank) if each != dimension), loops=rank + 1)
    maps = [*[terms.read] * count, *[rest] * count, *terms.maps]
    written = [dims(*range(rank), loops=rank + 1)] * count
    return e.loops([*values, *before, *terms.extents], maps, empty, written, body)
