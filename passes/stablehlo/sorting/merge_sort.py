"""Sort long dimensions stably by merging runs, with independent work for each element.

Short runs are sorted by rank (`rank_sort.py`). A sequential loop then doubles the length of the
runs. In each iteration, the element at position k of two merged runs finds by bisection how many of
the first k elements come from the left run (the "merge path"). The loop body thus consists of
parallel loop nests, which can be partitioned and run in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....ir.attribute_access import element_type
from ....ir.index import IndexOrInt
from ..data_movement.shapes import iota
from ..lowering.element_types import kind
from ..lowering.emitter import Emitter, shape
from .rank_sort import Less, placed, ranks

SHORT_RUN = 32
"""The maximum number of elements of a run that is sorted by rank."""

SHORT_RUN_OF_NUMBERS = 256
"""The same for packed numbers, which are compared in one instruction."""


@dataclass(frozen=True, slots=True)
class Items:
    """The items to sort: indices of elements, or numbers.

    - `values`: a tensor of items, in any order;
    - `keys`: the tensors whose elements are compared, read at the items' indices; none for numbers.
    """

    values: SSAValue
    keys: tuple[SSAValue, ...]
    dimension: int
    less: Less

    def compared(
        self, e: Emitter, item: SSAValue, where: Callable[[SSAValue], list[SSAValue]]
    ) -> list[SSAValue]:
        """Return the scalars to compare for an item.

        `where` maps the index of an element to the position of its keys.
        """
        if not self.keys:
            return [item]
        place = where(e.to_index(item))
        return [e.element(key, place) for key in self.keys]


def sorted_order(e: Emitter, keys: Sequence[SSAValue], dimension: int, less: Less) -> SSAValue:
    """Return, for each position along a static dimension, the index of its element when sorted."""
    indices = iota(e, e.sizes(keys[0]), dimension, kind(i64))
    return _sorted(e, Items(indices, tuple(keys), dimension, less))


def sorted_numbers(e: Emitter, numbers: SSAValue, dimension: int) -> SSAValue:
    """Return distinct 64-bit integers sorted along a static dimension."""

    def less(inner: Emitter, one: Sequence[SSAValue], other: Sequence[SSAValue]) -> SSAValue:
        return inner.compare_integers("slt", one[0], other[0])

    return _sorted(e, Items(numbers, (), dimension, less))


def _sorted(e: Emitter, items: Items) -> SSAValue:
    count = shape(items.values)[items.dimension]
    longest = SHORT_RUN if items.keys else SHORT_RUN_OF_NUMBERS
    run = next(each for each in range(min(longest, count), 0, -1) if count % each == 0)
    steps = (count // run - 1).bit_length()
    first = _sorted_runs(e, items, run)
    if not steps:
        return first

    def merge(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        step, values = args
        runs = inner.op("arith.shli", inner.index(1), step)
        length = inner.op("arith.muli", runs, inner.index(run))
        turns = inner.add(step, run.bit_length())
        return [_merged(inner, replace(items, values=values), length, turns)]

    return e.sequential_loop(steps, [first], merge)[0]


def _sorted_runs(e: Emitter, items: Items, run: int) -> SSAValue:
    """Return the items with each run of `run` elements sorted; `run` divides the dimension."""
    if run == 1:
        return items.values
    dimension, sizes = items.dimension, e.sizes(items.values)
    count = shape(items.values)[dimension]
    cut = [*sizes[:dimension], count // run, run, *sizes[dimension + 1 :]]
    values = e.reshape(items.values, cut)
    keys = [e.reshape(key, cut) for key in items.keys]
    whole = (dimension,)
    found = ranks(e, keys or [values], dimension + 1, items.less, are_unequal=not keys, whole=whole)
    return e.reshape(placed(e, values, found, dimension + 1, whole), sizes)


def in_order(e: Emitter, value: SSAValue, order: SSAValue, dimension: int) -> SSAValue:
    """Return the elements of a tensor permuted along a dimension by the indices `order`."""
    rank = len(shape(value))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        places = [inner.loop_index(place) for place in range(rank)]
        places[dimension] = inner.to_index(args[0])
        return [inner.element(value, places)]

    return e.pointwise([order], element_type(value.type), body)


class _Runs:
    """The pair of runs around a point of the loops, and comparisons between its items."""

    def __init__(
        self, e: Emitter, items: Items, length: SSAValue, inside: SSAValue | None = None
    ) -> None:
        count = shape(items.values)[items.dimension]
        self.e, self.items, self.dimension = e, items, items.dimension
        self.last = e.index(count - 1)
        self.none, self.one = e.index(0), e.index(1)
        self.places = [e.loop_index(place) for place in range(len(shape(items.values)))]
        two = e.op("arith.addi", length, length)
        total = e.index(count)
        place = self.places[self.dimension]
        # The division takes longer than all the rest, so its result is stored and reused.
        self.inside = e.op("arith.remui", place, two) if inside is None else e.to_index(inside)
        self.start = e.op("arith.subi", place, self.inside)
        self.middle = e.op("arith.minsi", e.op("arith.addi", self.start, length), total)
        self.end = e.op("arith.minsi", e.op("arith.addi", self.start, two), total)

    def at(self, position: SSAValue) -> SSAValue:
        """Return the item at a position, which is clamped to the dimension."""
        bounded = self.e.op("arith.minsi", position, self.last)
        bounded = self.e.op("arith.maxsi", bounded, self.none)
        return self.e.element(self.items.values, self._where(bounded))

    def right_is_less(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """Return whether the item at `right` comes before that at `left`."""
        return self.items.less(self.e, self._compared(right), self._compared(left))

    def _compared(self, position: SSAValue) -> list[SSAValue]:
        return self.items.compared(self.e, self.at(position), self._where)

    def _where(self, index: SSAValue) -> list[SSAValue]:
        return [index if i == self.dimension else each for i, each in enumerate(self.places)]


def _merged(e: Emitter, items: Items, length: SSAValue, turns: IndexOrInt) -> SSAValue:
    """Return each pair of runs of a length merged; bisections take `turns` iterations."""
    sizes, whole = e.sizes(items.values), (items.dimension,)

    def limits(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runs = _Runs(inner, items, length)
        rights = inner.op("arith.subi", runs.end, runs.middle)
        lefts = inner.op("arith.subi", runs.middle, runs.start)
        low = inner.op("arith.maxsi", inner.op("arith.subi", runs.inside, rights), runs.none)
        high = inner.op("arith.minsi", runs.inside, lefts)
        return [inner.from_index(each, i64) for each in (low, high, runs.inside)]

    def halved(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runs = _Runs(inner, items, length, args[2])
        low, high = (inner.to_index(each) for each in args[:2])
        open_ = inner.compare_integers("slt", low, high)
        half = inner.op("arith.shrui", inner.op("arith.addi", low, high), runs.one)
        opposite = inner.op("arith.subi", inner.op("arith.subi", runs.inside, half), runs.one)
        later = runs.right_is_less(
            inner.op("arith.addi", runs.start, half),
            inner.op("arith.addi", runs.middle, opposite),
        )
        above = inner.both(open_, inner.negated(later))
        high = inner.select(inner.both(open_, later), half, high)
        low = inner.select(above, inner.op("arith.addi", half, runs.one), low)
        return [inner.from_index(each, i64) for each in (low, high)]

    def chosen(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runs = _Runs(inner, items, length, args[1])
        low = inner.to_index(args[0])
        left = inner.op("arith.addi", runs.start, low)
        right = inner.op("arith.addi", runs.middle, inner.op("arith.subi", runs.inside, low))
        no_left = inner.compare_integers("sge", left, runs.middle)
        has_right = inner.compare_integers("slt", right, runs.end)
        is_less = runs.right_is_less(left, right)
        takes_right = inner.either(no_left, inner.both(has_right, is_less))
        return [runs.at(inner.select(takes_right, right, left))]

    outputs = [e.empty(sizes, i64) for _ in range(3)]
    low, high, inside = e.loops([], [], outputs, None, limits, whole=whole)

    def bisect(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        outputs = [inner.empty(sizes, i64) for _ in range(2)]
        return inner.loops([*args[1:], inside], None, outputs, None, halved, whole=whole)

    low = e.sequential_loop(turns, [low, high], bisect)[0]
    return e.loops([low, inside], None, [e.empty(sizes, i64)], None, chosen, whole=whole)[0]
