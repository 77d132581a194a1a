"""Facts about integers: the computation of a number may use each of its parts several times."""

from __future__ import annotations

from mesh_opt.passes.stream.analysis.integer_facts import (
    IntegerFacts,
    KnownIntegers,
    possible_constants,
)
from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp, SelectOp
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Block, SSAValue

INDEX = IndexType()
STEPS = 1000
"""More steps than could be followed along each path: there are 2^STEPS."""


def test_number_that_is_doubled_again_and_again() -> None:
    value: SSAValue = ConstantOp.from_int_and_width(3, INDEX).result
    known = KnownIntegers()
    for step in range(STEPS):
        bound = 3 << step if step < 62 else None
        assert known.facts(value) == IntegerFacts(bound, bound, 3)
        value = AddiOp(value, value).result


def test_number_that_is_squared_again_and_again() -> None:
    value: SSAValue = ConstantOp.from_int_and_width(6, INDEX).result
    for _ in range(STEPS):
        value = MuliOp(value, value).result
    assert KnownIntegers().facts(value) == IntegerFacts(divisor=1 << 63)


def test_constants_of_nested_choices() -> None:
    condition, unknown = Block(arg_types=[i1, INDEX]).args
    numbers = [ConstantOp.from_int_and_width(number, INDEX) for number in (1, 2)]
    value: SSAValue = numbers[0].result
    for number in numbers * STEPS:
        value = SelectOp(condition, value, SelectOp(condition, value, number).result).result
    assert possible_constants(value) == [number.value for number in numbers]
    assert possible_constants(SelectOp(condition, value, unknown).result) is None
