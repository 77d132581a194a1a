"""How one operation is sharded: along which axes each of its factors is split.

Propagation and partition both ask here. Where annotations of all tensors agree there is nothing to
choose (`annotated_op_sharding`): `[i k], [k j] -> [i j]` on operands `[[0], [1]]` and `[[1], []]`
with a result `[[0], []]` is split along axis 0 in `i` and axis 1 in `k`. Otherwise every assignment
of the axes that its tensors propose is compared (`choose_op_sharding`): first, explicit annotations
are kept; then, the work is spread over most processes; then, fewest bytes are sent; then, least
memory is used. The losers are resharded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .collectives import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER
from .cost import (
    BYTES_PER_POINT,
    CollectivePrice,
    known_extents,
    local_size,
    reshard_bytes,
    reshard_price,
    sent_bytes,
)
from .factor_splits import FactorSplits, PlannedTensor
from .factors import FactorKind, FactorRule, TensorFactors
from .grid import Grid
from .projection import back, project
from .sharding import Axes, DimensionAxes, Offsets, Partial, ReductionKind, Sharding, Split, extends
from .slice_exchange import window_bytes

PLAN_LIMIT = 4096
"""Assignments that are compared at one operation; beyond, some proposals are left out."""

Assignment = tuple[Split, ...]
"""For each factor its axes, and explicit offsets if it has them."""


@dataclass(frozen=True, slots=True)
class FactorSharding:
    """What was chosen: the axes of each factor, and so of each operand and result.

    Results are as the operation leaves them when its reductions are done: `reduced` are the axes
    over which that needs communication.
    """

    factor_axes: tuple[Axes, ...]
    operands: tuple[DimensionAxes, ...]
    results: tuple[DimensionAxes, ...]
    reduced: Axes
    offsets: tuple[Offsets, ...]
    """Explicit offsets of each factor's shards."""
    bytes_sent: float
    bytes_before: float
    """Those of `bytes_sent` that bring the operands in place."""
    window_bytes: float = 0.0
    """Those of `bytes_before` that fetch what windows read of other processes' parts."""

    @property
    def assignment(self) -> Assignment:
        """For each factor its axes and offsets."""
        return tuple(zip(self.factor_axes, self.offsets, strict=True))


@dataclass(frozen=True, slots=True)
class Preference:
    """How shardings are looked for.

    - `move_axes`: axes that would split a reduction or a permutation, or cannot split the operation
      where they are, are proposed for other factors as well, since moving the operands may be less
      than reducing the results or gathering the operands;
    - `weigh_work`: more work that saves bytes is weighed against them; without it the work is
      always spread over the most processes;
    - `fill`: no factor is split into more parts than it has elements.
    """

    move_axes: bool = True
    weigh_work: bool = False
    fill: bool = True


DEFAULT_PREFERENCE = Preference()


def annotated_op_sharding(
    rule: FactorRule,
    operands: Sequence[PlannedTensor],
    results: Sequence[PlannedTensor],
    grid: Grid,
    reserved: frozenset[int] = frozenset(),
) -> FactorSharding | None:
    """The sharding that all tensors agree on; `None` where something is left to choose.

    That is where a result is not placed, two tensors split a factor in two ways, or a factor
    cannot be split as they say. No factor is split along `reserved` axes.
    """
    extents = known_extents(grid.shape)
    found: dict[int, Axes] = {}
    for tensor, known in zip((*rule.operands, *rule.results), (*operands, *results), strict=True):
        if known.axes is None:
            continue
        projection = project(tensor, known.axes, rule, extents)
        if projection.overflow:
            return None
        for factor, axes in enumerate(projection.axes):
            if axes is not None and found.setdefault(factor, axes) != axes:
                return None
    for tensor, known in zip(rule.results, results, strict=True):
        if tensor and known.axes is None:
            return None
    assignment = tuple(found.get(factor, ()) for factor in range(len(rule.factors)))
    used = [axis for axes in assignment for axis in axes]
    if len(set(used)) < len(used) or not reserved.isdisjoint(used):
        return None
    splits = FactorSplits(rule, operands, results, grid)
    if not all(splits.can_split(factor, axes) for factor, axes in enumerate(assignment)):
        return None
    return _sharding(rule, assignment, operands, results, splits)


