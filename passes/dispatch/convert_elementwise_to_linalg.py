"""Convert elementwise operations on tensors to `linalg.generic`.

    %r = arith.addf %a, %b : tensor<4xf32>

becomes a `linalg.generic` whose body adds two elements. Constants are data, so they stay.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import Tensor
from ...dialects.linalg.bodies import YieldOp
from ...dialects.linalg.dialect import GenericOp
from ...ir.attribute_access import element_type
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before, rebuilt
from ..manager.module_pass import module_pass
from ..sizes.dimension_sizes import DimensionSizes

DIALECTS = frozenset({"arith", "complex", "math"})
NOT_ELEMENTWISE = frozenset({"arith.constant", "complex.constant"})


@module_pass("convert-elementwise-to-linalg")
def convert_elementwise_to_linalg(module: ModuleOp) -> None:
    """Turn elementwise operations on tensors into `linalg.generic`."""
    sizes = DimensionSizes()
    for operation in tuple(host_operations(module)):
        if is_elementwise_on_tensors(operation):
            Rewriter.replace_op(operation, [], [_convert(operation, sizes)])


def is_elementwise_on_tensors(operation: Operation) -> bool:
    """Return whether an operation is an elementwise scalar operation that is applied to tensors."""
    if operation.name.partition(".")[0] not in DIALECTS or operation.name in NOT_ELEMENTWISE:
        return False
    return len(operation.results) == 1 and isinstance(operation.results[0].type, TensorType)


def _convert(operation: Operation, sizes: DimensionSizes) -> SSAValue:
    """Emit the `linalg.generic`. Scalar operands, such as a condition, are read at each element."""
    result = cast(Tensor, operation.results[0].type)
    shape = result.get_shape()
    like = next(value for value in operation.operands if isinstance(value.type, TensorType))
    dims = [sizes.value(like, index) for index, size in enumerate(shape) if size == DYNAMIC_INDEX]
    builder = builder_before(operation)
    empty = builder.insert(EmptyOp(dims, result)).tensor
    body = Block(arg_types=[element_type(value.type) for value in (*operation.operands, empty)])
    scalar = rebuilt(operation, body.args[:-1], [result.element_type])
    body.add_ops([scalar, YieldOp(scalar.results[0])])
    everywhere = AffineMap.identity(len(shape))
    maps = [
        everywhere if isinstance(value.type, TensorType) else AffineMap(len(shape), 0, ())
        for value in operation.operands
    ]
    generic = GenericOp(operation.operands, [empty], Region(body), [*maps, everywhere])
    return builder.insert(generic).results[0]
