"""Turn a contraction of computed factors into one of two tensors, and compute the factors first.

    sum += (a[m, k] * scale[m]) * widen(b[k, n])

becomes `f[m, k] = a[m, k] * scale[m]` and a contraction of `f` and `b`. A factor may be any
function of tensors that run along its loops, such as quantised numbers with zero point and scale.
The rewrite changes the order of multiplications, so it is done for `f32` and `f64` only, and only
if each computed factor is used often enough to pay for storing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type, TensorType
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from ....dialects.iree_encoding.interfaces import tensor_encoding
from ....dialects.linalg.bodies import YieldOp
from ....dialects.linalg.dialect import GenericOp
from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....ir.graph_orders import postorder
from ....ir.linear_forms import loops_of
from ....ir.locations import block_with, builder_before, made_by, maker_of, rebuilt, source_behind
from ....ir.tensor_types import ranked
from ....tiling.contractions import RESULT, ContractionOperand
from ...sizes.dimension_sizes import DimensionSizes, Size
from .contraction_matching import WIDENING

MIN_USES = 8
"""A computed factor must be used at least so often per element to be worth storing."""

COMPUTING = ("arith", "math")


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a product: its value in the body, the inputs that it reads, and their loops."""

    value: SSAValue
    inputs: tuple[int, ...]
    loops: frozenset[int]


def split_factors(operation: Operation, sizes: DimensionSizes) -> Operation | None:
    """Replace an operation by a contraction of two factors, some of which are computed beforehand.

    Return the new contraction. Return `None`, and change nothing, if the operation is not a sum of
    products of two groups of terms, or if computing a factor would not pay.
    """
    view = structured_view(operation)
    if view is None or len(view.outputs) != 1 or len(operation.results) != 1:
        return None
    if not view.reduction_loops:
        return None
    for map_ in view.maps:
        if len(set(loops_of(map_))) != len(map_.results):
            return None
    if any(tensor_encoding(value.type) is not None for value in (*view.inputs, *view.outputs)):
        return None
    addition = _addition(view.body)
    if addition is None:
        return None
    terms = _terms(view, addition)
    factors = None if terms is None else _factors(terms)
    if factors is None or not _is_contraction(view, factors) or not _pays(view, factors):
        return None
    contraction = _Splitter(view, sizes).contraction(factors, addition)
    contraction.location = operation.location
    Rewriter.replace_op(operation, [], [contraction.results[0]])
    return contraction


def _addition(body: Block) -> Operation | None:
    """Return the addition to the accumulator that a body returns; `None` if there is none."""
    end, accumulator = body.last_op, body.args[-1]
    addition = None if end is None else made_by(end.operands[0], "arith.addf")
    if addition is None or not isinstance(accumulator.type, Float32Type | Float64Type):
        return None
    return addition if accumulator.get_user_of_unique_use() is addition else None


def _terms(view: StructuredView, addition: Operation) -> list[Term] | None:
    """Return the terms whose product is added up; `None` if it is not computed by arithmetic."""
    body = view.body
    terms: list[Term] = []
    pending = [value for value in addition.operands if value is not body.args[-1]]
    while pending:
        value = pending.pop()
        product = made_by(value, "arith.mulf")
        if product is not None and product.parent is body and value.has_one_use():
            pending += reversed(product.operands)
            continue
        inputs = _inputs_of(value, body)
        if inputs is None:
            return None
        used = sorted(inputs)
        loops = frozenset(loop for index in used for loop in loops_of(view.maps[index]))
        terms.append(Term(value, tuple(used), loops))
    return terms


def _inputs_of(value: SSAValue, body: Block) -> set[int] | None:
    """Return the inputs that a value is computed from; `None` if not by arithmetic alone."""
    found: set[int] = set()
    for each in _computation(value, body):
        if isinstance(each, BlockArgument):
            found.add(each.index)
        elif (maker := maker_of(each)).name.partition(".")[0] not in COMPUTING or maker.regions:
            return None
    return None if len(body.args) - 1 in found else found


def _computation(value: SSAValue, body: Block) -> list[SSAValue]:
    """Return the values of a body that a value is computed from, and itself, operands first."""

    def operands(each: SSAValue) -> Sequence[SSAValue]:
        owner = each.owner
        return owner.operands if isinstance(owner, Operation) and owner.parent is body else ()

    return [each for each in postorder([value], operands) if block_with(each) is body]


def _factors(terms: Sequence[Term]) -> tuple[list[Term], list[Term]] | None:
    """Split terms into two groups by their loops; `None` if there are not two groups."""
    loops = {term.loops for term in terms}
    longest = [subset for subset in loops if not any(subset < other for other in loops)]
    if len(longest) != 2:
        return None
    first, second = sorted(longest, key=[term.loops for term in terms].index)
    left = [term for term in terms if term.loops == first]
    right = [term for term in terms if term.loops == second]
    for term in terms:
        if term.loops not in (first, second):
            (right if term.loops <= second else left).append(term)
    return left, right


def _is_contraction(view: StructuredView, factors: tuple[list[Term], list[Term]]) -> bool:
    """Return whether the factors make a tileable contraction and at least one is computed."""
    if all(_is_plain(factor) for factor in factors):
        return False
    result = loops_of(view.maps[-1])
    maps = (*(tuple(sorted(factor[0].loops)) for factor in factors), tuple(result))
    return ContractionOperand(RESULT, (), maps, maps[RESULT]).roles() is not None


