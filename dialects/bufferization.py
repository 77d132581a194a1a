"""The bufferization ops that xDSL lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.bufferization import Bufferization
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import MemoryFreeEffect

from ..ir.dialect_extension import extended
from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.operations import SyntaxOperation


@irdl_op_definition
class DeallocTensorOp(SyntaxOperation):
    """End the lifetime of a tensor's buffer."""

    name = "bufferization.dealloc_tensor"

    tensor = operand_def(TensorType)

    traits = traits_def(MemoryFreeEffect())

    SYNTAX: ClassVar[Syntax] = " $tensor attr-dict : type($tensor)"


ExtendedBufferization = extended(Bufferization, [DeallocTensorOp])
