"""Search on one grid: the integer program proposes plans, partitioned programs decide.

The integer program models each operation alone. The effect of propagation, partitioning and
simplification on a plan is known only after they have run. So the plan is written with few, more
and all annotations, each of these programs is partitioned and its cost counted, and the best is
kept. It is then improved by changing and dropping single annotations within a budget.
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
from ....sharding.sharding import DimensionAxes, is_finer_split
from ....sharding.time_model import BytesPrice, TimePrice
from ..cost.program_cost import Cost
from ..propagation.graph import ShardingGraph
from .candidates import Annotation, Evaluator, Objective
from .plans import Key, Plan, annotations_of, enough_of
from .problem_of import SearchedProgram, searched_program

WORTHWHILE = 0.9999
"""A plan replaces another if its cost is below this multiple, to ignore rounding differences."""
AS_PREDICTED = 1.0005
"""A program is good enough if its cost is at most this multiple of the integer program's."""
EVALUATED_OPERATIONS = 400
"""Budget for improving a plan: total operations of the programs that are partitioned."""
MIN_EVALUATIONS = 8
"""Minimum number of programs that may be partitioned to improve a plan."""
PRUNED_OPERATIONS = 600
"""Budget for dropping annotations: total operations of the programs that are partitioned."""
MAX_PRUNED = 16
"""Maximum number of programs that are partitioned to drop annotations."""
SMALL = 12
"""Programs of at most this many operations are improved even if the cost is as predicted."""
MEMORY_ROUNDS = 4
"""Maximum number of times the integer program is solved, each time with less memory."""


@dataclass(slots=True)
class Found:
    """The outcome of the search on one grid."""

    extents: tuple[int, ...]
    plan: Plan
    cost: Cost
    before: Cost
    """The cost of the program with its own annotations only."""
    program: SearchedProgram
    solution: Solution | None
    variables: int
    evaluations: int
    savings: dict[Key, Cost] = field(default_factory=dict[Key, Cost])
    """The cost of the program without one of its annotations, where that was evaluated."""

    def annotations(self) -> list[Annotation]:
        """Return the plan as annotations of the program."""
        return list(annotations_of(self.program, self.plan))


class GridSearch:
    """Searches for a plan on a grid with these extents; annotations name it `grid`."""

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
        self._budget = max(MIN_EVALUATIONS, budget)
        self._alternatives: dict[int, list[DimensionAxes]] = {}
        for decision in self._decisions.all:
            for option in decision.options:
                for tensor, axes in option.homes:
                    known = self._alternatives.setdefault(tensor, [])
                    if axes not in known:
                        known.append(axes)

    def search(self) -> Found:
        """Return the best plan found.

        Raises OperationError if the program cannot be partitioned as it is annotated, and
        MachineError if the grid is larger than the machine.
        """
        before = self._cost({})
        if before is None:
            # Propagation reports what is wrong with the existing annotations.
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

    def _solve(self, before: Cost) -> tuple[Plan, Cost, Solution | None]:
        """Return the best proposal of the integer program, with less memory until it fits."""
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
        """Return the peak bytes on each device if nothing is split."""
        tensors = self._program.problem.tensors
        return max(
            (
                sum(count * tensors[tensor].size for tensor, count in point.tensors)
                for point in self._program.problem.points
            ),
            default=0.0,
        )

    def _plans(self, solution: Solution) -> Iterator[Plan]:
        """Yield a solution with few, more and all of its annotations."""
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
        """Yield results that the solution reshards after they are made, with the axes before that.

        Partitioning follows an annotation of the producer even if that moves the operands. So the
        producer is annotated with the axes that the operation makes, and the users with those that
        the solution wants.
        """
        for option in solution.options:
            for tensor, made in option.makes:
                if not made.pending and not is_finer_split(homes[tensor], made.axes):
                    yield tensor, made.axes

    def _wants(
        self,
        solution: Solution,
        homes: dict[int, DimensionAxes],
        lies: dict[int, DimensionAxes],
    ) -> Iterator[tuple[Key, DimensionAxes]]:
        """Yield operands that operations want in another sharding than that of the tensor."""
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

    def _try_arguments(self, plan: Plan, cost: Cost) -> tuple[Plan, Cost]:
        """Try all combinations of argument shardings, if they are within the budget."""
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
        """Drop annotations that change nothing; also return the cost without each of the others."""
        order = sorted(
            plan, key=lambda key: (self._is_argument(key), any(plan[key]), self._size(key), key)
        )
        savings: dict[Key, Cost] = {}
        affordable = PRUNED_OPERATIONS // max(1, len(self._program.relations))
        self._budget = self._evaluator.count + min(MAX_PRUNED, affordable)
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
