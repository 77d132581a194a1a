"""Rules for the sizes of the results of StableHLO operations that are not converted to linalg."""

from __future__ import annotations

from xdsl.ir import OpResult

from ...dialects.result_sizes import like
from ...dialects.stablehlo.attributes import fft_kind
from ...ir.attribute_access import attribute, number_list
from ...ir.tensor_types import ranked
from ..sharding.rules.stablehlo import lapack_batch_dimensions
from .dimension_sizes import DimensionSizes, Size, program_size_rule
from .scalar_elements import listed_size

program_size_rule("stablehlo.cholesky")(like(0))
program_size_rule("stablehlo.triangular_solve")(like(1))


@program_size_rule("stablehlo.fft")
def _transforms(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of the operand, or the length of the transform along this dimension."""
    tensor = ranked(value)
    lengths = number_list(attribute(value.op, "fft_length"))
    batch = 0 if tensor is None else tensor.get_num_dims() - len(lengths)
    if index < batch:
        return sizes.size(value.op.operands[0], index)
    length = lengths[index - batch]
    is_halved = index == batch + len(lengths) - 1 and fft_kind(value.op) == "RFFT"
    return length // 2 + 1 if is_halved else length


@program_size_rule("stablehlo.custom_call")
def _call(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return a size from the operand that lists those of this result.

    JAX gives such operands for open sizes. Without one, it is the size of a batch dimension of a
    LAPACK call, which all its tensors share.
    """
    shapes = number_list(attribute(value.op, "indices_of_shape_operands"))
    if value.index < len(shapes):
        return listed_size(sizes, value.op.operands[shapes[value.index]], index)
    if index >= lapack_batch_dimensions(value.op) or not value.op.operands:
        return None
    return sizes.size(value.op.operands[0], index)
