"""Choose how one operation is sharded: the axes along which each of its factors is split.

Propagation and partitioning share this choice. If the annotations of all tensors agree, there is
nothing to choose (`annotated_op_sharding`). For example, `i` is split along axis 0 and `k` along 1:

    [i k], [k j] -> [i j]      with [[0], [1]], [[1], []] -> [[0], []]

Otherwise `choose_op_sharding` compares all assignments of the axes that the tensors propose, by

1. explicit annotations kept;
2. the number of processes that share the work;
3. bytes sent;
4. memory.

Tensors that differ from the chosen assignment are resharded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .collective_rows import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER
from .cost import (
    BYTES_PER_POINT,
    CollectivePrice,
    known_extents,
    local_bytes,
    reshard_bytes,
    reshard_price,
    sent_bytes,
)
from .factor_splits import FactorSplits, TensorState
from .factors import FactorKind, FactorRule, TensorFactors
from .grid import Grid
from .projection import project, unproject_all
from .sharding import (
    Axes,
    DimensionAxes,
    Offsets,
    Partial,
    ReductionKind,
    Sharding,
    Split,
    dimension_of_axis,
    is_finer_split,
)
from .slice_exchange import window_bytes

PLAN_LIMIT = 4096
"""Maximum number of assignments compared for one operation; excess proposals are dropped."""

Assignment = tuple[Split, ...]
"""For each factor its axes, and its explicit offsets or `None`."""


@dataclass(frozen=True, slots=True)
class FactorSharding:
    """The sharding chosen for an operation: the axes of each factor, operand and result.

    `results` are the shardings after reductions; `reduced` are the axes over which reductions
    communicate. All sizes are bytes per process.
    """

    factor_axes: tuple[Axes, ...]
    operands: tuple[DimensionAxes, ...]
    results: tuple[DimensionAxes, ...]
    reduced: Axes
    offsets: tuple[Offsets, ...]
    """Explicit offsets of each factor's shards."""
    bytes_sent: float
    bytes_before: float
    """The part of `bytes_sent` that brings the operands into place."""
    window_bytes: float = 0.0
    """The part of `bytes_before` that fetches elements of other processes' shards for windows."""

    @property
    def assignment(self) -> Assignment:
        """For each factor its axes and offsets."""
        return tuple(zip(self.factor_axes, self.offsets, strict=True))


@dataclass(frozen=True, slots=True)
class Preference:
    """Options of the choice.

    - `move_axes`: axes that would split a reduction or a permutation, or cannot split the operation
      where they are, are also proposed for other factors, since resharding the operands may be
      cheaper than reducing the results or gathering the operands;
    - `weigh_work`: trade additional work per process for fewer bytes sent. Otherwise the work is
      always spread over as many processes as possible;
    - `fill`: split no factor into more parts than it has elements.
    """

    move_axes: bool = True
    weigh_work: bool = False
    fill: bool = True


DEFAULT_PREFERENCE = Preference()


def annotated_op_sharding(
    rule: FactorRule,
    operands: Sequence[TensorState],
    results: Sequence[TensorState],
    grid: Grid,
    reserved: frozenset[int] = frozenset(),
) -> FactorSharding | None:
    """Return the sharding on which all tensors agree; `None` if there is a choice to make.

    There is a choice if a result has no sharding, two tensors split a factor differently, a factor
    cannot be split as requested, or a split uses a `reserved` axis of the call or the rule.
    """
    splits = FactorSplits(rule, operands, results, grid)
    found: dict[int, Axes] = {}
    for tensor, known in splits.tensors:
        if known.axes is None:
            continue
        projection = project(tensor, known.axes, rule, splits.extents)
        if projection.overflow:
            return None
        for factor, axes in enumerate(projection.axes):
            if axes is not None and found.setdefault(factor, axes) != axes:
                return None
    for tensor, known in zip(rule.results, results, strict=True):
        if tensor and known.axes is None:
            return None
    factor_axes = tuple(found.get(factor, ()) for factor in range(len(rule.factors)))
    used = [axis for axes in factor_axes for axis in axes]
    reserved |= rule.reserved
    if len(set(used)) < len(used) or not reserved.isdisjoint(used):
        return None
    if not all(splits.can_split(factor, axes) for factor, axes in enumerate(factor_axes)):
        return None
    return _sharding(splits, factor_axes)


