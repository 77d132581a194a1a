"""The sharding chosen for an operation of the source program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, Operation

from ....ir.combiners import Combiner
from ....sharding.factors import FactorRule
from ....sharding.grid import Grid
from ....sharding.op_sharding import Assignment, reduced_axes, tensor_sharding
from ....sharding.sharding import Axes, Partial, Sharding


@dataclass(frozen=True, slots=True)
class OpSharding:
    """An operation of the source program with the sharding chosen for it."""

    operation: Operation
    grid: Grid
    rule: FactorRule
    assignment: Assignment
    operand_shardings: tuple[Sharding, ...]
    """The sharding that each operand must have."""
    result_shardings: tuple[Sharding, ...]
    """The sharding of each result, without pending reductions."""
    result_types: tuple[Attribute, ...]
    """The local types of the results."""
    combiners: tuple[Combiner | None, ...]
    """The combiner of partial values of each result; `None` if the operation does not reduce."""
    inherited_partials: tuple[Partial, ...] = ()
    """Pending reductions of operands that the results inherit."""

    @property
    def factor_axes(self) -> tuple[Axes, ...]:
        """The axes of each factor."""
        return tuple(axes for axes, _ in self.assignment)

    @property
    def used_axes(self) -> frozenset[int]:
        """The axes that split any factor."""
        return frozenset(axis for axes, _ in self.assignment for axis in axes)

    @property
    def reduced_axes(self) -> Axes:
        """The axes along which results are partial because a reduction is split."""
        return reduced_axes(self.rule, self.factor_axes)

    @property
    def is_split(self) -> bool:
        """Whether any factor is split, or a pending reduction is inherited."""
        return bool(self.inherited_partials) or any(axes for axes, _ in self.assignment)

    def axes(self, factor: int) -> Axes:
        """Return the axes that split a factor."""
        return self.assignment[factor][0]

    def loop_sharding(self, factor: int) -> Sharding:
        """Return the sharding of a factor as the only dimension of a tensor."""
        return tensor_sharding(self.grid, ((factor,),), self.assignment)
