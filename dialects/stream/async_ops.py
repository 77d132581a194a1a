"""Asynchronous operations of the `stream` dialect: bytes in resources, without tensor types."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

from ...ir.syntax.directives import EntryPoints
from ...ir.syntax.resource_directives import (
    ON_AFFINITY,
    Sized,
    SizedTied,
    TiedFunctionType,
    ValueForm,
    at_offset,
    offset_to_end,
    placed,
)
from ...ir.syntax.rows import (
    ATTRIBUTES,
    ATTRIBUTES_WITH_KEYWORD,
    AttributeValue,
    Operand,
    Operands,
    Optional,
    Syntax,
    SyntaxOperation,
    Type,
)
from .affinity import AffinityOpInterface
from .dispatch_syntax import DispatchOperands
from .regions import ResourceRegion, YieldOp
from .types import ResourceType, TimepointType

INDEX = IndexType()
TIMEPOINT = TimepointType()
AWAIT = Optional((" await(", Operand("await_timepoint"), ") =>"), anchor="await_timepoint")


class PlacedOperation(SyntaxOperation):
    """An asynchronous operation that runs somewhere."""

    affinity = opt_prop_def(Attribute)
    traits = traits_def(AffinityOpInterface())


@irdl_op_definition
class AsyncAllocaOp(PlacedOperation):
    """Bytes without contents."""

    name = "stream.async.alloca"
    storage_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (ON_AFFINITY, ATTRIBUTES, " : ", Sized("result", "storage_size"))


@irdl_op_definition
class AsyncConstantOp(PlacedOperation):
    """Constant bytes."""

    name = "stream.async.constant"
    value = prop_def(Attribute)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (
        ON_AFFINITY,
        " : ",
        Sized("result", "result_size"),
        " = ",
        AttributeValue("value"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class AsyncSplatOp(PlacedOperation):
    """A pattern over and over."""

    name = "stream.async.splat"
    value = operand_def()
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("value"),
        " : ",
        Type("value"),
        " -> ",
        Sized("result", "result_size"),
    )


class AsyncCopyOf(PlacedOperation):
    """The bytes of another resource, all of them."""

    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("source"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        Sized("result", "result_size"),
    )


@irdl_op_definition
class AsyncCloneOp(AsyncCopyOf):
    """A copy."""

    name = "stream.async.clone"


@irdl_op_definition
class AsyncCastOp(AsyncCopyOf):
    """The same bytes with another lifetime."""

    name = "stream.async.cast"


@irdl_op_definition
class AsyncSliceOp(PlacedOperation):
    """A copy of a range of bytes."""

    name = "stream.async.slice"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    source_end = operand_def(INDEX)
    result_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        *offset_to_end("source"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        Sized("result", "result_size"),
    )


@irdl_op_definition
class AsyncFillOp(PlacedOperation):
    """The same resource with a pattern written to a range."""

    name = "stream.async.fill"
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_end = operand_def(INDEX)
    target_length = operand_def(INDEX)
    value = operand_def()
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("value"),
        ", ",
        Operand("target"),
        "[",
        Operand("target_offset"),
        " to ",
        Operand("target_end"),
        " for ",
        Operand("target_length"),
        "] : ",
        Type("value"),
        " -> ",
        SizedTied("target", "target_size"),
    )


@irdl_op_definition
class AsyncUpdateOp(PlacedOperation):
    """The same resource with another one written to a range."""

    name = "stream.async.update"
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_end = operand_def(INDEX)
    update = operand_def(ResourceType)
    update_size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("update"),
        ", ",
        *offset_to_end("target"),
        " : ",
        Sized("update", "update_size"),
        " -> ",
        SizedTied("target", "target_size"),
    )


@irdl_op_definition
class AsyncCopyOp(PlacedOperation):
    """The same resource with a range of another one written to a range."""

    name = "stream.async.copy"
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    target_end = operand_def(INDEX)
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    source_end = operand_def(INDEX)
    length = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        *offset_to_end("source"),
        ", ",
        *offset_to_end("target"),
        ", ",
        Operand("length"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        SizedTied("target", "target_size"),
    )


@irdl_op_definition
class AsyncBarrierOp(PlacedOperation):
    """The same resource, pinned to where the operation runs."""

    name = "stream.async.barrier"
    source = operand_def(ResourceType)
    size = operand_def(INDEX)
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("source"),
        " : ",
        Sized("source", "size", "result"),
    )


@irdl_op_definition
class AsyncTransferOp(SyntaxOperation):
    """The same bytes on another device, or with another lifetime."""

    name = "stream.async.transfer"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    result_size = operand_def(INDEX)
    affinity = opt_prop_def(Attribute)
    source_affinity = opt_prop_def(Attribute)
    target_affinity = opt_prop_def(Attribute)
    result = result_def(ResourceType)
    traits = traits_def(AffinityOpInterface("target_affinity"))

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("source"),
        " : ",
        Sized("source", "source_size"),
        Optional((" from(", AttributeValue("source_affinity"), ")"), anchor="source_affinity"),
        " -> ",
        Optional(("to(", AttributeValue("target_affinity"), ") "), anchor="target_affinity"),
        Sized("result", "result_size"),
    )


@irdl_op_definition
class AsyncLoadOp(SyntaxOperation):
    """One element of a resource that the host can reach."""

    name = "stream.async.load"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    source_offset = operand_def(INDEX)
    result = result_def()

    SYNTAX: ClassVar[Syntax] = (
        " ",
        *at_offset("source"),
        " : ",
        Sized("source", "source_size"),
        " -> ",
        Type("result"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class AsyncStoreOp(SyntaxOperation):
    """The same resource, which the host can reach, with one element written."""

    name = "stream.async.store"
    target = operand_def(ResourceType)
    target_size = operand_def(INDEX)
    target_offset = operand_def(INDEX)
    value = operand_def()
    result = result_def(ResourceType)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("value"),
        ", ",
        *at_offset("target"),
        " : ",
        Type("value"),
        " -> ",
        SizedTied("target", "target_size"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class AsyncDispatchOp(PlacedOperation):
    """Run a kernel on ranges of resources."""

    name = "stream.async.dispatch"
    workload = var_operand_def(INDEX)
    entry_points = prop_def(ArrayAttr[SymbolRefAttr])
    resource_operands = var_operand_def()
    resource_operand_sizes = var_operand_def(INDEX)
    resource_operand_offsets = var_operand_def(INDEX)
    resource_operand_ends = var_operand_def(INDEX)
    resource_operand_lengths = var_operand_def(INDEX)
    result_sizes = var_operand_def(INDEX)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        ON_AFFINITY,
        " ",
        EntryPoints(),
        Optional(("[", Operands("workload"), "]"), anchor="workload"),
        DispatchOperands(),
        ATTRIBUTES,
        " : ",
        TiedFunctionType(
            ValueForm.RESOURCE,
            "resource_operands",
            "resource_operand_sizes",
            "results_",
            "result_sizes",
        ),
    )


@irdl_op_definition
class AsyncExecuteOp(PlacedOperation):
    """Operations that wait for each other's results and for a timepoint."""

    name = "stream.async.execute"
    resource_operands = var_operand_def(ResourceType)
    resource_operand_sizes = var_operand_def(INDEX)
    result_sizes = var_operand_def(INDEX)
    await_timepoint = opt_operand_def(TIMEPOINT)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def(ResourceType)
    result_timepoint = result_def(TimepointType)
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        ON_AFFINITY,
        AWAIT,
        " with",
        ResourceRegion(),
        " => ",
        Type("result_timepoint"),
        ATTRIBUTES_WITH_KEYWORD,
    )


@irdl_op_definition
class AsyncConcurrentOp(PlacedOperation):
    """Operations that run at the same time."""

    name = "stream.async.concurrent"
    resource_operands = var_operand_def(ResourceType)
    resource_operand_sizes = var_operand_def(INDEX)
    result_sizes = var_operand_def(INDEX)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    results_ = var_result_def(ResourceType)
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (ON_AFFINITY, " with", ResourceRegion(), ATTRIBUTES_WITH_KEYWORD)


STREAM_ASYNC_OPERATIONS: list[type[Operation]] = [
    AsyncAllocaOp,
    AsyncBarrierOp,
    AsyncCastOp,
    AsyncCloneOp,
    AsyncConcurrentOp,
    AsyncConstantOp,
    AsyncCopyOp,
    AsyncDispatchOp,
    AsyncExecuteOp,
    AsyncFillOp,
    AsyncLoadOp,
    AsyncSliceOp,
    AsyncSplatOp,
    AsyncStoreOp,
    AsyncTransferOp,
    AsyncUpdateOp,
    YieldOp,
]