def choose_op_sharding(
    rule: FactorRule,
    operands: Sequence[PlannedTensor],
    results: Sequence[PlannedTensor],
    grid: Grid,
    preference: Preference = DEFAULT_PREFERENCE,
    reserved: frozenset[int] = frozenset(),
) -> FactorSharding:
    """The best assignment of axes of a grid, but for the `reserved`, to the factors of a rule."""
    extents = known_extents(grid.shape)
    proposals = _proposals(rule, operands, results, extents)
    if preference.move_axes:
        _propose_moved_axes(rule, operands, proposals, extents)
    splits = FactorSplits(rule, operands, results, grid)
    can_split = splits.can_split_nonempty if preference.fill else splits.can_split
    for factor, found in enumerate(proposals):
        for axes in tuple(found):
            if not (reserved.isdisjoint(axes) and can_split(factor, axes)):
                del found[axes]
    best: tuple[tuple[float, ...], FactorSharding] | None = None
    for assignment in _assignments(_within_limit(proposals)):
        sharding = _sharding(rule, assignment, operands, results, splits)
        if sharding is None:
            continue
        key = _rank(sharding, operands, results, rule, extents, preference)
        if best is None or key < best[0]:
            best = (key, sharding)
    if best is None:
        raise ValueError(f"not even replication is possible for {rule}")
    return best[1]


def _proposals(
    rule: FactorRule,
    operands: Sequence[PlannedTensor],
    results: Sequence[PlannedTensor],
    extents: Sequence[int],
) -> list[dict[Axes, None]]:
    """For each factor the axes that tensors propose, without duplicates.

    The first few of several axes are proposed as well, after all else: others may need the rest.
    """
    proposals: list[dict[Axes, None]] = [{} for _ in rule.factors]
    for tensor, known in zip((*rule.operands, *rule.results), (*operands, *results), strict=True):
        if known.axes is None:
            continue
        for factor, axes in enumerate(project(tensor, known.axes, rule, extents).axes):
            if axes and rule.factors[factor].kind is not FactorKind.NEED_REPLICATION:
                proposals[factor].setdefault(axes)
    for found in proposals:
        for axes in tuple(found):
            for count in range(len(axes) - 1, 0, -1):
                found.setdefault(axes[:count])
    return proposals


def _propose_moved_axes(
    rule: FactorRule,
    operands: Sequence[PlannedTensor],
    proposals: Sequence[dict[Axes, None]],
    extents: Sequence[int],
) -> None:
    """Propose axes for factors whose parts are computed each on its own, after all else."""
    moving: dict[Axes, None] = {}
    for factor, found in zip(rule.factors, proposals, strict=True):
        if factor.kind in (FactorKind.REDUCTION, FactorKind.PERMUTATION):
            moving |= found
    for tensor, known in zip(rule.operands, operands, strict=True):
        if known.axes is not None:
            moving |= _stuck(rule, tensor, known.axes, extents)
    for factor, found in zip(rule.factors, proposals, strict=True):
        if factor.kind is FactorKind.PASS_THROUGH:
            for axes in moving:
                for before in (*found, ()):
                    if not set(before) & set(axes):
                        found.setdefault((*before, *axes))


def _stuck(
    rule: FactorRule, tensor: TensorFactors, axes: DimensionAxes, extents: Sequence[int]
) -> dict[Axes, None]:
    """The axes of an operand that cannot split the operation where they are."""
    projection = project(tensor, axes, rule, extents)
    found = {projection.overflow: None}
    for factor, own in zip(rule.factors, projection.axes, strict=True):
        if factor.kind is FactorKind.NEED_REPLICATION:
            found[own or ()] = None
    found.pop((), None)
    return found


def _within_limit(proposals: Sequence[dict[Axes, None]]) -> list[list[Axes]]:
    """The proposals and none at all for each factor, without the last where there are too many."""
    kept = [list(found) for found in proposals]
    while prod(len(found) + 1 for found in kept) > PLAN_LIMIT:
        most = max(kept, key=len)
        most.pop()
    return [[*found, ()] for found in kept]


