"""Convert attention to two products and a softmax.

torch-mlir's has fixed dimensions. That of IREE has an indexing map for each operand, which say what
the dimensions are for:

    query (b, m, k1), key (b, k2, k1), value (b, k2, n) -> (b, m, n)
    weights (b, m, k2): sums along k1, which are scaled, changed by a body, masked, and divided by
                        their sums along k2 after the exponential

IREE computes powers of 2 instead, unless `use_exp2 = false`: its body is of binary logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DictionaryAttr, IntegerAttr, f64, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import Rewriter

from ...dialects.linalg.bodies import IndexOp
from ...dialects.linalg.packing import SoftmaxOp
from ...ir.attribute_access import attribute, element_type, integer
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from ..stablehlo.elementwise.conversions import convert, convert_tensor
from ..stablehlo.lowering.element_types import Kind, kind
from ..stablehlo.lowering.emitter import Body, Emitter, dims, shape
from ..stablehlo.lowering.lowering import Lowering, Tensors
from ..stablehlo.products.dot_products import accumulator, contract, multiply_add
from .rules import linalg_ext_rule


@linalg_ext_rule("tm_tensor.attention")
def _attention(lowering: Lowering, op: Operation) -> Tensors:
    """Emit `softmax(query * key^T / sqrt(d) + mask) * value`, with d the last size of `query`."""
    e = lowering.emit
    query, key, value, *mask, _ = op.operands
    element, rank = kind(query.type), len(shape(query))
    total, batch = accumulator((element, element, element)), tuple(range(rank - 2))
    lists = (batch, batch, (rank - 1,), (rank - 1,))
    weights = contract(e, (query, key), (element, element, total), lists)
    mask = [convert_tensor(e, each, element, total) for each in mask]
    weights = _masked(e, weights, mask, e.size(query, rank - 1))
    empty = e.empty(e.sizes(weights), total.type)
    softmax = e.add_op(SoftmaxOp(weights, empty, rank - 1)).results[0]
    lists = (batch, batch, (rank - 1,), (rank - 2,))
    return [contract(e, (softmax, value), (total, element, element), lists)]


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


@linalg_ext_rule("iree_linalg_ext.attention")
def _attention_by_maps(lowering: Lowering, op: Operation) -> Tensors:
    e, scores = lowering.emit, _scores(lowering, op, 1)
    _, _, of_value, *_, of_output = _dimensions(op)
    sizes, kept = e.sizes(scores.values), scores.kept
    rows = e.reshape(scores.values, [*sizes[:kept], e.product(sizes[kept:])])
    softmax = SoftmaxOp(rows, e.empty(e.sizes(rows), scores.total.type), kept)
    weights = e.reshape(e.add_op(softmax).results[0], sizes), scores.dimensions
    result = _product(e, weights, (op.operands[2], of_value), of_output, scores.total)
    return [convert_tensor(e, result, scores.total, kind(op.operands[-1].type))]


@linalg_ext_rule("iree_linalg_ext.online_attention")
def _attention_by_parts(lowering: Lowering, op: Operation) -> Tensors:
    """Add a part of keys and values: `outs` are sums of weighted values, the largest score, and
    sums of weights, and so are the results. Weights are relative to that of the largest score.
    """
    e, outs, scores = lowering.emit, op.operands[-3:], _scores(lowering, op, 3)
    weights, of_weights, total = scores.values, scores.dimensions, scores.total
    _, _, of_value, *_, of_result, of_most, of_sum = _dimensions(op)
    kept = set(of_weights[: scores.kept])
    if not set(of_most) <= set(of_sum) <= kept or not set(of_most) <= set(of_result):
        raise OperationError(op, "has a maximum or sum of weights along wrong dimensions")
    before = [convert_tensor(e, each, kind(each.type), total) for each in outs]
    power, unit = ("math.exp", 1.0) if _is_natural(op) else ("math.exp2", 1 / log(2))

    def scaled(inner: Emitter, args: Tensors) -> Tensors:
        return [inner.op("arith.mulf", args[0], inner.constant(unit, total.type))]

    def larger(inner: Emitter, args: Tensors) -> Tensors:
        return [inner.op("arith.maximumf", args[1], args[0])]

    def relative(inner: Emitter, args: Tensors) -> Tensors:
        return [inner.op(power, inner.op("arith.subf", args[0], args[1]))]

    def product(inner: Emitter, args: Tensors) -> Tensors:
        return [inner.op("arith.mulf", args[0], args[1])]

    def sum_(inner: Emitter, args: Tensors) -> Tensors:
        return [inner.op("arith.addf", args[1], args[0])]

    def each_of(dimensions: Sequence[int], body: Body, *given: Indexed) -> SSAValue:
        shaped = next(tensor for tensor, own in given if own == dimensions)
        maps = [_map(own, dimensions) for _, own in given]
        empty = e.empty(e.sizes(shaped), total.type)
        return e.loops([tensor for tensor, _ in given], maps, [empty], None, body)[0]

    def reduced(body: Body, start: SSAValue, dimensions: Sequence[int]) -> SSAValue:
        return e.loops([weights], None, [start], [_map(dimensions, of_weights)], body)[0]

    weights = each_of(of_weights, scaled, (weights, of_weights))
    most = reduced(larger, before[1], of_most)
    weights = each_of(of_weights, relative, (weights, of_weights), (most, of_most))
    shrunk = each_of(of_most, relative, (before[1], of_most), (most, of_most))
    start, total_before = (
        each_of(own, product, (tensor, own), (shrunk, of_most))
        for tensor, own in ((before[0], of_result), (before[2], of_sum))
    )
    value = op.operands[2], of_value
    result = _product(e, (weights, of_weights), value, of_result, total, start)
    results = result, most, reduced(sum_, total_before, of_sum)
    pairs = zip(results, outs, strict=True)
    return [convert_tensor(e, new, total, kind(old.type)) for new, old in pairs]


@dataclass(frozen=True, slots=True)
class _Scores:
    """Scores, the natural logarithms of weights up to a factor."""

    values: SSAValue
    dimensions: list[int]
    """What they are indexed by; dimensions along which weights are summed come last."""
    kept: int
    """The number of the other dimensions."""
    total: Kind
    """The type of sums."""


def _scores(lowering: Lowering, op: Operation, outs: int) -> _Scores:
    """Emit the scores of an op with this number of `outs`.

    Raises OperationError for indexing maps of other computations.
    """
    e = lowering.emit
    query, key, _, scale, *mask = op.operands[:-outs]
    of_query, of_key, of_value, _, *others = _dimensions(op)
    of_mask, of_output = others[:-outs], others[-outs]
    kept = [each for each in of_query if each in of_output]
    summed = [each for each in of_key if each in of_value and each not in of_output]
    found = [*kept, *summed]
    fits = summed and set(of_output) <= {*kept, *of_value}
    if not fits or any(not set(each) <= set(found) for each in of_mask):
        raise OperationError(op, "has indexing maps that are not those of two products")
    total = accumulator((kind(query.type), kind(key.type), kind(op.operands[-outs].type)))
    sums = _product(e, (query, of_query), (key, of_key), found, total)
    masks = list(zip(mask, of_mask, strict=True))
    return _Scores(_changed(lowering, op, sums, found, scale, masks), found, len(kept), total)


def _dimensions(op: Operation) -> list[list[int]]:
    """Return the dimensions that index each operand. Raises OperationError for other maps."""
    found: list[list[int]] = []
    for each in cast("ArrayAttr[AffineMapAttr]", attribute(op, "indexing_maps")):
        results = each.data.results
        found.append([index.position for index in results if isinstance(index, AffineDimExpr)])
        if len(found[-1]) < len(results):
            raise OperationError(op, "has indexing maps whose results are not dimensions")
    return found


Indexed = tuple[SSAValue, Sequence[int]]
"""A tensor with the dimensions that index it."""


def _product(
    e: Emitter,
    left: Indexed,
    right: Indexed,
    result: Sequence[int],
    total: Kind,
    start: SSAValue | None = None,
) -> SSAValue:
    """Return `start`, or 0, plus products, added along dimensions that do not index the result."""
    loops = list(dict.fromkeys([*result, *left[1], *right[1]]))
    sizes = {
        dimension: size
        for tensor, dimensions in (left, right)
        for dimension, size in zip(dimensions, e.sizes(tensor), strict=True)
    }
    if start is None:
        start = e.fill(e.constant(0, total.type), [sizes[each] for each in result])
    return e.loops(
        [left[0], right[0]],
        [_map(each, loops) for _, each in (left, right)],
        [start],
        [_map(result, loops)],
        multiply_add(kind(left[0].type), kind(right[0].type), total),
    )[0]


def _map(dimensions: Sequence[int], loops: Sequence[int]) -> AffineMap:
    return dims(*map(loops.index, dimensions), loops=len(loops))


def _is_natural(op: Operation) -> bool:
    """Return whether logarithms are natural ones, and not to the base 2."""
    config = op.properties.get("decomposition_config")
    given = config.data.get("use_exp2") if isinstance(config, DictionaryAttr) else None
    return isinstance(given, IntegerAttr) and given.value.data == 0


def _changed(
    lowering: Lowering,
    op: Operation,
    weights: SSAValue,
    of_weights: Sequence[int],
    scale: SSAValue,
    masks: Sequence[Indexed],
) -> SSAValue:
    """Scale weights, compute the body of each, and add the mask, which may also choose."""
    e, total = lowering.emit, kind(weights.type)
    region = op.regions[0]
    for index in [each for each in region.walk() if each.name == "iree_linalg_ext.index"]:
        # IREE counts the dimensions of the weights alone, in the order of the iteration space.
        number = integer(index, "dim")
        if number >= len(of_weights):
            raise OperationError(
                index, f"asks for dimension {number} of weights of rank {len(of_weights)}"
            )
        dimension = of_weights.index(sorted(of_weights)[number])
        Rewriter.replace_op(index, IndexOp(dimension))

    does_nothing = region.block.first_op is region.block.last_op
    is_binary = not does_nothing and not _is_natural(op)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        number = inner.op("arith.mulf", args[0], convert(inner, scale, kind(scale.type), total))
        if is_binary:
            number = inner.op("arith.mulf", number, inner.constant(1 / log(2), total.type))
        argument = kind(region.block.args[0].type)
        given = convert(inner, number, total, argument)
        (number,) = lowering.inline_on_scalars(region, [given], inner)
        number = convert(inner, number, argument, total)
        if is_binary:
            number = inner.op("arith.mulf", number, inner.constant(log(2), total.type))
        for (mask, _), each in zip(masks, args[1:], strict=False):
            if kind(mask.type).width == 1:
                number = inner.select(each, number, inner.constant(-inf, total.type))
            else:
                added = convert(inner, each, kind(mask.type), total)
                number = inner.op("arith.addf", number, added)
        return [number]

    maps = [_map(each, of_weights) for each in (of_weights, *(each for _, each in masks))]
    empty = e.empty(e.sizes(weights), total.type)
    return e.loops([weights, *(mask for mask, _ in masks)], maps, [empty], None, body)[0]
