"""Sort by integer keys that are computed once per element instead of at each comparison.

JAX sorts floats by `compare LT, f(a), f(b), TOTALORDER`, where `f` maps both zeros to one and all
NaNs to one. The key of an element `a` is then `f(a)` as an integer of the same order. Other
comparisons of floats do not order NaN: it becomes the largest number. Narrow keys
are packed with the positions of their elements, counted from one: keys 7 3 7 become 7.1 3.2 7.3.
These are distinct, and sorting them gives the stable order 3.2 7.1 7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from ....ir.attribute_access import element_type
from ....ir.locations import made_by
from ....ir.syntax.keyword_attributes import word
from ..elementwise.comparisons import is_total_order, total_order, total_order_of_numbers
from ..lowering.element_types import operand_kind
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering

LOW_BITS = 32
"""The number of low bits of a packed number that hold the position."""


_UPWARDS, _DOWNWARDS = ("LT", "LE"), ("GT", "GE")
"""The directions of comparisons, strict ones first."""


@dataclass(frozen=True, slots=True)
class Keys:
    """An integer tensor by which elements are ordered."""

    values: SSAValue
    width: int
    is_unsigned: bool
    descends: bool = False

    def less(self, e: Emitter, one: Sequence[SSAValue], other: Sequence[SSAValue]) -> SSAValue:
        """Return whether a key comes before another."""
        predicate = ("u" if self.is_unsigned else "s") + ("gt" if self.descends else "lt")
        return e.compare_integers(predicate, one[0], other[0])

    def can_be_packed(self, dimension: int) -> bool:
        """Return whether 64 bits hold a key and any position along a dimension."""
        return self.width <= LOW_BITS and 0 <= shape(self.values)[dimension] < 1 << LOW_BITS - 1

    @property
    def has_sign(self) -> bool:
        """Return whether the first bit of keys is a sign."""
        return not self.is_unsigned

    def widened(self, e: Emitter, dimension: int) -> SSAValue:
        """Return each key as i64, to be sorted upwards."""

        def widen(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            extension = "arith.extui" if self.is_unsigned else "arith.extsi"
            key = args[0] if self.width == i64.width.data else scalar.op(extension, args[0], to=i64)
            return [self._ascending(scalar, key)]

        return e.pointwise([self.values], i64, widen, whole=(dimension,))

    def descending(self, e: Emitter, dimension: int) -> SSAValue:
        """Return each key, or its complement where keys ascend, to be sorted downwards."""
        if self.descends:
            return self.values
        element = element_type(self.values.type)

        def complement(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [scalar.op("arith.xori", args[0], scalar.constant(-1, element))]

        return e.pointwise([self.values], element, complement, whole=(dimension,))

    def _ascending(self, e: Emitter, key: SSAValue) -> SSAValue:
        return e.op("arith.xori", key, e.constant(-1, i64)) if self.descends else key

    def packed(self, e: Emitter, dimension: int) -> SSAValue:
        """Return each key with its element's position along a dimension in the low bits, as i64.

        No result is the least or the largest i64, so callers can use these as sentinels.
        """

        def pack(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            key = args[0]
            if self.is_unsigned:
                key = scalar.op("arith.extui", key, to=i64)
                key = scalar.op("arith.subi", key, scalar.constant(1 << LOW_BITS - 1, i64))
            else:
                key = scalar.op("arith.extsi", key, to=i64)
            key = self._ascending(scalar, key)
            high = scalar.op("arith.shli", key, scalar.constant(LOW_BITS, i64))
            place = scalar.from_index(scalar.loop_index(dimension), i64)
            counted = scalar.op("arith.addi", place, scalar.constant(1, i64))
            return [scalar.op("arith.ori", high, counted)]

        return e.pointwise([self.values], i64, pack, whole=(dimension,))


def places_of(e: Emitter, packed: SSAValue, dimension: int) -> SSAValue:
    """Return the positions in packed numbers, whose `dimension` is not split over devices."""

    def place(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        counted = scalar.op("arith.andi", args[0], scalar.constant((1 << LOW_BITS) - 1, i64))
        return [scalar.op("arith.subi", counted, scalar.constant(1, i64))]

    return e.pointwise([packed], i64, place, whole=(dimension,))


def less_by_keys(
    keys: Sequence[Keys], e: Emitter, one: Sequence[SSAValue], other: Sequence[SSAValue]
) -> SSAValue:
    """Return whether an element comes before another: the first keys that differ decide."""
    first, *others = zip(keys, one, other, strict=True)
    result = first[0].less(e, first[1:2], first[2:])
    if not others:
        return result
    rest = less_by_keys(keys[1:], e, one[1:], other[1:])
    return e.either(result, e.both(e.compare_integers("eq", one[0], other[0]), rest))


def compared_keys(region: Region) -> tuple[Operation, ...]:
    """Return the comparisons of keys in a comparator; the first keys that differ decide.

    There are none if it compares something else.
    """
    end = region.block.last_op
    found = _comparisons(end.operands[0]) if end is not None and end.operands else ()
    return found if all(_is_of_both_sides(each, region) for each in found) else ()


def key_of(
    lowering: Lowering,
    region: Region,
    comparison: Operation,
    operands: Sequence[SSAValue],
    dimension: int,
) -> Keys:
    """Return the keys of a comparison in a comparator.

    The comparator's arguments are two elements of each operand, side by side. Raises OperationError
    if its body does not work element by element.
    """
    found = operand_kind(comparison)
    body = _first_side(region, comparison)
    count = len(operands)
    ordered = None
    if found.name == "float":
        ordered = total_order if is_total_order(comparison) else total_order_of_numbers

    def key(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        both = [element for element in args[:count] for _ in range(2)]
        (value,) = lowering.inline_on_scalars(body, both, scalar)
        return [value if ordered is None else ordered(scalar, value)]

    values = lowering.emit.pointwise(operands, IntegerType(found.width), key, whole=(dimension,))
    is_descending = word(comparison, "comparison_direction") in _DOWNWARDS
    return Keys(values, found.width, found.name in ("unsigned", "bool"), is_descending)


def _first_side(region: Region, comparison: Operation) -> Region:
    """Return a copy of a comparator that yields the left operand of a comparison."""
    body, copies = Region(), dict[SSAValue, SSAValue]()
    region.clone_into(body, value_mapper=copies)
    *others, end = body.block.ops
    end.operands[0] = copies[comparison.operands[0]]
    for each in reversed(others):
        if not any(result.uses for result in each.results):
            body.block.erase_op(each)
    return body


def _comparisons(result: SSAValue) -> tuple[Operation, ...]:
    """Return the comparisons of each key, first to last, whose result is that of a comparator.

    JAX writes `f < f' or (f == f' and g < g')` for the keys f and g. There are none if one of them
    is not a comparison of integers or floats. The last may be `g <= g'`: a sort is stable anyway.
    """
    lexicographic = made_by(result, "stablehlo.or")
    first = result if lexicographic is None else lexicographic.operands[0]
    found = made_by(first, "stablehlo.compare")
    if found is None or not _is_of_numbers(found):
        return ()
    direction = word(found, "comparison_direction")
    if lexicographic is None:
        return (found,) if direction in (*_UPWARDS, *_DOWNWARDS) else ()
    if direction not in (_UPWARDS[0], _DOWNWARDS[0]):
        return ()
    both = made_by(lexicographic.operands[1], "stablehlo.and")
    equal = None if both is None else made_by(both.operands[0], "stablehlo.compare")
    if both is None or equal is None or not _is_equality_of(equal, found):
        return ()
    others = _comparisons(both.operands[1])
    return (found, *others) if others else ()


def _is_equality_of(equal: Operation, less: Operation) -> bool:
    same = tuple(equal.operands) == tuple(less.operands)
    same = same and is_total_order(equal) == is_total_order(less)
    return same and word(equal, "comparison_direction") == "EQ"


def _is_of_numbers(comparison: Operation) -> bool:
    """Return whether a comparison is that of the order of integers or floats."""
    compared = operand_kind(comparison)
    return compared.is_integer or compared.name == "float"


def is_partial(comparison: Operation) -> bool:
    """Return whether a comparison does not order NaN."""
    return operand_kind(comparison).name == "float" and not is_total_order(comparison)


def _is_of_both_sides(comparison: Operation, region: Region) -> bool:
    """Return whether both operands are the same function, of first and of second elements."""
    first, second = comparison.operands
    pending, known = [(first, second)], set[tuple[SSAValue, SSAValue]]()
    while pending:
        pair = pending.pop()
        if pair in known:
            continue
        known.add(pair)
        one, other = pair
        if isinstance(one, BlockArgument) and isinstance(other, BlockArgument):
            is_outside = one is other and one.owner is not region.block
            is_pair = one.owner is other.owner is region.block and one.index + 1 == other.index
            if not (is_outside or (is_pair and one.index % 2 == 0)):
                return False
            continue
        maker, another = one.owner, other.owner
        if not (isinstance(maker, Operation) and isinstance(another, Operation)):
            return False
        same = (
            maker.name == another.name
            and maker.properties == another.properties
            and maker.attributes == another.attributes
            and maker.result_types == another.result_types
            and len(maker.operands) == len(another.operands)
            and one.type == other.type
        )
        if not same or maker.regions or len(maker.results) != 1:
            return False
        pending += zip(maker.operands, another.operands, strict=True)
    return True
