"""Convert sorts with arbitrary comparators, and top-k.

Short dimensions are sorted by rank (`rank_sort.py`), long ones by the digits of integer keys on one
device (`radix_sort.py`), and by merging elsewhere (`merge_sort.py`).
Comparators that compare one integer per element are replaced by keys (`sort_keys.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Operation, Region, SSAValue

from ....ir.attribute_access import attribute, element_type, integer, number_list
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..data_movement.shapes import iota
from ..elementwise.comparisons import total_order
from ..lowering.element_types import kind, operand_kind
from ..lowering.emitter import Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, call_rule, tensor_rule
from .merge_sort import in_order, sorted_numbers, sorted_order
from .radix_sort import places_by_digits
from .rank_sort import Less, placed, ranks
from .sort_keys import LOW_BITS, Keys, compared_keys, is_partial, key_of, less_by_keys, places_of


@dataclass(frozen=True, slots=True)
class Order:
    """Which of two elements comes first."""

    compared: Tensors
    """The tensors whose elements `less` takes."""
    less: Less
    keys: tuple[Keys, ...] = ()
    """Integers in the same order, if there are any; the first that differ decide."""

    @staticmethod
    def of(*keys: Keys) -> Order:
        return Order(tuple(each.values for each in keys), partial(less_by_keys, keys), keys)


MAX_RANK_SORTED = 128
"""The maximum number of elements that are sorted by rank; longer dimensions are merge-sorted."""

MIN_SORTED_BY_DIGITS, MIN_SORTED_ON_GRID = 256, 1024
"""The least number of elements of a dimension that is sorted by the digits of its keys, on one
device and on a grid, where each device would compute all positions.
"""

MAX_SELECTED_K = 64
"""The maximum k of a top-k that selects its elements one by one instead of sorting."""


@tensor_rule("stablehlo.sort")
def _sort(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    rank = len(shape(operands[0]))
    dimension = integer(op, "dimension", -1) % max(rank, 1)
    order = _comparator(lowering, op.regions[0], operands, dimension)
    kept = _sliced(op, dimension) if rank else None
    if kept is None or not _is_selected(order, operands[0], dimension, kept):
        return in_sorted_order(lowering, operands, dimension, order)
    e = lowering.emit
    found = in_sorted_order(lowering, operands, dimension, order, kept)
    return [
        e.insert_slice(each, e.empty(e.sizes(value), element_type(value.type)), [0] * rank)
        for each, value in zip(found, operands, strict=True)
    ]


def _sliced(op: Operation, dimension: int) -> int | None:
    """Return how many elements along a dimension slices read of a sort's results at most.

    PyTorch's top-k of integers are such slices. Returns `None` if anything else reads a result.
    """
    users = [use.operation for result in op.results for use in result.uses]
    if any(each.name != "stablehlo.slice" for each in users):
        return None
    ends = [number_list(attribute(each, "limit_indices"))[dimension] for each in users]
    return max(ends, default=None)


@call_rule("ApproxTopK")
def _approximate_top_k(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert ApproxTopK to an exact top-k by its comparator.

    The operands are tensors, followed by an initial value for each of them.
    """
    options = attribute(op, "mhlo.backend_config") or attribute(op, "backend_config")
    called = attribute(op, "called_computations")
    if not isinstance(options, DictionaryAttr) or not isinstance(called, ArrayAttr):
        raise OperationError(op, "expects the options of a top-k, and a comparator")
    dimension = options.data.get("reduction_dim")
    (name,) = cast("ArrayAttr[SymbolRefAttr]", called)
    comparator = lowering.function(name.string_value())
    if not isinstance(dimension, IntegerAttr) or comparator is None:
        raise OperationError(op, f"expects a dimension and the comparator {name}")
    count = len(op.results)
    along = dimension.value.data % len(shape(operands[0]))
    order = _comparator(lowering, comparator.body, operands[:count], along)
    kept = shape(op.results[0])[along]
    return in_sorted_order(lowering, operands[:count], along, order, kept)


def _comparator(lowering: Lowering, region: Region, operands: Tensors, dimension: int) -> Order:
    """Return the order that a comparator defines, by keys if possible."""

    def less(e: Emitter, one: Tensors, other: Tensors) -> SSAValue:
        return lowering.inline_on_scalars(region, in_pairs(one, other), e)[0]

    comparisons = compared_keys(region)
    needs_keys = len(comparisons) == 1 or any(map(is_partial, comparisons))
    if not needs_keys and not _suits_digits(lowering, operands[0], dimension):
        comparisons = ()
    keys = [key_of(lowering, region, each, operands, dimension) for each in comparisons]
    return Order.of(*keys) if keys else Order(operands, less)


def in_pairs(one: Tensors, other: Tensors) -> list[SSAValue]:
    """Interleave the elements of two positions: comparators take both of each tensor in turn."""
    return [value for pair in zip(one, other, strict=True) for value in pair]


