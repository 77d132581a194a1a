"""Sorting by any comparator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.attribute_access import attribute, element_type, integer
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from .arithmetic import operand_kind, total_order
from .elements import kind
from .emitter import INDEX, PARALLEL, REDUCTION, Emitter, dims, shape
from .lowering import Lowering
from .merge_sort import Less, in_order, sorted_order
from .rules import call_rule, tensor_rule
from .shapes import iota

Tensors = Sequence[SSAValue]

LONG = 128
"""How many elements are sorted by counting which come before each of them; more are merged."""

FEW = 64
"""How many of the largest elements are looked for one after the other."""


@tensor_rule("stablehlo.sort")
def _sort(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    rank = len(shape(operands[0]))
    dimension = integer(op, "dimension", -1)
    less = _comparator(lowering, op.regions[0])
    return in_sorted_order(lowering.emit, operands, dimension % max(rank, 1), less)


@call_rule("ApproxTopK")
def _approximate_top_k(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """The first elements by a comparator; none is left out, though some might be.

    The operands are tensors, and for each of them what stands for elements that are not there.
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
    less = _comparator(lowering, comparator.body)
    ordered = in_sorted_order(lowering.emit, operands[:count], along, less)
    e, rank = lowering.emit, len(shape(operands[0]))
    return [
        e.extract_slice(value, [0] * rank, list(shape(result)), [1] * rank)
        for value, result in zip(ordered, op.results, strict=True)
    ]


def _comparator(lowering: Lowering, region: Region) -> Less:
    """The order that a region over pairs of elements is."""
    return lambda e, one, other: lowering.scalars(region, in_pairs(one, other), e)[0]


def in_pairs(one: Tensors, other: Tensors) -> list[SSAValue]:
    """The elements of two places as comparators take them: those of each tensor side by side."""
    return [value for pair in zip(one, other, strict=True) for value in pair]


def in_sorted_order(e: Emitter, operands: Tensors, dimension: int, less: Less) -> Tensors:
    """Tensors in an order of their elements along a dimension. The sort is stable."""
    if shape(operands[0])[dimension] in (0, 1):
        return operands
    if shape(operands[0])[dimension] > LONG:
        order = sorted_order(e, operands, dimension, less)
        return [in_order(e, value, order, dimension) for value in operands]
    ranks = _ranks(e, less, operands, dimension)
    return [_placed(e, value, ranks, dimension) for value in operands]


def _ranks(e: Emitter, less: Less, operands: Tensors, dimension: int) -> SSAValue:
    """How many elements come before each one: those that are less, and equal ones in front."""
    rank = len(shape(operands[0]))
    sizes = e.sizes(operands[0])
    here = dims(*range(rank), loops=rank + 1)
    there = dims(*(rank if i == dimension else i for i in range(rank)), loops=rank + 1)
    count = len(operands)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        mine, others = args[:count], args[count : 2 * count]
        is_less, is_more = less(inner, others, mine), less(inner, mine, others)
        in_front = inner.compare_integers(
            "slt", inner.loop_index(rank), inner.loop_index(dimension)
        )
        none = inner.constant(0, is_less.type)
        before = inner.either(is_less, inner.select(is_more, none, in_front))
        one = inner.op("arith.extui", before, to=i64)
        return [inner.op("arith.addi", args[-1], one)]

    return e.loops(
        [*operands, *operands],
        [*[here] * count, *[there] * count],
        [e.fill(e.constant(0, i64), sizes)],
        [here],
        body,
        [*[PARALLEL] * rank, REDUCTION],
    )[0]


def _placed(e: Emitter, value: SSAValue, ranks: SSAValue, dimension: int) -> SSAValue:
    """The elements of a tensor at their ranks."""
    rank = len(shape(value))
    here = dims(*range(rank), loops=rank + 1)
    there = dims(*(rank if i == dimension else i for i in range(rank)), loops=rank + 1)
    sizes: list[IndexOrInt] = e.sizes(value)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        place = inner.from_index(inner.loop_index(dimension), i64)
        return [inner.select(inner.compare_integers("eq", args[1], place), args[0], args[2])]

    return e.loops(
        [value, ranks],
        [there, there],
        [e.fill(e.constant(0, element_type(value.type)), sizes)],
        [here],
        body,
        [*[PARALLEL] * rank, REDUCTION],
    )[0]


