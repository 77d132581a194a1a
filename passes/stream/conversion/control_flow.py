"""Control flow of host programs, once tensors are resources.

Where a loop or a condition carries a tensor it carries the resource, its size in bytes and the
sizes of its dynamic dimensions instead: each may be another in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ....dialects.flow.collectives import ChannelType as FlowChannelType
from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream.types import ChannelType
from ....ir.regions import reachable_blocks
from ....ir.syntax.resource_directives import UNTIED, tied_operands, ties_of
from ....ir.tensor_types import ranked
from ....ir.value_flow import BRANCHES
from .stored_tensors import StoredTensor, carried_types, stored_from


class TensorStorage(Protocol):
    """The part of a host program's conversion that control flow needs."""

    carries_dims: bool
    """Whether the sizes of dynamic dimensions go along with tensors."""

    def convert_region(self, region: Region) -> None:
        """Convert all operations of a region, and give its blocks arguments for resources."""
        ...

    def stored(self, value: SSAValue, reader: Operation) -> StoredTensor:
        """What stands for a tensor."""
        ...

    def store(self, value: SSAValue, stored: StoredTensor) -> None:
        """Note what stands for a tensor."""
        ...

    def done(self, operation: Operation) -> None:
        """Note that an operation has been replaced, and goes once all are."""
        ...

    def outdated(self, argument: BlockArgument) -> None:
        """Note that a block's argument has been replaced, and goes once all are."""
        ...


TIED = "tied_operands"

CHANNEL = ChannelType()

CONTROL_FLOW = BRANCHES | frozenset(
    {
        "func.call",
        "func.return",
        "scf.condition",
        "scf.execute_region",
        "scf.for",
        "scf.if",
        "scf.index_switch",
        "scf.while",
        "scf.yield",
        "util.call",
        "util.return",
    }
)
"""Operations that carry values around, whatever these are."""


def convert_control_flow(host: TensorStorage, operation: Operation, builder: Builder) -> None:
    """Replace an operation by one that carries resources; convert what is inside of it."""
    regions: list[Region] = []
    for region in tuple(operation.regions):
        host.convert_region(region)
        regions.append(operation.detach_region(region))
    expanded = type(operation).create(
        operands=expand_values(host, operation.operands, operation),
        result_types=expand_types(operation.result_types, with_dims=host.carries_dims),
        properties=expand_segments(operation, with_dims=host.carries_dims),
        attributes=dict(operation.attributes),
        successors=operation.successors,
        regions=regions,
    )
    expanded.location = operation.location
    expand_ties(
        expanded, operation.operand_types, operation.result_types, with_dims=host.carries_dims
    )
    builder.insert(expanded)
    rest = list(expanded.results)
    for result in operation.results:
        if (tensor := ranked(result)) is not None:
            count = len(carried_types(tensor, with_dims=host.carries_dims))
            host.store(result, stored_from(rest[:count]))
            del rest[:count]
        else:
            result.replace_all_uses_with(rest.pop(0))
    host.done(operation)


def expand_arguments(host: TensorStorage, block: Block) -> None:
    """Give a block arguments for resources and sizes in the place of tensors.

    The old ones stay until nothing reads them any more.
    """
    for argument in tuple(block.args):
        if isinstance(argument.type, FlowChannelType):
            argument.replace_all_uses_with(block.insert_arg(CHANNEL, argument.index))
            host.outdated(argument)
        tensor = ranked(argument)
        if tensor is None:
            continue
        values: list[SSAValue] = []
        for type_ in carried_types(tensor, with_dims=host.carries_dims):
            values.append(block.insert_arg(type_, argument.index))
        host.store(argument, stored_from(values))
        host.outdated(argument)


def expand_types(types: Sequence[Attribute], *, with_dims: bool) -> list[Attribute]:
    """The types that are carried for values of some types."""
    return [each for type_ in types for each in _expanded(type_, with_dims=with_dims)]


def _expanded(type_: Attribute, *, with_dims: bool) -> tuple[Attribute, ...]:
    if isinstance(type_, TensorType):
        return carried_types(cast(Tensor, type_), with_dims=with_dims)
    return (CHANNEL,) if isinstance(type_, FlowChannelType) else (type_,)


def expand_values(
    host: TensorStorage, values: Sequence[SSAValue], operation: Operation
) -> list[SSAValue]:
    """The values that are carried for some values."""
    expanded: list[SSAValue] = []
    for value in values:
        if isinstance(value.type, TensorType):
            expanded += host.stored(value, operation).values(with_dims=host.carries_dims)
        else:
            expanded.append(value)
    return expanded


def retype_function(function: Operation, *, with_dims: bool) -> None:
    """Let a function take and return resources and sizes in the place of tensors."""
    type_ = cast(FunctionType, function.properties["function_type"])
    inputs, outputs = type_.inputs.data, type_.outputs.data
    function.properties["function_type"] = FunctionType.from_lists(
        expand_types(inputs, with_dims=with_dims), expand_types(outputs, with_dims=with_dims)
    )
    for name, types in (("arg_attrs", inputs), ("res_attrs", outputs)):
        entries = function.properties.get(name)
        if isinstance(entries, ArrayAttr):
            function.properties[name] = ArrayAttr(
                [
                    entry
                    for type_, own in zip(types, cast(ArrayAttr[Attribute], entries), strict=True)
                    for entry in (own, *_without_attributes(type_, with_dims=with_dims))
                ]
            )
    expand_ties(function, inputs, outputs, with_dims=with_dims)


def _without_attributes(type_: Attribute, *, with_dims: bool) -> list[Attribute]:
    """The attributes of the sizes that go along with a value."""
    return [DictionaryAttr({})] * (len(_expanded(type_, with_dims=with_dims)) - 1)


def expand_ties(
    operation: Operation,
    operands: Sequence[Attribute],
    results: Sequence[Attribute],
    *,
    with_dims: bool,
) -> None:
    """Say of resources what was said of tensors of these types: in which operand a result lies."""
    if TIED not in operation.properties:
        return
    starts = [0]
    for type_ in operands:
        starts.append(starts[-1] + len(_expanded(type_, with_dims=with_dims)))
    ties: list[int] = []
    for type_, tie in zip(results, ties_of(operation, len(results)), strict=True):
        ties.append(tie if tie == UNTIED else starts[tie])
        ties += [UNTIED] * (len(_expanded(type_, with_dims=with_dims)) - 1)
    operation.properties[TIED] = tied_operands(ties)


def expand_segments(operation: Operation, *, with_dims: bool) -> dict[str, Attribute]:
    """The properties of an operation, whose groups of operands have grown if it is a branch."""
    properties = dict(operation.properties)
    if operation.name not in BRANCHES:
        return properties
    start = 0
    for name in ("operandSegmentSizes", "case_operand_segments"):
        segments = properties.get(name)
        if not isinstance(segments, DenseArrayBase):
            continue
        lengths = [int(length) for length in segments.get_values()]
        if name == "case_operand_segments":
            start = len(operation.operands) - sum(lengths)
        grown: list[int] = []
        for length in lengths:
            group = [value.type for value in operation.operands[start : start + length]]
            grown.append(len(expand_types(group, with_dims=with_dims)))
            start += length
        properties[name] = DenseArrayBase.from_list(i32, grown)
    return properties


def blocks_in_order(region: Region) -> list[Block]:
    """The blocks of a region, each behind those that dominate it; unreachable ones at the end."""
    ordered = reachable_blocks(region)
    seen = set(ordered)
    return [*ordered, *(block for block in region.blocks if block not in seen)]
