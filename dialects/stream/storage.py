"""Ops on resources, devices and storage of rare use, and ops for the tests of IREE."""

from __future__ import annotations

from functools import partial

from xdsl.parser import Parser

from ...ir.syntax.directives import verify_same_type
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.rows import PURE
from .dispatch_directives import FUNCTION_TYPE
from .rows import PLACED, row

CONSTANTS = Repeated(
    "type($results_){$result_sizes} = $values",
    arrays=("values",),
    delimiter=Parser.Delimiter.NONE,
)
"""`T{%size} = dense<...>, ...`."""

OF_RESOURCE = " $operand attr-dict : type($operand){$operand_size}"
OPERAND = "operand:any_resource operand_size"

ResourceLoadOp = row(
    "resource.load",
    "source:staging source_size source_offset -> result:number",
    " $source[$source_offset] : type($source){$source_size} -> type($result)"
    " attr-dict-with-keyword",
)

ResourceStoreOp = row(
    "resource.store",
    "target:staging target_size target_offset value:number",
    " $value, $target[$target_offset] : type($value) -> type($target){$target_size}"
    " attr-dict-with-keyword",
)

ResourceConstantsOp = row(
    "resource.constants",
    "result_sizes* -> results_:constant* result_timepoint:timepoint | values:array affinity:attr?",
    ("( on($affinity))? attr-dict : ", CONSTANTS, " => type($result_timepoint)"),
    traits=PLACED,
    verify=partial(verify_same_type, names=("results_",)),
)

ROWS = (
    row(
        "context.resolve",
        "-> results_:any* | affinity:attr?",
        "( on($affinity))? attr-dict : type($results_)",
        traits=(*PLACED, *PURE),
    ),
    row("resource.retain", OPERAND, OF_RESOURCE),
    row("resource.release", f"{OPERAND} -> was_terminal:i1", OF_RESOURCE),
    row("resource.is_terminal", f"{OPERAND} -> is_terminal:i1", OF_RESOURCE),
    row(
        "resource.transients",
        "resource:any_resource resource_size storage:any_resource storage_size"
        " await_timepoint:timepoint?"
        " -> result:any_resource result_timepoint:timepoint | affinity:attr?",
        "( on($affinity))?( await($await_timepoint) =>)? $resource"
        " : type($resource, $result){$resource_size} from $storage"
        " : type($storage){$storage_size} => type($result_timepoint) attr-dict-with-keyword",
        traits=PLACED,
    ),
    row(
        "test.timeline_op",
        "resource_operands:any_resource* resource_operand_sizes* result_sizes*"
        " await_operands:timepoint* -> results_:any_resource* result_timepoint:timepoint"
        " | tied_operands:array? await_limit:int?",
        (
            "( await_limit(int($await_limit)))?( await($await_operands) =>)?"
            " with($resource_operands) attr-dict : ",
            FUNCTION_TYPE,
            " => type($result_timepoint)",
        ),
    ),
    row(
        "test.timeline_aware",
        "args:any* wait_fence_likes:fence* signal_fence_like:fence -> results_:any*",
        "($args) waits($wait_fence_likes) signals($signal_fence_like) attr-dict"
        " : (type($args)) -> result-types($results_)",
    ),
)
