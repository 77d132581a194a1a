"""The plan of one operation: explicit first, then parallelism, then bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from mesh_opt.sharding.factors import FactorRule, Window
from mesh_opt.sharding.plan import DEFAULT_PREFERENCE, Plan, PlannedTensor, Preference, choose_plan
from mesh_opt.sharding.projection import DimensionAxes

Rules = Callable[..., FactorRule]
NONE: DimensionAxes = ((), ())


def plan(
    rule: FactorRule,
    operands: list[DimensionAxes | None],
    result: DimensionAxes | None,
    extents: tuple[int, ...] = (2,),
    explicit: tuple[int, ...] = (),
    preference: Preference = DEFAULT_PREFERENCE,
) -> Plan:
    return choose_plan(
        rule,
        [PlannedTensor(axes, index in explicit) for index, axes in enumerate(operands)],
        [PlannedTensor(result, len(operands) in explicit)],
        extents,
        preference,
    )


@pytest.fixture
def matmul(rule: Rules) -> FactorRule:
    return rule("[i k], [k j] -> [i j]", i=64, k=16, j=16, reduce="k")


@pytest.fixture
def add(rule: Rules) -> FactorRule:
    return rule("[i j], [i j] -> [i j]", i=16, j=16)


def test_agreement_costs_nothing(matmul: FactorRule) -> None:
    chosen = plan(matmul, [((0,), ()), NONE], ((0,), ()))
    assert chosen.operands == (((0,), ()), NONE)
    assert chosen.bytes_sent == 0


def test_a_split_contraction_is_reduced(rule: Rules) -> None:
    thin = rule("[i k], [k j] -> [i j]", i=64, k=64, j=4, reduce="k")
    chosen = plan(thin, [((), (0,)), ((0,), ())], NONE)
    assert chosen.reduced == (0,)
    assert chosen.results == (NONE,)
    assert chosen.bytes_sent == 2 * 64 * 4 * 4 / 2


def test_large_partial_results_are_avoided(rule: Rules) -> None:
    # Exchanging the rows for columns of a thin operand is less than reducing the product.
    wide = rule("[i k], [k j] -> [i j]", i=64, k=4, j=64, reduce="k")
    chosen = plan(wide, [((), (0,)), ((0,), ())], ((0,), ()))
    assert chosen.reduced == ()
    assert chosen.operands == (((0,), ()), NONE)


def test_a_copy_that_is_there_is_free_and_one_to_share_is_cheap(matmul: FactorRule) -> None:
    left, right = ((0,), ()), ((), (0,))

    def chosen(operand: PlannedTensor) -> Plan:
        operands = [operand, PlannedTensor(right)]
        return choose_plan(matmul, operands, [PlannedTensor(None)], (2,))

    assert chosen(PlannedTensor(left)).operands == (left, NONE)
    assert chosen(PlannedTensor(left, copies=(NONE,))).operands == (NONE, right)
    assert chosen(PlannedTensor(left, sharers=8)).operands == (NONE, right)


def test_reduce_scatter_costs_half(rule: Rules) -> None:
    thin = rule("[i k], [k j] -> [i j]", i=64, k=64, j=4, reduce="k")
    chosen = plan(thin, [((), (0,)), ((0,), ())], ((0,), ()))
    assert chosen.reduced == (0,)
    assert chosen.bytes_sent == 64 * 4 * 4 / 2


def test_the_smaller_operand_is_moved(matmul: FactorRule) -> None:
    # Rows of the large operand or the contracted dimension of the small one: gather the small.
    chosen = plan(matmul, [((0,), ()), ((0,), ())], ((0,), ()))
    assert chosen.operands == (((0,), ()), NONE)
    assert chosen.bytes_sent == 16 * 16 * 4 / 2


def test_explicit_demands_come_before_bytes(add: FactorRule) -> None:
    free = plan(add, [((0,), ()), NONE], None)
    assert free.operands == (((0,), ()), ((0,), ()))
    demanded = plan(add, [((0,), ()), NONE], None, explicit=(1,))
    assert demanded.operands == (NONE, NONE)


def test_an_explicit_result_may_be_reached_by_slicing(matmul: FactorRule) -> None:
    chosen = plan(matmul, [((), (0,)), ((0,), ())], ((0,), ()), explicit=(0, 1, 2))
    assert chosen.reduced == (0,)


def test_more_processes_come_before_bytes(matmul: FactorRule) -> None:
    chosen = plan(matmul, [((0,), ()), ((), (1,))], NONE, extents=(2, 2))
    assert chosen.factor_axes == ((0,), (), (1,))


def test_what_changes_places_is_sent(rule: Rules) -> None:
    joined = replace(
        rule("[i j], [i j] -> [i j]", i=16, j=16, move="i"),
        windows=(Window(0, 0, 8), Window(1, 0, 8, first=-8)),
    )
    halves: DimensionAxes = ((0,), ())
    # Each has four rows of both halves, and needs all of one.
    assert plan(joined, [halves, halves], halves).bytes_sent == 2 * 4 * 16 * 4


def test_an_axis_serves_one_factor(rule: Rules) -> None:
    outer = rule("[i], [j] -> [i j]", i=64, j=16)
    chosen = plan(outer, [((0,),), ((0,),)], None)
    assert sum(map(bool, chosen.factor_axes)) == 1


def test_what_needs_replication_is_gathered(rule: Rules) -> None:
    softmax = rule("[i j] -> [i j]", i=16, j=16, whole="j")
    stay = Preference(move_axes=False)
    chosen = plan(softmax, [((0,), (1,))], None, extents=(2, 2), preference=stay)
    assert chosen.operands == (((0,), ()),)


def test_what_needs_replication_is_moved(rule: Rules) -> None:
    softmax = rule("[i j] -> [i j]", i=16, j=16, whole="j")
    chosen = plan(softmax, [((0,), (1,))], None, extents=(2, 2))
    assert chosen.operands == (((0, 1), ()),)
    assert chosen.bytes_sent == 16 * 16 * 4 / 4 / 2


@pytest.mark.parametrize(
    ("window", "rows", "sent"),
    [
        (Window(0, 0, 16, first=-1, length=3), (0,), 2 * 8 * 4),
        (Window(0, 0, 16), (0,), 0),
        # Each reads most of the others' parts: rows are exchanged for columns.
        (Window(0, 0, 64, length=49), (), 16 * 8 * 4 * 3 / 4),
    ],
    ids=["borders", "own", "far"],
)
def test_windows_are_fetched_or_moved(
    rule: Rules, window: Window, rows: tuple[int, ...], sent: float
) -> None:
    stencil = replace(rule("[i j] -> [i j]", i=16, j=8, move="i"), windows=(window,))
    chosen = plan(stencil, [((0,), ())], None, extents=(4,))
    assert chosen.factor_axes[0] == rows
    assert chosen.bytes_sent == chosen.bytes_before == sent


def test_axes_that_fit_no_factor_are_given_up(rule: Rules) -> None:
    expand = rule("[(i j)] -> [i j]", i=3, j=8)
    assert plan(expand, [((0,),)], NONE).operands == (((),),)


def test_free_operands_have_no_say_and_no_cost(add: FactorRule) -> None:
    chosen = plan(add, [((0,), ()), None], ((0,), ()))
    assert chosen.operands == (((0,), ()), ((0,), ()))
    assert chosen.bytes_sent == 0


def test_the_first_of_several_axes_leave_the_others(matmul: FactorRule) -> None:
    # Giving up axis 0 of the columns makes room for the rows along it.
    chosen = plan(matmul, [((0,), ()), ((), (1, 0))], None, (2, 4))
    assert chosen.factor_axes == ((0,), (), (1,))
    assert chosen.bytes_sent == 16 * 16 * 4 / 8


def test_a_little_work_may_save_bytes(rule: Rules) -> None:
    small = rule("[i k], [k j] -> [i j]", i=16, k=16, j=64, reduce="k")
    where = [((0, 1), ()), ((), (0,))]
    spread = plan(small, where, ((), (0,)), (2, 4))
    assert spread.factor_axes == ((0, 1), (), ())
    weighed = plan(small, where, ((), (0,)), (2, 4), preference=Preference(weigh_work=True))
    assert weighed.factor_axes == ((), (), (0,))
    assert weighed.bytes_sent < spread.bytes_sent
