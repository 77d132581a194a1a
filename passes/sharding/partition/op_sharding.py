"""An operation of the source program with the sharding that was chosen for it."""

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
    """An operation of the source program with what was decided for it."""

    operation: Operation
    grid: Grid
    rule: FactorRule
    assignment: Assignment
    operand_shardings: tuple[Sharding, ...]
    """Where each operand is needed."""
    result_shardings: tuple[Sharding, ...]
    """Where each result comes out, apart from pending reductions."""
    result_types: tuple[Attribute, ...]
    """The local types of the results."""
    combiners: tuple[Combiner | None, ...]
    """What combines partial values of each result, where the operation reduces at all."""
    is_split: bool
    """Whether any factor is split, or a reduction is carried on."""
    reduces: bool
    """Whether results are partial because a reduction is split."""
    carried: tuple[Partial, ...] = ()
    """Reductions that operands still await, and so do the results."""

    def axes(self, factor: int) -> Axes:
        """The axes that split a factor."""
        return self.assignment[factor][0]

    def loop_sharding(self, factor: int) -> Sharding:
        """A factor as if it were the only dimension of a tensor."""
        return tensor_sharding(self.grid, ((factor,),), self.assignment)
