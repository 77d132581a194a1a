"""Rules of collectives in manual computations that leave some axes free."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation

from ....ir.attribute_access import integer, integers
from ....ir.tensor_types import tensor_shape
from ....sharding.collective_rows import COLLECTIVES
from ....sharding.factors import FactorRule
from ..annotations.access import MANUAL_ATTRIBUTE
from .builder import labelled_rule
from .registry import sharding_rule


@sharding_rule(*COLLECTIVES)
def manual_collective(operation: Operation) -> FactorRule | None:
    """Return a rule in which free axes split the dimensions that are neither divided nor joined.

    Without free axes, and outside of manual computations, there is no rule.
    """
    shape = tensor_shape(operation.operands[0]) if len(operation.operands) == 1 else None
    marked = isinstance(operation.attributes.get(MANUAL_ATTRIBUTE), DenseArrayBase)
    if shape is None or not marked or len(operation.results) != 1:
        return None
    row = COLLECTIVES[operation.name]
    changed = {integer(operation, name) for name in (row.divides, row.joins) if name}
    made = [("made", each) if each in changed else each for each in range(len(shape))]
    whole = {label for each in changed for label in (each, ("made", each))}
    rule = labelled_rule(operation, [range(len(shape))], [made], whole=whole)
    reserved = frozenset(integers(operation, MANUAL_ATTRIBUTE))
    return None if rule is None else replace(rule, reserved=reserved)
