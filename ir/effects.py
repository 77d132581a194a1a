"""Whether an operation only computes its results, so that it may go if nobody reads them.

xDSL's traits tell it of operations of our classes. Those of another compiler, and xDSL's own
`linalg` and `tensor`, often say nothing, which means that they may do anything; by their names it
is known that they do not.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, is_side_effect_free

_OF_VALUES = frozenset({"arith", "complex", "linalg", "math", "tensor", "tosa"})
"""Dialects whose operations compute values, as long as no buffer is among these."""

_OF_BODIES = frozenset({"scf"})
"""Dialects whose operations do what their bodies do."""

_NOT_OF_VALUES = frozenset({"tosa.custom", "tosa.variable", "tosa.variable_write"})


def only_computes(operation: Operation) -> bool:
    """Whether an operation does nothing but compute its results."""
    if is_side_effect_free(operation):
        return True
    dialect = operation.name.partition(".")[0]
    if dialect in _OF_VALUES:
        if operation.name in _NOT_OF_VALUES or _has_buffer(operation):
            return False
    elif dialect not in _OF_BODIES:
        return False
    return all(
        inner.has_trait(IsTerminator, value_if_unregistered=False) or only_computes(inner)
        for region in operation.regions
        for block in region.blocks
        for inner in block.ops
    )


def _has_buffer(operation: Operation) -> bool:
    types = (*operation.operand_types, *operation.result_types)
    return any(isinstance(each, MemRefType | UnrankedMemRefType) for each in types)
