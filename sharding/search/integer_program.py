"""Formulate the sharding search as an integer program, and solve it with HiGHS.

There is one binary variable for each option of each decision, of which exactly one is 1. If a
tensor is decided in one place and read or made in another, variables for each pair of shardings
account for the cost of resharding between them. A copy that several operations want is paid for
once. Linear relaxations of programs of this form almost always have an integer optimum (Alpa,
autoparallel), so that the solver finishes at the root node.

    option o of decision d                y[d, o] in {0, 1},  sum over o = 1
    tensor t lies at s                    h[t, s] = sum of the y of its decision that say so
    reader c wants tensor t at w          u[c, t, w] = sum of the y of c that want it so
    ... by a copy from s                  sum over s of e[c, t, s, w] = u[c, t, w]
                                          sum over w of e[c, t, s, w] = h[t, s]
    ... which all readers share           e[t, s, w] >= e[c, t, s, w]
    tensor t is left at p                 m[t, p] = sum of the y of its maker that leave it so
    ... and brought to s                  sum over s of d[t, p, s] = m[t, p]
                                          sum over p of d[t, p, s] = h[t, s]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..cost import local_bytes, reshard_price
from ..op_sharding import UnreducedResult
from ..sharding import DimensionAxes
from .options import Decision, Decisions, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 1e-3
"""Relative gap between a price and the lower bound up to which a solution counts as optimal."""

MEMORY_WEIGHT = 1e-6
"""Weight of memory as a tie-breaker, relative to the price of all operations."""


@dataclass(frozen=True, slots=True)
class Solution:
    """An option for each decision, the total price, and a lower bound of all prices.

    `bound` comes from the solver; it equals `price` for an optimal solution.
    """

    options: tuple[Option, ...]
    price: float
    bound: float

    @property
    def gap(self) -> float:
        """The relative gap between the price and the bound; 0 for an optimal solution."""
        if self.price <= 0:
            return 0.0
        gap = max(0.0, (self.price - self.bound) / self.price)
        return 0.0 if gap <= GAP else gap

    def homes(self) -> dict[int, DimensionAxes]:
        """Return the sharding of each tensor."""
        return {tensor: axes for option in self.options for tensor, axes in option.homes}


Terms = dict[int, float]
"""A linear expression: coefficients by variable."""

MadeStates = dict[object, tuple[UnreducedResult, list[int]]]
"""The states in which options leave a result, each with the variables of these options."""


@dataclass(slots=True)
class _Rows:
    """Variables with their prices, and constraints."""

    prices: list[float] = field(default_factory=list[float])
    is_integer: list[bool] = field(default_factory=list[bool])
    rows: list[Terms] = field(default_factory=list[Terms])
    low: list[float] = field(default_factory=list[float])
    high: list[float] = field(default_factory=list[float])

    def variable(self, price: float, *, is_integer: bool = False) -> int:
        self.prices.append(price)
        self.is_integer.append(is_integer)
        return len(self.prices) - 1

    def constrain(self, terms: Terms, low: float, high: float) -> None:
        self.rows.append(terms)
        self.low.append(low)
        self.high.append(high)


class IntegerProgram:
    """The integer program of some decisions, with an optional memory limit in bytes."""

    def __init__(self, decisions: Decisions, memory: float | None = None) -> None:
        self._decisions = decisions
        self._rows = _Rows()
        self._tensors = decisions.problem.tensors
        self._options: list[list[int]] = []
        """The variable of each option of each decision."""
        self._homes: dict[int, dict[DimensionAxes, list[int]]] = {}
        """For each tensor and sharding, the variables of options that place the tensor so."""
        self._wants: dict[int, list[dict[DimensionAxes, list[int]]]] = {}
        """For each tensor and reader, the variables of options that want each sharding."""
        self._makes: list[tuple[int, int, MadeStates]] = []
        """Tensors that a decision makes for another: which tensor, how often, in which states."""
        self._copies: dict[int, list[tuple[int, DimensionAxes]]] = {}
        """For each tensor, the variables of its copies, with their shardings."""
        self._collect()
        for tensor, readers in self._wants.items():
            self._link_wants(tensor, readers)
        for tensor, times, made in self._makes:
            self._link_makes(tensor, times, made)
        if memory is not None:
            self._limit_memory(memory)

    def _collect(self) -> None:
        everything = sum(
            max((option.price for option in decision.options), default=0.0)
            for decision in self._decisions.all
        )
        whole = sum(tensor.size * tensor.count for tensor in self._tensors) or 1.0
        per_byte = MEMORY_WEIGHT * everything / whole
        for decision in self._decisions.all:
            variables: list[int] = []
            makes: list[tuple[int, int, MadeStates]] = [
                (tensor, decision.times, {})
                for option in decision.options[:1]
                for tensor, _ in option.makes
            ]
            for option in decision.options:
                held = sum(
                    self._local(tensor, axes) * self._tensors[tensor].count
                    for tensor, axes in option.homes
                )
                # The price of a region already includes how often its operations run; see
                # `Decisions`.
                times = 1 if option.homes else decision.times
                price = option.price * times + per_byte * held
                variable = self._rows.variable(price, is_integer=True)
                variables.append(variable)
                for tensor, axes in option.homes:
                    self._homes.setdefault(tensor, {}).setdefault(axes, []).append(variable)
                for (_, made), (_, _, known) in zip(option.makes, makes, strict=True):
                    known.setdefault((made.axes, made.pending), (made, []))[1].append(variable)
            self._options.append(variables)
            self._rows.constrain(dict.fromkeys(variables, 1.0), 1, 1)
            self._makes += makes
            self._collect_wants(decision, variables)

    def _collect_wants(self, decision: Decision, variables: Sequence[int]) -> None:
        """Collect the readers of a decision; readers that always want the same are merged."""
        known: set[tuple[tuple[int, DimensionAxes], ...]] = set()
        for column in zip(*(option.wants for option in decision.options), strict=True):
            if column in known:
                continue
            known.add(column)
            reader: dict[DimensionAxes, list[int]] = {}
            for (_, axes), variable in zip(column, variables, strict=True):
                reader.setdefault(axes, []).append(variable)
            self._wants.setdefault(column[0][0], []).append(reader)

    def _local(self, tensor: int, axes: DimensionAxes) -> float:
        return local_bytes(self._tensors[tensor].size, axes, self._decisions.extents)

    def _link_wants(
        self, tensor: int, readers: Sequence[Mapping[DimensionAxes, Sequence[int]]]
    ) -> None:
        """Add the cost of copies of a tensor that its readers want."""
        homes = self._homes.get(tensor)
        if homes is None:
            return
        shared: dict[tuple[DimensionAxes, DimensionAxes], int] = {}
        for wants in readers:
            leaving: dict[DimensionAxes, Terms] = {home: {} for home in homes}
            for axes, variables in wants.items():
                arriving: Terms = {}
                for home in homes:
                    price = self._copy_price(tensor, home, axes)
                    alone = len(readers) == 1
                    flow = self._rows.variable(price if alone else 0.0)
                    leaving[home][flow] = arriving[flow] = 1.0
                    if alone:
                        if home != axes:
                            self._copies.setdefault(tensor, []).append((flow, axes))
                    elif home != axes:
                        if (home, axes) not in shared:
                            shared[home, axes] = copy = self._rows.variable(price)
                            self._copies.setdefault(tensor, []).append((copy, axes))
                        terms = {flow: 1.0, shared[home, axes]: -1.0}
                        self._rows.constrain(terms, -1, 0)
                self._rows.constrain(arriving | dict.fromkeys(variables, -1.0), 0, 0)
            for home, terms in leaving.items():
                self._rows.constrain(terms | dict.fromkeys(homes[home], -1.0), 0, 0)

    def _copy_price(self, tensor: int, home: DimensionAxes, axes: DimensionAxes) -> float:
        """Return the price of resharding a tensor from its home to where it is read."""
        known = self._tensors[tensor]
        if home == axes:
            return 0.0
        extents, price = self._decisions.extents, self._decisions.price.collective
        return known.count * reshard_price(home, axes, known.size, extents, price)

    def _link_makes(self, tensor: int, times: int, made: MadeStates) -> None:
        """Add the cost of reducing a result and resharding it to its home."""
        homes = self._homes.get(tensor)
        if homes is None:
            return
        arriving: dict[DimensionAxes, Terms] = {home: {} for home in homes}
        for each, variables in made.values():
            leaving: Terms = {}
            for home in homes:
                price = times * self._decisions.made_price(tensor, each, home)
                variable = self._rows.variable(price)
                leaving[variable] = 1.0
                arriving[home][variable] = 1.0
            self._rows.constrain(leaving | dict.fromkeys(variables, -1.0), 0, 0)
        for home, terms in arriving.items():
            self._rows.constrain(terms | dict.fromkeys(homes[home], -1.0), 0, 0)

    def _limit_memory(self, memory: float) -> None:
        """Require at each operation that live tensors, and the copies it reads, fit into memory."""
        known: set[tuple[tuple[int, float], ...]] = set()
        for point in self._decisions.problem.points:
            terms: Terms = {}
            for tensor, count in point.tensors:
                for axes, variables in self._homes.get(tensor, {}).items():
                    for variable in variables:
                        terms[variable] = terms.get(variable, 0.0) + count * self._local(
                            tensor, axes
                        )
            operation = self._decisions.problem.operations[point.operation]
            for tensor in sorted({each for slot in operation.operands for each in slot}):
                for variable, axes in self._copies.get(tensor, ()):
                    terms[variable] = terms.get(variable, 0.0) + self._local(tensor, axes)
            key = tuple(sorted(terms.items()))
            if key not in known:
                known.add(key)
                self._rows.constrain({v: c / memory for v, c in terms.items()}, -_INFINITY, 1)

    def solve(self, seconds: float) -> Solution | None:
        """Return the best solution found within `seconds`; `None` if there is none."""
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp  # pyright: ignore
        from scipy.sparse import csr_array

        rows = self._rows
        if not all(self._options):
            # An operation has no option: no way to split it, or to replicate it, is known.
            return None
        if not rows.prices:
            return Solution((), self._decisions.ideal, self._decisions.ideal)
        scale = max((abs(price) for price in rows.prices), default=0.0) or 1.0
        entries = [(i, v, c) for i, row in enumerate(rows.rows) for v, c in row.items()]
        shape = len(rows.rows), len(rows.prices)
        matrix = csr_array(
            (
                np.array([c for _, _, c in entries], float),
                (
                    np.array([i for i, _, _ in entries], int),
                    np.array([v for _, v, _ in entries], int),
                ),
            ),
            shape=shape,
        )
        low: Any = np.array(rows.low)
        high: Any = np.array(rows.high)
        found: Any = milp(
            np.array(rows.prices) * (1e4 / scale),
            integrality=np.array(rows.is_integer, int),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, low, high),
            options={"time_limit": max(seconds, 0.1), "mip_rel_gap": GAP},
        )
        if found.x is None:
            return None
        chosen = [
            max(range(len(variables)), key=lambda o: (found.x[variables[o]], -o))
            for variables in self._options
        ]
        options = tuple(
            decision.options[index]
            for decision, index in zip(self._decisions.all, chosen, strict=True)
        )
        bound = found.fun if found.mip_dual_bound is None else found.mip_dual_bound
        ideal = self._decisions.ideal
        return Solution(options, found.fun * scale / 1e4 + ideal, bound * scale / 1e4 + ideal)

    @property
    def size(self) -> tuple[int, int]:
        """The number of variables, and of constraints."""
        return len(self._rows.prices), len(self._rows.rows)


_INFINITY = float("inf")
