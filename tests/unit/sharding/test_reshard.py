"""Resharding plans are right, minimal and small: they are run on arrays, device by device."""

from __future__ import annotations

import random
from functools import cache
from heapq import heappop, heappush
from itertools import count, permutations, product

import numpy as np
import pytest
from breadth import breadth, sampled
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.local_shape import explicit_offsets, halo, shard_intervals
from mesh_opt.sharding.refinement import Refinement
from mesh_opt.sharding.reshard import STEP_COST, permuted_axes, plan_reshard
from mesh_opt.sharding.reshard_steps import (
    AllGather,
    AllReduce,
    AllSlice,
    AllToAll,
    ExchangeHalo,
    Permute,
    PlannedStep,
    ReduceScatter,
    TrimHalo,
    sent_fraction,
)
from mesh_opt.sharding.sharding import Partial, ReductionKind, Sharding

Shards = list[np.ndarray]


def permutation_source(
    before: Sharding, after: Sharding, coordinates: tuple[int, ...]
) -> tuple[int, ...]:
    """The coordinates of the process whose shard under `before` is this one's under `after`.

    The dimensions' block numbers agree; among processes that hold the same block, the numbers
    along the axes that split nothing agree. Pending axes keep their coordinates.
    """
    grid = before.grid
    result = list(coordinates)
    for old, new in permuted_axes(before, after):
        index = grid.linear_index(coordinates, new)
        for axis in reversed(old):
            extent = grid.shape[axis]
            assert extent is not None
            index, result[axis] = divmod(index, extent)
    return tuple(result)


def shard(whole: np.ndarray, sharding: Sharding) -> Shards:
    """What each process holds: of a sum, process 0 of a group holds all and the others zero."""
    shards: Shards = []
    pending = [axis for partial in sharding.partials for axis in partial.axes]
    for process in range(sharding.grid.device_count()):
        bounds = shard_intervals(whole.shape, sharding, process)
        piece = whole[tuple(slice(start, end) for start, end in bounds)]
        padding = [halo(sharding, d) for d in range(whole.ndim)]
        coordinates = sharding.grid.coordinates(process)
        share = 1.0 if all(coordinates[axis] == 0 for axis in pending) else 0.0
        shards.append(np.pad(piece * share, padding, constant_values=np.nan))
    return shards


def groups(grid: Grid, axes: tuple[int, ...]) -> list[list[int]]:
    """Processes that differ only along `axes`, in the order of the listed axes."""
    found: dict[tuple[int, ...], list[int]] = {}
    for process in range(grid.device_count()):
        position = grid.coordinates(process)
        others = tuple(p for axis, p in enumerate(position) if axis not in axes)
        found.setdefault(others, []).append(process)
    for members in found.values():
        members.sort(key=lambda process: grid.linear_index(grid.coordinates(process), axes))
    return list(found.values())


def run_step(shards: Shards, planned: PlannedStep, shape: tuple[int, ...]) -> Shards:
    """One collective, with equal pieces only (but for whole dimensions cut by their borders)."""
    grid, after = planned.before.grid, planned.after
    result: Shards = list(shards)
    match planned.step:
        case AllSlice(dimension, axes) if after.dimension_axes[dimension] == axes:
            for process in range(grid.device_count()):
                start, end = shard_intervals(shape, after, process)[dimension]
                result[process] = np.take(shards[process], range(start, end), dimension)
        case AllSlice(dimension, axes):
            for members in groups(grid, axes):
                for index, process in enumerate(members):
                    result[process] = np.split(shards[process], len(members), dimension)[index]
        case AllGather(dimension, axes):
            for members in groups(grid, axes):
                whole = np.concatenate([shards[process] for process in members], dimension)
                for process in members:
                    result[process] = whole
        case AllToAll(split, concat, axes):
            for members in groups(grid, axes):
                pieces = [np.split(shards[process], len(members), split) for process in members]
                for index, process in enumerate(members):
                    result[process] = np.concatenate([piece[index] for piece in pieces], concat)
        case Permute():
            sources = [
                grid.linear_index(
                    permutation_source(planned.before, after, grid.coordinates(process)),
                    range(grid.rank),
                )
                for process in range(grid.device_count())
            ]
            assert sorted(sources) == list(range(grid.device_count()))
            result = [shards[source] for source in sources]
        case AllReduce(_, axes):
            for members in groups(grid, axes):
                total = sum(shards[process] for process in members)
                for process in members:
                    result[process] = total
        case ReduceScatter(_, dimension, axes):
            for members in groups(grid, axes):
                total = sum(shards[process] for process in members)
                for index, process in enumerate(members):
                    result[process] = np.split(total, len(members), dimension)[index]
        case TrimHalo():
            for process, array in enumerate(shards):
                cuts = [halo(planned.before, d) for d in range(array.ndim)]
                slices = (
                    slice(low, size - high)
                    for (low, high), size in zip(cuts, array.shape, strict=True)
                )
                result[process] = array[tuple(slices)]
        case ExchangeHalo():
            for process, array in enumerate(shards):
                result[process] = np.pad(
                    array,
                    [halo(after, d) for d in range(array.ndim)],
                    constant_values=np.nan,
                )
    return result