def _assignments(proposals: Sequence[Sequence[Axes]]) -> Iterator[tuple[Axes, ...]]:
    """One proposal for each factor, in all ways in which no axis is used twice."""

    def extend(chosen: list[Axes], used: frozenset[int]) -> Iterator[tuple[Axes, ...]]:
        if len(chosen) == len(proposals):
            yield tuple(chosen)
            return
        for axes in proposals[len(chosen)]:
            if used.isdisjoint(axes):
                yield from extend([*chosen, axes], used | set(axes))

    return extend([], frozenset())


def _sharding(
    rule: FactorRule,
    assignment: tuple[Axes, ...],
    operands: Sequence[PlannedTensor],
    results: Sequence[PlannedTensor],
    splits: FactorSplits,
) -> FactorSharding | None:
    """What an assignment comes to, `None` where a tensor cannot be split so."""
    extents = splits.extents
    placed: list[DimensionAxes] = []
    for tensor in (*rule.operands, *rule.results):
        axes = back(tensor, assignment, rule, extents)
        present = {factor for dimension in tensor for factor in dimension}
        if sum(map(len, axes)) != sum(len(assignment[factor]) for factor in present):
            return None
        placed.append(axes)
    needed, made = tuple(placed[: len(rule.operands)]), tuple(placed[len(rule.operands) :])
    sent = 0.0
    for index, (known, axes) in enumerate(zip(operands, needed, strict=True)):
        if known.axes is not None and known.axes != axes and axes not in known.copies:
            size = _operand_bytes(rule, index, known)
            sent += reshard_bytes(known.axes, axes, size, extents) / known.sharers
    fetched = 0.0
    for window in rule.windows:
        (factor,) = rule.operands[window.operand][window.dimension]
        size, parts = rule.factors[factor].size, prod(extents[a] for a in assignment[factor])
        if size is not None and parts > 1:
            whole = _operand_bytes(rule, window.operand, operands[window.operand])
            share = parts * local_size(whole, needed[window.operand], extents)
            fetched += window_bytes(window, size, parts, share)
    sent += fetched
    reduced = _reduced_axes(rule, assignment)
    before, price = sent, sent_bytes(extents)
    for index, (tensor, known, axes) in enumerate(zip(rule.results, results, made, strict=True)):
        size = tensor_bytes(tensor, known.width, rule)
        sent += result_price(rule, assignment, index, axes, known.axes, size, extents, price)
        for row, split in zip(rule.factors, assignment, strict=True):
            if row.kind is FactorKind.SELECTION:
                parts = prod(extents[axis] for axis in split)
                sent += local_size(size, axes, extents) * BROADCAST.sent(parts)
    offsets = tuple(splits.offsets(factor, axes) for factor, axes in enumerate(assignment))
    return FactorSharding(assignment, needed, made, reduced, offsets, sent, before, fetched)


def _operand_bytes(rule: FactorRule, index: int, known: PlannedTensor) -> float:
    """The size of a whole operand: along a window its extent is not that of the factor."""
    size = tensor_bytes(rule.operands[index], known.width, rule)
    for window in rule.windows:
        if window.operand == index:
            (factor,) = rule.operands[index][window.dimension]
            size *= window.extent / max(1, *known_extents([rule.factors[factor].size]))
    return size


def tensor_bytes(tensor: Sequence[Sequence[int]], width: float, rule: FactorRule) -> float:
    """The size of a whole tensor, from the sizes of its factors."""
    sizes = [rule.factors[factor].size for dimension in tensor for factor in dimension]
    return width * prod(known_extents(sizes))


def result_price(
    rule: FactorRule,
    assignment: Sequence[Axes],
    index: int,
    made: DimensionAxes,
    wanted: DimensionAxes | None,
    size: float,
    extents: Sequence[int],
    price: CollectivePrice,
) -> float:
    """What it takes to finish a result and to bring it to where it is wanted."""
    held = local_size(size, made, extents)
    if wanted is None:
        return finishing_price(rule, assignment, index, held, frozenset(), extents, price)
    splits = {axis: dimension for dimension, axes in enumerate(wanted) for axis in axes}
    found = finishing_price(rule, assignment, index, held, frozenset(splits), extents, price)
    reached = [list(axes) for axes in made]
    for axis in _reduced_axes(rule, assignment):
        if axis in splits:
            reached[splits[axis]].append(axis)
    source = tuple(map(tuple, reached))
    if source == wanted:
        return found
    return found + reshard_price(source, wanted, size, extents, price)


