"""Conversion rules of the `tm_tensor` ops.

`@tm_tensor_rule("tm_tensor.sort")`: `function(lowering, operation) -> tensors`, one for each
result. Operands are `ins`, then `outs`; the contents of `outs` are read only if the op says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ComplexType, IndexType, f64, i64
from xdsl.ir import Operation, Region, SSAValue

from ...dialects.linalg.packing import SoftmaxOp
from ...dialects.stablehlo.attributes import ScatterAttr
from ...ir.attribute_access import attribute, element_type, flag, integer, number_list
from ...ir.combiners import COMBINERS
from ...ir.index import IndexOrInt
from ...ir.rules import Rules
from ..stablehlo.data_movement.scatter import scattered
from ..stablehlo.data_movement.shapes import iota
from ..stablehlo.elementwise.conversions import convert_tensor
from ..stablehlo.lowering.element_types import Kind, kind
from ..stablehlo.lowering.emitter import Emitter, dims, shape
from ..stablehlo.lowering.lowering import Lowering, Tensors
from ..stablehlo.products.dot_products import accumulator, contract
from ..stablehlo.reduction.combiners import Combiner, combiner, only_operation
from ..stablehlo.reduction.running_reductions import running_reduction
from ..stablehlo.sorting.rank_sort import Less
from ..stablehlo.sorting.sorting import Order, in_pairs, in_sorted_order

tm_tensor_rule = Rules[Callable[[Lowering, Operation], Tensors]]()


# Scan --------------------------------------------------------------------------------------------


@tm_tensor_rule("tm_tensor.scan")
def _scan(lowering: Lowering, op: Operation) -> Tensors:
    """Convert a scan: `out[0] = x[0]`, `out[i] = f(out[i - 1], x[i])`.

    The second result is `out[n - 1]`.

    An exclusive scan starts with the accumulator, as if it preceded `x`. Along a dimension of one
    element, the second result is the accumulator's initial value.
    """
    e = lowering.emit
    value, _, initial = op.operands
    dimension = integer(op, "dimension")
    extent = shape(value)[dimension]
    if 0 in shape(value):
        return [value, initial]
    if not flag(op, "inclusive"):
        value = _shifted(e, value, initial, dimension)
    combined = combiner(lowering, op, op.regions[0], 1)
    identity = _identity(op.regions[0], combined.kinds[0])
    if extent > 0 and identity is not None:
        start = e.constant(identity, combined.kinds[0].type)
        given = (combined.kinds[0], combined.kinds[0])
        result = running_reduction(e, combined, value, start, given, dimension)
    else:
        result = sequential_scan(e, combined, value, dimension)
    (result,) = combined.finish(e, [result])
    last = _last(e, result, initial, dimension) if op.results[1].uses else initial
    return [result, last]


def _identity(region: Region, element: Kind) -> float | None:
    """Return the identity of an associative body on numbers, else `None`."""
    body = only_operation(region)
    found = None if body is None else COMBINERS.get(body.name)
    if found is None or isinstance(element.type, IndexType | ComplexType):
        return None
    return found.neutral(element.type)


def _without(dimension: int, rank: int) -> list[int]:
    return [each for each in range(rank) if each != dimension]


def _shifted(e: Emitter, value: SSAValue, initial: SSAValue, dimension: int) -> SSAValue:
    """Shift a tensor by one position behind the accumulator: `[a], [x, y, z] -> [a, x, y]`."""
    rank, sizes = len(shape(value)), e.sizes(value)
    one = [int(each == dimension) for each in range(rank)]
    padded = e.pad(value, one, [0] * rank, e.constant(0, element_type(value.type)))
    moved = e.extract_slice(padded, [0] * rank, sizes)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_first = inner.compare_integers("eq", inner.loop_index(dimension), inner.index(0))
        return [inner.select(is_first, args[1], args[0])]

    kept = dims(*_without(dimension, rank), loops=rank)
    empty = e.empty(sizes, element_type(value.type))
    maps = [dims(*range(rank), loops=rank), kept]
    return e.loops([moved, initial], maps, [empty], None, body)[0]


def _last(e: Emitter, result: SSAValue, initial: SSAValue, dimension: int) -> SSAValue:
    rank = len(shape(result))
    last = e.index(e.subtract(e.size(result, dimension), 1))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        index = inner.loop_index(dimension)
        is_last = inner.compare_integers("eq", index, last)
        is_later = inner.compare_integers("sgt", index, inner.index(0))
        return [inner.select(inner.both(is_last, is_later), args[0], args[1])]

    kept = dims(*_without(dimension, rank), loops=rank)
    return e.loops([result], None, [initial], [kept], body)[0]


# Sort and topk -----------------------------------------------------------------------------------


@tm_tensor_rule("tm_tensor.sort")
def _sort(lowering: Lowering, op: Operation) -> Tensors:
    less = _strict_order(lowering, op.regions[0])
    order = Order(op.operands, less)
    return in_sorted_order(lowering, op.operands, integer(op, "dimension"), order)


@tm_tensor_rule("tm_tensor.topk")
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
    joined = [_joined(e, one, other, dimension) for one, other in pairs]
    better = _strict_order(lowering, op.regions[0])

    def before(inner: Emitter, one: Tensors, other: Tensors) -> SSAValue:
        is_worse = better(inner, other[:1], one[:1])
        is_first = inner.compare_integers("slt", one[1], other[1])
        equal = inner.select(is_worse, inner.constant(0, is_worse.type), is_first)
        return inner.either(better(inner, one[:1], other[:1]), equal)

    order = Order(joined, before)
    return in_sorted_order(lowering, joined, dimension, order, e.sizes(best)[dimension])


def _joined(e: Emitter, one: SSAValue, other: SSAValue, dimension: int) -> SSAValue:
    """Concatenate two tensors along a dimension."""
    rank = len(shape(one))
    sizes: list[IndexOrInt] = e.sizes(one)
    offsets: list[IndexOrInt] = [0] * rank
    offsets[dimension] = sizes[dimension]
    sizes[dimension] = e.add(sizes[dimension], e.size(other, dimension))
    empty = e.empty(sizes, element_type(one.type))
    first = e.insert_slice(one, empty, [0] * rank)
    return e.insert_slice(other, first, offsets)


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


# Scatter -----------------------------------------------------------------------------------------


@tm_tensor_rule("tm_tensor.scatter")
def _scatter(lowering: Lowering, op: Operation) -> Tensors:
    """Convert a scatter; each update has a row of indices where its window starts.

    Windows are the trailing dimensions. Updates apply in order; those outside the tensor are
    dropped.
    """
    updates, indices, target = op.operands
    window = len(shape(updates)) - 1
    numbers = ScatterAttr.of(
        update_window_dims=tuple(range(1, window + 1)),
        inserted_window_dims=tuple(range(len(shape(target)) - window)),
        scatter_dims_to_operand_dims=number_list(attribute(op, "dimension_map")),
        index_vector_dim=1,
    )
    combined = combiner(lowering, op, op.regions[0], 1, widen=False, elements_first=True)
    operands = (target, indices, updates)
    kinds = [kind(each.type) for each in operands]
    return scattered(lowering.emit, operands, kinds, numbers, combined)


# Attention ---------------------------------------------------------------------------------------


@tm_tensor_rule("tm_tensor.attention")
def _attention(lowering: Lowering, op: Operation) -> Tensors:
    """Emit `softmax(query * key^T / sqrt(d) + mask) * value`, with d the last size of `query`."""
    e = lowering.emit
    query, key, value, *mask, _ = op.operands
    element, rank = kind(query.type), len(shape(query))
    total, batch = accumulator((element, element, element)), tuple(range(rank - 2))
    lists = (batch, batch, (rank - 1,), (rank - 1,))
    weights = contract(e, (query, key), lists, (element, element, total))
    mask = [convert_tensor(e, each, element, total) for each in mask]
    weights = _masked(e, weights, mask, e.size(query, rank - 1))
    empty = e.empty(e.sizes(weights), total.type)
    softmax = e.add_op(SoftmaxOp(weights, empty, rank - 1)).results[0]
    lists = (batch, batch, (rank - 1,), (rank - 2,))
    return [contract(e, (softmax, value), lists, (total, element, element))]


def _masked(e: Emitter, weights: SSAValue, mask: Tensors, width: IndexOrInt) -> SSAValue:
    rank, element = len(shape(weights)), element_type(weights.type)
    number = e.from_index(e.index(width), i64)
    scale = e.op("math.sqrt", e.op("arith.sitofp", number, to=f64))
    if element != f64:
        scale = e.op("arith.truncf", scale, to=element)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        scaled = inner.op("arith.divf", args[0], scale)
        return [inner.op("arith.addf", scaled, args[1]) if mask else scaled]

    maps = [dims(*range(rank), loops=rank)]
    maps += [dims(*range(rank - len(shape(each)), rank), loops=rank) for each in mask]
    return e.loops([weights, *mask], maps, [e.empty(e.sizes(weights), element)], None, body)[0]


def sequential_scan(e: Emitter, combined: Combiner, value: SSAValue, dimension: int) -> SSAValue:
    """Return `out[0] = x[0]`, `out[i] = f(out[i - 1], x[i])` in the accumulator's type.

    It goes element by element, for bodies without an identity and for dynamic sizes. Raises
    OperationError if the body does not work element by element.
    """
    given, carried = combined.kinds[0], combined.carried_kinds[0]
    rank, sizes = len(shape(value)), e.sizes(value)
    first = convert_tensor(e, value, given, carried)
    row: list[IndexOrInt] = [1 if each == dimension else sizes[each] for each in range(rank)]

    def at(index: IndexOrInt) -> list[IndexOrInt]:
        return [index if each == dimension else 0 for each in range(rank)]

    def step(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        position, done = args
        before = inner.extract_slice(done, at(inner.subtract(position, 1)), row)
        here = inner.extract_slice(done, at(position), row)
        (made,) = inner.loops(
            [before, here],
            None,
            [inner.empty(row, carried.type)],
            None,
            lambda body, pair: combined.combine(body, pair[:1], pair[1:2], [carried]),
        )
        return [inner.insert_slice(made, done, at(position))]

    return e.sequential_loop(sizes[dimension], [first], step, first=1)[0]