def is_same(one: Sharding, other: Sharding, shape: tuple[int, ...]) -> bool:
    """Whether two shardings, perhaps on grids of other axes, give each process the same."""
    return one == other or (
        one.grid != other.grid
        and len(one.partials) == len(other.partials)
        and all(
            shard_intervals(shape, one, process) == shard_intervals(shape, other, process)
            for process in range(one.grid.device_count())
        )
    )


def check(shape: tuple[int, ...], source: Sharding, target: Sharding) -> tuple[PlannedStep, ...]:
    """Run a plan and compare with what the target should hold."""
    whole = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) + 1
    plan = plan_reshard(shape, source, target)
    shards = shard(whole, source)
    at = source
    for planned in plan:
        assert is_same(planned.before, at, shape)
        shards = run_step(shards, planned, shape)
        at = planned.after
    assert is_same(at, target, shape)
    for got, wanted in zip(shards, shard(whole, target), strict=True):
        np.testing.assert_array_equal(got, wanted)
    return plan


def shardings(grid: Grid, rank: int) -> list[Sharding]:
    """Every way to split a tensor of a rank over a grid."""
    found: list[Sharding] = []
    for length in range(grid.rank + 1):
        for axes in permutations(range(grid.rank), length):
            for places in product(range(rank), repeat=length):
                if list(places) != sorted(places):
                    continue
                lists = tuple(
                    tuple(a for a, place in zip(axes, places, strict=True) if place == d)
                    for d in range(rank)
                )
                found.append(Sharding(grid, lists))
    return found


@pytest.mark.parametrize("extents", [(2,), (2, 2), (2, 3), (4, 2), (2, 6)])
def test_all_pairs_of_matrices(extents: tuple[int, ...]) -> None:
    grid = Grid("g", extents)
    ways = shardings(grid, 2)
    assert len(ways) == (3 if len(extents) == 1 else 11)
    for source, target in sampled([*product(ways, ways)], 1 if len(extents) == 1 else 3):
        check((24, 24), source, target)


def test_pairs_of_rank_three_on_a_cube() -> None:
    ways = shardings(Grid("g", (2, 2, 2)), 3)
    assert len(ways) == 1 + 9 + 36 + 60
    pairs = list(product(ways, ways))
    for source, target in random.Random(0).sample(pairs, breadth(200, len(pairs))):
        check((8, 8, 8), source, target)


def lower_bound_search(source: Sharding, target: Sharding, most: float) -> float:
    """The least bytes over all sequences, by a search that shares nothing with the planner.

    Units of the whole tensor; every sharding on the grid is a node, and a pair of them is an
    edge where one collective leads from one to the other.
    """
    grid = source.grid
    ways = shardings(grid, source.rank)

    def local(way: Sharding) -> float:
        size = 1.0
        for axes in way.dimension_axes:
            size /= grid.size(axes) or 1
        return size

    cost = {source: 0.0}
    order = count()
    queue = [(0.0, 0, source)]
    while queue:
        so_far, _, at = heappop(queue)
        if at == target:
            return so_far
        if so_far > cost[at]:
            continue
        for way in ways:
            if local(way) <= most + 1e-9:
                price = edge(at, way)
                if price is not None and so_far + price * local(at) < cost.get(way, 1e9) - 1e-12:
                    cost[way] = so_far + price * local(at)
                    heappush(queue, (cost[way], next(order), way))
    raise AssertionError("no way")


