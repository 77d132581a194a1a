"""Convert sorts, and searches for the first elements of an order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue

from ...ir.attribute_access import element_type, integer
from ...ir.syntax.assembly_format import values
from ..stablehlo.data_movement.shapes import iota
from ..stablehlo.lowering.element_types import kind
from ..stablehlo.lowering.emitter import Emitter, dims, dims_but, shape
from ..stablehlo.lowering.lowering import Lowering, Tensors
from ..stablehlo.sorting.rank_sort import Less
from ..stablehlo.sorting.sorting import Order, in_pairs, in_sorted_order
from .rules import linalg_ext_rule


@linalg_ext_rule("tm_tensor.sort", "iree_linalg_ext.sort")
def _sort(lowering: Lowering, op: Operation) -> Tensors:
    """Sort the first tensors: `ins`, or `outs` if there are none."""
    given = op.operands[: len(op.results)]
    order = Order(given, _strict_order(lowering, op.regions[0]))
    return in_sorted_order(lowering, given, integer(op, "dimension"), order)


@linalg_ext_rule("tm_tensor.topk", "iree_linalg_ext.topk")
def _topk(lowering: Lowering, op: Operation) -> Tensors:
    """Return the first elements of `ins` and `outs` together.

    Equal elements are ordered by their indices.
    """
    e, dimension = lowering.emit, integer(op, "dimension")
    *given, best, best_indices = op.operands
    index_type = element_type(best_indices.type)
    if len(given) == 1:
        given.append(iota(e, e.sizes(given[0]), dimension, kind(index_type)))
    pairs = zip(given, (best, best_indices), strict=True)
    joined = [e.concatenate(pair, dimension) for pair in pairs]
    better = _strict_order(lowering, op.regions[0])

    def before(inner: Emitter, one: Tensors, other: Tensors) -> SSAValue:
        is_worse = better(inner, other[:1], one[:1])
        is_first = inner.compare_integers("slt", one[1], other[1])
        equal = inner.select(is_worse, inner.constant(0, is_worse.type), is_first)
        return inner.either(better(inner, one[:1], other[:1]), equal)

    order = Order(joined, before)
    return in_sorted_order(lowering, joined, dimension, order, e.sizes(best)[dimension])


@linalg_ext_rule("iree_linalg_ext.topk_v2")
def _topk_in_any_order(lowering: Lowering, op: Operation) -> Tensors:
    """Return the first elements of `ins` and their indices; the contents of `outs` do not count."""
    e, dimension = lowering.emit, integer(op, "dimension")
    (value,), indices, outputs = (
        values(op, n) for n in ("input", "input_indices", "output_indices")
    )
    given = [value, *indices]
    if outputs and not indices:
        element = kind(element_type(outputs[0].type))
        given.append(iota(e, e.sizes(value), dimension, element))
    order = Order(given[:1], _strict_order(lowering, op.regions[0]))
    kept = e.size(values(op, "output")[0], dimension)
    return in_sorted_order(lowering, given, dimension, order, kept)[: len(op.results)]


@linalg_ext_rule("iree_linalg_ext.arg_compare")
def _arg_compare(lowering: Lowering, op: Operation) -> Tensors:
    """Carry the element that the body prefers to those before, and its index."""
    e, dimension = lowering.emit, integer(op, "dimension")
    (value,), indices, base = (values(op, name) for name in ("value", "index", "index_base"))
    best = [values(op, name)[0] for name in ("output", "output_index")]
    rank, element = len(shape(value)), element_type(best[1].type)
    kept = dims_but(dimension, rank)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        *given, most, place = args
        (is_better,) = lowering.inline_on_scalars(op.regions[0], [given[0], most], inner)
        here = given[1] if indices else inner.loop_index(dimension)
        for first in base:
            here = inner.op("arith.addi", here, first)
        if here.type != element:
            here = inner.from_index(here, element)
        return [inner.select(is_better, *pair) for pair in ((given[0], most), (here, place))]

    maps = [dims(*range(rank), loops=rank)] * (1 + len(indices))
    return e.loops([value, *indices], maps, best, [kept, kept], body)


_STRICT = {2: "slt", 3: "slt", 4: "sgt", 5: "sgt", 6: "ult", 7: "ult", 8: "ugt", 9: "ugt"}
"""The strict form of each ordering predicate of `arith.cmpi`, such as `slt` for `sle`."""

_ORDERS = {**dict.fromkeys((2, 3, 9, 10), "greater"), **dict.fromkeys((4, 5, 11, 12), "less")}
"""Which elements come first, by each ordering predicate of `arith.cmpf`, such as `ole` or `ult`."""


def _strict_order(lowering: Lowering, region: Region) -> Less:
    """Return the strict order of a comparator, which may compare equal elements as ordered.

    If the comparator is one float comparison, NaN comes after all numbers, or before them if the
    largest come first, as in PyTorch. `ole` and `oge` alone would leave the positions of NaNs to
    the sorting algorithm.
    """
    block = region.block
    first = block.first_op
    if first is not None and len(list(block.ops)) == 2 and first.name in _COMPARISONS:
        found = _comparison(first, region)
        if found is not None:
            return found

    def before(e: Emitter, one: Tensors, other: Tensors) -> SSAValue:
        forward = lowering.inline_on_scalars(region, in_pairs(one, other), e)[0]
        backward = lowering.inline_on_scalars(region, in_pairs(other, one), e)[0]
        return e.select(backward, e.constant(0, backward.type), forward)

    return before


_COMPARISONS = ("arith.cmpf", "arith.cmpi")


def _comparison(compared: Operation, region: Region) -> Less | None:
    """Return the order of a body that is one comparison of two elements, else `None`."""
    args: list[SSAValue] = list(region.block.args)
    last = region.block.last_op
    if last is None or last.operands[0] is not compared.results[0]:
        return None
    if not all(each in args for each in compared.operands):
        return None
    left, right = (args.index(each) for each in compared.operands)
    names = _ORDERS if compared.name == "arith.cmpf" else _STRICT
    name = names.get(integer(compared, "predicate"))
    if left // 2 != right // 2 or left == right or name is None:
        return None
    key, is_swapped = left // 2, left > right

    def before(e: Emitter, one: Tensors, other: Tensors) -> SSAValue:
        a, b = (other[key], one[key]) if is_swapped else (one[key], other[key])
        if name == "less":
            return e.both(e.compare_floats("ult", a, b), e.compare_floats("ord", a, a))
        if name == "greater":
            return e.both(e.compare_floats("ugt", a, b), e.compare_floats("ord", b, b))
        return e.compare_integers(name, a, b)

    return before