def _reduced_axes(rule: FactorRule, assignment: Sequence[Axes]) -> Axes:
    return tuple(
        axis
        for factor, axes in zip(rule.factors, assignment, strict=True)
        if factor.kind is FactorKind.REDUCTION
        for axis in axes
    )


def finishing_bytes(
    rule: FactorRule,
    assignment: Sequence[Axes],
    index: int,
    held: float,
    scattered: frozenset[int],
    extents: Sequence[int],
) -> float:
    """The bytes that it takes to reduce a result; see `finishing_price`."""
    return finishing_price(rule, assignment, index, held, scattered, extents, sent_bytes(extents))


def finishing_price(
    rule: FactorRule,
    assignment: Sequence[Axes],
    index: int,
    held: float,
    scattered: frozenset[int],
    extents: Sequence[int],
    price: CollectivePrice,
) -> float:
    """What it takes to reduce a result of which each process holds `held` bytes.

    Along the axes in `scattered` each process needs a part of it only.
    """
    found = 0.0
    for factor, axes in zip(rule.factors, assignment, strict=True):
        if factor.kind is not FactorKind.REDUCTION:
            continue
        for axis in axes:
            if factor.reductions[index] in (ReductionKind.GENERIC, None):
                # No collective combines so: all partial results are gathered.
                found += price(ALL_GATHER, held, (axis,))
            elif axis in scattered:
                found += price(REDUCE_SCATTER, held, (axis,))
                held /= extents[axis]
            else:
                found += price(ALL_REDUCE, held, (axis,))
    return found


def _rank(
    sharding: FactorSharding,
    operands: Sequence[PlannedTensor],
    results: Sequence[PlannedTensor],
    rule: FactorRule,
    extents: Sequence[int],
    preference: Preference,
) -> tuple[float, ...]:
    """What shardings are compared by, the smaller the better."""
    broken = sum(
        known.explicit and known.axes is not None and known.axes != axes
        for known, axes in zip(operands, sharding.operands, strict=True)
    )
    # A result that only has to be sliced on, or scattered while it is reduced, is as asked for.
    broken += sum(
        known.explicit and known.axes is not None and not extends(known.axes, axes)
        for known, axes in zip(results, sharding.results, strict=True)
    )
    parts = prod(
        extents[axis]
        for factor, axes in zip(rule.factors, sharding.factor_axes, strict=True)
        if factor.kind is not FactorKind.SELECTION  # There only one of them has work.
        for axis in axes
    )
    memory = sum(
        local_size(tensor_bytes(tensor, known.width, rule), axes, extents)
        for tensor, known, axes in zip(
            (*rule.operands, *rule.results),
            (*operands, *results),
            (*sharding.operands, *sharding.results),
            strict=True,
        )
    )
    first: float = -parts
    if preference.weigh_work:
        points = prod(known_extents([factor.size for factor in rule.factors]))
        first = sharding.bytes_sent + BYTES_PER_POINT * points / parts
    # What it takes to bring results where they are wanted may turn out not to be needed.
    return (broken, first, sharding.bytes_sent, sharding.bytes_before, memory)


def tensor_sharding(grid: Grid, factors: TensorFactors, assignment: Assignment) -> Sharding:
    """The sharding of a tensor that an assignment of its factors makes, without reductions."""
    axes: list[Axes] = []
    offsets: list[Offsets] = []
    for dimension in factors:
        axes.append(tuple(axis for factor in dimension for axis in assignment[factor][0]))
        offsets.append(assignment[dimension[0]][1] if len(dimension) == 1 else None)
    return Sharding(grid, tuple(axes), offsets=tuple(offsets))


def pending_reductions(
    rule: FactorRule, factor_axes: Sequence[Axes], result: int
) -> tuple[tuple[Partial, ...], Axes]:
    """What is left to do for a result: collectives, and the axes along which it is gathered.

    Reductions of the generic kind have no collective: partial values are gathered and combined.
    """
    partials: list[Partial] = []
    generic: Axes = ()
    for factor, axes in zip(rule.factors, factor_axes, strict=True):
        if not axes or factor.kind is not FactorKind.REDUCTION:
            continue
        kind = factor.reductions[result]
        if kind is None or kind is ReductionKind.GENERIC:
            generic += axes
        else:
            partials.append(Partial(kind, axes))
    return tuple(partials), generic