@cache
def edge(at: Sharding, way: Sharding) -> float | None:
    """Bytes of one collective between two shardings, in units of the shard before it."""
    grid = at.grid
    old, new = at.dimension_axes, way.dimension_axes
    changed = [d for d in range(at.rank) if old[d] != new[d]]
    if len(changed) == 1:
        (d,) = changed
        if new[d][: len(old[d])] == old[d]:
            return 0.0
        if old[d][: len(new[d])] == new[d]:
            return (grid.size(old[d][len(new[d]) :]) or 1) - 1
    if len(changed) == 2:
        for lost, won in (changed, changed[::-1]):
            moved = old[lost][len(new[lost]) :]
            if moved and old[lost] == new[lost] + moved and new[won] == old[won] + moved:
                group = grid.size(moved) or 1
                return (group - 1) / group
    if all(grid.size(o) == grid.size(n) for o, n in zip(old, new, strict=True)):
        return 1.0
    return None


@pytest.mark.parametrize("extents", [(2, 2), (2, 3), (4, 2)])
def test_plans_are_optimal(extents: tuple[int, ...]) -> None:
    grid = Grid("g", extents)
    finer = Refinement.cut(grid, [{2} if extent == 4 else () for extent in extents])
    ways = shardings(grid, 2)
    for source, target in sampled([*product(ways, ways)], 3, extents[1] % 3):
        plan = plan_reshard((24, 24), source, target)
        most = max(1 / (w.parts(0) or 1) / (w.parts(1) or 1) for w in (source, target))
        least = lower_bound_search(source, target, most)
        if not finer.is_trivial and least > STEP_COST:
            parts = finer.refine_sharding(source), finer.refine_sharding(target)
            least = min(least, lower_bound_search(*parts, most))
        assert sum(map(sent_fraction, plan)) == pytest.approx(least), (source, target, plan)


def test_swapped_axes_of_other_extents_move_in_parts() -> None:
    # Rows along 2 and columns along 4 processes become rows along 4 and columns along 2.
    grid = Grid("g", (2, 4))
    plan = check((16, 24), Sharding(grid, ((0,), (1,))), Sharding(grid, ((1,), (0,))))
    assert sum(map(sent_fraction, plan)) == pytest.approx((1 + 1 / 2) / 8)
    assert {planned.before.grid.shape for planned in plan} == {(2, 2, 2)}
    # What is pending stays pending along its parts.
    three = Grid("g", (2, 4, 4))
    waiting = (Partial(ReductionKind.SUM, (2,)),)
    source = Sharding(three, ((0,), (1,)), waiting)
    plan = check((16, 24), source, Sharding(three, ((1,), (0,)), waiting))
    assert sum(map(sent_fraction, plan)) == pytest.approx((1 + 1 / 2) / 8)


def test_plans_are_optimal_on_a_cube() -> None:
    ways = shardings(Grid("g", (2, 2, 2)), 3)
    chosen = random.Random(1)
    for _ in range(breadth(8, 20)):
        source, target = chosen.choice(ways), chosen.choice(ways)
        plan = plan_reshard((8, 8, 8), source, target)
        most = max(
            1 / (w.parts(0) or 1) / (w.parts(1) or 1) / (w.parts(2) or 1) for w in (source, target)
        )
        least = lower_bound_search(source, target, most)
        assert sum(map(sent_fraction, plan)) == pytest.approx(least), (source, target, plan)


