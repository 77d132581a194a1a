"""The bufferization ops that xDSL lacks, or for which it refuses memrefs with a layout."""

from __future__ import annotations

from xdsl.dialects.bufferization import Bufferization
from xdsl.dialects.builtin import MemRefType, TensorType, UnrankedMemRefType, UnrankedTensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import BaseAttr
from xdsl.traits import MemoryFreeEffect
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import element_type
from ..ir.dialect_extension import extended
from ..ir.syntax.rows import Rows


def _shape(type_: Attribute) -> tuple[int, ...] | None:
    """Return the shape of a tensor or memref; `None` if it is unranked."""
    return type_.get_shape() if isinstance(type_, TensorType | MemRefType) else None


def _verify_same_contents(operation: Operation) -> None:
    one, other = operation.operands[0].type, operation.results[0].type
    if _shape(one) != _shape(other) or element_type(one) != element_type(other):
        raise VerifyException(f"expects a tensor and a memref of one shape: {one} and {other}")


_row = Rows(
    "bufferization",
    {
        "memrefs": BaseAttr(MemRefType) | BaseAttr(UnrankedMemRefType),
        "tensors": BaseAttr(TensorType) | BaseAttr(UnrankedTensorType),
    },
)

ToTensorOp = _row(
    "to_tensor",
    "memref:memrefs -> tensor:tensors | restrict:unit? writable:unit?",
    " $memref( restrict$restrict)?( writable$writable)? attr-dict : type($memref) to type($tensor)",
    verify=_verify_same_contents,
    doc="Return the contents of memory, with any layout.",
)

ToBufferOp = _row(
    "to_buffer",
    "tensor:tensors -> memref:memrefs | read_only:unit?",
    " $tensor( read_only$read_only)? attr-dict : type($tensor) to type($memref)",
    verify=_verify_same_contents,
    doc="Return memory with the contents of a tensor.",
)

DeallocTensorOp = _row(
    "dealloc_tensor",
    "tensor:tensor",
    " $tensor attr-dict : type($tensor)",
    traits=(MemoryFreeEffect(),),
    doc="End the lifetime of a tensor's buffer.",
)

ExtendedBufferization = extended(Bufferization, [ToTensorOp, ToBufferOp, DeallocTensorOp])
