"""Tensor operations of the `stream` dialect: resources that still stand for tensors.

Each names the tensor type behind a resource in a property, `source_encoding` and the like. All of
them are of the tensor phase: encodings matter to them, and later passes replace them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
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

from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import NUMBER, SCALAR
from ...ir.syntax.symbol_directives import EntryPoints
from ..iree_encoding.interfaces import plain, tensor_encoding
from .affinity import AffinityOpInterface, TensorPhase
from .dispatch_syntax import EncodedFunctionType, TracedTensors
from .types import ResourceType

INDEX = IndexType()
STAGING = ResourceType(StringAttr("staging"))


class TensorOperation(SyntaxOperation):
    """What tensor operations have in common."""

    traits = traits_def(TensorPhase())


class PlacedTensorOperation(TensorOperation):
    """A tensor operation that runs somewhere."""

    affinity = opt_prop_def(Attribute)
    traits = traits_def(AffinityOpInterface())


@irdl_op_definition
class TensorImportOp(PlacedTensorOperation):
    """The resource of a value that came from outside."""

    name = "stream.tensor.import"
    source = operand_def()
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    consume = opt_prop_def(UnitAttr)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))?( consume$consume)? $source : type($source)"
        " -> shaped($result_encoding_dims, $result_encoding) in type($result){$result_size}"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorExportOp(PlacedTensorOperation):
    """A resource as a value that goes outside."""

    name = "stream.tensor.export"
    source = operand_def(ResourceType)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    result = result_def()

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $source"
        " : shaped($source_encoding_dims, $source_encoding) in type($source){$source_size}"
        " -> type($result) attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorSizeOfOp(PlacedTensorOperation):
    """The bytes that a tensor takes in its encoding, where the operation runs."""

    name = "stream.tensor.sizeof"
    encoding = prop_def(Attribute)
    encoding_dims = var_operand_def(INDEX)
    storage_size = result_def(INDEX)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? shaped($encoding_dims, $encoding) attr-dict : type($storage_size)"
    )


@irdl_op_definition
class TensorEmptyOp(PlacedTensorOperation):
    """A tensor without contents."""

    name = "stream.tensor.empty"
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))?"
        " : shaped($result_encoding_dims, $result_encoding) in type($result){$result_size}"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorConstantOp(PlacedTensorOperation):
    """A tensor of constant contents."""

    name = "stream.tensor.constant"
    value = prop_def(Attribute)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))?"
        " : shaped($result_encoding_dims, $result_encoding) in type($result) = $value"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorSplatOp(PlacedTensorOperation):
    """A tensor with the same value everywhere."""

    name = "stream.tensor.splat"
    value = operand_def(SCALAR)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $value : type($value)"
        " -> shaped($result_encoding_dims, $result_encoding) in type($result){$result_size}"
        " attr-dict-with-keyword"
    )


class TensorCopy(PlacedTensorOperation):
    """A tensor made of another of the same shape."""

    source = operand_def(ResourceType)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $source"
        " : shaped($source_encoding_dims, $source_encoding) in type($source){$source_size}"
        " -> shaped($result_encoding_dims, $result_encoding) in type($result){$result_size}"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorCloneOp(TensorCopy):
    """A copy of a tensor, in the same layout; of one in rows, the same bytes in another shape."""

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
    """A copy of a tensor in another layout."""

    name = "stream.tensor.encode"

    def verify_(self) -> None:
        super().verify_()
        source, result = plain_type(self.source_encoding), plain_type(self.result_encoding)
        if source != result:
            raise VerifyException(
                f"expects the same tensor on both sides, found {source} and {result}"
            )


def plain_type(type_: Attribute) -> Attribute:
    """A type without its encoding, if it has one."""
    return plain(cast("TensorType[Attribute]", type_)) if isinstance(type_, TensorType) else type_


def verify_rank(type_: Attribute, positions: Sequence[SSAValue], message: str) -> None:
    """Verify that there is one number for each dimension of a tensor. Raises VerifyException."""
    if isinstance(type_, TensorType) and len(positions) != type_.get_num_dims():
        raise VerifyException(message)


@irdl_op_definition
class TensorSliceOp(PlacedTensorOperation):
    """A copy of a part of a tensor."""

    name = "stream.tensor.slice"
    source = operand_def(ResourceType)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    lengths = var_operand_def(INDEX)
    result_encoding = prop_def(Attribute)
    result_encoding_dims = var_operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $source[$start_indices for $lengths]"
        " : shaped($source_encoding_dims, $source_encoding) in type($source){$source_size}"
        " -> shaped($result_encoding_dims, $result_encoding) in type($result){$result_size}"
        " attr-dict-with-keyword"
    )

    def verify_(self) -> None:
        super().verify_()
        for positions in (self.start_indices, self.lengths):
            verify_rank(self.source_encoding, positions, "start_indices/lengths rank mismatch")


@irdl_op_definition
class TensorFillOp(PlacedTensorOperation):
    """The same tensor with a value written to a part of it."""

    name = "stream.tensor.fill"
    target = operand_def(ResourceType)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    lengths = var_operand_def(INDEX)
    value = operand_def(SCALAR)
    result = result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $value, $target([$start_indices for $lengths^])? : type($value)"
        " -> shaped($target_encoding_dims, $target_encoding) in tied($target) type($target,"
        " $result){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorUpdateOp(PlacedTensorOperation):
    """The same tensor with another tensor written to a part of it."""

    name = "stream.tensor.update"
    target = operand_def(ResourceType)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    update = operand_def(ResourceType)
    update_encoding = prop_def(Attribute)
    update_encoding_dims = var_operand_def(INDEX)
    update_size = operand_def(INDEX)
    result = result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? $update, $target[$start_indices]"
        " : shaped($update_encoding_dims, $update_encoding) in type($update){$update_size}"
        " -> shaped($target_encoding_dims, $target_encoding) in tied($target) type($target,"
        " $result){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorDispatchOp(PlacedTensorOperation):
    """Run a kernel on tensors."""

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
    results_ = var_result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        "( on($affinity))? ",
        EntryPoints(),
        "([$workload])?($mixed_operands) attr-dict : ",
        EncodedFunctionType(),
    )


@irdl_op_definition
class TensorLoadOp(TensorOperation):
    """One element of a tensor that the host can reach."""

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
        " $source([$indices])?"
        " : shaped($source_encoding_dims, $source_encoding) in type($source){$source_size}"
        " -> type($result) attr-dict-with-keyword"
    )

    def verify_(self) -> None:
        super().verify_()
        verify_rank(self.source_encoding, self.indices, "indices rank mismatch")


@irdl_op_definition
class TensorStoreOp(TensorOperation):
    """The same tensor, which the host can reach, with one element written."""

    name = "stream.tensor.store"
    target = operand_def(STAGING)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    indices = var_operand_def(INDEX)
    value = operand_def(NUMBER)
    result = result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " $value, $target([$indices])? : type($value)"
        " -> shaped($target_encoding_dims, $target_encoding) in tied($target) type($target,"
        " $result){$target_size} attr-dict-with-keyword"
    )

    def verify_(self) -> None:
        super().verify_()
        verify_rank(self.target_encoding, self.indices, "indices rank mismatch")


@irdl_op_definition
class TensorTraceOp(TensorOperation):
    """Print tensors that the host can reach when the program runs."""

    name = "stream.tensor.trace"
    key = prop_def(StringAttr)
    resources = var_operand_def(ResourceType)
    resource_sizes = var_operand_def(INDEX)
    resource_encodings = prop_def(ArrayAttr[Attribute])
    resource_encoding_dims = var_operand_def(INDEX)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " $key = [",
        TracedTensors(),
        "] attr-dict-with-keyword",
    )