def _is_plain(factor: Sequence[Term]) -> bool:
    """Return whether a factor is a tensor's element, unchanged or widened."""
    if len(factor) != 1 or len(factor[0].inputs) != 1:
        return False
    return not isinstance(source_behind(factor[0].value, *WIDENING).owner, Operation)


def _pays(view: StructuredView, factors: tuple[list[Term], list[Term]]) -> bool:
    """Return whether no computed factor is known to be used less than `MIN_USES` times."""
    sizes = view.loop_sizes()
    for factor in factors:
        others = set(range(len(sizes))) - factor[0].loops
        known = [size for loop in others if (size := sizes[loop]) is not None]
        if not _is_plain(factor) and len(known) == len(others) and prod(known) < MIN_USES:
            return False
    return True


class _Splitter:
    """Rewrites one operation."""

    def __init__(self, view: StructuredView, sizes: DimensionSizes) -> None:
        self._view = view
        self._sizes = sizes
        self._builder = builder_before(view.operation)

    def contraction(self, factors: tuple[list[Term], list[Term]], addition: Operation) -> Operation:
        """Emit the contraction, preceded by the factors that have to be computed."""
        view = self._view
        values: list[SSAValue] = []
        maps: list[AffineMap] = []
        body = Block()
        elements: list[SSAValue] = []
        for number, factor in enumerate(factors):
            if _is_plain(factor):
                (index,) = factor[0].inputs
                value, map_ = view.inputs[index], view.maps[index]
                argument = body.insert_arg(view.body.args[index].type, number)
                copies: dict[SSAValue, SSAValue] = {view.body.args[index]: argument}
                elements.append(self._computed(factor[0].value, copies, body))
            else:
                value, map_ = self._compute(factor)
                element = factor[0].value.type
                elements.append(body.insert_arg(element, number))
            values.append(value)
            maps.append(map_)
        accumulator = body.insert_arg(view.body.args[-1].type, len(body.args))
        left, right = elements
        product = MulfOp(left, right)
        total = rebuilt(addition, [accumulator, product.result], addition.result_types)
        body.add_ops([product, total, YieldOp(total.results[0])])
        generic = GenericOp(
            values, view.outputs, Region(body), [*maps, view.maps[-1]], view.iterators
        )
        generic.attributes.update(view.operation.attributes)
        return self._builder.insert(generic)

    def _compute(self, factor: Sequence[Term]) -> tuple[SSAValue, AffineMap]:
        """Emit a factor's computation; return its tensor and the map by which it is read."""
        view = self._view
        used = sorted({index for term in factor for index in term.inputs})
        # If an input has all of these loops, use its dimension order, so that the input is read in
        # order.
        orders = [loops_of(view.maps[index]) for index in used]
        loops = max([*orders, sorted(factor[0].loops)], key=len)
        dimensions = {loop: AffineExpr.dimension(number) for number, loop in enumerate(loops)}
        result_type: Attribute = factor[0].value.type
        body = Block(arg_types=[*(view.body.args[index].type for index in used), result_type])
        copies: dict[SSAValue, SSAValue] = {
            view.body.args[index]: argument
            for index, argument in zip(used, body.args, strict=False)
        }
        first, *rest = (self._computed(term.value, copies, body) for term in factor)
        element: SSAValue = first
        for other in rest:
            product = MulfOp(element, other)
            body.add_op(product)
            element = product.result
        body.add_op(YieldOp(element))
        maps = [
            AffineMap(len(loops), 0, tuple(dimensions[loop] for loop in loops_of(view.maps[index])))
            for index in used
        ]
        shape = [self._size(used, loop) for loop in loops]
        dynamic = [size for size in shape if isinstance(size, SSAValue)]
        lengths = [size if isinstance(size, int) else DYNAMIC_INDEX for size in shape]
        type_ = TensorType(result_type, lengths)
        empty = self._builder.insert(EmptyOp(dynamic, type_)).tensor
        maps.append(AffineMap.identity(len(loops)))
        generic = GenericOp([view.inputs[index] for index in used], [empty], Region(body), maps)
        generic.location = view.operation.location
        read = AffineMap(
            len(view.iterators), 0, tuple(AffineExpr.dimension(loop) for loop in loops)
        )
        return self._builder.insert(generic).results[0], read

    def _computed(self, value: SSAValue, copies: dict[SSAValue, SSAValue], body: Block) -> SSAValue:
        """Copy the computation of a value into another body and return the copy's result.

        `copies` maps values of the body to those of the other one, and gets the new ones.
        """
        for each in _computation(value, self._view.body):
            if each not in copies:
                body.add_op(maker_of(each).clone(copies))
        return copies.get(value, value)

    def _size(self, used: Sequence[int], loop: int) -> Size:
        """Return a loop's extent according to the inputs `used`: a number if one has it static."""
        extents: list[Size] = []
        for index in used:
            value = self._view.inputs[index]
            if ranked(value) is None:
                continue
            for dimension, position in enumerate(loops_of(self._view.maps[index])):
                if position == loop:
                    extents.append(self._sizes.size(value, dimension))
        return next((size for size in extents if isinstance(size, int)), extents[0])