@tensor_rule("chlo.top_k")
def _top_k(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return top_k(lowering, op, operands[0], integer(op, "k"))


def top_k(lowering: Lowering, op: Operation, source: SSAValue, count: IndexOrInt) -> list[SSAValue]:
    """The largest elements along the last dimension; of equal ones, the first."""
    e = lowering.emit
    rank = len(shape(source))
    found = operand_kind(op)
    keys = source
    if found.name == "float":
        keys = e.pointwise(
            [source], IntegerType(found.width), lambda inner, args: [total_order(inner, args[0])]
        )
    greater = "ugt" if found.name in ("unsigned", "bool") else "sgt"
    positions = iota(e, e.sizes(source), rank - 1, kind(op.result_types[1]))
    sizes = [*e.sizes(source)[:-1], count]
    offsets, strides = [0] * rank, [1] * rank
    if shape(source)[-1] > LONG:
        if isinstance(count, int) and count <= FEW:
            first = _largest(e, keys, count, greater)
        else:
            order = sorted_order(
                e,
                [keys],
                rank - 1,
                lambda inner, one, other: inner.compare_integers(greater, one[0], other[0]),
            )
            first = e.extract_slice(order, offsets, sizes, strides)
        return [in_order(e, value, first, rank - 1) for value in (source, positions)]
    here = dims(*range(rank), loops=rank + 1)
    there = dims(*range(rank - 1), rank, loops=rank + 1)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        other = args[1], inner.loop_index(rank)
        before = _precedes(inner, greater, other, (args[0], inner.loop_index(rank - 1)))
        return [inner.op("arith.addi", args[2], inner.op("arith.extui", before, to=i64))]

    ranks = e.loops(
        [keys, keys],
        [here, there],
        [e.fill(e.constant(0, i64), e.sizes(source))],
        [here],
        body,
        [*[PARALLEL] * rank, REDUCTION],
    )[0]
    results = [_placed(e, value, ranks, rank - 1) for value in (source, positions)]
    return [e.extract_slice(value, offsets, sizes, strides) for value in results]


def _precedes(
    e: Emitter, greater: str, one: tuple[SSAValue, SSAValue], other: tuple[SSAValue, SSAValue]
) -> SSAValue:
    """Whether a key at a place comes before another: the larger one, or of equal ones the first."""
    larger = e.compare_integers(greater, one[0], other[0])
    equal = e.compare_integers("eq", one[0], other[0])
    return e.either(larger, e.both(equal, e.compare_integers("slt", one[1], other[1])))


def _largest(e: Emitter, keys: SSAValue, count: int, greater: str) -> SSAValue:
    """Where the largest keys along the last dimension are: one after the other in a loop.

    Each turn finds the largest key of those that come after the last one that was found.
    """
    rank, outer = len(shape(keys)), e.sizes(keys)[:-1]
    element = element_type(keys.type)
    none = e.fill(e.constant(-1, i64), outer)
    least = e.fill(e.constant(0, element), outer)
    order = e.empty([*outer, count], i64)
    block = Block(arg_types=[INDEX, least.type, none.type, order.type])
    inner = e.inside(block)
    row, last = dims(*range(rank), loops=rank), dims(*range(rank - 1), loops=rank)

    def body(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        key, last_key, last_place, best, best_place = args
        place = scalar.op("arith.index_cast", scalar.loop_index(rank - 1), to=i64)
        zero = scalar.constant(0, i64)
        is_open = scalar.either(
            scalar.compare_integers("slt", last_place, zero),
            _precedes(scalar, greater, (last_key, last_place), (key, place)),
        )
        is_better = scalar.either(
            scalar.compare_integers("slt", best_place, zero),
            _precedes(scalar, greater, (key, place), (best, best_place)),
        )
        taken = scalar.both(is_open, is_better)
        return [
            scalar.select(taken, key, best),
            scalar.select(taken, place, best_place),
        ]

    key, place = inner.loops(
        [keys, *block.args[1:3]],
        [row, last, last],
        [least, none],
        [last, last],
        body,
        [*[PARALLEL] * (rank - 1), REDUCTION],
    )
    at = [*[0] * (rank - 1), block.args[0]]
    column = inner.reshape(place, [*outer, 1])
    found = inner.insert_slice(column, block.args[3], at, [1] * rank)
    inner.add_op(scf.YieldOp(key, place, found))
    loop = scf.ForOp(e.index(0), e.index(count), e.index(1), [least, none, order], Region(block))
    return e.add_op(loop).results[2]
