"""One operation is sharded as annotated; else explicit first, then parallelism, then bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from mesh_opt.sharding.factor_splits import TensorState
from mesh_opt.sharding.factors import Factor, FactorKind, FactorRule, ShardRequirement, Window
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.op_sharding import (
    DEFAULT_PREFERENCE,
    FactorSharding,
    Preference,
    annotated_op_sharding,
    choose_op_sharding,
    pending_reductions,
    tensor_sharding,
)
from mesh_opt.sharding.sharding import DimensionAxes, Partial, ReductionKind, Sharding

Rules = Callable[..., FactorRule]
NONE: DimensionAxes = ((), ())


def plan(
    rule: FactorRule,
    operands: list[DimensionAxes | None],
    result: DimensionAxes | None,
    extents: tuple[int, ...] = (2,),
    explicit: tuple[int, ...] = (),
    preference: Preference = DEFAULT_PREFERENCE,
) -> FactorSharding:
    return choose_op_sharding(
        rule,
        [TensorState(axes, index in explicit) for index, axes in enumerate(operands)],
        [TensorState(result, len(operands) in explicit)],
        Grid("g", extents),
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

    def chosen(operand: TensorState) -> FactorSharding:
        operands = [operand, TensorState(right)]
        return choose_op_sharding(matmul, operands, [TensorState(None)], Grid("g", (2,)))

    assert chosen(TensorState(left)).operands == (left, NONE)
    assert chosen(TensorState(left, copies=(NONE,))).operands == (NONE, right)
    assert chosen(TensorState(left, sharers=8)).operands == (NONE, right)


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


def test_moved_factor_is_sent(rule: Rules) -> None:
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


def test_replicated_factor_is_gathered(rule: Rules) -> None:
    softmax = rule("[i j] -> [i j]", i=16, j=16, whole="j")
    stay = Preference(move_axes=False)
    chosen = plan(softmax, [((0,), (1,))], None, extents=(2, 2), preference=stay)
    assert chosen.operands == (((0,), ()),)


def test_replicated_factor_is_moved(rule: Rules) -> None:
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


GRID = Grid("g", (2, 4))


def agreed(
    rule: FactorRule,
    operands: list[DimensionAxes],
    result: DimensionAxes | None,
    grid: Grid = GRID,
    offsets: tuple[tuple[int, ...] | None, ...] = (),
) -> tuple[tuple[int, ...], ...] | None:
    """The axes of the factors that annotations agree on; `offsets` are of the first operand."""
    placed = [TensorState(axes) for axes in operands]
    placed[0] = replace(placed[0], offsets=offsets)
    found = annotated_op_sharding(rule, placed, [TensorState(result)], grid)
    return None if found is None else found.factor_axes


def test_annotations_that_agree_are_followed(matmul: FactorRule) -> None:
    # Whatever it sends: gathering the small operand would be less.
    assert agreed(matmul, [((), (1,)), ((1,), ())], NONE) == ((), (1,), ())
    assert agreed(matmul, [((0,), (1,)), ((1,), ())], ((0,), ())) == ((0,), (1,), ())


def test_annotations_that_say_nothing_or_two_things(matmul: FactorRule) -> None:
    assert agreed(matmul, [((0,), ()), NONE], None) is None
    assert agreed(matmul, [((0,), ()), NONE], NONE) is None
    assert agreed(matmul, [((0,), ()), ((), (0,))], ((0,), (1,))) is None


@pytest.mark.parametrize(
    ("factor", "axes", "offsets", "is_split"),
    [
        (Factor(3), (1,), (), True),
        (Factor(1), (0,), (), False),
        (Factor(3, FactorKind.PERMUTATION, shards=ShardRequirement.FILLED), (1,), (), False),
        (Factor(3, FactorKind.PERMUTATION, shards=ShardRequirement.FILLED), (0,), (), True),
        (Factor(3, shards=ShardRequirement.FILLED), (0,), ((0, 3, 3),), False),
        (Factor(3, shards=ShardRequirement.EVEN), (0,), (), False),
        (Factor(4, shards=ShardRequirement.EVEN), (0,), ((0, 2, 4),), False),
        (Factor(4, shards=ShardRequirement.EVEN), (0,), (), True),
        (Factor(4, FactorKind.NEED_REPLICATION), (0,), (), False),
        (Factor(4, FactorKind.REDUCTION, (None,)), (0,), (), False),
    ],
)
def test_requirements_on_shards(
    factor: Factor, axes: tuple[int, ...], offsets: tuple[tuple[int, ...], ...], is_split: bool
) -> None:
    result = () if factor.kind is FactorKind.REDUCTION else ((0,),)
    rule = FactorRule((factor,), (((0,),),), (result,))
    where = (axes,) if result else ()
    assert agreed(rule, [(axes,)], where, offsets=offsets) == ((axes,) if is_split else None)


def test_reversed_dimension_is_split_evenly() -> None:
    rule = FactorRule(
        (Factor(7, FactorKind.PERMUTATION),), (((0,),),), (((0,),),), (Window(0, 0, 7, -1, 6),)
    )
    assert agreed(rule, [((0,),)], ((0,),)) is None


def test_factors_of_a_dimension_are_split_evenly_on_known_grids(rule: Rules) -> None:
    expand = rule("[(i j)] -> [i j]", i=1, j=8)
    assert agreed(expand, [((0,),)], ((), (0,))) == ((), (0,))
    assert agreed(expand, [((0,),)], ((), (0,)), Grid("g", (None,))) is None
    assert agreed(rule("[(i j)] -> [i j]", i=1, j=7), [((0,),)], ((), (0,))) is None


def test_reserved_axes_split_nothing(add: FactorRule) -> None:
    operands = [TensorState(((0,), (1,)))] * 2
    result = [TensorState(((0,), (1,)))]
    reserved = frozenset({1})
    assert annotated_op_sharding(add, operands, result, GRID, reserved) is None
    chosen = choose_op_sharding(add, operands, result, GRID, reserved=reserved)
    assert chosen.factor_axes == ((0,), ())
    of_rule = replace(add, reserved=reserved)
    assert annotated_op_sharding(of_rule, operands, result, GRID) is None
    assert choose_op_sharding(of_rule, operands, result, GRID).factor_axes == ((0,), ())


def test_shardings_and_reductions_of_an_assignment(matmul: FactorRule) -> None:
    operands = [TensorState(((0,), (1,)), offsets=((0, 40, 64), None)), TensorState(((1,), ()))]
    chosen = annotated_op_sharding(matmul, operands, [TensorState(((0,), ()))], GRID)
    assert chosen is not None
    assert chosen.assignment == (((0,), (0, 40, 64)), ((1,), None), ((), None))
    made = Sharding(GRID, ((0,), ()), offsets=((0, 40, 64), None))
    assert tensor_sharding(GRID, matmul.results[0], chosen.assignment) == made
    sums = (Partial(ReductionKind.SUM, (1,)),)
    assert pending_reductions(matmul, chosen.factor_axes, 0) == (sums, ())
