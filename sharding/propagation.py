"""Propagate shardings to a fixpoint over a table of tensors and operations. No IR.

The order is Shardy's and determines the quality of the result: cheap and unambiguous propagation
comes before that through contractions. Each stage includes those before it:

0. elementwise operations, transposes, reshapes and data-flow edges whose operands have one use;
1. the same with any number of uses;
2. pass-through factors of any operation; broadcasts only from result to operand;
3. everything but broadcasts from operand to result;
4. everything.

Each stage runs the basic strategy to a fixpoint, then the aggressive one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from .factor_propagation import Direction, StepResult, TensorSide, propagate_step
from .factors import FactorKind, FactorRule
from .sharding import Axes, DimensionAxes, is_finer_split


class Stage(IntEnum):
    """The stages of propagation; see the docstring of this module."""

    SINGLE_USE = 0
    PASS_THROUGH_OPERATIONS = 1
    PASS_THROUGH_FACTORS = 2
    NO_BROADCAST_FORWARD = 3
    EVERYTHING = 4


class RuleClass(IntEnum):
    """How a rule is treated by the stages."""

    PASS_THROUGH = 0
    """All factors pass through, and one operand has them all: elementwise, transpose, reshape."""
    BROADCAST = 1
    """All factors pass through, and no operand has all of them."""
    OTHER = 2


def classify(rule: FactorRule, operands: Sequence[int | None] | None = None) -> RuleClass:
    """Return the class of a rule; operands whose entry in `operands` is `None` are ignored."""
    if any(factor.kind is not FactorKind.PASS_THROUGH for factor in rule.factors):
        return RuleClass.OTHER
    everything = {f for tensor in rule.results for dimension in tensor for f in dimension}
    for index, tensor in enumerate(rule.operands):
        if operands is not None and operands[index] is None:
            continue
        if everything <= {f for dimension in tensor for f in dimension}:
            return RuleClass.PASS_THROUGH
    return RuleClass.BROADCAST


@dataclass(frozen=True, slots=True)
class OperationNode:
    """One operation: its rule, and the indices of its operands and results in the table of tensors.

    A slot is `None` if its value is not in the table: scalars, and values that are rematerialised
    for each use. `single_use` says whether no operand has another use. Shardings are propagated
    only in `directions`.
    """

    rule: FactorRule
    operands: tuple[int | None, ...]
    results: tuple[int | None, ...]
    single_use: bool = False
    directions: Direction = Direction.BOTH


@dataclass(slots=True)
class TensorNode:
    """One tensor of the table: its split axes, which propagation updates, and its open dimensions.

    `priorities[d]` is the priority from which on the axes of dimension `d` are visible to others.
    """

    axes: DimensionAxes
    open_dimensions: tuple[bool, ...]
    priorities: tuple[int, ...] = ()
    origins: list[Origin] = field(default_factory=list["Origin"])
    replicated: Axes = ()
    """Axes that split no dimension, open or not."""

    @staticmethod
    def unknown(rank: int) -> TensorNode:
        """Return a tensor that has no sharding and is open in all dimensions."""
        return TensorNode(((),) * rank, (True,) * rank)


@dataclass(frozen=True, slots=True)
class Origin:
    """Why a tensor gained axes: the operation and stage, and its axes before and after."""

    operation: int
    stage: Stage
    aggressive: bool
    before: DimensionAxes
    after: DimensionAxes


def directions_of(
    rule: FactorRule, rule_class: RuleClass, single_use: bool, stage: Stage, allowed: Direction
) -> tuple[Direction, ...]:
    """Return for each factor the directions in which it may be propagated at a stage."""
    by_operation = Direction.NONE
    if rule_class is RuleClass.PASS_THROUGH and (
        stage >= Stage.PASS_THROUGH_OPERATIONS or single_use
    ):
        by_operation = Direction.BOTH
    result: list[Direction] = []
    for factor in rule.factors:
        direction = by_operation
        if factor.kind is FactorKind.NEED_REPLICATION:
            direction = Direction.NONE
        elif stage >= Stage.PASS_THROUGH_FACTORS and (
            factor.kind is FactorKind.PASS_THROUGH or stage >= Stage.NO_BROADCAST_FORWARD
        ):
            one_way = rule_class is RuleClass.BROADCAST and stage < Stage.EVERYTHING
            direction |= Direction.BACKWARD if one_way else Direction.BOTH
        result.append(direction & allowed)
    return tuple(result)


_State = tuple[DimensionAxes, tuple[bool, ...], Axes]
"""What a step reads of a tensor: its axes, open dimensions, and replicated axes."""


def _state(tensor: TensorNode) -> _State:
    return tensor.axes, tensor.open_dimensions, tensor.replicated


def _reveal(
    tensor: TensorNode, axes: DimensionAxes, open_dimensions: tuple[bool, ...], priority: int
) -> None:
    """Show those of the given axes and open dimensions of a tensor that have reached a priority.

    Axes that were added at earlier priorities are kept. No dimension is open as long as the tensor
    has axes of a later priority, which an added axis might duplicate.
    """
    seen = [own <= priority for own in tensor.priorities]
    complete = all(visible or not own for visible, own in zip(seen, axes, strict=True))
    tensor.axes = tuple(
        now if own < priority else given if own == priority else ()
        for now, given, own in zip(tensor.axes, axes, tensor.priorities, strict=True)
    )
    tensor.open_dimensions = tuple(
        is_open and visible and complete
        for is_open, visible in zip(open_dimensions, seen, strict=True)
    )


_Step = tuple[StepResult, bool]
"""The result of a step, and whether it changes any tensor."""


class Propagation:
    """Propagation over one table of tensors and operations on one grid.

    `extents` are those of the grid. Tensors are changed in place.
    """

    def __init__(
        self,
        tensors: list[TensorNode],
        operations: Sequence[OperationNode],
        extents: Sequence[int],
        *,
        explain: bool = False,
    ) -> None:
        self._tensors = tensors
        self._operations = operations
        self._extents = tuple(extents)
        self._explain = explain
        self._classes: dict[tuple[int, ...], RuleClass] = {}
        # Directions depend only on the kind of an operation, so kinds are numbered.
        kinds: dict[tuple[int, RuleClass, bool, Direction], int] = {}
        self._examples: list[tuple[FactorRule, RuleClass, bool, Direction]] = []
        self._kinds: list[int] = []
        for node in operations:
            rule_class = self._class_of(node)
            key = (id(node.rule), rule_class, node.single_use, node.directions)
            if key not in kinds:
                kinds[key] = len(kinds)
                self._examples.append((node.rule, *key[1:]))
            self._kinds.append(kinds[key])
        self._at: list[list[int]] = [[] for _ in tensors]
        for index, node in enumerate(operations):
            for tensor in {*node.operands, *node.results} - {None}:
                assert tensor is not None
                self._at[tensor].append(index)
        self._pending: set[int] = set()
        self._direction = 0
        self._steps: dict[object, _Step] = {}

    def _class_of(self, node: OperationNode) -> RuleClass:
        key = (id(node.rule), *(slot is None for slot in node.operands))
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = classify(node.rule, node.operands)
        return known

    def run(self, passes: Sequence[Direction] = (Direction.BOTH,)) -> None:
        """Propagate to a fixpoint, priority by priority and stage by stage.

        `passes` restricts directions: each entry is run to its own fixpoint, in order.
        """
        priorities = sorted({0, *(own for node in self._tensors for own in node.priorities)})
        later = {
            index: (node.axes, node.open_dimensions)
            for index, node in enumerate(self._tensors)
            if any(own > priorities[0] for own in node.priorities)
        }
        start = [index for index, node in enumerate(self._tensors) if any(node.axes)]
        for priority in priorities:
            for index, (axes, open_dimensions) in later.items():
                _reveal(self._tensors[index], axes, open_dimensions, priority)
            fresh = start if priority == priorities[0] else list(later)
            touched = {op for index in fresh for op in self._at[index]}
            for direction in passes:
                self._direction = direction.value
                for stage in Stage:
                    for aggressive in (False, True):
                        self._fixpoint(touched | self._pending, stage, aggressive, direction)
                        touched = set[int]()

    def _fixpoint(
        self, start: Iterable[int], stage: Stage, aggressive: bool, allowed: Direction
    ) -> None:
        directions = [
            directions_of(rule, rule_class, single_use, stage, allowed & own)
            for rule, rule_class, single_use, own in self._examples
        ]
        queue = deque(sorted(start))
        queued = set(queue)
        while queue:
            index = queue.popleft()
            queued.discard(index)
            step = self._step(index, directions[self._kinds[index]], aggressive, stage)
            for tensor in self._take(index, step, stage, aggressive):
                for other in self._at[tensor]:
                    if other != index and other not in queued:
                        queued.add(other)
                        queue.append(other)

    def _step(
        self, index: int, directions: tuple[Direction, ...], aggressive: bool, stage: Stage
    ) -> _Step:
        """Compute a step at an operation, cached for equal kinds of operation and tensors."""
        node, tensors = self._operations[index], self._tensors
        state = tuple(
            [
                None if slot is None else _state(tensors[slot])
                for slot in (*node.operands, *node.results)
            ]
        )
        key = (self._kinds[index], stage.value, aggressive, self._direction, state)
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = self._compute(node, state, directions, aggressive)
        return step

    def _take(self, index: int, step: _Step, stage: Stage, aggressive: bool) -> list[int]:
        """Update an operation's tensors with the result of a step; return the changed ones."""
        result, moves = step
        if result.agreed:
            self._pending.discard(index)
        else:
            self._pending.add(index)
        changed: list[int] = []
        if not moves:
            return changed
        node = self._operations[index]
        present = (slot for slot in (*node.operands, *node.results) if slot is not None)
        for slot, axes in zip(present, result.axes, strict=True):
            tensor = self._tensors[slot]
            before = tensor.axes
            # A tensor may be at two slots with different factors: take only axes that extend its
            # own.
            if axes != before and is_finer_split(axes, before):
                tensor.axes = axes
                changed.append(slot)
                if self._explain:
                    tensor.origins.append(Origin(index, stage, aggressive, before, axes))
        return changed

    def _compute(
        self,
        node: OperationNode,
        state: Sequence[_State | None],
        directions: Sequence[Direction],
        aggressive: bool,
    ) -> _Step:
        factors = (*node.rule.operands, *node.rule.results)
        sides = [
            TensorSide(factors[i], each[0], each[1], i >= len(node.operands), each[2])
            for i, each in enumerate(state)
            if each is not None
        ]
        result = propagate_step(node.rule, sides, directions, self._extents, aggressive=aggressive)
        return result, any(axes != side.axes for axes, side in zip(result.axes, sides, strict=True))
