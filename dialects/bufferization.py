"""The bufferization ops that xDSL lacks."""

from __future__ import annotations

from xdsl.dialects.bufferization import Bufferization
from xdsl.traits import MemoryFreeEffect

from ..ir.dialect_extension import extended
from ..ir.syntax.rows import Rows

DeallocTensorOp = Rows("bufferization", {})(
    "dealloc_tensor",
    "tensor:tensor",
    " $tensor attr-dict : type($tensor)",
    traits=(MemoryFreeEffect(),),
    doc="End the lifetime of a tensor's buffer.",
)

ExtendedBufferization = extended(Bufferization, [DeallocTensorOp])
