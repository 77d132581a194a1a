"""Two operations with verifiers.

They are plain xDSL definitions; mesh-opt requires nothing else.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, IndexType, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException


def float_tensor(value: SSAValue) -> TensorType[AnyFloat]:
    """Return the type of a value that its operation defines as a tensor of floats."""
    return cast("TensorType[AnyFloat]", value.type)


@irdl_op_definition
class AddPositionsOp(IRDLOperation):
    """`result[i, j] = source[i, j] + first + i`.

    The value added to an element depends on the position of its row in the global tensor.
    """

    name = "acme.add_positions"
    source = operand_def(TensorType[AnyFloat])
    first = operand_def(IndexType)
    result = result_def(TensorType[AnyFloat])
    assembly_format = "$source `from` $first attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        if len(float_tensor(self.source).get_shape()) != 2:
            raise VerifyException(f"expected a tensor of two dimensions, found {self.source.type}")
        if self.result.type != self.source.type:
            raise VerifyException(
                f"expected a result of type {self.source.type}, as the operand, found"
                f" {self.result.type}"
            )


@irdl_op_definition
class RowEnergyOp(IRDLOperation):
    """`result[i]` is the sum of `source[i, j] * source[i, j]` over all `j`."""

    name = "acme.row_energy"
    source = operand_def(TensorType[AnyFloat])
    result = result_def(TensorType[AnyFloat])
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source = float_tensor(self.source)
        shape, element = source.get_shape(), source.element_type
        if len(shape) != 2:
            raise VerifyException(f"expected a tensor of two dimensions, found {self.source.type}")
        expected = TensorType(element, shape[:1])
        if self.result.type != expected:
            raise VerifyException(
                f"expected one number for each row, {expected}, found {self.result.type}"
            )