def in_sorted_order(
    lowering: Lowering,
    operands: Tensors,
    dimension: int,
    order: Order,
    kept: IndexOrInt | None = None,
) -> Tensors:
    """Return tensors sorted along a dimension by `order`: all elements, or the first `kept`.

    The sort is stable.
    """
    e = lowering.emit

    def first(value: SSAValue) -> SSAValue:
        return value if kept is None else e.slice_along(value, dimension, 0, kept)

    if shape(operands[0])[dimension] in (0, 1):
        return [first(value) for value in operands]
    if isinstance(kept, int) and _is_selected(order, operands[0], dimension, kept):
        keys = order.keys[0]
        places = (_select_packed if keys.can_be_packed(dimension) else _select)(e, keys, kept)
        return [in_order(e, value, places, dimension) for value in operands]
    if order.keys and _suits_digits(lowering, operands[0], dimension):
        places = places_by_digits(e, order.keys, dimension)
    elif len(order.keys) == 1 and order.keys[0].can_be_packed(dimension):
        packed = order.keys[0].packed(e, dimension)
        places = places_of(e, sorted_numbers(e, packed, dimension), dimension)
    elif shape(operands[0])[dimension] > MAX_RANK_SORTED:
        places = sorted_order(e, order.compared, dimension, order.less)
    else:
        found = ranks(e, order.compared, dimension, order.less)
        return [first(placed(e, value, found, dimension)) for value in operands]
    return [in_order(e, value, first(places), dimension) for value in operands]


def _is_selected(order: Order, value: SSAValue, dimension: int, kept: int) -> bool:
    """Return whether the first elements of a long dimension are found one by one."""
    sizes = shape(value)
    is_long_row = dimension == len(sizes) - 1 and sizes[-1] > MAX_RANK_SORTED
    return is_long_row and len(order.keys) == 1 and kept <= MAX_SELECTED_K


def _suits_digits(lowering: Lowering, value: SSAValue, dimension: int) -> bool:
    """Return whether a dimension is long, and its rows are not split over devices."""
    sizes = shape(value)
    if DYNAMIC_INDEX in sizes:
        return False
    if lowering.is_on_one_device:
        return sizes[dimension] >= MIN_SORTED_BY_DIGITS
    return sizes[dimension] >= MIN_SORTED_ON_GRID and prod(sizes) == sizes[dimension]


