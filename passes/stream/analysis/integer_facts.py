"""Find ranges and divisors of integers that the host computes.

    %m = arith.muli %n, %c6 : index          # a multiple of 6
    %u = util.align %n, %c64 : index         # a multiple of 64
    %a = arith.minui %n, %c4096 : index      # at most 4096

Sizes and offsets of type `index` are assumed not to overflow. Other integers may wrap; if their
range is not known to fit, only the powers of two that divide them are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd, lcm
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, OpResult, SSAValue

from ....dialects.util.dialect import AssumeIntOp, GlobalOp
from ....dialects.util.types import IntAssumptionAttr
from ....ir.attribute_access import attribute
from ....ir.graph_orders import postorder
from ....ir.host_programs import GLOBAL_LOAD
from ....ir.locations import made_by
from ....ir.symbols import SymbolTables, find_symbol, remembered_symbols, root_symbol
from ....ir.tensor_types import integer_width

MAX_INTEGER = 2**63 - 1

_SIGNED_CONVERSIONS = frozenset({"arith.extsi", "arith.index_cast"})


@dataclass(frozen=True, slots=True)
class IntegerFacts:
    """The range and a divisor of a number, which is read as unsigned."""

    least: int | None = None
    most: int | None = None
    divisor: int = 1
    """Divides the number; 0 for the number 0, which every number divides."""

    @property
    def value(self) -> int | None:
        """The number if it is known, else `None`."""
        return self.least if self.least == self.most else None

    def either(self, other: IntegerFacts) -> IntegerFacts:
        """Return facts that hold for a number that is one of two."""
        least = _if_both_known(min, self.least, other.least)
        most = _if_both_known(max, self.most, other.most)
        return IntegerFacts(least, most, gcd(self.divisor, other.divisor))

    def both(self, other: IntegerFacts) -> IntegerFacts:
        """Return the combination of two sets of facts about the same number."""
        least = [each for each in (self.least, other.least) if each is not None]
        most = [each for each in (self.most, other.most) if each is not None]
        divisor = lcm(self.divisor, other.divisor)
        return IntegerFacts(max(least, default=None), min(most, default=None), divisor)


UNKNOWN = IntegerFacts()


class KnownIntegers:
    """The facts about the integers of a program, which are found once for each."""

    def __init__(self) -> None:
        self._facts: dict[SSAValue, IntegerFacts] = {}
        self._symbols: SymbolTables = {}

    def facts(self, value: SSAValue) -> IntegerFacts:
        """Return facts about an integer or index, derived from the operations that compute it.

        Neither these operations nor globals may have changed since earlier calls.
        """
        with remembered_symbols(self._symbols):
            for each in postorder([value], self._inputs):
                if each not in self._facts:
                    self._facts[each] = self._find(each)
        return self._facts[value]

    def _inputs(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the values that the facts about a value follow from, if these are to be found."""
        if value in self._facts or not isinstance(value, OpResult):
            return ()
        if isinstance(value.op, AssumeIntOp):
            return (value.op.operands[value.index],)
        has_rule = value.op.name in _RULES or value.op.name in _SIGNED_CONVERSIONS
        return value.op.operands if has_rule else ()

    def _find(self, value: SSAValue) -> IntegerFacts:
        """Return the facts about a value, given those about what it follows from."""
        is_index, bits = isinstance(value.type, IndexType), integer_width(value.type)
        if not is_index and not isinstance(value.type, IntegerType):
            return UNKNOWN
        if (constant := constant_of(value)) is not None:
            return _exactly(constant)
        if not isinstance(value, OpResult):
            return UNKNOWN
        operation = value.op
        inputs = [self._facts.get(each, UNKNOWN) for each in self._inputs(value)]
        if isinstance(operation, AssumeIntOp):
            return _assumed(operation, value.index, *inputs)
        if operation.name in _SIGNED_CONVERSIONS:
            found = _sign_extended(inputs[0], integer_width(operation.operands[0].type))
        elif (rule := _RULES.get(operation.name)) is not None:
            found = rule(inputs)
        else:
            return UNKNOWN
        return found if is_index else _wrapped(found, bits)


def constant_of(value: SSAValue) -> IntegerAttr | None:
    """Return the constant that a value always is: a constant or an immutable global's value."""
    if not isinstance(value, OpResult):
        return None
    constant: Attribute | None = None
    if isinstance(value.op, ConstantOp):
        constant = value.op.value
    elif value.op.name == GLOBAL_LOAD:
        found = find_symbol(value.op, root_symbol(value.op, "global"))
        if isinstance(found, GlobalOp) and found.is_mutable is None:
            constant = attribute(found, "initial_value")
    return cast("IntegerAttr", constant) if isinstance(constant, IntegerAttr) else None


def _exactly(constant: IntegerAttr) -> IntegerFacts:
    bits, signed = integer_width(constant.type), constant.value.data
    number = signed % 2**bits
    # 3 divides 2^64 - 1, but not -1, which the number may be in a sum.
    return IntegerFacts(number, number, number if bits < 64 else gcd(number, signed))


def _assumed(operation: AssumeIntOp, index: int, known: IntegerFacts) -> IntegerFacts:
    """Return facts that hold in every case of an assumption, combined with what else is known."""
    cases = [_asserted(assumption) for assumption in operation.assumptions.data[index]]
    return reduce(IntegerFacts.either, cases).both(known) if cases else known


