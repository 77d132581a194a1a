"""Control flow of host programs, once tensors are resources.

Where a loop or a condition carries a tensor it carries the resource, its size in bytes and the
sizes of its dynamic dimensions instead: each may be another in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ....dialects.flow.collectives import ChannelType as FlowChannelType
from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream.types import ChannelType
from ....ir.locations import rebuilt
from ....ir.regions import reachable_blocks
from ....ir.tensor_types import ranked
from ....ir.value_flow import BRANCHES
from .expansions import Expansion, expand_segments, expand_ties, expand_types
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
    expanded = rebuilt(
        operation,
        expand_values(host, operation.operands, operation),
        expand_types(operation.result_types, carried(host)),
        properties=expand_segments(operation, carried(host)),
        regions=regions,
    )
    expanded.location = operation.location
    expand_ties(expanded, operation.operand_types, operation.result_types, carried(host))
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


def carried(host: TensorStorage) -> Expansion:
    """What is carried for values of some type."""
    return partial(_expanded, with_dims=host.carries_dims)


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


def blocks_in_order(region: Region) -> list[Block]:
    """The blocks of a region, each behind those that dominate it; unreachable ones at the end."""
    ordered = reachable_blocks(region)
    seen = set(ordered)
    return [*ordered, *(block for block in region.blocks if block not in seen)]
