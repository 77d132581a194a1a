"""Canonicalization of dispatches whose kernels are regions: what is unused or repeated."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import number_list
from ...ir.canonicalization import Patterns
from ...ir.regions import detach_regions
from ...ir.syntax.resource_directives import UNTIED, sizes_by_type, tied_operands
from .dispatches import DispatchRegionOp, DispatchWorkgroupsOp
from .sizes import sizes_of

rewrites = Patterns()

STORE = "iree_tensor_ext.dispatch.tensor.store"


def _sizes(results: Sequence[OpResult]) -> list[SSAValue]:
    return [size for result in results for size in sizes_of(result)]


@rewrites("flow.dispatch.region")
def fold_region_results(op: DispatchRegionOp, rewriter: PatternRewriter) -> None:
    """Return each value of a region once, and none that is unused."""
    returned = op.body.blocks[0].last_op if len(op.body.blocks) == 1 else None
    if returned is None:
        return
    kept: dict[SSAValue, OpResult] = {}
    for value, result in zip(returned.operands, op.results, strict=True):
        if result.uses:
            kept.setdefault(value, result)
    if len(kept) == len(op.results):
        return
    before = tuple(returned.operands)
    returned.operands = list(kept)
    new = DispatchRegionOp.build(
        operands=[op.workload, _sizes(list(kept.values()))],
        result_types=[[result.type for result in kept.values()]],
        attributes=op.attributes,
        regions=detach_regions(op),
    )
    found: dict[SSAValue, OpResult] = dict(zip(kept, new.results, strict=True))
    rewriter.replace(op, new, [found.get(value) for value in before])


@rewrites("flow.dispatch.workgroups")
def fold_workgroups(op: DispatchWorkgroupsOp, rewriter: PatternRewriter) -> None:
    """Pass each value to a kernel once; drop operands and results that are unused."""
    blocks = op.workgroup_body.blocks
    if len(blocks) != 1 or any(tie != UNTIED for tie in number_list(op.tied_operands)):
        return
    inputs = _merged_inputs(op, blocks[0], rewriter)
    outputs = [result for result in op.results if result.uses or not _is_only_stored(op, result)]
    if len(inputs) == len(op.arguments) and len(outputs) == len(op.results):
        return
    count = len(op.arguments)
    sizes = sizes_by_type(op.arguments.types, op.argument_dims)
    operands = [op.arguments[index] for index in inputs]
    operand_sizes = [size for index in inputs for size in sizes[index]]
    for index in reversed(range(len(blocks[0].args))):
        argument = blocks[0].args[index]
        if index < count and index not in inputs:
            blocks[0].erase_arg(argument)
        elif index >= count and op.results[index - count] not in outputs:
            for use in list(argument.uses):
                rewriter.erase(use.operation)
            blocks[0].erase_arg(argument)
    new = DispatchWorkgroupsOp.build(
        operands=[op.workload, operands, operand_sizes, _sizes(outputs)],
        result_types=[[result.type for result in outputs]],
        properties={"tied_operands": tied_operands([UNTIED] * len(outputs))},
        attributes=op.attributes,
        regions=detach_regions(op),
    )
    found = dict(zip(outputs, new.results, strict=True))
    rewriter.replace(op, new, [found.get(result) for result in op.results])


def _merged_inputs(op: DispatchWorkgroupsOp, block: Block, rewriter: PatternRewriter) -> list[int]:
    """Let a kernel use the first of equal operands; return the positions of those in use."""
    first: dict[SSAValue, BlockArgument] = {}
    for value, argument in zip(op.arguments, block.args, strict=False):
        kept = first.setdefault(value, argument) if argument.uses else argument
        if kept is not argument and kept.type == argument.type:
            rewriter.replace_all_uses_with(argument, kept)
    return [index for index in range(len(op.arguments)) if block.args[index].uses]


def _is_only_stored(op: DispatchWorkgroupsOp, result: OpResult) -> bool:
    argument = op.workgroup_body.blocks[0].args[len(op.arguments) + result.index]
    return all(use.operation.name == STORE for use in argument.uses)
