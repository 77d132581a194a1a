"""One operation is spread where it costs least."""

from __future__ import annotations

from mesh_opt.sharding.factor_placement import (
    WHOLE,
    Assignment,
    Participant,
    Spread,
    pending_reductions,
    placement,
)
from mesh_opt.sharding.factors import Factor, FactorKind, FactorRule
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import Partial, ReductionKind, Sharding

GRID = Grid("g", (2, 4))


def matmul(rows: int, columns: int, inner: int) -> FactorRule:
    """Factors: rows, columns, and the reduction."""
    return FactorRule(
        (
            Factor(rows),
            Factor(columns),
            Factor(inner, FactorKind.REDUCTION, (ReductionKind.SUM,)),
        ),
        (((0,), (2,)), ((2,), (1,))),
        (((0,), (1,)),),
    )


def spread(
    sizes: tuple[int, int, int],
    left: Sharding | None,
    right: Sharding | None,
    wanted: Sharding | None = None,
) -> Assignment:
    rows, columns, inner = sizes
    rule = matmul(*sizes)
    operands = [
        Participant(rule.operands[0], (rows, inner), 4, left),
        Participant(rule.operands[1], (inner, columns), 4, right),
    ]
    results = [Participant(rule.results[0], (rows, columns), 4, wanted)]
    return Spread(GRID, rule, operands, results, lambda factor, split: True).choose()


def test_operands_that_agree_cost_nothing() -> None:
    chosen = spread((64, 64, 64), Sharding(GRID, ((0,), (1,))), Sharding(GRID, ((1,), ())))
    assert chosen == (((0,), None), WHOLE, ((1,), None))


def test_small_operand_moves_to_the_large_one() -> None:
    # The left operand is split along the reduction, the right one by columns, over one axis.
    chosen = spread((2, 512, 512), Sharding(GRID, ((), (1,))), Sharding(GRID, ((), (1,))))
    assert chosen == (WHOLE, ((1,), None), WHOLE)


def test_whole_operands_are_cut_as_the_result_is_wanted() -> None:
    chosen = spread((64, 64, 64), None, None, Sharding(GRID, ((0,), (1,))))
    assert chosen == (((0,), None), ((1,), None), WHOLE)


def test_reduction_that_cannot_be_combined_is_not_split() -> None:
    rule = FactorRule(
        (Factor(8), Factor(8, FactorKind.REDUCTION, (None,))), (((0,), (1,)),), (((0,),),)
    )
    operand = Participant(rule.operands[0], (8, 8), 4, Sharding(GRID, ((), (1,))))
    result = Participant(rule.results[0], (8,), 4, None)
    chosen = Spread(GRID, rule, [operand], [result], lambda factor, split: True).choose()
    assert chosen[1] == WHOLE


def reshape(sharding: Sharding) -> Assignment:
    """`[8] -> [2, 4]` of an operand."""
    rule = FactorRule((Factor(2), Factor(4)), (((0, 1),),), (((0,), (1,)),))
    operand = Participant(rule.operands[0], (8,), 4, sharding)
    result = Participant(rule.results[0], (2, 4), 4, None)
    return Spread(GRID, rule, [operand], [result], lambda factor, split: True).choose()


def test_axes_fill_the_factors_of_a_dimension_in_turn() -> None:
    assert reshape(Sharding(GRID, ((0, 1),))) == (((0,), None), ((1,), None))
    # Four shards of two elements are no blocks of both factors.
    assert reshape(Sharding(GRID, ((1,),)))[0] == WHOLE


def test_placements_of_an_assignment() -> None:
    rule = matmul(8, 8, 8)
    assignment: Assignment = (((0,), None), WHOLE, ((1,), None))
    assert placement(GRID, rule.operands[0], assignment) == Sharding(GRID, ((0,), (1,)))
    assert placement(GRID, rule.results[0], assignment) == Sharding(GRID, ((0,), ()))
    assert pending_reductions(GRID, rule, assignment, 0) == (
        (Partial(ReductionKind.SUM, (1,)),),
        0,
    )
