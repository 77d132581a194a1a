"""Fuse bindings of one resource, and pass the offsets of its ranges as operands.

    stream.cmd.dispatch @ex::@f(%n : index) {
      ro %r[%c64 for %c64] : ..., ro %r[%c128 for %c64] : ..., wo %s[%c0 for %c64] : ...
    }

becomes

    stream.cmd.dispatch @ex::@f(%c64, %c128, %c0, %n : index, index, index, index) {
      ro %r[%c0 for %size] : ..., wo %s[%c0 for %size_1] : ...
    }

and the kernel adds the offsets where it accesses its bindings. Two bindings are fused if every
dispatch of the kernel binds the same resource to both, read-only. Written bindings are fused too if
`stream.resources` says `alias_mutable_bindings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...dialects.stream.commands import CmdDispatchOp
from ...dialects.stream.dispatch_directives import ACCESS
from ...dialects.stream.types import BindingType
from ...ir.attribute_access import boundary_attributes, constant_integer
from ...ir.index import BuilderIndices, constant_index
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before
from ..manager.module_pass import module_pass
from .analysis.resource_limits import resource_limits
from .kernels.exports import SUBSPAN
from .kernels.sites import KernelGroup, kernel_groups
from .kernels.uniform_operands import (
    group_around,
    replace_dispatch,
    retype_kernel,
    uniform_arguments,
)

READ_ONLY = ACCESS["ro"]
Bindings = list[list[int]]
"""For each fused binding, the positions of the original ones."""


@module_pass("iree-stream-fuse-dispatch-bindings")
def fuse_dispatch_bindings(module: ModuleOp) -> None:
    """Bind ranges of one resource once."""
    for group in kernel_groups(module):
        entries = group.entries()
        if entries is not None and all(map(_can_shift, entries)):
            _fuse(group, entries)


def _bindings(block: Block) -> tuple[BlockArgument, ...]:
    return tuple(each for each in block.args if isinstance(each.type, BindingType))


def _can_shift(block: Block) -> bool:
    """Return whether a kernel uses its bindings only in subspans, whose offsets can be shifted."""
    return all(use.operation.name == SUBSPAN for each in _bindings(block) for use in each.uses)


def _fuse(group: KernelGroup, entries: Sequence[Block]) -> None:
    counts = {len(each.resources) for each in group.dispatches}
    counts |= {len(_bindings(each)) for each in entries}
    if len(counts) != 1 or counts == {0}:
        return
    bindings = _fused(group.dispatches, counts.pop())
    for function, block in zip(group.functions, entries, strict=True):
        _shift_bindings(function, block, bindings)
    for dispatch in group.dispatches:
        _bind_whole(dispatch, bindings)


def _fused(dispatches: Sequence[CmdDispatchOp], count: int) -> Bindings:
    """Return which of the bindings are fused."""
    bindings: Bindings = []
    for index in range(count):
        for fused in bindings:
            if all(_is_same(dispatch, fused[0], index) for dispatch in dispatches):
                fused.append(index)
                break
        else:
            bindings.append([index])
    return bindings


def _is_same(dispatch: CmdDispatchOp, one: int, other: int) -> bool:
    accesses = {_access(dispatch, index) for index in (one, other)}
    may_alias = accesses == {READ_ONLY} or resource_limits(dispatch).alias_mutable_bindings
    return dispatch.resources[one] is dispatch.resources[other] and may_alias


def _access(dispatch: CmdDispatchOp, index: int) -> int:
    return dispatch.resource_accesses.data[index].value.data


def _shift_bindings(function: Operation, block: Block, bindings: Bindings) -> None:
    """Change a kernel's arguments to bindings, their offsets and its operands, in this order."""
    old, numbers = _bindings(block), uniform_arguments(block)

    def attributes_of(argument: BlockArgument) -> Attribute:
        return DictionaryAttr(boundary_attributes(function, "arg_attrs", argument.index))

    count = len(bindings)
    order = [index for fused in bindings for index in fused]
    arg_attrs: list[Attribute] = [DictionaryAttr({})] * count
    arg_attrs += [attributes_of(old[index]) for index in order] + [
        attributes_of(each) for each in numbers
    ]
    new = [block.insert_arg(BindingType(), index) for index in range(count)]
    offsets = [block.insert_arg(INDEX, count + index) for index in range(len(order))]
    moved = [block.insert_arg(each.type, len(block.args)) for each in numbers]
    for number, argument in zip(numbers, moved, strict=True):
        argument.name_hint = number.name_hint
        number.replace_all_uses_with(argument)
    of_index = dict(zip(order, offsets, strict=True))
    for binding, fused in zip(new, bindings, strict=True):
        binding.name_hint = old[fused[0]].name_hint
        for index in fused:
            for use in tuple(old[index].uses):
                _shift(use.operation, of_index[index])
            old[index].replace_all_uses_with(binding)
    for argument in (*old, *numbers):
        block.erase_arg(argument)
    retype_kernel(function, arg_attrs)


def _shift(subspan: Operation, offset: SSAValue) -> None:
    """Add an offset to a subspan."""
    indices = BuilderIndices(builder_before(subspan))
    start = subspan.operands[1]
    terms = (start, offset) if constant_integer(start) is None else (offset, start)
    subspan.operands[1] = indices.sum(*terms)


def _bind_whole(dispatch: CmdDispatchOp, bindings: Bindings) -> None:
    """Make a dispatch bind whole resources, and pass offsets before its other operands."""
    zero = constant_index(0, builder_before(group_around(dispatch)))
    firsts = [fused[0] for fused in bindings]
    sizes = [dispatch.resource_sizes[index] for index in firsts]
    offsets = [dispatch.resource_offsets[index] for index in chain.from_iterable(bindings)]
    accesses = [
        reduce(int.__or__, (_access(dispatch, index) for index in fused)) for fused in bindings
    ]
    numbers = [*offsets, *dispatch.uniform_operands]
    resources = [dispatch.resources[index] for index in firsts]
    replace_dispatch(
        dispatch,
        [numbers, resources, sizes, [zero] * len(firsts), sizes],
        ArrayAttr(IntegerAttr(each, i32) for each in accesses),
    )
