"""The dynamic sizes that ops of `flow` list for their results."""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import sizes_by_type

_SIZES = ("result_dims", "dynamic_dims", "target_dims", "argument_dims")
"""The names that ops have for the dynamic sizes of their results."""


def sizes_of(value: OpResult) -> tuple[SSAValue, ...]:
    """Return the dynamic sizes of a result of an op of `flow` that lists them."""
    op = value.op
    listed = next((found for name in _SIZES if (found := values(op, name))), ())
    return sizes_by_type(op.result_types, listed)[value.index]
