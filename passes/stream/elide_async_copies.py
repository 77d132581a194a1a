"""Elide copies of resources that cannot be told from their sources.

    %1 = stream.async.clone %0 : !stream.resource<*>{%size} -> !stream.resource<*>{%size}

is replaced by `%0` if `%0` has no later use, or if neither of them is written to; a branch that is
not taken has no use. A transfer from a
device to itself is replaced by its source. A kernel that only reads a slice reads that range of the
whole resource:

    %1 = stream.async.slice %0[%a to %b] : ...{%size} -> ...{%length}
    %2 = stream.async.dispatch @ex::@f(%1[%c0 to %length for %length]) : ...

Uses of a resource are followed through loops, branches and calls of functions.
"""

from __future__ import annotations

from collections import defaultdict

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use
from xdsl.rewriter import Rewriter

from ...dialects.stream.affinity import affinity_of
from ...dialects.stream.async_ops import AsyncTransferOp
from ...dialects.stream.types import lifetime_of
from ...ir.host_programs import CHOICES, RETURNS, host_operations
from ...ir.index import BuilderIndices
from ...ir.locations import block_with, builder_before
from ...ir.symbols import visibility
from ...ir.syntax.assembly_format import operand_index
from ...ir.value_flow import BRANCHES, Passed, forwards, function_with_argument, passed_operands
from ..manager.module_pass import module_pass
from .analysis.storage import FRESH, STREAMABLE, is_read, is_resource, storage_operand

CLONE, SLICE = "stream.async.clone", "stream.async.slice"
DISPATCH = "stream.async.dispatch"

NOT_FOLLOWED = frozenset({"arith.select", "util.optimization_barrier"})
"""Operations whose results are not taken for resources that the program owns."""


@module_pass("iree-stream-elide-async-copies")
def elide_async_copies(module: ModuleOp) -> None:
    """Drop copies that cannot be distinguished from their sources."""
    changed = True
    while changed:
        changed = False
        ownership = _Ownership(module)
        for operation in tuple(host_operations(module)):
            changed |= _elide(operation, ownership)


def _elide(operation: Operation, ownership: _Ownership) -> bool:
    """Elide an operation if it is a copy that may be; return whether that was done."""
    here = affinity_of(operation)
    if operation.name == CLONE and ownership.ends_with(operation.operands[0], operation, here):
        return _replace(operation, operation.operands[0])
    if not _elide_unwritten(operation, here):
        return False
    ownership.forget()
    return True


def _elide_unwritten(operation: Operation, here: Attribute | None) -> bool:
    """Elide a copy on one device of what nothing writes to, which gets the uses of the copy."""
    if isinstance(operation, AsyncTransferOp):
        stays = operation.source_affinity == operation.target_affinity
        return stays and _replace(operation, operation.source)
    if operation.name not in (CLONE, SLICE):
        return False
    source, result = operation.operands[0], operation.results[0]
    unchanged = _is_constant(source) and all(map(is_read, result.uses))
    if operation.name == CLONE:
        is_elsewhere = isinstance(source, OpResult) and affinity_of(source.op) != here
        unwritten = unchanged or _stays_constant(source, result)
        return unwritten and not is_elsewhere and _replace(operation, source)
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


def _stays_constant(source: SSAValue, result: OpResult) -> bool:
    """Return whether a constant is copied to one that nothing writes to directly."""
    return lifetime_of(source.type) == "constant" and all(
        is_read(use) or use.operation.name not in STREAMABLE for use in result.uses
    )


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


def _path_to(last: Operation, block: Block | None) -> dict[Block | None, Operation]:
    """Return the operations that lead from a block to an operation in it, by their blocks.

    Return nothing if it is not in the block, or in a loop inside of it.
    """
    path = {last.parent: last}
    step = last
    while step.parent is not block:
        parent = step.parent_op()
        if parent is None or parent.name not in CHOICES:
            return {}
        step = parent
        path[step.parent] = step
    return path


class _Ownership:
    """Determines which resources the program owns and no longer needs after an operation."""

    def __init__(self, module: ModuleOp) -> None:
        self._is_owned = defaultdict[Attribute | None, dict[SSAValue, bool]](dict)
        """For each device, what is known of values."""
        self._order = {op: number for number, op in enumerate(host_operations(module))}
        self._passed = defaultdict[SSAValue, list[Passed]](list)
        for passed in passed_operands(self._order):
            if passed.operation.name not in NOT_FOLLOWED:
                self._passed[passed.target].append(passed)

    def forget(self) -> None:
        """Forget what is known of values, some of which have further uses now."""
        self._is_owned.clear()

    def ends_with(self, value: SSAValue, last: Operation, affinity: Attribute | None) -> bool:
        """Return whether the program owns a resource of a device and has no use after `last`."""
        return self._is_last(last, value) and self._owns(value, affinity)

    def _is_last(self, last: Operation, value: SSAValue) -> bool:
        path = _path_to(last, block_with(value))
        elsewhere = (use for use in value.uses if use.operation is not last)
        return (
            bool(path)
            and _is_passed_once(value, last)
            and all(self._is_over(use, path) for use in elsewhere)
        )

    def _is_over(self, use: Use, path: dict[Block | None, Operation]) -> bool:
        """Return whether a use only reads before the end of a path, or is in another branch."""
        step = use.operation
        while step.parent not in path:
            parent = step.parent_op()
            if parent is None or parent in path.values():
                return parent is not None and parent.name in CHOICES
            step = parent
        ahead = path[step.parent]
        return is_read(use) and step is not ahead and self._order[step] < self._order[ahead]

    def _owns(self, value: SSAValue, affinity: Attribute | None) -> bool:
        """Return whether the program owns a resource: it owns all that the value may come from."""
        is_owned = self._is_owned[affinity]
        asked_by: dict[SSAValue, SSAValue | None] = {value: None}
        pending = [value]
        while pending:
            each: SSAValue | None = pending.pop()
            if is_owned.get(each):
                continue
            sources = None if each in is_owned else self._sources(each, affinity)
            if sources is None:
                while each is not None:
                    is_owned[each] = False
                    each = asked_by[each]
                return False
            new = [source for source in sources if source not in asked_by]
            asked_by.update(dict.fromkeys(new, each))
            pending += new
        is_owned.update(dict.fromkeys(asked_by, True))
        return True

    def _sources(self, value: SSAValue, affinity: Attribute | None) -> list[SSAValue] | None:
        """Return the values that end with what a value comes from; `None` if others have it, too.

        There are none if the value has new storage.
        """
        if isinstance(value, OpResult) and value.op.name in STREAMABLE:
            if affinity_of(value.op) != affinity:
                return None
            written = storage_operand(value.op, value.index)
            if written is None:
                return [] if value.op.name in FRESH else None
            ends = [(value.op, written)]
        else:
            function = function_with_argument(value)
            if function is not None and visibility(function) != "private":
                return None
            ends = [(last, index) for last, index, _ in self._passed.get(value, ())]
        sources = [last.operands[index] for last, index in ends]
        are_over = (self._is_last(last, last.operands[index]) for last, index in ends)
        return sources if sources and all(are_over) else None


def _is_passed_once(value: SSAValue, last: Operation) -> bool:
    """Return whether a value is only one operand of an operation, or one per branch successor."""
    if last.name not in BRANCHES:
        return sum(operand is value for operand in last.operands) == 1
    ranges = (last.operands[first : first + len(inputs)] for first, inputs in forwards(last))
    return all(sum(operand is value for operand in operands) <= 1 for operands in ranges)
