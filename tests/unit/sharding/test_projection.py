"""Dimension shardings to factor shardings and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mesh_opt.sharding.factors import Factor, FactorRule
from mesh_opt.sharding.projection import fits, project, unproject

Rules = Callable[..., FactorRule]
EXTENTS = (2, 4, 3)


@pytest.fixture
def reshape(rule: Rules) -> FactorRule:
    return rule("[(i j)] -> [i j]", i=4, j=6)


def test_a_dimension_of_one_factor_hands_over_all_its_axes(rule: Rules) -> None:
    matmul = rule("[i k], [k j] -> [i j]", i=4, k=8, j=6, reduce="k")
    projection = project(matmul.operands[0], ((0, 1), ()), matmul, EXTENTS)
    assert projection.axes == ((0, 1), (), None)
    assert projection.overflow == ()
    assert unproject(matmul.operands[0], projection.axes, matmul, EXTENTS) == ((0, 1), ())


def test_axes_are_handed_out_major_to_minor(reshape: FactorRule) -> None:
    whole = reshape.operands[0]
    assert project(whole, ((0,),), reshape, EXTENTS).axes == ((0,), ())
    assert project(whole, ((1, 0),), reshape, EXTENTS).axes == ((1,), (0,))
    # 2 leaves 2 of the 4, so the axis of 4 does not fit: it stays where it is, along no factor.
    assert project(whole, ((0, 1),), reshape, EXTENTS).overflow == (1,)
    assert project(whole, ((2,),), reshape, EXTENTS).overflow == (2,)


def test_a_minor_factor_waits_for_the_major_one_to_be_full(reshape: FactorRule) -> None:
    whole = reshape.operands[0]
    assert unproject(whole, ((1,), (0,)), reshape, EXTENTS) == ((1, 0),)
    assert unproject(whole, ((0,), (2,)), reshape, EXTENTS) == ((0,),)
    assert unproject(whole, ((), (0,)), reshape, EXTENTS) == ((),)


def test_a_dimension_that_takes_part_in_nothing_keeps_its_axes_as_used(rule: Rules) -> None:
    broadcast = rule("[1] -> [i]", i=4)
    projection = project(broadcast.operands[0], ((0,),), broadcast, EXTENTS)
    assert projection.axes == (None,)
    assert projection.overflow == (0,)


@pytest.mark.parametrize(
    ("size", "parts", "minor", "expected"),
    [
        (8, 4, False, True),
        (7, 2, False, False),
        (7, 2, True, True),
        (2, 4, True, False),
        (None, 4, False, True),
    ],
)
def test_only_a_minor_most_factor_is_split_unevenly(
    size: int | None, parts: int, minor: bool, expected: bool
) -> None:
    assert fits(size, parts, minor) is expected


@pytest.mark.parametrize("factor", [-1, 1])
def test_a_rule_has_all_factors_that_it_names(factor: int) -> None:
    with pytest.raises(ValueError, match=f"factor {factor} of 1 in "):
        FactorRule((Factor(4),), (((0,),),), (((factor,),),))
