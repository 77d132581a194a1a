"""Tensor ops of the `stream` dialect, on resources that still represent tensors.

Each op has the tensor type of a resource in a property such as `source_encoding`. All have the
trait `TensorPhase`: their encodings must be resolved, and later passes replace the ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import NUMBER, SCALAR
from ...ir.syntax.symbol_directives import EntryPoints
from ..iree_encoding.interfaces import tensor_encoding, verify_same_tensor
from .affinity import AffinityOpInterface, TensorPhase
from .dispatch_directives import EncodedFunctionType, TracedTensors
from .rows import CANONICALIZATION, PLACED, row
from .types import DEVICE_RESOURCE, STAGING

SOURCE = "shaped($source_encoding_dims, $source_encoding) in type($source){$source_size}"
UPDATE = "shaped($update_encoding_dims, $update_encoding) in type($update){$update_size}"
RESULT = "shaped($result_encoding_dims, $result_encoding) in type($result){$result_size}"
TARGET = (
    "shaped($target_encoding_dims, $target_encoding)"
    " in tied($target) type($target, $result){$target_size}"
)
"""The tensor type of a value and the type of its resource; the result is tied to the target."""


class TensorOperation(SyntaxOperation):
    """Base of the tensor ops."""

    traits = traits_def(TensorPhase(), CANONICALIZATION)


class PlacedTensorOperation(TensorOperation):
    """Base of the tensor ops with an affinity."""

    affinity = opt_prop_def(Attribute)
    traits = traits_def(AffinityOpInterface())


TensorImportOp = row(
    "tensor.import",
    "source:any result_encoding_dims* result_size -> result:any_resource"
    " | affinity:attr? result_encoding:attr consume:unit?",
    "( on($affinity))?( consume$consume)? $source"
    f" : type($source) -> {RESULT} attr-dict-with-keyword",
    traits=(TensorPhase(), *PLACED),
    doc="Import an external value, such as a buffer view, as a resource.",
)

TensorExportOp = row(
    "tensor.export",
    "source:any_resource source_encoding_dims* source_size -> result:any"
    " | affinity:attr? source_encoding:attr",
    f"( on($affinity))? $source : {SOURCE} -> type($result) attr-dict-with-keyword",
    traits=(TensorPhase(), *PLACED),
    doc="Export a resource as an external value, such as a buffer view.",
)


@irdl_op_definition
class TensorSizeOfOp(PlacedTensorOperation):
    """Return the storage size in bytes of a tensor with its encoding, at the op's affinity."""

    name = "stream.tensor.sizeof"
    encoding = prop_def(Attribute)
    encoding_dims = var_operand_def(INDEX)
    storage_size = result_def(INDEX)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? shaped($encoding_dims, $encoding) attr-dict : type($storage_size)"
    )


TensorEmptyOp = row(
    "tensor.empty",
    "result_encoding_dims* result_size -> result:resource | affinity:attr? result_encoding:attr",
    f"( on($affinity))? : {RESULT} attr-dict-with-keyword",
    traits=(TensorPhase(), *PLACED),
    doc="Return a tensor with undefined contents.",
)


@irdl_op_definition
class TensorConstantOp(PlacedTensorOperation):
    """Return a tensor with constant contents."""

    name = "stream.tensor.constant"
    value = prop_def(Attribute)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result = result_def(DEVICE_RESOURCE)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))?"
        " : shaped($result_encoding_dims, $result_encoding) in type($result) = $value"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorSplatOp(PlacedTensorOperation):
    """Return a tensor in which all elements have one value."""

    name = "stream.tensor.splat"
    value = operand_def(SCALAR)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(DEVICE_RESOURCE)

    SYNTAX: ClassVar[Syntax] = (
        f"( on($affinity))? $value : type($value) -> {RESULT} attr-dict-with-keyword"
    )


