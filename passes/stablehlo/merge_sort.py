"""A stable sort of long dimensions: runs are merged, each element finding its place by itself.

Short runs are sorted first, by counting. A loop doubles their length. Within it all elements are
independent: the one at position k of two merged runs asks by bisection how many of the first k
elements come from the left run (the "merge path"). So loops hold nothing but loop nests, which run
in any order and on any part.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region, SSAValue

from ...ir.attribute_access import element_type
from ...ir.index import IndexOrInt
from .elements import kind
from .emitter import BOOL, INDEX, Emitter, shape
from .rank_sort import Less, placed, ranks
from .shapes import iota

SHORT_RUN = 32
"""How many elements a run that is sorted by counting has at most."""


def sorted_order(e: Emitter, keys: Sequence[SSAValue], dimension: int, less: Less) -> SSAValue:
    """For each place along a dimension of known size, the index of what belongs there."""
    count = shape(keys[0])[dimension]
    run = next(each for each in range(SHORT_RUN, 0, -1) if count % each == 0)
    steps = (count // run - 1).bit_length()
    first = _sorted_runs(e, keys, dimension, run, less)
    block = Block(arg_types=[INDEX, first.type])
    inner = e.inside(block)
    runs = inner.op("arith.shli", inner.index(1), block.args[0])
    length = inner.op("arith.muli", runs, inner.index(run))
    turns = inner.add(block.args[0], run.bit_length())
    merged = _merged(inner, keys, block.args[1], dimension, length, turns, less)
    inner.add_op(scf.YieldOp(merged))
    loop = scf.ForOp(e.index(0), e.index(steps), e.index(1), [first], Region(block))
    return e.add_op(loop).results[0]


def _sorted_runs(
    e: Emitter, keys: Sequence[SSAValue], dimension: int, run: int, less: Less
) -> SSAValue:
    """The order of the elements in each run of a length that divides the dimension."""
    sizes = e.sizes(keys[0])
    first = iota(e, sizes, dimension, kind(i64))
    if run == 1:
        return first
    count = shape(keys[0])[dimension]
    cut = [*sizes[:dimension], count // run, run, *sizes[dimension + 1 :]]
    found = ranks(e, [e.reshape(key, cut) for key in keys], dimension + 1, less)
    return e.reshape(placed(e, e.reshape(first, cut), found, dimension + 1), sizes)


def in_order(e: Emitter, value: SSAValue, order: SSAValue, dimension: int) -> SSAValue:
    """The elements of a tensor at the places that an order gives them."""
    rank = len(shape(value))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        places = [inner.loop_index(place) for place in range(rank)]
        places[dimension] = inner.to_index(args[0])
        return [inner.element(value, places)]

    return e.pointwise([order], element_type(value.type), body)


class _Runs:
    """Where the runs around a point of the loops lie, and how their elements compare."""

    def __init__(
        self,
        e: Emitter,
        keys: Sequence[SSAValue],
        order: SSAValue,
        dimension: int,
        length: SSAValue,
    ) -> None:
        count = shape(order)[dimension]
        self.e, self.keys, self.order, self.dimension = e, keys, order, dimension
        self.last = e.index(count - 1)
        self.none, self.one = e.index(0), e.index(1)
        self.places = [e.loop_index(place) for place in range(len(shape(order)))]
        two = e.op("arith.addi", length, length)
        total = e.index(count)
        self.inside = e.op("arith.remui", self.places[dimension], two)
        self.start = e.op("arith.subi", self.places[dimension], self.inside)
        self.middle = e.op("arith.minsi", e.op("arith.addi", self.start, length), total)
        self.end = e.op("arith.minsi", e.op("arith.addi", self.start, two), total)

    def at(self, position: SSAValue) -> SSAValue:
        """The index that the order has at a position, or at the nearest one."""
        bounded = self.e.op("arith.minsi", position, self.last)
        bounded = self.e.op("arith.maxsi", bounded, self.none)
        return self.e.element(self.order, self._where(bounded))

    def right_is_less(self, less: Less, left: SSAValue, right: SSAValue) -> SSAValue:
        """Whether the element at one position comes before that at another."""
        return less(self.e, self._elements(right), self._elements(left))

    def _elements(self, position: SSAValue) -> list[SSAValue]:
        where = self._where(self.e.to_index(self.at(position)))
        return [self.e.element(key, where) for key in self.keys]

    def _where(self, index: SSAValue) -> list[SSAValue]:
        return [index if i == self.dimension else each for i, each in enumerate(self.places)]


def _merged(
    e: Emitter,
    keys: Sequence[SSAValue],
    order: SSAValue,
    dimension: int,
    length: SSAValue,
    turns: IndexOrInt,
    less: Less,
) -> SSAValue:
    """Each pair of runs of a length merged, for which bisections take some turns."""
    sizes = e.sizes(order)

    def limits(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runs = _Runs(inner, keys, order, dimension, length)
        rights = inner.op("arith.subi", runs.end, runs.middle)
        lefts = inner.op("arith.subi", runs.middle, runs.start)
        low = inner.op("arith.maxsi", inner.op("arith.subi", runs.inside, rights), runs.none)
        high = inner.op("arith.minsi", runs.inside, lefts)
        return [inner.from_index(each, i64) for each in (low, high)]

    def halved(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runs = _Runs(inner, keys, order, dimension, length)
        low, high = (inner.to_index(each) for each in args[:2])
        open_ = inner.compare_integers("slt", low, high)
        half = inner.op("arith.shrui", inner.op("arith.addi", low, high), runs.one)
        opposite = inner.op("arith.subi", inner.op("arith.subi", runs.inside, half), runs.one)
        later = runs.right_is_less(
            less,
            inner.op("arith.addi", runs.start, half),
            inner.op("arith.addi", runs.middle, opposite),
        )
        above = inner.both(open_, inner.op("arith.xori", later, inner.constant(1, BOOL)))
        high = inner.select(inner.both(open_, later), half, high)
        low = inner.select(above, inner.op("arith.addi", half, runs.one), low)
        return [inner.from_index(each, i64) for each in (low, high)]

    def chosen(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        runs = _Runs(inner, keys, order, dimension, length)
        low = inner.to_index(args[0])
        left = inner.op("arith.addi", runs.start, low)
        right = inner.op("arith.addi", runs.middle, inner.op("arith.subi", runs.inside, low))
        no_left = inner.compare_integers("sge", left, runs.middle)
        has_right = inner.compare_integers("slt", right, runs.end)
        is_less = runs.right_is_less(less, left, right)
        takes_right = inner.either(no_left, inner.both(has_right, is_less))
        return [runs.at(inner.select(takes_right, right, left))]

    def empties() -> list[SSAValue]:
        return [e.empty(sizes, i64), e.empty(sizes, i64)]

    bounds = e.loops([], [], empties(), None, limits)
    block = Block(arg_types=[INDEX, *(bound.type for bound in bounds)])
    inner = e.inside(block)
    outputs = [inner.empty(sizes, i64), inner.empty(sizes, i64)]
    inner.add_op(scf.YieldOp(*inner.loops(block.args[1:], None, outputs, None, halved)))
    bisection = scf.ForOp(e.index(0), e.index(turns), e.index(1), bounds, Region(block))
    low = e.add_op(bisection).results[0]
    return e.loops([low], None, [e.empty(sizes, i64)], None, chosen)[0]
