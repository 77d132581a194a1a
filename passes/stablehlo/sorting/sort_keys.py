"""Sort by integer keys that are computed once per element instead of at each comparison.

JAX sorts floats by `compare LT, f(a), f(b), TOTALORDER`, where `f` maps both zeros to one and all
NaNs to one. The key of an element `a` is then `f(a)` as an integer of the same order. Narrow keys
are packed with the positions of their elements, counted from one: keys 7 3 7 become 7.1 3.2 7.3.
These are distinct, and sorting them gives the stable order 3.2 7.1 7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from ....ir.syntax.keyword_attributes import word
from ..elementwise.comparisons import is_total_order, total_order
from ..lowering.element_types import operand_kind
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering

LOW_BITS = 32
"""The number of low bits of a packed number that hold the position."""


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
            if self.descends:
                key = scalar.op("arith.xori", key, scalar.constant(-1, i64))
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


def keys_of(
    lowering: Lowering, region: Region, operands: Sequence[SSAValue], dimension: int
) -> Keys | None:
    """Return the keys that a comparator compares, `None` if it compares something else.

    The comparator's arguments are two elements of each operand, side by side. Raises OperationError
    if its body does not work element by element.
    """
    comparison = _comparison(region)
    if comparison is None:
        return None
    found = operand_kind(comparison)
    body = _first_side(region)
    count = len(operands)

    def key(scalar: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        both = [element for element in args[:count] for _ in range(2)]
        (value,) = lowering.inline_on_scalars(body, both, scalar)
        return [total_order(scalar, value) if found.name == "float" else value]

    values = lowering.emit.pointwise(operands, IntegerType(found.width), key, whole=(dimension,))
    is_descending = word(comparison, "comparison_direction") == "GT"
    return Keys(values, found.width, found.name in ("unsigned", "bool"), is_descending)


def _first_side(region: Region) -> Region:
    """Return a copy of a comparator that yields the left operand of its comparison."""
    body = Region()
    region.clone_into(body)
    *others, end = body.block.ops
    comparison = end.operands[0].owner
    assert isinstance(comparison, Operation)
    end.operands[0] = comparison.operands[0]
    for each in reversed(others):
        if not any(result.uses for result in each.results):
            body.block.erase_op(each)
    return body


def _comparison(region: Region) -> Operation | None:
    """Return the comparison of f(first elements) and f(second elements), `None` for others."""
    end = region.block.last_op
    owner = end.operands[0].owner if end is not None and end.operands else None
    if not isinstance(owner, Operation) or owner.name != "stablehlo.compare":
        return None
    compared = operand_kind(owner)
    is_ordered = compared.is_integer or (compared.name == "float" and is_total_order(owner))
    if not is_ordered or word(owner, "comparison_direction") not in ("LT", "GT"):
        return None
    first, second = owner.operands
    return owner if _are_alike(first, second, region) else None


def _are_alike(first: SSAValue, second: SSAValue, region: Region) -> bool:
    """Return whether `second` is the same function of second elements as `first` of first ones."""
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
