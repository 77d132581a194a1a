"""Convert dot products and einsums to `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.stablehlo.attributes import DotAttr
from ....ir.attribute_access import attribute, element_type, number_list
from ....ir.diagnostics import OperationError
from ....ir.index import IndexList
from ....ir.linear_forms import loops_of
from ....ir.locations import made_by
from ..data_movement.shapes import transpose
from ..elementwise.arithmetic import operation_on, parts
from ..elementwise.conversions import convert, convert_tensor
from ..lowering.element_origins import broadcast_origin
from ..lowering.element_types import Kind, kind, operand_kind, result_kind
from ..lowering.emitter import Body, Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule

Kinds = tuple[Kind, Kind, Kind]
"""The kinds of both operands and of the result."""

_F32 = kind(f32)
_WIDENED_INTEGERS = {("signed", "signed"), ("unsigned", "unsigned"), ("unsigned", "signed")}
"""Kinds of integers that are widened, and the kinds that hold all their values."""

_RANKS = {"float": 1, "complex": 2}

MIN_ROWS = 4
"""The rows and columns of the products of a batch from which on operands are put in order."""

MIN_STEPS_BY_PARTS = 1 << 20
"""The products from which on a complex contraction is computed as contractions of its parts."""


def accumulator(kinds: Sequence[Kind]) -> Kind:
    """Return the kind in which products are summed, given those of both operands and the result.

    It is the result's kind, unless an operand's kind cannot be represented in it (a float for an
    integer result): then it is that operand's, and sums are converted. Floats narrower than f32 are
    summed in f32.
    """
    left, right, result = kinds
    total = max((result, left, right), key=lambda each: _RANKS.get(each.name, 0))
    if total is not result and left.name == right.name:
        total = max((left, right), key=lambda each: each.width)
    return _F32 if total.is_narrow_float else total


def multiply_add(left: Kind, right: Kind, total: Kind) -> Body:
    """Return the body that adds the product of two elements to the accumulator."""

    def body(e: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first, second = convert(e, args[0], left, total), convert(e, args[1], right, total)
        return [add(e, total, args[-1], multiply(e, total, first, second))]

    return body


def add(e: Emitter, element: Kind, left: SSAValue, right: SSAValue) -> SSAValue:
    """Emit the sum of two numbers of a kind."""
    return e.op(operation_on(element, "add"), left, right)


def multiply(e: Emitter, element: Kind, left: SSAValue, right: SSAValue) -> SSAValue:
    """Emit the product of two numbers of a kind."""
    return e.op(operation_on(element, "multiply"), left, right)


@tensor_rule("stablehlo.dot_general")
def _dot_general(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e, lists = lowering.emit, _dimension_lists(op)
    if _order_of_result(op) is not None:
        # The permutation, which alone reads the product, computes it.
        return [e.empty(shape(op.results[0]), result_kind(op).type)]
    return [contract(e, *_factors(lowering, op, operands), lists)]


def _dimension_lists(op: Operation) -> list[tuple[int, ...]]:
    """Return the batch dimensions of both sides of a product, then the contracted ones."""
    numbers = attribute(op, "dot_dimension_numbers")
    if not isinstance(numbers, DotAttr):
        raise OperationError(op, f"expects #stablehlo.dot<...>, found {numbers}")
    return [
        numbers.integers(f"{side}_{what}_dimensions")
        for what in ("batching", "contracting")
        for side in ("lhs", "rhs")
    ]


@tensor_rule("stablehlo.transpose")
def _transpose(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    product = made_by(op.operands[0], "stablehlo.dot_general")
    order = None if product is None else _order_of_result(product)
    if product is None or order is None:
        order = number_list(attribute(op, "permutation"))
        return [transpose(lowering.emit, operands[0], order)]
    factors = _factors(lowering, product, [*map(lowering.value, product.operands)])
    return [contract(lowering.emit, *factors, _dimension_lists(product), order)]


def _order_of_result(op: Operation) -> Sequence[int] | None:
    """Return the permutation that is all that reads a product, if the product can write its result
    in that order; otherwise `None`.
    """
    (result,) = op.results
    users = [use.operation for use in result.uses]
    if len(users) != 1 or users[0].name != "stablehlo.transpose":
        return None
    if result_kind(op).quantization is not None:
        return None
    # A product with attributes may have a sharding; in another block the operands may be others.
    if op.attributes or users[0].parent is not op.parent or min(shape(result), default=0) < 0:
        return None
    order = number_list(attribute(users[0], "permutation"))
    return order if _keeps_matrices(op, order) else None


def _keeps_matrices(op: Operation, order: Sequence[int]) -> bool:
    """Return whether a permutation of a product leaves its columns, or its rows, innermost.

    The product then writes whole vectors in the order of the result.
    """
    left, right = (shape(each) for each in op.operands[:2])
    batch, _, summed, right_summed = map(len, _dimension_lists(op))
    own = len(left) - summed
    sizes = shape(op.results[0])
    long = [each for each in order if sizes[each] != 1]
    for first, last in ((batch, own), (own, own + len(right) - batch - right_summed)):
        inner = [each for each in range(first, last) if sizes[each] != 1]
        if inner and long[-len(inner) :] == inner:
            return True
    return False


@tensor_rule("stablehlo.dot")
def _dot(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert `dot`: the last dimension of one operand with the first of the other."""
    last = len(shape(operands[0])) - 1
    factors = _factors(lowering, op, operands)
    return [contract(lowering.emit, *factors, ((), (), (last,), (0,)))]


