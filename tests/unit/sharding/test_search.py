"""The integer program finds the best of all options, and repeated layers are found."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import product
from math import prod

import pytest
from breadth import cases
from mesh_opt.sharding.cost import reshard_price
from mesh_opt.sharding.factors import Factor, FactorKind, FactorRule
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.machine_presets import CPU_CLUSTER
from mesh_opt.sharding.search.integer_program import IntegerProgram, Solution
from mesh_opt.sharding.search.options import Decisions, Option
from mesh_opt.sharding.search.problem import LivePoint, Problem, SearchOperation, SearchTensor
from mesh_opt.sharding.search.repetition import repeated
from mesh_opt.sharding.sharding import DimensionAxes, ReductionKind
from mesh_opt.sharding.time_model import BytesPrice, Price, TimePrice

MAX_COMBINATIONS = 20_000


def price_of(decisions: Decisions, options: Iterable[Option]) -> float:
    """The price of one option for each decision, which the integer program minimises."""
    chosen = list(options)
    homes = {tensor: axes for option in chosen for tensor, axes in option.homes}
    tensors, extents = decisions.problem.tensors, decisions.extents
    total = decisions.ideal
    copies: set[tuple[int, DimensionAxes]] = set()
    for decision, option in zip(decisions.all, chosen, strict=True):
        total += option.price * (1 if option.homes else decision.times)
        copies.update((tensor, axes) for tensor, axes in option.wants if axes != homes[tensor])
        for tensor, made in option.makes:
            total += decision.times * decisions.made_price(tensor, made, homes[tensor])
    for tensor, axes in copies:
        total += tensors[tensor].count * reshard_price(
            homes[tensor], axes, tensors[tensor].size, extents, decisions.price.collective
        )
    return total


def product_rule(rows: int, inner: int, columns: int) -> FactorRule:
    factors = (
        Factor(rows),
        Factor(inner, FactorKind.REDUCTION, (ReductionKind.SUM,)),
        Factor(columns),
    )
    return FactorRule(factors, (((0,), (1,)), ((1,), (2,))), (((0,), (2,)),))


def sum_rule(rows: int, columns: int) -> FactorRule:
    factors = (Factor(rows), Factor(columns, FactorKind.REDUCTION, (ReductionKind.SUM,)))
    return FactorRule(factors, (((0,), (1,)),), (((0,),),))


def elementwise_rule(*tensors: tuple[int, ...], sizes: tuple[int, ...]) -> FactorRule:
    """Each tensor by the factors of its dimensions; the last one is the result."""
    as_factors = [tuple((factor,) for factor in tensor) for tensor in tensors]
    return FactorRule(tuple(map(Factor, sizes)), tuple(as_factors[:-1]), (as_factors[-1],))


def random_problem(number: int) -> Problem:
    """A few matrices, and operations that make more of them."""
    generator = random.Random(number)
    tensors: list[SearchTensor] = []

    def tensor(*shape: int, is_argument: bool = False) -> int:
        pinned = None
        if generator.random() < 0.1:
            pinned = ((0,), *((),) * (len(shape) - 1)) if shape[0] % 2 == 0 else None
        tensors.append(SearchTensor(shape, pinned=pinned, is_argument=is_argument))
        return len(tensors) - 1

    def extent() -> int:
        return generator.choice((2, 4, 6, 64))

    matrices = [tensor(extent(), extent(), is_argument=True)]
    operations: list[SearchOperation] = []
    for _ in range(generator.randint(1, 3)):
        source = generator.choice(matrices)
        rows, columns = (size or 1 for size in tensors[source].shape)
        kind = generator.choice(("product", "square", "transpose", "add", "sum"))
        if kind == "product":
            width = extent()
            operands = (source,), (tensor(columns, width, is_argument=True),)
            rule, shape = product_rule(rows, columns, width), (rows, width)
        elif kind == "square" and rows == columns:
            operands, rule, shape = (
                ((source,), (source,)),
                product_rule(rows, rows, rows),
                (rows,) * 2,
            )
        elif kind == "transpose":
            rule = elementwise_rule((0, 1), (1, 0), sizes=(rows, columns))
            operands, shape = ((source,),), (columns, rows)
        elif kind == "sum":
            operands, rule, shape = ((source,),), sum_rule(rows, columns), (rows,)
        else:
            others = [each for each in matrices if tensors[each].shape == (rows, columns)]
            operands = (source,), (generator.choice(others),)
            rule = elementwise_rule((0, 1), (0, 1), (0, 1), sizes=(rows, columns))
            shape = (rows, columns)
        result = tensor(*shape)
        work = 2.0 * prod(factor.size or 1 for factor in rule.factors)
        operations.append(
            SearchOperation(
                rule, operands, ((result,),), work, "f32", frozenset((0, 1)), frozenset((0,))
            )
        )
        if len(shape) == 2:
            matrices.append(result)
    everything = tuple((index, 1) for index in range(len(tensors)))
    points = [LivePoint(index, everything) for index in range(len(operations))]
    return Problem(tuple(tensors), tuple(operations), points)


def held(decisions: Decisions, homes: dict[int, tuple[tuple[int, ...], ...]]) -> float:
    """The bytes of all tensors on one device."""
    return sum(
        decisions.problem.tensors[tensor].size
        / prod(decisions.extents[axis] for split in axes for axis in split)
        for tensor, axes in homes.items()
    )


@pytest.mark.parametrize("number", cases(12, 300))
def test_the_integer_program_finds_the_best_of_all_combinations(number: int) -> None:
    generator = random.Random(-number)
    extents = generator.choice(((2,), (4,), (2, 2)))
    price: Price = generator.choice((BytesPrice(extents), TimePrice(CPU_CLUSTER, extents)))
    decisions = Decisions(random_problem(number), Grid("g", extents), price)
    if prod(len(each.options) for each in decisions.all) > MAX_COMBINATIONS:
        decisions = Decisions(random_problem(number), Grid("g", (2,)), BytesPrice((2,)))
    if prod(len(each.options) for each in decisions.all) > MAX_COMBINATIONS:
        pytest.skip("too many combinations to look at all of them")
    combinations = list(product(*(each.options for each in decisions.all)))
    best = min(price_of(decisions, options) for options in combinations)
    found = IntegerProgram(decisions).solve(60)
    assert found is not None
    assert price_of(decisions, found.options) == pytest.approx(best, rel=1.001e-3, abs=1e-12)
    assert found.gap == 0
    assert found.price == pytest.approx(best, rel=1e-3, abs=1e-12)


def copied(decisions: Decisions, solution: Solution) -> float:
    """The bytes of all copies of tensors on one device."""
    homes = solution.homes()
    wanted = {want for option in solution.options for want in option.wants}
    return sum(held(decisions, {each: axes}) for each, axes in wanted if axes != homes[each])


def test_less_memory_is_used_where_nothing_else_is_to_choose() -> None:
    decisions = Decisions(
        Problem((SearchTensor((8, 8), is_argument=True),), ()),
        Grid("g", (2, 4)),
        BytesPrice((2, 4)),
    )
    found = IntegerProgram(decisions, memory=32).solve(10)
    assert found is not None
    assert held(decisions, found.homes()) <= 32


def test_a_memory_limit_is_kept_or_nothing_is_found() -> None:
    # Rows of a product: without a limit the weight is whole, with one it is gathered for it.
    tensors = (
        SearchTensor((64, 64), is_argument=True),
        SearchTensor((64, 64), is_argument=True),
        SearchTensor((64, 64)),
    )
    operation = SearchOperation(product_rule(64, 64, 64), ((0,), (1,)), ((2,),), 2.0 * 64**3)
    point = LivePoint(0, ((0, 1), (1, 1), (2, 1)))
    decisions = Decisions(
        Problem(tensors, (operation,), (point,)), Grid("g", (4,)), BytesPrice((4,))
    )
    whole = 64 * 64 * 4
    free = IntegerProgram(decisions).solve(10)
    assert free is not None
    assert price_of(decisions, free.options) == pytest.approx(0.2 * 64**3 / 4)
    for limit in (1.0, 1.5, 2.0):
        found = IntegerProgram(decisions, limit * whole).solve(10)
        assert found is not None
        assert held(decisions, found.homes()) + copied(decisions, found) <= limit * whole
    assert IntegerProgram(decisions, whole / 4).solve(10) is None


def test_pinned_tensors_stay() -> None:
    tensors = (
        SearchTensor((8, 64), is_argument=True, pinned=((), (0,))),
        SearchTensor((64, 8), is_argument=True),
        SearchTensor((8, 8)),
    )
    operation = SearchOperation(product_rule(8, 64, 8), ((0,), (1,)), ((2,),), 2.0 * 8 * 8 * 64)
    decisions = Decisions(Problem(tensors, (operation,)), Grid("g", (4,)), BytesPrice((4,)))
    found = IntegerProgram(decisions).solve(10)
    assert found is not None
    assert found.homes()[0] == ((), (0,))
    # The reduction is split: what is reduced is smaller than the operand would be.
    assert found.homes()[1] == ((0,), ())


def test_an_operation_may_want_one_tensor_in_two_ways() -> None:
    # x x: the rows of one, and all columns of the other.
    tensors = (SearchTensor((64, 64), is_argument=True), SearchTensor((64, 64)))
    operation = SearchOperation(product_rule(64, 64, 64), ((0,), (0,)), ((1,),), 2.0 * 64**3)
    decisions = Decisions(Problem(tensors, (operation,)), Grid("g", (4,)), BytesPrice((4,)))
    found = IntegerProgram(decisions).solve(10)
    assert found is not None
    # It is whole, and each process takes its rows of it.
    assert found.homes()[0] == ((), ())
    assert found.price == pytest.approx(0.2 * 64**3 / 4, rel=1e-4)


def test_an_operation_is_not_merged_that_makes_two_dimensions_one() -> None:
    # x + transpose(x) would split both dimensions of x alike.
    tensors = (SearchTensor((8, 8), is_argument=True), SearchTensor((8, 8)), SearchTensor((8, 8)))
    transpose = elementwise_rule((0, 1), (1, 0), sizes=(8, 8))
    add = elementwise_rule((0, 1), (0, 1), (0, 1), sizes=(8, 8))
    operations = (
        SearchOperation(transpose, ((0,),), ((1,),)),
        SearchOperation(add, ((0,), (1,)), ((2,),), 64.0),
    )
    decisions = Decisions(Problem(tensors, operations), Grid("g", (2,)), BytesPrice((2,)))
    alone = [each for each in decisions.all if each.operations == (1,)]
    assert len(alone) == 1
    assert len(decisions.all) == 3


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ("abcabcabd", [0, 1, 2, 0, 1, 2, 0, 1, 8]),
        ("xabcabcabcy", [0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 10]),
        ("abababxcdcdcd", [0, 1, 0, 1, 0, 1, 6, 7, 8, 7, 8, 7, 8]),
        ("aaaa", [0, 1, 2, 3]),
        ("abcdef", [0, 1, 2, 3, 4, 5]),
        ("", []),
    ],
)
def test_repeated_layers(looks: str, expected: list[int]) -> None:
    assert repeated(looks, [[index - 1] for index in range(len(looks))]) == expected


def test_parallel_repeats_are_not_tied() -> None:
    # Three times the same, of one source, and then joined.
    reads = [[], [0], [1], [0], [3], [0], [5], [2, 4, 6]]
    assert repeated("xabababz", reads) == list(range(8))