def _asserted(assumption: IntAssumptionAttr) -> IntegerFacts:
    least, most, divisor = (
        each.value.data if isinstance(each, IntegerAttr) else None
        for each in (assumption.umin, assumption.umax, assumption.udiv)
    )
    return IntegerFacts(least, most, 1 if divisor is None else divisor)


def _wrapped(facts: IntegerFacts, bits: int) -> IntegerFacts:
    """Return the facts that still hold after truncation to a number of bits."""
    if facts.most is not None and facts.most < 2**bits:
        return facts
    return IntegerFacts(divisor=gcd(facts.divisor, 2**bits) or 2**bits)


def _within(least: int | None, most: int | None, divisor: int) -> IntegerFacts:
    """Return the facts without bounds if the upper bound exceeds `MAX_INTEGER`.

    Of a divisor that exceeds it, a power of two is kept: each square would have twice the digits.
    """
    if most is not None and most > MAX_INTEGER:
        most = None
    if divisor > MAX_INTEGER:
        divisor = gcd(divisor, MAX_INTEGER + 1)
    return IntegerFacts(least if most is not None else None, most, divisor)


def _sum(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    one, other = operands
    ends = ((one.least, other.least), (one.most, other.most))
    least, most = (_if_both_known(int.__add__, *each) for each in ends)
    return _within(least, most, gcd(one.divisor, other.divisor))


def _product(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    one, other = operands
    ends = ((one.least, other.least), (one.most, other.most))
    least, most = (_if_both_known(int.__mul__, *each) for each in ends)
    return _within(least, most, one.divisor * other.divisor)


def _shifted(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    number, distance = operands
    if distance.value is None or distance.value >= MAX_INTEGER.bit_length():
        return UNKNOWN
    factor = 1 << distance.value
    return _product((number, IntegerFacts(factor, factor, factor)))


def _if_both_known(
    operator: Callable[[int, int], int], one: int | None, other: int | None
) -> int | None:
    return None if one is None or other is None else operator(one, other)


def _quotient(operands: Sequence[IntegerFacts], up: bool = False) -> IntegerFacts:
    one, by = operands[0], operands[1].value
    if not by:
        return UNKNOWN
    ends = (one.least, one.most)
    least, most = (None if end is None else (end + up * (by - 1)) // by for end in ends)
    return IntegerFacts(least, most, one.divisor // by if one.divisor % by == 0 else 1)


def _remainder(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    by = operands[1].value
    return IntegerFacts(0, by - 1, gcd(operands[0].divisor, by)) if by else UNKNOWN


def _minimum(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    most = [each.most for each in operands if each.most is not None]
    least = min(each.least or 0 for each in operands) if most else None
    return IntegerFacts(least, min(most, default=None), gcd(*(each.divisor for each in operands)))


def _maximum(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    least = [each.least for each in operands if each.least is not None]
    most = _if_both_known(max, operands[0].most, operands[1].most)
    return IntegerFacts(max(least, default=None), most, gcd(*(each.divisor for each in operands)))


def _aligned(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    """Return facts about `util.align`, the next multiple of a power of two."""
    one, by = operands[0], operands[1].value
    if not by:
        return UNKNOWN
    ends = (one.least, one.most)
    least, most = (None if end is None else -(-end // by) * by for end in ends)
    return _within(least, most, one.divisor if one.divisor % by == 0 else by)


def _sign_extended(facts: IntegerFacts, bits: int) -> IntegerFacts:
    """Return facts after a signed conversion: a negative number is another one as unsigned."""
    fits = facts.most is not None and facts.most < 2 ** (bits - 1)
    divisor = facts.divisor if bits == 64 else gcd(facts.divisor, 2**bits)
    return facts if fits else IntegerFacts(divisor=divisor)


def _chosen(operands: Sequence[IntegerFacts]) -> IntegerFacts:
    return operands[1].either(operands[2])


_RULES: dict[str, Callable[[Sequence[IntegerFacts]], IntegerFacts]] = {
    "arith.addi": _sum,
    "arith.ceildivui": lambda operands: _quotient(operands, up=True),
    "arith.divui": _quotient,
    "arith.extui": lambda operands: operands[0],
    "arith.index_castui": lambda operands: operands[0],
    "arith.maxui": _maximum,
    "arith.minui": _minimum,
    "arith.muli": _product,
    "arith.remui": _remainder,
    "arith.select": _chosen,
    "arith.shli": _shifted,
    "arith.trunci": lambda operands: operands[0],
    "util.align": _aligned,
}
"""Rules that derive facts about a result from those about the operands, by operation name."""


def possible_constants(value: SSAValue) -> list[IntegerAttr] | None:
    """Return the constants that a number may be, each once; `None` if it may be anything else."""
    found: dict[IntegerAttr, None] = {}
    for each in postorder([value], _choices):
        if not _choices(each):
            if (constant := constant_of(each)) is None:
                return None
            found[constant] = None
    return list(found)


def _choices(value: SSAValue) -> Sequence[SSAValue]:
    """Return the values between which a select chooses; none if the value is no such choice."""
    select = made_by(value, "arith.select")
    return () if select is None else select.operands[1:]
