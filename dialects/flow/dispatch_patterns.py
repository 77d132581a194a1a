"""Canonicalization of dispatches: what their regions repeat or do not use, what kernels access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Attribute, Block, BlockArgument, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import constant_integer, number_list
from ...ir.canonicalization import Patterns
from ...ir.index_lists import mixed_list, slice_properties, split_list
from ...ir.regions import detach_regions
from ...ir.syntax.resource_directives import UNTIED, sizes_by_type, tied_operands
from ..iree_encoding.interfaces import Tensor
from ..iree_tensor_ext import DispatchTensorLoadOp, DispatchTensorStoreOp
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
        operands=[_sizes(list(kept.values())), op.workload],
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


# Accesses of kernels ------------------------------------------------------------------------------


@rewrites(DispatchTensorLoadOp, DispatchTensorStoreOp)
def access_at_constants(
    op: DispatchTensorLoadOp | DispatchTensorStoreOp, rewriter: PatternRewriter
) -> None:
    """Make constant offsets, sizes and strides static, and with sizes the type of the tensor."""
    tensor = op.result if isinstance(op, DispatchTensorLoadOp) else op.value
    before = cast(Tensor, tensor.type)
    offsets = _with_constants(op.static_offsets, op.offsets)
    sizes = _with_constants(op.static_sizes, op.sizes)
    strides = _with_constants(op.static_strides, op.strides)
    type_ = before
    if len(sizes) == len(before.get_shape()):
        shape, _ = split_list(sizes)
        type_ = TensorType(before.element_type, shape, before.encoding)
    else:
        sizes = mixed_list(number_list(op.static_sizes), op.sizes)
    lists = [split_list(mixed)[1] for mixed in (offsets, sizes, strides)]
    if sum(map(len, lists)) == len(op.offsets) + len(op.sizes) + len(op.strides):
        return
    properties = slice_properties(offsets, sizes, strides)
    if isinstance(op, DispatchTensorStoreOp):
        value = op.value
        if type_ != before:
            value = rewriter.insert(CastOp(value, type_)).dest
        operands = [value, op.target, op.target_dims, *lists]
        rewriter.replace(op, DispatchTensorStoreOp.build(operands=operands, properties=properties))
        return
    loaded = DispatchTensorLoadOp.build(
        operands=[op.source, op.source_dims, *lists], result_types=[type_], properties=properties
    )
    rewriter.replace(op, loaded if type_ == before else (loaded, CastOp(loaded.result, before)))


def _with_constants(numbers: Attribute, operands: Sequence[SSAValue]) -> tuple[int | SSAValue, ...]:
    """Return a mixed list with the constants among the operands as numbers, unless negative."""
    known = [constant_integer(operand) for operand in operands]
    pairs = zip(known, operands, strict=True)
    found = [value if number is None or number < 0 else number for number, value in pairs]
    return mixed_list(number_list(numbers), found)
