"""One step at one operation, in the manner of Shardy's factor propagation tests.

Axes 0 to 3 have extent 2 unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from mesh_opt.sharding.factor_propagation import Direction, TensorSide, common_axes, propagate_step
from mesh_opt.sharding.factors import FactorRule
from mesh_opt.sharding.sharding import DimensionAxes

Rules = Callable[..., FactorRule]
EXTENTS = (2, 2, 2, 2)


def step(
    rule: FactorRule,
    *axes: DimensionAxes,
    aggressive: bool = False,
    direction: Direction = Direction.BOTH,
    closed: Sequence[int] = (),
) -> tuple[DimensionAxes, ...]:
    factors = (*rule.operands, *rule.results)
    sides = [
        TensorSide(
            factors[index],
            each,
            (index not in closed,) * len(each),
            index >= len(rule.operands),
        )
        for index, each in enumerate(axes)
    ]
    directions = [direction] * len(rule.factors)
    return propagate_step(rule, sides, directions, EXTENTS, aggressive=aggressive).axes


@pytest.fixture
def matmul(rule: Rules) -> FactorRule:
    return rule("[i k], [k j] -> [i j]", i=16, k=16, j=16, reduce="k")


@pytest.fixture
def add(rule: Rules) -> FactorRule:
    return rule("[i j], [i j] -> [i j]", i=16, j=16)


NONE: DimensionAxes = ((), ())


def test_common_axes_are_the_longest_compatible_list() -> None:
    assert common_axes([((0,), True), ((0, 1), True)]) == (0, 1)
    assert common_axes([((0, 1), True), ((0,), True)]) == (0, 1)
    assert common_axes([((0, 1), True), ((0, 2), True), ((0, 1, 3), True)]) == (0,)
    assert common_axes([((0,), True), ((0, 1), False)]) == (0,)
    assert common_axes([((0, 1), True), ((0, 2), False)]) == (0,)
    assert common_axes([((1,), True), ((0,), True)]) == ()


def test_rows_and_columns_meet_in_the_product(matmul: FactorRule) -> None:
    assert step(matmul, ((0,), ()), ((), (1,)), NONE)[2] == ((0,), (1,))


def test_the_contracted_dimension_goes_sideways(matmul: FactorRule) -> None:
    assert step(matmul, ((), (0,)), NONE, NONE) == (((), (0,)), ((0,), ()), NONE)


def test_basic_takes_the_common_prefix_where_tensors_differ(add: FactorRule) -> None:
    result = step(add, ((0, 1), ()), ((0, 2), ()), NONE)
    assert result == (((0, 1), ()), ((0, 2), ()), ((0,), ()))


def test_basic_stops_at_an_axis_that_another_factor_uses_anywhere(matmul: FactorRule) -> None:
    # Axis 0 splits rows in one operand and the contracted dimension in the other.
    before = ((0,), ()), ((0,), ()), NONE
    assert step(matmul, *before) == before


def test_aggressive_resolves_that_inside_each_tensor(matmul: FactorRule) -> None:
    result = step(matmul, ((0,), ()), ((0,), ()), NONE, aggressive=True)
    assert result == (((0,), ()), ((0,), ()), ((0,), ()))


def test_aggressive_lets_the_larger_tensor_win(rule: Rules) -> None:
    outer = rule("[i], [j] -> [i j]", i=16, j=32)
    result = step(outer, ((0,),), ((0,),), NONE, aggressive=True)
    assert result[2] == ((), (0,))


def test_closed_dimensions_stop_basic_for_all(add: FactorRule) -> None:
    before = ((0,), ()), NONE, NONE
    assert step(add, *before, closed=[1]) == before


def test_closed_dimensions_stop_aggressive_for_themselves_only(add: FactorRule) -> None:
    result = step(add, ((0,), ()), NONE, NONE, closed=[1], aggressive=True)
    assert result == (((0,), ()), NONE, ((0,), ()))


def test_forward_lets_results_object_but_not_contribute(add: FactorRule) -> None:
    result = step(add, ((0,), ()), NONE, ((0, 1), (2,)), direction=Direction.FORWARD)
    assert result == (((0,), ()), ((0,), ()), ((0, 1), (2,)))
    objecting = step(add, ((0, 1), ()), NONE, ((0, 2), ()), direction=Direction.FORWARD)
    assert objecting[1] == ((0,), ())


def test_backward_lets_operands_object_but_not_contribute(add: FactorRule) -> None:
    result = step(add, ((), (3,)), NONE, ((0,), ()), direction=Direction.BACKWARD)
    assert result == (((0,), (3,)), ((0,), ()), ((0,), ()))


def test_an_axis_is_not_used_twice_in_a_tensor(add: FactorRule) -> None:
    result = step(add, ((0,), ()), ((), (0,)), NONE, aggressive=True)
    assert result[2] in ((((0,), ())), ((), (0,)))


def test_no_more_parts_than_elements(rule: Rules) -> None:
    narrow = rule("[i] -> [i]", i=2)
    assert step(narrow, ((0, 1),), ((),))[1] == ((0,),)


def test_uneven_blocks_spread_along_whole_dimensions(rule: Rules) -> None:
    odd = rule("[i] -> [i]", i=7)
    assert step(odd, ((0,),), ((),))[1] == ((0,),)


def test_a_reshape_splits_what_it_can(rule: Rules) -> None:
    expand = rule("[(i j)] -> [i j]", i=2, j=8)
    assert step(expand, ((0, 1),), NONE)[1] == ((0,), (1,))
    odd = rule("[(i j)] -> [i j]", i=3, j=8)
    assert step(odd, ((0,),), NONE)[1] == NONE


def test_a_reshape_backward_waits_for_the_major_factor(rule: Rules) -> None:
    expand = rule("[(i j)] -> [i j]", i=2, j=8)
    assert step(expand, ((),), ((), (1,)))[0] == ((),)
    assert step(expand, ((),), ((0,), (1,)))[0] == ((0, 1),)


def test_agreement_is_reported(add: FactorRule) -> None:
    sides = [TensorSide(f, ((0,), ()), (True, True), False) for f in add.operands]
    split = propagate_step(add, sides, [Direction.BOTH] * 2, EXTENTS, aggressive=False)
    assert split.agreed
    sides[1] = TensorSide(add.operands[1], ((1,), ()), (True, True), False)
    assert not propagate_step(add, sides, [Direction.BOTH] * 2, EXTENTS, aggressive=False).agreed


@pytest.mark.parametrize("aggressive", [False, True])
def test_replicated_and_reserved_axes_split_nothing(add: FactorRule, *, aggressive: bool) -> None:
    given = TensorSide(add.operands[0], ((0,), (1,)), (True, True), False)
    rest = [
        TensorSide(add.operands[1], ((), ()), (True, True), False, replicated=(0,)),
        TensorSide(add.results[0], ((), ()), (True, True), True),
    ]
    directions = [Direction.BOTH] * 2
    axes = propagate_step(add, [given, *rest], directions, EXTENTS, aggressive=aggressive).axes
    assert axes[1] == ((), (1,))
    reserved = replace(add, reserved=frozenset({1}))
    axes = propagate_step(reserved, [given, *rest], directions, EXTENTS, aggressive=aggressive).axes
    assert axes[1] == ((), ())
    assert axes[2][1] == ()
