"""The search as an integer program, solved by HiGHS.

One variable for each option of each decision, of which one is 1. Where a tensor is decided in one
place and read or made in another, variables for each pair of shardings pay for what leads from
the one to the other. A copy that several operations want is paid for once. Programs of this form
have almost always a linear relaxation with an integer optimum (Alpa, autoparallel), so that the
solver is done at the root.

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

from ..cost import local_size, reshard_price
from ..sharding import DimensionAxes
from .options import Decision, Decisions, Made, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 1e-3
"""What counts as optimal: a price that is at most so much above the best, as a part of it."""

MEMORY_WEIGHT = 1e-6
"""How much memory counts between shardings of one price: of the price of all operations."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What was found: an option for each decision, its price, and a bound below all prices.

    `bound` is that of the solver; it equals `price` where the solution is the best one.
    """

    options: tuple[Option, ...]
    price: float
    bound: float

    @property
    def gap(self) -> float:
        """How far above the best one the price may be, as a part of it; 0 for the best one."""
        if self.price <= 0:
            return 0.0
        gap = max(0.0, (self.price - self.bound) / self.price)
        return 0.0 if gap <= GAP else gap

    def homes(self) -> dict[int, DimensionAxes]:
        """Where each tensor lies."""
        return {tensor: axes for option in self.options for tensor, axes in option.homes}


Terms = dict[int, float]
"""A sum of variables, each times a number."""


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
    """The integer program of some decisions, with a limit for the bytes on each device."""

    def __init__(self, decisions: Decisions, memory: float | None = None) -> None:
        self._decisions = decisions
        self._rows = _Rows()
        self._tensors = decisions.problem.tensors
        self._options: list[list[int]] = []
        """The variable of each option of each decision."""
        self._homes: dict[int, dict[DimensionAxes, list[int]]] = {}
        """For each tensor the variables of options that place it so."""
        self._wants: dict[int, list[dict[DimensionAxes, list[int]]]] = {}
        """For each tensor and reader the variables of options that want it so."""
        self._makes: list[tuple[int, int, dict[object, tuple[Made, list[int]]]]] = []
        """Tensors that a decision makes for another: which, how often, and by what variables."""
        self._copies: dict[int, list[tuple[int, DimensionAxes]]] = {}
        self._collect()
        for tensor, readers in self._wants.items():
            self._link_wants(tensor, readers)
        for tensor, times, made in self._makes:
            self._link_makes(tensor, times, made)
        if memory is not None:
            self._limit_memory(memory)

    # Building.

    def _collect(self) -> None:
        everything = sum(
            max((option.price for option in decision.options), default=0.0)
            for decision in self._decisions.all
        )
        whole = sum(tensor.size * tensor.count for tensor in self._tensors) or 1.0
        per_byte = MEMORY_WEIGHT * everything / whole
        for decision in self._decisions.all:
            variables: list[int] = []
            makes: list[tuple[int, int, dict[object, tuple[Made, list[int]]]]] = [
                (tensor, decision.times, {})
                for option in decision.options[:1]
                for tensor, _ in option.makes
            ]
            for option in decision.options:
                held = sum(
                    self._local(tensor, axes) * self._tensors[tensor].count
                    for tensor, axes in option.homes
                )
                # Operations of a region count each for itself; see `Decisions`.
                times = 1 if option.homes else decision.times
                price = option.price * times + per_byte * held
                variable = self._rows.variable(price, is_integer=True)
                variables.append(variable)
                for tensor, axes in option.homes:
                    self._homes.setdefault(tensor, {}).setdefault(axes, []).append(variable)
                for (_, made), (_, _, known) in zip(option.makes, makes, strict=True):
                    known.setdefault(made.key, (made, []))[1].append(variable)
            self._options.append(variables)
            self._rows.constrain(dict.fromkeys(variables, 1.0), 1, 1)
            self._makes += makes
            self._collect_wants(decision, variables)

    def _collect_wants(self, decision: Decision, variables: Sequence[int]) -> None:
        """The readers of a decision; those that want a tensor alike in all options are one."""
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
        return local_size(self._tensors[tensor].size, axes, self._decisions.extents)

    def _link_wants(
        self, tensor: int, readers: Sequence[Mapping[DimensionAxes, Sequence[int]]]
    ) -> None:
        """Pay for the copies of a tensor that its readers want."""
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
        """What it takes to bring a tensor from its home to where it is read."""
        known = self._tensors[tensor]
        if home == axes:
            return 0.0
        extents, price = self._decisions.extents, self._decisions.price.collective
        return known.count * reshard_price(home, axes, known.size, extents, price)

    def _link_makes(
        self, tensor: int, times: int, made: Mapping[object, tuple[Made, Sequence[int]]]
    ) -> None:
        """Pay for finishing a result, and for bringing it to its home."""
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
        """At each operation what is in memory, with the copies that it reads, fits."""
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

    # Solving.

    def solve(self, seconds: float) -> Solution | None:
        """The best options, or the best ones that are found in time; `None` if there are none."""
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp  # pyright: ignore
        from scipy.sparse import csr_array

        rows = self._rows
        if not all(self._options):
            return None  # There is an operation that nothing here knows how to split, or not to.
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
        """How many variables and constraints there are."""
        return len(self._rows.prices), len(self._rows.rows)


_INFINITY = float("inf")