@tensor_rule("chlo.top_k")
def _top_k(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return top_k(lowering, op, operands[0], integer(op, "k"))


def top_k(lowering: Lowering, op: Operation, source: SSAValue, count: IndexOrInt) -> list[SSAValue]:
    """Return the `count` largest elements along the last dimension, and their indices.

    Of equal elements, the first comes first. `op` is the op whose first operand has the elements'
    kind, and whose second result has the indices' kind. Raises OperationError if elements are not
    numbers.
    """
    e = lowering.emit
    rank = len(shape(source))
    element = operand_kind(op)
    keys = source
    if element.name == "float":
        keys = e.pointwise(
            [source],
            IntegerType(element.width),
            lambda inner, args: [total_order(inner, args[0])],
            whole=(rank - 1,),
        )
    order = Keys(keys, element.width, element.name in ("unsigned", "bool"), descends=True)
    positions = iota(e, e.sizes(source), rank - 1, kind(op.result_types[1]))
    both = [source, positions]
    return list(in_sorted_order(lowering, both, rank - 1, Order.of(order), count))


def _precedes(
    e: Emitter, greater: str, one: tuple[SSAValue, SSAValue], other: tuple[SSAValue, SSAValue]
) -> SSAValue:
    """Return whether one (key, position) precedes another: larger keys, then lower positions."""
    larger = e.compare_integers(greater, one[0], other[0])
    equal = e.compare_integers("eq", one[0], other[0])
    return e.either(larger, e.both(equal, e.compare_integers("slt", one[1], other[1])))


def _select_packed(e: Emitter, keys: Keys, count: int) -> SSAValue:
    """Return the positions of the first `count` keys along the last dimension, for packed keys.

    The dimension is cut into sections, whose least numbers are kept. Each iteration takes the least
    of these, and finds the next number in its section.
    """
    rank, outer = len(shape(keys.values)), e.sizes(keys.values)[:-1]
    packed = keys.packed(e, rank - 1)
    size = _section(shape(packed)[-1])
    sections = shape(packed)[-1] // size
    cut = e.reshape(packed, [*outer, sections, size])
    least = _least(e, cut, PACKED_BOUNDS[0])
    found = e.empty([*outer, count], i64)
    row, column = dims(*range(rank), loops=rank), dims(*range(rank - 1), loops=rank)

    def replaced(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_taken = scalar.compare_integers("eq", args[0], args[1])
        return [scalar.select(is_taken, args[2], args[0])]

    def next_best(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        index, remaining, found = args
        best = _least(inner, remaining, PACKED_BOUNDS[0])
        at = [*[0] * (rank - 1), index]
        filled = inner.insert_slice(inner.reshape(best, [*outer, 1]), found, at)
        following = _next_in_section(inner, cut, best, size)
        (remaining,) = inner.loops(
            [remaining, best, following],
            [row, column, column],
            [inner.empty([*outer, sections], i64)],
            [row],
            replaced,
        )
        return [remaining, filled]

    return places_of(e, e.sequential_loop(count, [least, found], next_best)[1], rank - 1)


PACKED_BOUNDS = ((1 << 63) - 1, -(1 << 63))
"""Numbers above and below all packed numbers."""


def _section(size: int) -> int:
    """Return the length of a section: the divisor of a size that makes iterations short.

    An iteration reads one section and all least numbers twice.
    """
    divisors = [each for each in range(1, size + 1) if size % each == 0]
    return min(divisors, key=lambda each: each + 2 * (size // each))


def _least(e: Emitter, packed: SSAValue, above: int) -> SSAValue:
    """Return the least numbers along the last dimension."""
    rank, outer = len(shape(packed)), e.sizes(packed)[:-1]
    column = dims(*range(rank - 1), loops=rank)

    def smaller(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [scalar.op("arith.minsi", args[1], args[0])]

    start = e.fill(e.constant(above, i64), outer)
    maps = [dims(*range(rank), loops=rank)]
    return e.loops([packed], maps, [start], [column], smaller)[0]


def _next_in_section(e: Emitter, cut: SSAValue, last: SSAValue, size: int) -> SSAValue:
    """Return the least number that is greater than `last` in its section, which `last` names."""
    rank = len(shape(cut)) - 1
    outer = e.sizes(last)
    column = dims(*range(rank - 1), loops=rank)
    empty = e.empty([*outer, size], i64)

    def smaller(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        counted = scalar.op("arith.andi", args[0], scalar.constant((1 << LOW_BITS) - 1, i64))
        place = scalar.op("arith.subi", counted, scalar.constant(1, i64))
        number = scalar.to_index(scalar.op("arith.divui", place, scalar.constant(size, i64)))
        _, section = scalar.clamp_to_dimension(number, shape(cut)[-2])
        place = [scalar.loop_index(each) for each in range(rank - 1)]
        item = scalar.element(cut, [*place, section, scalar.loop_index(rank - 1)])
        is_open = scalar.compare_integers("sgt", item, args[0])
        return [scalar.op("arith.minsi", args[2], scalar.select(is_open, item, most(scalar)))]

    def most(scalar: Emitter) -> SSAValue:
        return scalar.constant(PACKED_BOUNDS[0], i64)

    row = dims(*range(rank), loops=rank)
    start = e.fill(e.constant(PACKED_BOUNDS[0], i64), outer)
    return e.loops([last, empty], [column, row], [start], [column], smaller)[0]


def _select(e: Emitter, order: Keys, count: int) -> SSAValue:
    """Return the positions of the first `count` keys along the last dimension.

    Each iteration finds the largest key among those that come after the last one found, and then
    the first position that holds it.
    """
    rank, outer = len(shape(order.values)), e.sizes(order.values)[:-1]
    keys, greater = order.descending(e, rank - 1), "ugt" if order.is_unsigned else "sgt"
    element = element_type(keys.type)
    bits = cast("IntegerType", element).width.data
    none = e.fill(e.constant(-1, i64), outer)
    least = e.fill(e.constant(0 if greater == "ugt" else -(1 << bits - 1), element), outer)
    beyond = e.fill(e.constant((1 << 63) - 1, i64), outer)
    places = e.empty([*outer, count], i64)
    row, last = dims(*range(rank), loops=rank), dims(*range(rank - 1), loops=rank)

    def is_open(scalar: Emitter, args: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        key, last_key, last_place = args[:3]
        place = scalar.op("arith.index_cast", scalar.loop_index(rank - 1), to=i64)
        after = _precedes(scalar, greater, (last_key, last_place), (key, place))
        first = scalar.compare_integers("slt", last_place, scalar.constant(0, i64))
        return scalar.either(first, after), place

    def largest(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        key, _, _, lowest, best = args
        taken = scalar.select(is_open(scalar, args)[0], key, lowest)
        return [scalar.op("arith.maxui" if greater == "ugt" else "arith.maxsi", best, taken)]

    def first_place(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        open_, place = is_open(scalar, args)
        has_it = scalar.both(open_, scalar.compare_integers("eq", args[0], args[3]))
        return [scalar.op("arith.minsi", args[5], scalar.select(has_it, place, args[4]))]

    def next_largest(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        index, *last_found, places = args
        maps, found = [row, last, last, last], [keys, *last_found]
        (key,) = inner.loops([*found, least], maps, [least], [last], largest)
        (place,) = inner.loops([*found, key, beyond], [*maps, last], [beyond], [last], first_place)
        at = [*[0] * (rank - 1), index]
        column = inner.reshape(place, [*outer, 1])
        return [key, place, inner.insert_slice(column, places, at)]

    return e.sequential_loop(count, [least, none, places], next_largest)[2]