def choose_op_sharding(
    rule: FactorRule,
    operands: Sequence[TensorState],
    results: Sequence[TensorState],
    grid: Grid,
    preference: Preference = DEFAULT_PREFERENCE,
    reserved: frozenset[int] = frozenset(),
) -> FactorSharding:
    """Return the best assignment of grid axes to the factors of a rule.

    No factor is split along `reserved` axes, those of the rule included. Raises ValueError if no
    assignment is possible.
    """
    splits = FactorSplits(rule, operands, results, grid)
    reserved |= rule.reserved
    proposals = _proposals(splits)
    if preference.move_axes:
        _propose_moved_axes(splits, proposals)
    can_split = splits.can_split_nonempty if preference.fill else splits.can_split
    for factor, found in enumerate(proposals):
        for axes in tuple(found):
            if not (reserved.isdisjoint(axes) and can_split(factor, axes)):
                del found[axes]
    best: tuple[tuple[float, ...], FactorSharding] | None = None
    for factor_axes in _assignments(_within_limit(proposals)):
        sharding = _sharding(splits, factor_axes)
        if sharding is None:
            continue
        key = _rank(splits, sharding, preference)
        if best is None or key < best[0]:
            best = (key, sharding)
    if best is None:
        raise ValueError(f"not even replication is possible for {rule}")
    return best[1]


def _proposals(splits: FactorSplits) -> list[dict[Axes, None]]:
    """Return for each factor the axes that tensors propose, without duplicates.

    Proper prefixes of proposed axes are added at the end, since other factors may need the rest.
    """
    rule = splits.rule
    proposals: list[dict[Axes, None]] = [{} for _ in rule.factors]
    for tensor, known in splits.tensors:
        if known.axes is None:
            continue
        for factor, axes in enumerate(project(tensor, known.axes, rule, splits.extents).axes):
            if axes and rule.factors[factor].kind is not FactorKind.NEED_REPLICATION:
                proposals[factor].setdefault(axes)
    for found in proposals:
        for axes in tuple(found):
            for count in range(len(axes) - 1, 0, -1):
                found.setdefault(axes[:count])
    return proposals


def _propose_moved_axes(splits: FactorSplits, proposals: Sequence[dict[Axes, None]]) -> None:
    """Append proposals that move axes to pass-through factors; see `Preference.move_axes`."""
    rule = splits.rule
    moving: dict[Axes, None] = {}
    for factor, found in zip(rule.factors, proposals, strict=True):
        if factor.kind in (FactorKind.REDUCTION, FactorKind.PERMUTATION):
            moving |= found
    for tensor, known in zip(rule.operands, splits.operands, strict=True):
        if known.axes is not None:
            moving |= _unusable_axes(rule, tensor, known.axes, splits.extents)
    for factor, found in zip(rule.factors, proposals, strict=True):
        if factor.kind is FactorKind.PASS_THROUGH:
            for axes in moving:
                for before in (*found, ()):
                    if not set(before) & set(axes):
                        found.setdefault((*before, *axes))


def _unusable_axes(
    rule: FactorRule, tensor: TensorFactors, axes: DimensionAxes, extents: Sequence[int]
) -> dict[Axes, None]:
    """Return the axes of an operand that cannot split the operation where they are."""
    projection = project(tensor, axes, rule, extents)
    found = {projection.overflow: None}
    for factor, own in zip(rule.factors, projection.axes, strict=True):
        if factor.kind is FactorKind.NEED_REPLICATION:
            found[own or ()] = None
    found.pop((), None)
    return found


def _within_limit(proposals: Sequence[dict[Axes, None]]) -> list[list[Axes]]:
    """Return each factor's proposals and the empty split, at most `PLAN_LIMIT` combinations."""
    kept = [list(found) for found in proposals]
    while prod(len(found) + 1 for found in kept) > PLAN_LIMIT:
        most = max(kept, key=len)
        most.pop()
    return [[*found, ()] for found in kept]


def _assignments(proposals: Sequence[Sequence[Axes]]) -> Iterator[tuple[Axes, ...]]:
    """Yield every choice of one proposal per factor in which no axis is used twice."""

    def extend(chosen: list[Axes], used: frozenset[int]) -> Iterator[tuple[Axes, ...]]:
        if len(chosen) == len(proposals):
            yield tuple(chosen)
            return
        for axes in proposals[len(chosen)]:
            if used.isdisjoint(axes):
                yield from extend([*chosen, axes], used | set(axes))

    return extend([], frozenset())


def _sharding(splits: FactorSplits, factor_axes: tuple[Axes, ...]) -> FactorSharding | None:
    """Compute the shardings and costs of these axes; `None` if a tensor cannot be split so."""
    rule, extents = splits.rule, splits.extents
    tensor_axes = unproject_all(factor_axes, rule, extents)
    if tensor_axes is None:
        return None
    needed, made = tensor_axes
    sent = 0.0
    for index, (known, axes) in enumerate(zip(splits.operands, needed, strict=True)):
        if known.axes is not None and known.axes != axes and axes not in known.copies:
            size = _operand_bytes(rule, index, known)
            sent += reshard_bytes(known.axes, axes, size, extents) / known.sharers
    fetched = 0.0
    for window in rule.windows:
        (factor,) = rule.operands[window.operand][window.dimension]
        parts = prod(extents[axis] for axis in factor_axes[factor])
        whole = _operand_bytes(rule, window.operand, splits.operands[window.operand])
        held = local_bytes(whole, needed[window.operand], extents)
        fetched += window_bytes(window, rule.factors[factor].size, parts, held)
    sent += fetched
    reduced = reduced_axes(rule, factor_axes)
    before, price = sent, sent_bytes(extents)
    for index, (tensor, known, axes) in enumerate(
        zip(rule.results, splits.results, made, strict=True)
    ):
        size = tensor_bytes(tensor, known.width, rule)
        result = UnreducedResult(rule, factor_axes, index, axes)
        sent += result.price(known.axes, size, extents, price)
        for row, split in zip(rule.factors, factor_axes, strict=True):
            if row.kind is FactorKind.SELECTION:
                parts = prod(extents[axis] for axis in split)
                sent += local_bytes(size, axes, extents) * BROADCAST.sent(parts)
    offsets = tuple(splits.offsets(factor, axes) for factor, axes in enumerate(factor_axes))
    return FactorSharding(factor_axes, needed, made, reduced, offsets, sent, before, fetched)


def _operand_bytes(rule: FactorRule, index: int, known: TensorState) -> float:
    """Return the size of a whole operand; along a window its extent differs from the factor's."""
    size = tensor_bytes(rule.operands[index], known.width, rule)
    for window in rule.windows:
        if window.operand == index:
            (factor,) = rule.operands[index][window.dimension]
            size *= window.extent / max(1, *known_extents([rule.factors[factor].size]))
    return size


def tensor_bytes(tensor: Sequence[Sequence[int]], width: float, rule: FactorRule) -> float:
    """Return the size of a whole tensor in bytes, computed from the sizes of its factors."""
    sizes = [rule.factors[factor].size for dimension in tensor for factor in dimension]
    return width * prod(known_extents(sizes))


@dataclass(frozen=True, slots=True)
class UnreducedResult:
    """A result of an operation before its reductions.

    - `factor_axes`: the axes of each factor of `rule`;
    - `index`: the number of the result;
    - `axes`: the sharding of what each process has computed.
    """

    rule: FactorRule
    factor_axes: tuple[Axes, ...]
    index: int
    axes: DimensionAxes

    @property
    def pending(self) -> tuple[tuple[ReductionKind | None, Axes], ...]:
        """The reductions that are left, each with its axes."""
        return _pending(self.rule, self.factor_axes, self.index)

    def price(
        self,
        wanted: DimensionAxes | None,
        size: float,
        extents: Sequence[int],
        price: CollectivePrice,
    ) -> float:
        """Return the price of reducing the result and resharding it to `wanted`.

        `size` is that of the whole result in bytes. If `wanted` is `None`, only the reduction
        counts.
        """
        held = local_bytes(size, self.axes, extents)
        splits = dimension_of_axis(wanted or ())
        found = self.reduction_price(held, frozenset(splits), extents, price)
        if wanted is None:
            return found
        reached = [list(axes) for axes in self.axes]
        for _, axes in self.pending:
            for axis in axes:
                if axis in splits:
                    reached[splits[axis]].append(axis)
        source = tuple(map(tuple, reached))
        return found + reshard_price(source, wanted, size, extents, price)

    def reduction_price(
        self,
        held: float,
        scattered: frozenset[int],
        extents: Sequence[int],
        price: CollectivePrice,
    ) -> float:
        """Return the price of reducing the result, of which each process holds `held` bytes.

        Along the axes in `scattered` a reduce-scatter suffices, since the result is split along
        them.
        """
        found = 0.0
        for kind, axes in self.pending:
            for axis in axes:
                if kind in (ReductionKind.GENERIC, None):
                    # No collective implements this reduction: all partial results are gathered.
                    found += price(ALL_GATHER, held, (axis,))
                elif axis in scattered:
                    found += price(REDUCE_SCATTER, held, (axis,))
                    held /= extents[axis]
                else:
                    found += price(ALL_REDUCE, held, (axis,))
        return found


