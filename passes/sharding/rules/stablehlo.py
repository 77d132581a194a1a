"""Rules of StableHLO operations that are not converted: only batch dimensions can be split."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Operation

from ....ir.attribute_access import attribute, number_list
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorRule, ShardRequirement
from .builder import labelled_rule
from .registry import sharding_rule

_MATRIX = 2
"""Number of dimensions of a matrix."""


@sharding_rule("stablehlo.cholesky", "stablehlo.triangular_solve")
def _matrices(operation: Operation) -> FactorRule | None:
    return _batched(operation, len(tensor_shape(operation.operands[0]) or ()) - _MATRIX)


@sharding_rule("stablehlo.fft")
def _transforms(operation: Operation) -> FactorRule | None:
    transformed = len(number_list(attribute(operation, "fft_length")))
    return _batched(operation, len(tensor_shape(operation.operands[0]) or ()) - transformed)


@sharding_rule("stablehlo.custom_call")
def _call(operation: Operation) -> FactorRule | None:
    return _batched(operation, lapack_batch_dimensions(operation))


def lapack_batch_dimensions(operation: Operation) -> int:
    """Return the number of batch dimensions that JAX gives for a LAPACK call, 0 for other calls."""
    frontend_attributes = operation.attributes.get("mhlo.frontend_attributes")
    count = (
        frontend_attributes.data.get("num_batch_dims")
        if isinstance(frontend_attributes, DictionaryAttr)
        else None
    )
    return int(count.data) if isinstance(count, StringAttr) and count.data.isdecimal() else 0


def _batched(operation: Operation, count: int) -> FactorRule | None:
    """Return the rule in which the first `count` dimensions of all tensors pass through.

    The other dimensions are needed whole. Returns `None` if the batch dimensions differ.
    """
    values = (*operation.operands, *operation.results)
    shapes = [tuple((tensor_shape(value) or ())[:count]) for value in values]
    if count < 1 or len(set(shapes)) != 1 or len(shapes[0]) != count:
        return None
    operands, results = (
        [range(count)] * len(each) for each in (operation.operands, operation.results)
    )
    return labelled_rule(operation, operands, results, shards=ShardRequirement.FILLED)