def _factors(lowering: Lowering, op: Operation, operands: Tensors) -> tuple[Tensors, Kinds]:
    """Return the operands of a product, and the kinds of both and of the result.

    Conversions that widen both are left out. The product widens its operands itself, and CPUs may
    multiply them as they are: `dot(convert(a), convert(b))` of bf16 in f32 is `dot(a, b)` in f32.
    """
    left, right, result = operand_kind(op), operand_kind(op, 1), result_kind(op)
    conversions = [made_by(each, "stablehlo.convert") for each in op.operands[:2]]
    # A conversion with attributes may have a sharding.
    given = [each.operands[0] for each in conversions if each is not None and not each.attributes]
    if len(given) == 2:
        first, second = (kind(each.type) for each in given)
        if first == second and _is_widened(first, left) and _is_widened(second, right):
            return [*map(lowering.value, given)], (first, second, result)
    return operands, (left, right, result)


def _is_widened(narrow: Kind, wide: Kind) -> bool:
    """Return whether numbers of one kind have the same values in another, in which they add."""
    if narrow.quantization is not None or narrow.width >= wide.width:
        return False
    names = narrow.name, wide.name
    return (names == ("float", "float") and wide == _F32) or names in _WIDENED_INTEGERS


def contract(
    e: Emitter,
    operands: Tensors,
    kinds: Kinds,
    lists: Sequence[Sequence[int]],
    order: Sequence[int] | None = None,
) -> SSAValue:
    """Emit a contraction; its result has the batch dimensions, then the free ones of both sides.

    `lists` are the batch dimensions of both sides, then the contracted dimensions of both sides.
    `order` permutes the dimensions of the result.
    """
    left, right = operands
    batch, right_batch, summed, right_summed = lists
    rows = [i for i in range(len(shape(left))) if i not in (*batch, *summed)]
    columns = [i for i in range(len(shape(right))) if i not in (*right_batch, *right_summed)]
    if _is_reused(left, rows) and _is_reused(right, columns):
        left, (batch, rows, summed) = _by_batch(e, left, (batch, rows, summed))
        right, found = _by_batch(e, right, (right_batch, columns, right_summed))
        right_batch, columns, right_summed = found
    batches, own = len(batch), len(batch) + len(rows)
    outer, loops = own + len(columns), own + len(columns) + len(summed)
    sides = [
        _by_dimension((*batch, *rows, *summed), (*range(own), *range(outer, loops))),
        _by_dimension(
            (*right_batch, *columns, *right_summed), (*range(batches), *range(own, loops))
        ),
    ]
    sizes = [
        *(e.size(left, each) for each in (*batch, *rows)),
        *(e.size(right, each) for each in columns),
    ]
    of_batch = set(range(batches))
    if order is not None:
        sizes = [sizes[each] for each in order]
        loop_of = {each: place for place, each in enumerate(order)}
        sides = [[loop_of.get(loop, loop) for loop in side] for side in sides]
        of_batch = {loop_of[loop] for loop in of_batch}
    operands = [left, right]
    for side, value in enumerate(operands):
        # A matrix for all of a batch: its rows or columns then are those of one product.
        origin = broadcast_origin(value)
        if origin is None:
            continue
        read = [sides[side][place] for place in origin[1]]
        dropped = set(sides[side]) - set(read)
        if dropped <= of_batch & set(sides[1 - side]):
            operands[side], sides[side] = origin[0], read
    maps = [dims(*read, loops=loops) for read in (*sides, range(outer))]
    return _sum_of_products(e, operands, kinds, maps, sizes)


def _by_dimension(dimensions: Sequence[int], loops: Sequence[int]) -> list[int]:
    """Return the loop of each dimension in order, given the loops of the listed dimensions."""
    return [loop for _, loop in sorted(zip(dimensions, loops, strict=True))]


def _is_reused(operand: SSAValue, free: Sequence[int]) -> bool:
    """Return whether an operand has enough rows, or columns, that the other is read often."""
    return prod(shape(operand)[each] for each in free) >= MIN_ROWS


