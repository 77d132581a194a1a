"""Elide copies of resources that cannot be told from their sources.

    %1 = stream.async.clone %0 : !stream.resource<*>{%size} -> !stream.resource<*>{%size}

is replaced by `%0` if `%0` has no later use, or if neither of them is written to. A transfer from a
device to itself is replaced by its source. A kernel that only reads a slice reads that range of the
whole resource:

    %1 = stream.async.slice %0[%a to %b] : ...{%size} -> ...{%length}
    %2 = stream.async.dispatch @ex::@f(%1[%c0 to %length for %length]) : ...

Uses of a resource are followed through loops, branches and calls of private functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.stream.affinity import affinity_of
from ...dialects.stream.async_ops import AsyncTransferOp
from ...ir.host_programs import CALLS, FUNCTIONS, RETURNS, host_operations
from ...ir.index import BuilderIndices
from ...ir.locations import block_with, builder_before
from ...ir.symbols import root_symbol, visibility
from ...ir.value_flow import BRANCHES, forwards
from .analysis.encoded_globals import operand_index
from .analysis.storage import FRESH, STREAMABLE, is_read, is_resource, storage_operand

CLONE, SLICE = "stream.async.clone", "stream.async.slice"
DISPATCH = "stream.async.dispatch"


@dataclass(frozen=True)
class ElideAsyncCopiesPass(ModulePass):
    """Drop copies that cannot be distinguished from their sources."""

    name = "iree-stream-elide-async-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = True
        while changed:
            changed = False
            ownership = _Ownership(op)
            for operation in tuple(host_operations(op)):
                changed |= _elide(operation, ownership)


def _elide(operation: Operation, ownership: _Ownership) -> bool:
    if isinstance(operation, AsyncTransferOp):
        stays = operation.source_affinity == operation.target_affinity
        return stays and _replace(operation, operation.source)
    if operation.name not in (CLONE, SLICE):
        return False
    source, result = operation.operands[0], operation.results[0]
    here = affinity_of(operation)
    unchanged = _is_constant(source) and all(map(is_read, result.uses))
    if operation.name == CLONE:
        is_elsewhere = isinstance(source, OpResult) and affinity_of(source.op) != here
        ends = unchanged or ownership.ends_with(source, operation)
        return ends and not is_elsewhere and _replace(operation, source)
    users = [use.operation for use in result.uses]
    if unchanged and all(user.name == DISPATCH and affinity_of(user) == here for user in users):
        return source.type == result.type and _read_whole(operation)
    return False


def _replace(operation: Operation, source: SSAValue) -> bool:
    """Replace a copy by its source if both have the same lifetime; return whether that was done."""
    if source.type != operation.results[0].type:
        return False
    operation.results[0].replace_all_uses_with(source)
    Rewriter.erase_op(operation)
    return True


def _is_constant(value: SSAValue) -> bool:
    """Return whether nothing writes to a resource or passes it where it might be written to."""
    return all(is_read(use) or use.operation.name in RETURNS for use in value.uses)


def _read_whole(slice_: Operation) -> bool:
    """Make dispatches read a range of the whole resource instead of a slice."""
    source, size, start = slice_.operands[:3]
    for use in tuple(slice_.results[0].uses):
        dispatch, index = use.operation, use.index
        first = operand_index(dispatch, "resource_operands")
        number = sum(map(is_resource, dispatch.operands[first:index]))
        dispatch.operands[index] = source
        for name in ("resource_operand_offsets", "resource_operand_ends"):
            position = operand_index(dispatch, name) + number
            indices = BuilderIndices(builder_before(dispatch))
            dispatch.operands[position] = indices.sum(start, dispatch.operands[position])
        dispatch.operands[operand_index(dispatch, "resource_operand_sizes") + number] = size
    Rewriter.erase_op(slice_)
    return True


@dataclass
class _Ownership:
    """Determines which resources the program owns and no longer needs after an operation."""

    module: ModuleOp
    _order: dict[Operation, int] = field(init=False)
    _forwarded: dict[SSAValue, list[tuple[Operation, int]]] = field(init=False)
    _assumed: set[SSAValue] = field(init=False, default_factory=set[SSAValue])
    """Values under examination, assumed to be owned: they are if everything they come from is."""

    def __post_init__(self) -> None:
        self._order = {op: number for number, op in enumerate(host_operations(self.module))}
        self._forwarded = defaultdict(list)
        for operation in self._order:
            for first, inputs in forwards(operation):
                for index, value in enumerate(inputs, first):
                    self._forwarded[value].append((operation, index))

    def ends_with(self, value: SSAValue, last: Operation) -> bool:
        """Return whether a resource has storage of this program and no use after `last`."""
        elsewhere = (use for use in value.uses if use.operation is not last)
        return (
            block_with(value) is last.parent
            and _is_passed_once(value, last)
            and all(self._is_earlier(use, last) for use in elsewhere)
            and self._is_owned(value)
        )

    def _is_earlier(self, use: Use, last: Operation) -> bool:
        user = use.operation
        is_local = is_read(use) and user.parent is last.parent
        return is_local and self._order[user] < self._order[last]

    def _is_owned(self, value: SSAValue) -> bool:
        if value in self._assumed:
            return True
        self._assumed.add(value)
        is_owned = self._has_owned_source(value)
        self._assumed.discard(value)
        return is_owned

    def _has_owned_source(self, value: SSAValue) -> bool:
        if isinstance(value, OpResult):
            owner = value.op
            written = storage_operand(owner, value.index)
            if written is not None:
                return owner.name in STREAMABLE and self.ends_with(owner.operands[written], owner)
            return owner.name in FRESH
        assert isinstance(value, BlockArgument)
        sources = list(self._passed_values(value))
        return bool(sources) and all(self.ends_with(source, last) for source, last in sources)

    def _passed_values(self, argument: BlockArgument) -> Iterator[tuple[SSAValue, Operation]]:
        """Yield the values that a block argument may be, each with the operation that passes it."""
        block = argument.block
        parent = block.parent_op()
        if parent is None:
            return
        if parent.name in FUNCTIONS and block is parent.regions[0].blocks.first:
            if visibility(parent) == "private":
                yield from self._calls(parent, argument.index)
            return
        for operation, index in self._forwarded.get(argument, ()):
            yield operation.operands[index], operation

    def _calls(self, function: Operation, index: int) -> Iterator[tuple[SSAValue, Operation]]:
        name = root_symbol(function, "sym_name")
        for operation in self._order:
            if operation.name in CALLS and root_symbol(operation, "callee") == name:
                yield operation.operands[index], operation


def _is_passed_once(value: SSAValue, last: Operation) -> bool:
    """Return whether a value is only one operand of an operation, or one per branch successor."""
    if last.name not in BRANCHES:
        return sum(operand is value for operand in last.operands) == 1
    ranges = (last.operands[first : first + len(inputs)] for first, inputs in forwards(last))
    return all(sum(operand is value for operand in operands) <= 1 for operands in ranges)
