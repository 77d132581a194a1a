"""The operations of bufferization that xDSL lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.bufferization import Bufferization
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import MemoryFreeEffect

from ..ir.dialect_extension import extended
from ..ir.syntax.rows import ATTRIBUTES, Operand, Syntax, SyntaxOperation, Type


@irdl_op_definition
class DeallocTensorOp(SyntaxOperation):
    """The end of a tensor's buffer."""

    name = "bufferization.dealloc_tensor"

    tensor = operand_def(TensorType)

    traits = traits_def(MemoryFreeEffect())

    SYNTAX: ClassVar[Syntax] = (" ", Operand("tensor"), ATTRIBUTES, " : ", Type("tensor"))


ExtendedBufferization = extended(Bufferization, [DeallocTensorOp])
