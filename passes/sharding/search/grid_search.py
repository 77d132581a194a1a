"""The search on one grid: the integer program proposes, partitioned programs decide.

The integer program knows each operation alone; what propagation, partitioning and simplification
make of a plan is only known when they have run. So the plan that it finds is written as few, more
and all annotations, each of these programs is partitioned and counted, the best is kept, and it is
bettered by changing and dropping one annotation after the other as long as that is affordable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from operator import ne

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....ir.diagnostics import OperationError
from ....sharding.grid import Grid
from ....sharding.search.integer_program import IntegerProgram, Solution
from ....sharding.search.options import Decisions
from ....sharding.sharding import DimensionAxes, extends
from ....sharding.time_model import BytesPrice, TimePrice
from ..cost_report import Cost
from ..propagation.graph import ShardingGraph
from .candidates import Annotation, Evaluator, Objective
from .plans import Key, Plan, annotations_of, enough_of
from .problem_of import SearchedProgram, searched_program

WORTHWHILE = 0.9999
"""By how much a plan must be better to replace another one, and not be mistaken for it."""
AS_PREDICTED = 1.0005
"""A program that costs no more than so many times what the integer program says is good enough."""
EVALUATED_OPERATIONS = 400
"""Operations of the programs that are partitioned to better a plan, all together."""
LEAST_EVALUATIONS = 8
PRUNED_OPERATIONS = 600
"""Operations of the programs that are partitioned to drop annotations, all together."""
MOST_PRUNED = 16
"""How many of these programs there are at most."""
SMALL = 12
"""Operations of a program for which changes are tried even if all is as predicted."""
MEMORY_ROUNDS = 4
"""How often the integer program is solved anew with less memory."""


@dataclass(slots=True)
class Found:
    """The outcome on one grid."""

    extents: tuple[int, ...]
    plan: Plan
    cost: Cost
    before: Cost
    """What the program costs as propagation alone places it."""
    program: SearchedProgram
    solution: Solution | None
    variables: int
    evaluations: int
    savings: dict[Key, Cost] = field(default_factory=dict[Key, Cost])
    """What the program costs without one of its annotations, as far as that was looked at."""

    def annotations(self) -> list[Annotation]:
        """The plan, as annotations of the program."""
        return list(annotations_of(self.program, self.plan))


class GridSearch:
    """Searches for a plan on a grid with such extents. `grid` is how annotations name it."""

    def __init__(
        self,
        context: Context,
        module: ModuleOp,
        graph: ShardingGraph,
        grid: str,
        extents: tuple[int, ...],
        objective: Objective,
        deadline: float,
    ) -> None:
        self._objective, self._extents, self._deadline = objective, extents, deadline
        self._program = searched_program(graph)
        price = TimePrice(objective.machine, extents) if objective.by_time else BytesPrice(extents)
        self._decisions = Decisions(self._program.problem, Grid("grid", extents), price)
        self._evaluator = Evaluator(context, module, grid, objective)
        self._variables = 0
        budget = EVALUATED_OPERATIONS // max(1, len(self._program.relations))
        self._budget = max(LEAST_EVALUATIONS, budget)
        self._alternatives: dict[int, list[DimensionAxes]] = {}
        for decision in self._decisions.all:
            for option in decision.options:
                for tensor, axes in option.homes:
                    known = self._alternatives.setdefault(tensor, [])
                    if axes not in known:
                        known.append(axes)

    def search(self) -> Found:
        """The best plan that is found. Raises OperationError for a program that has none."""
        before = self._cost({})
        if before is None:
            # What is wrong with the annotations that the program has is for propagation to say.
            raise OperationError(
                self._program.graph.functions[0],
                "cannot be partitioned as it is annotated; run 'spmd' on it to see why",
            )
        plan, cost, solution = self._solve(before)
        small = len(self._program.relations) <= SMALL
        if small:
            plan, cost = self._try_arguments(plan, cost)
        if small or solution is None or not self._is_as_predicted(cost, solution):
            plan, cost = self._better(plan, cost)
        plan, cost, savings = self._prune(plan, cost)
        return Found(
            self._extents,
            plan,
            cost,
            before,
            self._program,
            solution,
            self._variables,
            self._evaluator.count,
            savings,
        )

    # By the integer program.

    def _solve(self, before: Cost) -> tuple[Plan, Cost, Solution | None]:
        """The best of what the integer program proposes, with ever less memory until it fits."""
        best: Plan = {}
        cost, solution, memory = before, None, self._objective.memory
        if memory is not None and self._most_held() <= memory:
            memory = None
        for _ in range(MEMORY_ROUNDS):
            left = self._deadline - time.monotonic()
            integer_program = IntegerProgram(self._decisions, memory)
            self._variables = integer_program.size[0]
            found = integer_program.solve(left / 3)
            if found is None:
                break
            solution = solution or found
            proposed, its_cost = self._best_of(self._plans(found), found)
            if its_cost is not None and self._is_better(its_cost, cost):
                best, cost = proposed, its_cost
            limit = self._objective.memory
            if self._objective.fits(cost) or its_cost is None or limit is None:
                break
            memory = (memory or limit) * min(0.95, limit / max(its_cost.peak, 1))
        return best, cost, solution

    def _most_held(self) -> float:
        """The bytes on each device if nothing is split."""
        tensors = self._program.problem.tensors
        return max(
            (
                sum(count * tensors[tensor].size for tensor, count in point.tensors)
                for point in self._program.problem.points
            ),
            default=0.0,
        )

    def _plans(self, solution: Solution) -> Iterator[Plan]:
        """A solution with few, more and all of its annotations."""
        problem, homes = self._program.problem, solution.homes()
        lies = homes | dict(self._moved(solution, homes))
        free = {
            Key(tensor): axes
            for tensor, axes in lies.items()
            if problem.tensors[tensor].pinned is None
        }
        yield {key: axes for key, axes in free.items() if any(axes) and self._is_argument(key)}
        wants = dict(self._wants(solution, homes, lies))
        enough = enough_of(self._program, free, self._extents)
        yield enough
        yield enough | wants
        yield free | wants

    def _moved(
        self, solution: Solution, homes: dict[int, DimensionAxes]
    ) -> Iterator[tuple[int, DimensionAxes]]:
        """The results that lie elsewhere than an operation makes them, as it makes them.

        An annotation says how the producer leaves a value, and partitioning follows that even if
        it moves the operands. So a result that is to be moved is annotated for its users.
        """
        for option in solution.options:
            for tensor, made in option.makes:
                if not made.pending and not extends(homes[tensor], made.axes):
                    yield tensor, made.axes

    def _wants(
        self,
        solution: Solution,
        homes: dict[int, DimensionAxes],
        lies: dict[int, DimensionAxes],
    ) -> Iterator[tuple[Key, DimensionAxes]]:
        """The operands that operations want elsewhere than they lie."""
        for decision, option in zip(self._decisions.all, solution.options, strict=True):
            wanted = dict(option.wants)
            for number in decision.operations:
                for slot, tensors in enumerate(self._program.problem.operations[number].operands):
                    shardings = [wanted.get(tensor, homes[tensor]) for tensor in tensors]
                    if any(map(ne, shardings, (lies[tensor] for tensor in tensors))):
                        yield Key(number, slot), shardings[0]

    def _best_of(self, plans: Iterable[Plan], solution: Solution) -> tuple[Plan, Cost | None]:
        best: Plan = {}
        cost: Cost | None = None
        for plan in plans:
            found = self._cost(plan)
            if found is not None and (cost is None or self._is_better(found, cost)):
                best, cost = plan, found
            if cost is not None and self._is_as_predicted(cost, solution):
                break
            if time.monotonic() > self._deadline:
                break
        return best, cost

    # By one change after the other.

    def _try_arguments(self, plan: Plan, cost: Cost) -> tuple[Plan, Cost]:
        """Try all ways to place the arguments, if these are few."""
        tensors = [
            number
            for number in sorted(self._alternatives)
            if self._is_argument(Key(number)) and self._is_open(Key(number))
        ]
        choices = [self._alternatives[number] for number in tensors]
        if prod(map(len, choices)) > self._budget:
            return plan, cost
        for shardings in product(*choices):
            other = dict(zip(map(Key, tensors), shardings, strict=True))
            found = self._cost(other) if self._may_evaluate() else None
            if found is not None and self._is_better(found, cost):
                plan, cost = other, found
        return plan, cost

    def _better(self, plan: Plan, cost: Cost) -> tuple[Plan, Cost]:
        """Change the sharding of one tensor at a time, as long as that helps."""
        keys = [key for key in map(Key, sorted(self._alternatives)) if self._is_open(key)]
        # Arguments first, large ones before small ones.
        keys.sort(key=lambda key: (not self._is_argument(key), -self._size(key), key))
        changed = True
        while changed:
            changed = False
            for key in keys:
                if not (self._is_argument(key) or key in plan):
                    continue
                for axes in self._alternatives[key.number]:
                    if plan.get(key) == axes or not self._may_evaluate():
                        continue
                    found = self._cost(plan | {key: axes})
                    if found is not None and self._is_better(found, cost):
                        plan, cost, changed = plan | {key: axes}, found, True
        return plan, cost

    def _prune(self, plan: Plan, cost: Cost) -> tuple[Plan, Cost, dict[Key, Cost]]:
        """Drop annotations that change nothing; returns what the others save, too."""
        order = sorted(
            plan, key=lambda key: (self._is_argument(key), any(plan[key]), self._size(key), key)
        )
        savings: dict[Key, Cost] = {}
        affordable = PRUNED_OPERATIONS // max(1, len(self._program.relations))
        self._budget = self._evaluator.count + min(MOST_PRUNED, affordable)
        for key in order:
            if not self._may_evaluate():
                break
            rest = {other: axes for other, axes in plan.items() if other != key}
            found = self._cost(rest)
            if found is None:
                continue
            if self._objective.rank(found)[:2] <= self._objective.rank(cost)[:2]:
                plan, cost = rest, found
            else:
                savings[key] = found
        return plan, cost, savings

    # Helpers.

    def _cost(self, plan: Plan) -> Cost | None:
        return self._evaluator.cost(list(annotations_of(self._program, plan)))

    def _is_better(self, one: Cost, other: Cost) -> bool:
        over, score, _ = self._objective.rank(one)
        other_over, other_score, _ = self._objective.rank(other)
        if over or other_over:
            return over < other_over * WORTHWHILE
        return score < other_score * WORTHWHILE

    def _is_as_predicted(self, cost: Cost, solution: Solution) -> bool:
        score = self._objective.score(cost)
        return self._objective.fits(cost) and score <= solution.price * AS_PREDICTED

    def _may_evaluate(self) -> bool:
        return self._evaluator.count < self._budget and time.monotonic() < self._deadline

    def _is_argument(self, key: Key) -> bool:
        return key.slot < 0 and self._program.problem.tensors[key.number].is_argument

    def _is_open(self, key: Key) -> bool:
        return self._program.problem.tensors[key.number].pinned is None

    def _size(self, key: Key) -> float:
        return self._program.problem.tensors[key.number].size if key.slot < 0 else 0.0
