"""Control flow of host programs, once tensors are resources.

Where a loop or a condition carries a tensor it carries the resource, its size in bytes and the
sizes of its dynamic dimensions instead: each may be another in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, TensorType, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor
from ....ir.syntax.resource_directives import UNTIED, tied_operands
from ....ir.tensor_types import ranked
from .stored_tensors import StoredTensor, carried_types, stored_from


class TensorStorage(Protocol):
    """The part of a host program's conversion that control flow needs."""

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

BRANCHES = frozenset({"cf.br", "cf.cond_br", "cf.switch"})
"""Operations that end a block and give the arguments of the next."""

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
        result_types=expand_types([result.type for result in operation.results]),
        properties=(
            expand_segments(operation) if operation.name in BRANCHES else dict(operation.properties)
        ),
        attributes=dict(operation.attributes),
        successors=operation.successors,
        regions=regions,
    )
    expanded.location = operation.location
    untie(expanded, len(expanded.results))
    builder.insert(expanded)
    rest = list(expanded.results)
    for result in operation.results:
        if (tensor := ranked(result)) is not None:
            count = len(carried_types(tensor))
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
        tensor = ranked(argument)
        if tensor is None:
            continue
        values: list[SSAValue] = []
        for type_ in carried_types(tensor):
            values.append(block.insert_arg(type_, argument.index))
        host.store(argument, stored_from(values))
        host.outdated(argument)


def expand_types(types: Sequence[Attribute]) -> list[Attribute]:
    """The types that are carried for values of some types."""
    expanded: list[Attribute] = []
    for type_ in types:
        if isinstance(type_, TensorType):
            expanded += carried_types(cast(Tensor, type_))
        else:
            expanded.append(type_)
    return expanded


def expand_values(
    host: TensorStorage, values: Sequence[SSAValue], operation: Operation
) -> list[SSAValue]:
    """The values that are carried for some values."""
    expanded: list[SSAValue] = []
    for value in values:
        if isinstance(value.type, TensorType):
            expanded += host.stored(value, operation).values()
        else:
            expanded.append(value)
    return expanded


def retype_function(function: Operation) -> None:
    """Let a function with tensors, called from here only, take and return resources and sizes."""
    type_ = cast(FunctionType, function.properties["function_type"])
    if not any(isinstance(each, TensorType) for each in (*type_.inputs, *type_.outputs)):
        return
    results = expand_types(type_.outputs.data)
    function.properties["function_type"] = FunctionType.from_lists(
        expand_types(type_.inputs.data), results
    )
    for name in ("arg_attrs", "res_attrs"):
        function.properties.pop(name, None)
    untie(function, len(results))


def untie(operation: Operation, results: int) -> None:
    """Say of results whose positions have changed that none is tied: that only saves memory."""
    if TIED in operation.properties:
        operation.properties[TIED] = tied_operands([UNTIED] * results)


def expand_segments(operation: Operation) -> dict[str, Attribute]:
    """The properties of a branch, whose groups of operands have grown."""
    properties = dict(operation.properties)
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
            group = operation.operands[start : start + length]
            grown.append(len(expand_types([value.type for value in group])))
            start += length
        properties[name] = DenseArrayBase.from_list(i32, grown)
    return properties


def blocks_in_order(region: Region) -> list[Block]:
    """The blocks of a region, each behind those that dominate it; unreachable ones at the end."""
    first = region.blocks.first
    if first is None:
        return []
    finished: list[Block] = []
    seen = {first}
    stack = [(first, iter(_successors(first)))]
    while stack:
        block, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            finished.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return [*reversed(finished), *(block for block in region.blocks if block not in seen)]


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors
