"""Enumerate the decisions of a sharding search, and the options of each with their prices.

The tensors and operations of a region (`regions.py`) are decided together: an option assigns axes
to each class of related dimensions. All others are decided on their own, and the cost of resharding
is accounted for between two decisions (`integer_program.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from ..collective_rows import SEND
from ..cost import known_extents, local_bytes
from ..factor_splits import FactorSplits, TensorState
from ..factors import FactorKind
from ..grid import Grid
from ..op_sharding import UnreducedResult
from ..projection import unproject_all
from ..sharding import Axes, DimensionAxes
from ..slice_exchange import window_bytes
from ..time_model import Price
from .problem import Problem, SearchOperation, SearchTensor
from .regions import Region, Regions

MAX_OPTIONS = 2048
"""Maximum number of options of a decision; beyond it, the smallest classes are not split."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a decision.

    - `price`: of the computation and communication within, beyond `Decisions.ideal`;
    - `homes`: shardings of the tensors that are decided here;
    - `wants`: tensors of other decisions, in the shardings that operations here read;
    - `makes`: tensors of other decisions, in the state that operations here leave them in.

    All options of a decision name the same tensors in the same order.
    """

    price: float
    homes: tuple[tuple[int, DimensionAxes], ...] = ()
    wants: tuple[tuple[int, DimensionAxes], ...] = ()
    makes: tuple[tuple[int, UnreducedResult], ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Options of which one is chosen, for some tensors and the operations between them."""

    options: tuple[Option, ...]
    operations: tuple[int, ...] = ()
    times: int = 1
    """How often operations that read or make tensors of other decisions run."""


class Decisions:
    """All decisions of a problem on a grid, with prices."""

    def __init__(self, problem: Problem, grid: Grid, price: Price) -> None:
        self.problem, self.grid, self.price = problem, grid, price
        self.extents = known_extents(grid.shape)
        self._factor_splits: dict[int, FactorSplits] = {}
        self._prices: dict[tuple[int, tuple[Axes, ...]], float] = {}
        self.ideal = sum(each.times * self._ideal(each) for each in problem.operations)
        """The price of all work when spread evenly: a lower bound that option prices leave out."""
        regions = Regions(problem)
        merged = regions.merged()
        self.all = [self._region(regions, region) for region in merged]
        inside = {tensor for region in merged for tensor in region.tensors}
        self.all += [
            Decision(tuple(self._tensor_options(index, tensor)))
            for index, tensor in enumerate(problem.tensors)
            if index not in inside
        ]
        self.all += [
            self._operation_decision(index)
            for index in range(len(problem.operations))
            if index not in regions.factor_classes
        ]

    def _tensor_options(self, index: int, tensor: SearchTensor) -> Iterator[Option]:
        if tensor.pinned is not None:
            yield Option(0.0, ((index, tensor.pinned),))
            return
        for split in self._splits(tensor.shape):
            yield Option(0.0, ((index, split),))

    def _splits(self, sizes: Sequence[int | None]) -> Iterator[tuple[Axes, ...]]:
        """Yield all even splits of the extents; axes that split one extent are in grid order."""
        choices = range(-1, len(sizes))
        for places in product(choices, repeat=len(self.extents)):
            split = tuple(
                tuple(axis for axis, place in enumerate(places) if place == position)
                for position in range(len(sizes))
            )
            if all(self._divides(size, axes) for size, axes in zip(sizes, split, strict=True)):
                yield split

    def _divides(self, size: int | None, axes: Axes) -> bool:
        parts = prod(self.extents[axis] for axis in axes)
        return not axes or (size is not None and size % parts == 0 and size >= parts)

    def _operation_decision(self, index: int) -> Decision:
        operation = self.problem.operations[index]
        rule = operation.rule
        sizes = [
            factor.size if factor.kind not in _NEVER_SPLIT else None for factor in rule.factors
        ]
        largest = sorted(range(len(sizes)), key=lambda f: (-(sizes[f] or 0), f))
        while (1 + sum(size is not None for size in sizes)) ** len(self.extents) > MAX_OPTIONS:
            sizes[next(f for f in reversed(largest) if sizes[f] is not None)] = None
        options = (self._option({index: each}, {}) for each in self._splits(sizes))
        return Decision(tuple(filter(None, options)), (index,), operation.times)

    def _option(
        self, chosen: Mapping[int, tuple[Axes, ...]], homes: dict[int, DimensionAxes]
    ) -> Option | None:
        """Return the option with these axes of each operation's factors, and of each tensor.

        Returns `None` if an operation cannot be split so.
        """
        total = 0.0
        wants: list[tuple[int, DimensionAxes]] = []
        makes: list[tuple[int, UnreducedResult]] = []
        for index, factor_axes in chosen.items():
            operation = self.problem.operations[index]
            tensor_axes = unproject_all(factor_axes, operation.rule, self.extents)
            if tensor_axes is None:
                return None
            needed, made = tensor_axes
            key = index, factor_axes
            if key not in self._prices:
                if not self._can_split(index, factor_axes):
                    return None
                self._prices[key] = self._kernel(operation, factor_axes, needed, made) + (
                    self._finishing(operation, factor_axes, made, homes)
                )
            # An operation that is decided alone is multiplied in the integer program.
            total += self._prices[key] * (operation.times if homes else 1)
            for slot, axes in zip(operation.operands, needed, strict=True):
                wants += [(tensor, axes) for tensor in slot if tensor not in homes]
            for result, (slot, axes) in enumerate(zip(operation.results, made, strict=True)):
                makes += [
                    (tensor, UnreducedResult(operation.rule, factor_axes, result, axes))
                    for tensor in slot
                    if tensor not in homes
                ]
        return Option(total, tuple(homes.items()), tuple(wants), tuple(makes))

    def _can_split(self, index: int, factor_axes: tuple[Axes, ...]) -> bool:
        """Return whether every factor of an operation can be split along its axes."""
        if index not in self._factor_splits:
            rule = self.problem.operations[index].rule
            operands, results = (
                [TensorState(None)] * len(each) for each in (rule.operands, rule.results)
            )
            self._factor_splits[index] = FactorSplits(rule, operands, results, self.grid)
        return all(
            not axes or self._factor_splits[index].can_split_nonempty(factor, axes)
            for factor, axes in enumerate(factor_axes)
        )

    def _kernel(
        self,
        operation: SearchOperation,
        factor_axes: tuple[Axes, ...],
        needed: Sequence[DimensionAxes],
        made: Sequence[DimensionAxes],
    ) -> float:
        """Return the price of an operation and of fetching its windows, beyond the ideal."""
        parts = prod(self.extents[axis] for axes in factor_axes for axis in axes)
        traffic = 0.0
        for slots, tensor_axes, kept in (
            (operation.operands, needed, operation.read),
            (operation.results, made, operation.written),
        ):
            for index, (slot, axes) in enumerate(zip(slots, tensor_axes, strict=True)):
                if index in kept and slot:
                    traffic += self._local(slot[0], axes)
        found = -self._ideal(operation)
        if operation.work or traffic:
            found += self.price.kernel(operation.work / parts, operation.element, traffic)
            if not operation.is_kernel:
                found -= self.price.kernel(0.0, operation.element, 0.0)
        for window in operation.rule.windows:
            slot = operation.operands[window.operand]
            (factor,) = operation.rule.operands[window.operand][window.dimension]
            size, axes = operation.rule.factors[factor].size, factor_axes[factor]
            pieces = prod(self.extents[axis] for axis in axes)
            held = self._local(slot[0], needed[window.operand]) if slot else 0.0
            if fetched := window_bytes(window, size, pieces, held):
                found += self.price.collective(SEND, fetched, axes)
        return found

    def _ideal(self, operation: SearchOperation) -> float:
        """Return the price of an operation's work on all devices, without memory traffic."""
        work = operation.work / prod(self.extents)
        launch = 0.0 if operation.is_kernel else self.price.kernel(0.0, operation.element, 0.0)
        return self.price.kernel(work, operation.element, 0.0) - launch if work else 0.0

    def _local(self, tensor: int, axes: DimensionAxes) -> float:
        return local_bytes(self.problem.tensors[tensor].size, axes, self.extents)

    def _region(self, regions: Regions, region: Region) -> Decision:
        classes, weight = regions.extents(region), regions.weights(region)
        numbers = sorted(classes, key=lambda each: (-weight.get(each, 0.0), each))
        while (1 + len(numbers)) ** len(self.extents) > MAX_OPTIONS:
            numbers.pop()
        options: list[Option | None] = []
        for split in self._splits([classes[number] for number in numbers]):
            by_class = dict(zip(numbers, split, strict=True))

            def axes_of(members: Sequence[int], known: dict[int, Axes] = by_class) -> DimensionAxes:
                return tuple(known.get(each, ()) for each in members)

            homes = {each: axes_of(regions.dimension_classes[each]) for each in region.tensors}
            chosen = {each: axes_of(regions.factor_classes[each]) for each in region.operations}
            options.append(self._option(chosen, homes))
        times = max(self.problem.operations[index].times for index in region.operations)
        return Decision(tuple(filter(None, options)), tuple(region.operations), times)

    def _finishing(
        self,
        operation: SearchOperation,
        factor_axes: tuple[Axes, ...],
        made: Sequence[DimensionAxes],
        homes: dict[int, DimensionAxes],
    ) -> float:
        """Return the price of finishing results whose homes belong to the same decision."""
        return sum(
            self.made_price(
                tensor, UnreducedResult(operation.rule, factor_axes, index, axes), homes[tensor]
            )
            for index, (slot, axes) in enumerate(zip(operation.results, made, strict=True))
            for tensor in slot[:1]
            if tensor in homes
        )

    def made_price(self, tensor: int, made: UnreducedResult, home: DimensionAxes) -> float:
        """Return the price of reducing a result and resharding it to its home."""
        size = self.problem.tensors[tensor].size
        return made.price(home, size, self.extents, self.price.collective)


_NEVER_SPLIT = frozenset((FactorKind.NEED_REPLICATION, FactorKind.SELECTION))