class TensorCopy(PlacedTensorOperation):
    """Base of the ops that copy a tensor to another with the same elements."""

    source = operand_def(DEVICE_RESOURCE)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(DEVICE_RESOURCE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        f"( on($affinity))? $source : {SOURCE} -> {RESULT} attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorCloneOp(TensorCopy):
    """Clone a tensor.

    The verifier asks for equal types if one of them has an encoding. Without encodings the result
    may have another shape with the same bytes.
    """

    name = "stream.tensor.clone"

    def verify_(self) -> None:
        super().verify_()
        encodings = [tensor_encoding(t) for t in (self.source_encoding, self.result_encoding)]
        if encodings == [None, None]:
            return
        if self.source_encoding != self.result_encoding:
            raise VerifyException(
                "clones changing tensor encodings are not allowed, found "
                f"{self.source_encoding} and {self.result_encoding}"
            )


@irdl_op_definition
class TensorEncodeOp(TensorCopy):
    """Copy a tensor to another encoding.

    The verifier asks for one element type and compatible shapes.
    """

    name = "stream.tensor.encode"

    def verify_(self) -> None:
        super().verify_()
        verify_same_tensor(self.source_encoding, self.result_encoding)


def verify_rank(type_: Attribute, positions: Sequence[SSAValue], message: str) -> None:
    """Check that there is one index for each dimension of a tensor. Raises VerifyException."""
    if isinstance(type_, TensorType) and len(positions) != type_.get_num_dims():
        raise VerifyException(message)


@irdl_op_definition
class TensorSliceOp(PlacedTensorOperation):
    """Copy a slice of a tensor, given by start indices and lengths."""

    name = "stream.tensor.slice"
    source = operand_def(DEVICE_RESOURCE)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    lengths = var_operand_def(INDEX)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(DEVICE_RESOURCE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $source[$start_indices for $lengths]"
        f" : {SOURCE} -> {RESULT} attr-dict-with-keyword"
    )

    def verify_(self) -> None:
        super().verify_()
        for positions in (self.start_indices, self.lengths):
            verify_rank(self.source_encoding, positions, "start_indices/lengths rank mismatch")


@irdl_op_definition
class TensorFillOp(PlacedTensorOperation):
    """Fill a slice of a tensor with a value; the result is tied to the target."""

    name = "stream.tensor.fill"
    target = operand_def(DEVICE_RESOURCE)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    lengths = var_operand_def(INDEX)
    value = operand_def(SCALAR)
    result = result_def(DEVICE_RESOURCE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $value, $target([$start_indices for $lengths^])?"
        f" : type($value) -> {TARGET} attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorUpdateOp(PlacedTensorOperation):
    """Write a tensor into a slice of another; the result is tied to the target."""

    name = "stream.tensor.update"
    target = operand_def(DEVICE_RESOURCE)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    update = operand_def(DEVICE_RESOURCE)
    update_encoding = prop_def(Attribute)
    update_encoding_dims = var_operand_def(INDEX)
    update_size = operand_def(INDEX)
    result = result_def(DEVICE_RESOURCE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $update, $target[$start_indices]"
        f" : {UPDATE} -> {TARGET} attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorDispatchOp(PlacedTensorOperation):
    """Dispatch a kernel on tensors.

    Results are new tensors, or tied to operands that the kernel updates in place.
    """

    name = "stream.tensor.dispatch"
    workload = var_operand_def(INDEX)
    entry_points = prop_def(ArrayAttr[SymbolRefAttr])
    mixed_operands = var_operand_def()
    operand_sizes = var_operand_def(INDEX)
    operand_encodings = prop_def(ArrayAttr[Attribute])
    operand_encoding_dims = var_operand_def(INDEX)
    result_sizes = var_operand_def(INDEX)
    result_encodings = prop_def(ArrayAttr[Attribute])
    result_encoding_dims = var_operand_def(INDEX)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def(DEVICE_RESOURCE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? ",
        EntryPoints(),
        "([$workload])?($mixed_operands) attr-dict : ",
        EncodedFunctionType(),
    )


@irdl_op_definition
class TensorLoadOp(TensorOperation):
    """Load one element of a tensor in staging memory."""

    name = "stream.tensor.load"
    source = operand_def(STAGING)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    indices = var_operand_def(INDEX)
    result = result_def(NUMBER)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        f" $source([$indices])? : {SOURCE} -> type($result) attr-dict-with-keyword"
    )

    def verify_(self) -> None:
        super().verify_()
        verify_rank(self.source_encoding, self.indices, "indices rank mismatch")


@irdl_op_definition
class TensorStoreOp(TensorOperation):
    """Store one element of a tensor in staging memory; the result is tied to the target."""

    name = "stream.tensor.store"
    target = operand_def(STAGING)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    indices = var_operand_def(INDEX)
    value = operand_def(NUMBER)
    result = result_def(STAGING)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        f" $value, $target([$indices])? : type($value) -> {TARGET} attr-dict-with-keyword"
    )

    def verify_(self) -> None:
        super().verify_()
        verify_rank(self.target_encoding, self.indices, "indices rank mismatch")


TensorTraceOp = row(
    "tensor.trace",
    "resources:staging* resource_sizes* resource_encoding_dims* | key:str resource_encodings:array",
    (" $key = ", TracedTensors(), " attr-dict-with-keyword"),
    traits=(TensorPhase(),),
    doc="Name tensors that the host can access for tracing; running the program prints nothing.",
)