def _by_batch(
    e: Emitter, operand: SSAValue, roles: tuple[Sequence[int], Sequence[int], Sequence[int]]
) -> tuple[SSAValue, tuple[Sequence[int], Sequence[int], Sequence[int]]]:
    """Return an operand whose last dimension is of the batch with its matrices one by one.

    `roles` are its dimensions of the batch, its own, and those of the sum. Neighbours in memory
    would otherwise belong to other products.
    """
    rank = len(shape(operand))
    if rank - 1 not in roles[0] or shape(operand)[-1] == 1:
        return operand, roles
    order = [*roles[0], *(each for each in range(rank) if each not in roles[0])]
    batch, own, summed = ([order.index(each) for each in role] for role in roles)
    return transpose(e, operand, order), (batch, own, summed)


def _sum_of_products(
    e: Emitter,
    operands: Tensors,
    kinds: tuple[Kind, Kind, Kind],
    maps: Sequence[AffineMap],
    sizes: IndexList,
) -> SSAValue:
    """Emit a contraction; `maps` are those of the operands and the result, of the given sizes.

    A large one of complex numbers is emitted as contractions of real and imaginary parts:
    (a + b i) (c + d i) = (a c + (-b) d) + (a d + b c) i.
    """
    total = accumulator(kinds)
    by_parts = total.name == "complex" and _steps(operands, maps) >= MIN_STEPS_BY_PARTS
    element = total.part if by_parts else total
    factors = [
        _parts(e, *each) if by_parts else [each[0]]
        for each in zip(operands, kinds[:2], strict=True)
    ]
    factor_kinds = [each.part if by_parts else each for each in kinds[:2]]
    zero = e.constant(0, element.type)
    sums = [e.fill(zero, sizes) for _ in range(2 if by_parts else 1)]
    for (i, left), (j, right) in product(*map(enumerate, factors)):
        first = _negated(e, left) if i == j == 1 else left
        part = (i + j) % 2
        sums[part] = _added(e, [first, right], factor_kinds, sums[part], maps)

    def joined(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [inner.op("complex.create", *args, to=total.type)]

    result = e.pointwise(sums, total.type, joined) if by_parts else sums[0]
    return convert_tensor(e, result, total, kinds[2])


def _steps(operands: Tensors, maps: Sequence[AffineMap]) -> int:
    """Return the products of a contraction, 0 if a size is dynamic."""
    pairs = zip(operands, maps, strict=False)
    sizes = {
        loop: size
        for value, read in pairs
        for size, loop in zip(shape(value), loops_of(read), strict=True)
    }
    return 0 if DYNAMIC_INDEX in sizes.values() else prod(sizes.values())


def _added(
    e: Emitter, operands: Tensors, kinds: Sequence[Kind], start: SSAValue, maps: Sequence[AffineMap]
) -> SSAValue:
    """Emit `start` with the products of two operands added."""
    total = kind(element_type(start.type))
    body = multiply_add(kinds[0], kinds[1], total)
    return e.loops(operands, maps[:2], [start], maps[2:], body)[0]


def _parts(e: Emitter, value: SSAValue, element: Kind) -> list[SSAValue]:
    """Return the tensors of real and imaginary parts; a tensor of real numbers as it is."""
    if element.name != "complex":
        return [value]
    return [
        e.pointwise([value], element.part.type, lambda inner, args, i=i: [parts(inner, args[0])[i]])
        for i in range(2)
    ]


def _negated(e: Emitter, value: SSAValue) -> SSAValue:
    element = element_type(value.type)
    return e.pointwise([value], element, lambda inner, args: [inner.op("arith.negf", args[0])])


@tensor_rule("stablehlo.einsum")
def _einsum(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    config = str(getattr(attribute(op, "einsum_config"), "data", ""))
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    return [_contract_letters(lowering.emit, op, config, operands, kinds)]


@tensor_rule("stablehlo.unary_einsum")
def _unary_einsum(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert `unary_einsum`: an einsum of the number 1 and the operand."""
    config = "," + str(getattr(attribute(op, "einsum_config"), "data", ""))
    e, element = lowering.emit, operand_kind(op)
    one = e.scalar_tensor(e.constant(1, element.type))
    kinds = (element, element, result_kind(op))
    return [_contract_letters(e, op, config, [one, *operands], kinds)]


def _contract_letters(
    e: Emitter, op: Operation, config: str, operands: Tensors, kinds: tuple[Kind, Kind, Kind]
) -> SSAValue:
    """Emit an einsum of two operands. Raises OperationError if `config` does not fit them."""
    text = config.replace(" ", "")
    sides, _, result = text.partition("->")
    letters = sides.split(",")
    if len(letters) != 2 or any(
        len(w) != len(shape(v)) for w, v in zip(letters, operands, strict=True)
    ):
        raise OperationError(op, f"has a config that does not fit its operands: {text}")
    left, right = letters
    names = list(dict.fromkeys((*result, *left, *right)))
    where = {letter: (operands[0], left.index(letter)) for letter in left}
    where = {letter: (operands[1], right.index(letter)) for letter in right} | where
    maps = [dims(*map(names.index, word), loops=len(names)) for word in (left, right, result)]
    sizes = [e.size(*where[letter]) for letter in result]
    return _sum_of_products(e, operands, kinds, maps, sizes)
