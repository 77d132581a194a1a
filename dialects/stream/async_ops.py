"""Asynchronous ops of the `stream` dialect, on resources as bytes, without tensor types.

The verifiers beyond operand types are those of the directives in `SYNTAX`
(`dispatch_directives.py`, `regions.py`, `ir/syntax/resource_directives.py`). A row takes further
checks as `verify=`.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute
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

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.directives import verify_same_type
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.symbol_directives import EntryPoints
from .affinity import AffinityOpInterface
from .dispatch_directives import FUNCTION_TYPE, DispatchOperands
from .regions import ResourceRegion, verify_parent
from .rows import CANONICALIZATION, PLACED, row
from .types import TIMEPOINT, ResourceType, TimepointType


class PlacedOperation(SyntaxOperation):
    """Base of the asynchronous ops with an affinity."""

    affinity = opt_prop_def(Attribute)
    traits = traits_def(AffinityOpInterface(), CANONICALIZATION)


AsyncAllocaOp = row(
    "async.alloca",
    "storage_size -> result:resource | affinity:attr?",
    "( on($affinity))? attr-dict : type($result){$storage_size}",
    traits=PLACED,
    doc="Allocate a resource with undefined contents.",
)


AsyncConstantOp = row(
    "async.constant",
    "await_timepoint:timepoint? result_size -> result:resource | affinity:attr? value:attr",
    "( on($affinity))?( await($await_timepoint))?"
    " : type($result){$result_size} = $value attr-dict-with-keyword",
    traits=PLACED,
    doc="Return a resource with constant contents.",
)


AsyncSplatOp = row(
    "async.splat",
    "await_timepoint:timepoint? value:i8/i16/i32/i64 result_size -> result:resource"
    " | affinity:attr?",
    "( on($affinity))?( await($await_timepoint))? $value"
    " : type($value) -> type($result){$result_size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Return a resource filled with a repeated pattern.",
)


AsyncCloneOp = row(
    "async.clone",
    "source:resource source_size result_size -> result:resource | affinity:attr?",
    "( on($affinity))? $source : type($source){$source_size}"
    " -> type($result){$result_size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Clone a resource.",
)


AsyncCastOp = row(
    "async.cast",
    "source:resource source_size result_size -> result:resource | affinity:attr?",
    "( on($affinity))? $source : type($source){$source_size}"
    " -> type($result){$result_size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Cast a resource to another lifetime.",
)


AsyncSliceOp = row(
    "async.slice",
    "source:resource source_size source_offset source_end result_size -> result:resource"
    " | affinity:attr?",
    "( on($affinity))? $source[$source_offset to $source_end] : type($source){$source_size}"
    " -> type($result){$result_size} attr-dict-with-keyword",
    traits=PLACED,
    verify=partial(verify_same_type, names=("source", "result")),
    doc="Copy a range of a resource into a new one.",
)


AsyncFillOp = row(
    "async.fill",
    "target:resource target_size target_offset target_end target_length value:i8/i16/i32/i64 ->"
    " result:resource | affinity:attr?",
    "( on($affinity))? $value, $target[$target_offset to $target_end for $target_length]"
    " : type($value) -> tied($target) type($target, $result){$target_size}"
    " attr-dict-with-keyword",
    traits=PLACED,
    doc="Fill a range with a repeated pattern; the result is tied to the target.",
)


AsyncUpdateOp = row(
    "async.update",
    "target:resource target_size target_offset target_end update:resource update_size ->"
    " result:resource | affinity:attr?",
    "( on($affinity))? $update, $target[$target_offset to $target_end]"
    " : type($update){$update_size}"
    " -> tied($target) type($target, $result){$target_size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Write a resource to a range of another; the result is tied to the target.",
)


AsyncCopyOp = row(
    "async.copy",
    "target:resource target_size target_offset target_end source:resource source_size"
    " source_offset source_end length -> result:resource | affinity:attr?",
    "( on($affinity))? $source[$source_offset to $source_end], $target[$target_offset to"
    " $target_end], $length : type($source){$source_size}"
    " -> tied($target) type($target, $result){$target_size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Copy a range to a range of another resource; the result is tied to the target.",
)


AsyncBarrierOp = row(
    "async.barrier",
    "source:any_resource size -> result:any_resource | affinity:attr?",
    "( on($affinity))? $source : type($source, $result){$size} attr-dict-with-keyword",
    traits=PLACED,
    doc="Pin a resource to the affinity of the op.",
)


@irdl_op_definition
class AsyncTransferOp(SyntaxOperation):
    """Transfer a resource to another affinity or lifetime.

    The contents stay the same. The affinity of the op is `target_affinity`.
    """

    name = "stream.async.transfer"
    source = operand_def(ResourceType)
    source_size = operand_def(INDEX)
    result_size = operand_def(INDEX)
    execution_affinity = opt_prop_def(Attribute)
    source_affinity = opt_prop_def(Attribute)
    target_affinity = opt_prop_def(Attribute)
    result = result_def(ResourceType)
    traits = traits_def(
        AffinityOpInterface("target_affinity", ("source_affinity", "execution_affinity")),
        CANONICALIZATION,
    )

    SYNTAX: ClassVar[Syntax] = (
        "( on($execution_affinity))? $source : type($source){$source_size}"
        "( from($source_affinity))?"
        " -> (to($target_affinity) )?type($result){$result_size} attr-dict-with-keyword"
    )


AsyncLoadOp = row(
    "async.load",
    "source:staging source_size source_offset -> result:number",
    " $source[$source_offset] : type($source){$source_size} -> type($result)"
    " attr-dict-with-keyword",
    doc="Load one element of a resource in staging memory.",
)


AsyncStoreOp = row(
    "async.store",
    "target:staging target_size target_offset value:number -> result:staging",
    " $value, $target[$target_offset] : type($value)"
    " -> tied($target) type($target, $result){$target_size} attr-dict-with-keyword",
    doc="Store one element of a resource in staging memory; the result is tied to the target.",
)


@irdl_op_definition
class AsyncDispatchOp(PlacedOperation):
    """Dispatch a kernel on ranges of resources.

    `resource_operands` holds resources and primitive values; every resource has a size and a range
    given by offset, end and length. Results are new resources, or tied to operands that the kernel
    updates in place. If there are several entry points, they are alternatives.
    """

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
        "( on($affinity))? ",
        EntryPoints(),
        "([$workload])?",
        DispatchOperands(),
        " attr-dict : ",
        FUNCTION_TYPE,
    )


@irdl_op_definition
class AsyncExecuteOp(PlacedOperation):
    """Execute ops asynchronously once a timepoint is reached.

    The region sees only the captured resources and yields the results; `result_timepoint` is
    reached when all its ops have completed.
    """

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
        "( on($affinity))?( await($await_timepoint) =>)? with",
        ResourceRegion(),
        " => type($result_timepoint) attr-dict-with-keyword",
    )


AsyncConcurrentOp = row(
    "async.concurrent",
    "resource_operands:any_resource* resource_operand_sizes* result_sizes*"
    " -> results_:any_resource* | affinity:attr? tied_operands:positions? | body",
    ("( on($affinity))? with", ResourceRegion(), " attr-dict-with-keyword"),
    traits=PLACED,
    verify=partial(verify_parent, names=("stream.async.execute", "stream.async.concurrent")),
    doc="""Execute ops that may run concurrently.

    The region sees only the captured resources and yields the results.
    """,
)