def _pending(
    rule: FactorRule, factor_axes: Sequence[Axes], result: int
) -> tuple[tuple[ReductionKind | None, Axes], ...]:
    """Return the kinds of the reductions that leave a result partial, each with its axes."""
    return tuple(
        (factor.reductions[result], axes)
        for factor, axes in zip(rule.factors, factor_axes, strict=True)
        if axes and factor.kind is FactorKind.REDUCTION
    )


def reduced_axes(rule: FactorRule, factor_axes: Sequence[Axes]) -> Axes:
    """Return the axes along which reductions are split."""
    return tuple(
        axis
        for factor, axes in zip(rule.factors, factor_axes, strict=True)
        if factor.kind is FactorKind.REDUCTION
        for axis in axes
    )


def _rank(
    splits: FactorSplits, sharding: FactorSharding, preference: Preference
) -> tuple[float, ...]:
    """Return the sort key of a sharding; the smallest is best."""
    rule, extents = splits.rule, splits.extents
    broken = sum(
        known.explicit and known.axes is not None and known.axes != axes
        for known, axes in zip(splits.operands, sharding.operands, strict=True)
    )
    # A result that only has to be sliced further, or scattered by its reduction, is as requested.
    broken += sum(
        known.explicit and known.axes is not None and not is_finer_split(known.axes, axes)
        for known, axes in zip(splits.results, sharding.results, strict=True)
    )
    parts = prod(
        extents[axis]
        for factor, axes in zip(rule.factors, sharding.factor_axes, strict=True)
        if factor.kind is not FactorKind.SELECTION  # Only one process has work along it.
        for axis in axes
    )
    memory = sum(
        local_bytes(tensor_bytes(tensor, known.width, rule), axes, extents)
        for (tensor, known), axes in zip(
            splits.tensors, (*sharding.operands, *sharding.results), strict=True
        )
    )
    first: float = -parts
    if preference.weigh_work:
        points = prod(known_extents([factor.size for factor in rule.factors]))
        first = sharding.bytes_sent + BYTES_PER_POINT * points / parts
    # Prefer cheap operands, since resharding of results may turn out to be unnecessary.
    return (broken, first, sharding.bytes_sent, sharding.bytes_before, memory)


def tensor_sharding(grid: Grid, factors: TensorFactors, assignment: Assignment) -> Sharding:
    """Return the sharding of a tensor under an assignment of factors, without partials."""
    axes: list[Axes] = []
    offsets: list[Offsets] = []
    for dimension in factors:
        axes.append(tuple(axis for factor in dimension for axis in assignment[factor][0]))
        offsets.append(assignment[dimension[0]][1] if len(dimension) == 1 else None)
    return Sharding(grid, tuple(axes), offsets=tuple(offsets))


def pending_reductions(
    rule: FactorRule, factor_axes: Sequence[Axes], result: int
) -> tuple[tuple[Partial, ...], Axes]:
    """Return the pending reductions of a result, and the axes along which it must be gathered.

    Reductions of the generic kind have no collective: partial values are gathered, then combined.
    """
    partials: list[Partial] = []
    generic: Axes = ()
    for kind, axes in _pending(rule, factor_axes, result):
        if kind is None or kind is ReductionKind.GENERIC:
            generic += axes
        else:
            partials.append(Partial(kind, axes))
    return tuple(partials), generic
