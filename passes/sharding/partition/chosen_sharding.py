"""The sharding chosen for an operation of the source program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, Operation

from ....sharding.factors import FactorRule
from ....sharding.grid import Grid
from ....sharding.op_sharding import Assignment, tensor_sharding
from ....sharding.sharding import Axes, Partial, Sharding
from ..rules.combiners import Combiner


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
    is_split: bool
    """Whether any factor is split, or a pending reduction is carried."""
    reduces: bool
    """Whether results are partial because a reduction is split."""
    carried: tuple[Partial, ...] = ()
    """Pending reductions of operands that the results inherit."""

    def axes(self, factor: int) -> Axes:
        """Return the axes that split a factor."""
        return self.assignment[factor][0]

    def loop_sharding(self, factor: int) -> Sharding:
        """Return the sharding of a factor as the only dimension of a tensor."""
        return tensor_sharding(self.grid, ((factor,),), self.assignment)