def random_sharding(chosen: random.Random, grid: Grid, shape: tuple[int, ...]) -> Sharding:
    """A sharding with, now and then, offsets or halos."""
    way = chosen.choice(shardings(grid, len(shape)))
    if chosen.random() < 0.3:
        offsets = tuple(
            (0, *sorted(chosen.randint(0, size) for _ in range((way.parts(d) or 1) - 1)), size)
            if way.dimension_axes[d] and chosen.random() < 0.5
            else None
            for d, size in enumerate(shape)
        )
        return Sharding(grid, way.dimension_axes, offsets=offsets)
    if chosen.random() < 0.3:
        halos = tuple(
            (chosen.randint(0, 1), chosen.randint(0, 2)) if axes else (0, 0)
            for axes in way.dimension_axes
        )
        return Sharding(grid, way.dimension_axes, halos=halos)
    return way


def test_uneven_sizes_offsets_and_halos() -> None:
    chosen = random.Random(2)
    for _ in range(breadth(250, 500)):
        grid = Grid("g", chosen.choice([(2,), (3,), (2, 2), (2, 3), (2, 2, 2)]))
        shape = tuple(chosen.randint(1, 13) for _ in range(chosen.randint(1, 3)))
        source = random_sharding(chosen, grid, shape)
        target = random_sharding(chosen, grid, shape)
        plan_of = plan_reshard(shape, source, target)
        if not (source.halos or target.halos):
            check(shape, source, target)
        else:
            at = source
            for planned in plan_of:
                assert planned.before == at
                at = planned.after
            assert at == target


def test_pending_sum_is_scattered_where_the_target_splits() -> None:
    grid = Grid("g", (2, 2))
    pending = Sharding(grid, ((0,), ()), (Partial(ReductionKind.SUM, (1,)),))
    plan = check((8, 8), pending, Sharding(grid, ((0,), (1,))))
    assert [type(planned.step) for planned in plan] == [ReduceScatter]
    plan = check((8, 8), pending, Sharding(grid, ((0,), ())))
    assert [type(planned.step) for planned in plan] == [AllReduce]
    plan = check((8, 8), pending, Sharding.replicated(grid, 2))
    assert sum(map(sent_fraction, plan)) == pytest.approx(1.0)


def test_pending_sums_to_anything() -> None:
    grid = Grid("g", (2, 2, 2))
    chosen = random.Random(3)
    ways = shardings(grid, 2)
    for _ in range(200):
        way = chosen.choice(ways)
        free = [axis for axis in range(3) if axis not in way.used_axes]
        waiting = tuple(axis for axis in free if chosen.random() < 0.7)
        partials = (Partial(ReductionKind.SUM, waiting),) if waiting else ()
        source = Sharding(grid, way.dimension_axes, partials)
        check((8, 16), source, chosen.choice(ways))


def test_more_than_three_axes() -> None:
    grid = Grid("g", (2, 2, 2, 2, 2))
    source = Sharding(grid, ((0, 1), (2, 3), (4,)))
    target = Sharding(grid, ((0, 3), (2,), (4, 1)))
    check((4, 4, 4), source, target)


def test_no_step_holds_more_than_the_ends_if_there_is_another_way() -> None:
    # To gather first would be shorter, but an uneven dimension is whole then.
    grid = Grid("g", (2, 2))
    plan = check((3, 8), Sharding(grid, ((0,), ())), Sharding(grid, ((1,), ())))
    assert [type(planned.step) for planned in plan] == [AllToAll, AllSlice, AllGather]


def test_a_step_may_hold_as_much_as_the_larger_end() -> None:
    # To slice first would hold no more than the target, but send more.
    grid = Grid("g", (2, 2))
    plan = check((3, 8), Sharding(grid, ((0,), ())), Sharding(grid, ((), (0, 1))))
    assert [type(planned.step) for planned in plan] == [AllToAll, AllSlice]


def test_offsets_are_kept_where_nothing_changes() -> None:
    grid = Grid("g", (2,))
    source = Sharding(grid, ((0,),), offsets=((0, 3, 8),))
    target = Sharding(grid, ((0,),))
    plan = check((8,), source, target)
    assert [type(planned.step) for planned in plan] == [AllGather, AllSlice]
    assert explicit_offsets(plan[-1].after, 0) is None


def test_other_grid_is_an_error() -> None:
    with pytest.raises(ValueError, match="different grids"):
        plan_reshard((4,), Sharding(Grid("g", (2,)), ((0,),)), Sharding(Grid("h", (2,)), ((0,),)))
