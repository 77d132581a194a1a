"""Group the tensor operations of a block into dispatches.

Any operation that computes tensors can start a group. An operation joins the group of an operand if
it keeps the group's parallel dimensions independent (`iteration_space.py`) or encodes a tensor of
the group, and if no other unit depends on the group and is needed by the operation. It makes all
elementwise groups that it reads one. Operations that cost nothing to repeat (empty and filled
tensors, splats, broadcasts) are rematerialized in each kernel that reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, is_side_effect_free

from ....dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ....dialects.linalg.structured_view import structured_view
from ....dialects.tensor.dialect import UPDATES
from ....ir.attribute_access import is_splat
from ....ir.graph_orders import topological_order
from ....ir.locations import made_by
from ....ir.regions import inner_blocks, values_read
from ....ir.tensor_types import ranked
from ...stream.analysis.device_placement import DevicePlacement
from .iteration_space import SharedParallelDims, is_broadcast

_VALUE_DIALECTS = frozenset({"arith", "complex", "linalg", "math", "tensor", "tosa"})
"""Dialects whose operations have no side effects, provided that they do not use buffers."""

_BODY_DIALECTS = frozenset({"scf"})
"""Dialects whose operations have only the side effects of their bodies."""

_WITH_EFFECTS = frozenset({"tosa.custom", "tosa.variable", "tosa.variable_write"})


def is_memory_effect_free(operation: Operation) -> bool:
    """Return whether an operation has no effect besides its results."""
    if is_side_effect_free(operation):
        return True
    dialect = operation.name.partition(".")[0]
    if dialect in _VALUE_DIALECTS:
        if operation.name in _WITH_EFFECTS or _has_buffer(operation):
            return False
    elif dialect not in _BODY_DIALECTS:
        return False
    return all(
        inner.has_trait(IsTerminator, value_if_unregistered=False) or is_memory_effect_free(inner)
        for block in inner_blocks(operation)
        for inner in block.ops
    )


def _has_buffer(operation: Operation) -> bool:
    types = (*operation.operand_types, *operation.result_types)
    return any(isinstance(each, MemRefType | UnrankedMemRefType) for each in types)


HOST_DIALECTS = frozenset({"cf", "flow", "func", "hal", "scf", "shard", "stream", "util"})
"""Operations of these dialects belong to the host program, except parallel loops."""

HOST_OPERATIONS = frozenset({"arith.constant", "tensor.dim", "tensor.extract", "tensor.rank"})
"""Further operations of the host program, although they make or read tensors."""

PARALLEL_LOOPS = frozenset({"scf.forall"})
"""Loops that run in a kernel, since their iterations are independent."""

UPDATE_LOOP_OPERATIONS = UPDATES | {
    *("tensor.empty", "tensor.extract", "tensor.extract_slice", "tensor.from_elements"),
}
"""Operations on tensors, besides loop nests, that an update loop in a kernel may contain."""

SMALL_TENSOR = 1 << 8
"""The most elements of a tensor that each iteration of an update loop sets as a whole."""

FLOW_RESHAPES = frozenset({"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape"})
"""Operations that become `flow.tensor.reshape`: they keep the elements and their order."""

ENCODING_OPS = frozenset({SetEncodingOp.name, UnsetEncodingOp.name})

MAX_GROUP = 24
"""The most operations in one kernel; compiling a larger one takes longer than fusion saves."""

LONGEST_SEARCH = 1000
"""The most units that are visited to find out whether an operation may join a group."""


@dataclass(eq=False)
class FusionGroup:
    """Operations that become one dispatch, in order, and their positions in the block."""

    operations: list[Operation]
    affinity: Attribute | None
    positions: list[int] = field(default_factory=list[int])
    parallel_dims: SharedParallelDims = field(default_factory=SharedParallelDims)


def is_computation(operation: Operation) -> bool:
    """Return whether an operation computes tensors on a device."""
    if operation.name in PARALLEL_LOOPS or is_collective(operation):
        return bool(operation.results)
    if is_update_loop(operation):
        return True
    if operation.name.partition(".")[0] in HOST_DIALECTS or operation.name in HOST_OPERATIONS:
        return False
    if operation.name in FLOW_RESHAPES:
        return False
    if operation.next_op is None and operation.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    return any(isinstance(result.type, TensorType) for result in operation.results)


def is_update_loop(operation: Operation) -> bool:
    """Return whether a loop only updates its carried tensors, in order.

    An iteration sets elements or slices of them, which it would copy if it were a dispatch, or all
    elements of small ones, in less time than a dispatch takes. Loops of the latter kind begin with
    other tensors that the kernel makes, since a table that comes from outside would be copied.
    """
    if operation.name != "scf.for" or not operation.results:
        return False
    block = operation.regions[0].block
    last = block.last_op
    if last is None or not all(
        inner is last or _may_be_in_update_loop(inner) for inner in block.ops
    ):
        return False
    carried = list(zip(operation.operands[3:], block.args[1:], last.operands, strict=False))
    return all(_is_written(tensor, new) for _, tensor, new in carried) or all(
        _is_made_in_kernel(initial) if _is_written(tensor, new) else _is_small_result(new, block)
        for initial, tensor, new in carried
    )


def _is_written(tensor: SSAValue, new: SSAValue) -> bool:
    return isinstance(new, OpResult) and new.op.name in UPDATES and new.op.operands[1] is tensor


def _is_made_in_kernel(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and is_rematerialized(value.op)


def _is_small_result(new: SSAValue, block: Block) -> bool:
    """Return whether an operation of a block computes all elements of a small tensor."""
    if not isinstance(new, OpResult) or new.op.parent_block() is not block:
        return False
    tensor = ranked(new)
    if tensor is None or structured_view(new.op) is None:
        return False
    shape = tensor.get_shape()
    return DYNAMIC_INDEX not in shape and prod(shape) <= SMALL_TENSOR


def _may_be_in_update_loop(operation: Operation) -> bool:
    """Return whether an operation computes scalars, or slices or elementwise results of tensors."""
    if operation.name in UPDATE_LOOP_OPERATIONS:
        return True
    view = structured_view(operation)
    if view is not None:
        return not view.reduction_loops
    return is_memory_effect_free(operation) and not any(
        isinstance(result.type, TensorType) for result in operation.results
    )


def is_rematerialized(operation: Operation) -> bool:
    """Return whether an operation is repeated in each kernel that reads it, not computed once."""
    if operation.name == "linalg.fill":
        return made_by(operation.operands[-1], "tensor.empty") is not None
    if operation.name == "arith.constant":
        value = operation.properties.get("value")
        if isinstance(value, DenseIntOrFPElementsAttr):
            return is_splat(cast(DenseIntOrFPElementsAttr[Any], value))
        return True
    return operation.name in ("tensor.empty", "tensor.splat")


def rematerialized_broadcasts(
    blocks: Sequence[Block], placement: DevicePlacement
) -> set[Operation]:
    """Return the broadcasts that each reading kernel repeats: all readers run on its device."""
    found: set[Operation] = set()
    for block in blocks:
        for operation in block.ops:
            if is_broadcast(operation) and is_computation(operation):
                affinity = placement.runs_on(operation)
                if all(
                    _is_kernel(use.operation) and placement.runs_on(use.operation) == affinity
                    for use in operation.results[0].uses
                ):
                    found.add(operation)
    return found


def _is_kernel(operation: Operation) -> bool:
    return (
        is_computation(operation)
        and operation.name not in ENCODING_OPS
        and not is_rematerialized(operation)
        and not is_collective(operation)
    )


def is_collective(operation: Operation) -> bool:
    """Return whether an operation is a collective: a dispatch of its own on all processes."""
    return operation.name.startswith("shard.") and any(
        isinstance(result.type, TensorType) for result in operation.results
    )


class Grouping:
    """Groups the operations of one block and reorders the block so that groups are contiguous."""

    def __init__(
        self, block: Block, placement: DevicePlacement, rematerialized: set[Operation]
    ) -> None:
        """`rematerialized` are the broadcasts that each kernel that reads them repeats."""
        self._block = block
        self._rematerialized = rematerialized
        self._placement = placement
        self._operations = list(block.ops)
        self._positions = {operation: i for i, operation in enumerate(self._operations)}
        self._groups: dict[Operation, FusionGroup] = {}
        self._all: list[FusionGroup] = []
        """All groups, ordered by the position of their first operation."""
        effects = [o for o in self._operations if not is_computation(o) and _has_effect(o)]
        self._effect_before = dict(zip(effects[1:], effects, strict=False))
        for operation in self._operations:
            if is_computation(operation) and not self._is_rematerialized(operation):
                self._add(operation)

    def arrange(self) -> list[FusionGroup]:
        """Reorder the block so that each group is contiguous; return the groups in order."""
        order = self._order()
        for operation in self._operations:
            operation.detach()
        arranged: list[FusionGroup] = []
        for unit in order:
            if isinstance(unit, FusionGroup):
                arranged.append(unit)
                self._block.add_ops(unit.operations)
            else:
                self._block.add_op(unit)
        return arranged

    # Assignment of operations to groups

    def _add(self, operation: Operation) -> None:
        affinity = self._placement.runs_on(operation)
        groups = dict.fromkeys(map(self._group_of, self._sources(operation)))
        candidates = [group for group in groups if group is not None]
        # Prefer the group that ends last: an operation joins behind all other groups it reads.
        for group in sorted(candidates, key=self._key, reverse=True):
            if self._may_join(operation, group, affinity):
                group.parallel_dims.join(operation, self._rematerialized)
                for other in candidates:
                    if other is not group and self._may_merge(operation, other, group):
                        self._merge(other, group)
                break
        else:
            group = FusionGroup([], affinity)
            group.parallel_dims.start(operation)
            self._all.append(group)
        group.operations.append(operation)
        group.positions.append(self._positions[operation])
        self._groups[operation] = group

    def _merge(self, other: FusionGroup, group: FusionGroup) -> None:
        """Add the operations of another group to a group."""
        operations = sorted((*other.operations, *group.operations), key=self._positions.__getitem__)
        group.operations[:] = operations
        group.positions[:] = [self._positions[each] for each in operations]
        self._groups.update(dict.fromkeys(other.operations, group))
        self._all.remove(other)
        self._all.sort(key=lambda each: each.positions[0])

    def _group_of(self, value: SSAValue) -> FusionGroup | None:
        return self._groups.get(value.op) if isinstance(value, OpResult) else None

    def _is_rematerialized(self, operation: Operation) -> bool:
        return operation in self._rematerialized or is_rematerialized(operation)

    def _sources(self, operation: Operation) -> list[SSAValue]:
        """Return the values that an operation depends on, looking through repeated broadcasts."""
        seen: dict[SSAValue, None] = {}
        stack = list(values_read(operation))
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen[value] = None
            if isinstance(value, OpResult) and value.op in self._rematerialized:
                stack += value.op.operands
        return [v for v in seen if not (isinstance(v, OpResult) and v.op in self._rematerialized)]

    def _may_join(
        self, operation: Operation, group: FusionGroup, affinity: Attribute | None
    ) -> bool:
        if group.affinity != affinity or len(group.operations) >= MAX_GROUP:
            return False
        if is_collective(group.operations[0]):
            return False
        if operation.name in ENCODING_OPS:
            if not any(structured_view(member) is not None for member in group.operations):
                return False
        else:
            is_encoded = any(member.name == SetEncodingOp.name for member in group.operations)
            if is_encoded or not group.parallel_dims.may_join(operation, self._rematerialized):
                return False
        others = [o for o in self._sources(operation) if self._unit(o) not in (group, operation)]
        return not self._depends(others, group)

    def _may_merge(self, operation: Operation, other: FusionGroup, group: FusionGroup) -> bool:
        """Return whether another group that an operation reads can be one with its group.

        %0 = arith.mulf %a, %b    # one group
        %1 = arith.mulf %c, %d    # another one
        %2 = arith.addf %0, %1    # makes them one
        """
        if len(other.operations) + len(group.operations) >= MAX_GROUP:
            return False
        if not self._may_join(operation, other, group.affinity):
            return False
        read = [value for each in other.operations for value in self._sources(each)]
        if self._depends([each for each in read if self._unit(each) is not other], group):
            return False
        return group.parallel_dims.merge(other.parallel_dims, operation, self._rematerialized)

    def _unit(self, value: SSAValue) -> Operation | FusionGroup | None:
        """Return the group or operation of this block that makes a value, if there is one."""
        if not isinstance(value, OpResult):
            return None
        operation = self._block.find_ancestor_op_in_block(value.op)
        return None if operation is None else self._groups.get(operation, operation)

    def _depends(self, values: Sequence[SSAValue], group: FusionGroup) -> bool:
        """Return whether any of the values may depend on what a group computes.

        The search stops before units that cannot depend on the group, and answers yes if it gets
        long.
        """
        first = self._earliest(group)
        seen: set[Operation | FusionGroup] = set()
        stack = [unit for value in values if (unit := self._unit(value)) is not None]
        while stack:
            unit = stack.pop()
            if unit is group or len(seen) > LONGEST_SEARCH:
                return True
            if unit in seen or self._key(unit) < first:
                continue
            seen.add(unit)
            stack += self._needs(unit, values_read)
        return False

    def _needs(
        self, unit: Operation | FusionGroup, read: Callable[[Operation], Iterable[SSAValue]]
    ) -> set[Operation | FusionGroup]:
        """Return what must precede a unit: the producers of what it reads, and earlier effects."""
        members = unit.operations if isinstance(unit, FusionGroup) else (unit,)
        producers = {self._unit(value) for member in members for value in read(member)}
        needs = {other for other in producers if other is not None and other is not unit}
        if not isinstance(unit, FusionGroup) and unit in self._effect_before:
            needs.add(self._effect_before[unit])
        return needs

    def _earliest(self, group: FusionGroup) -> int:
        """Return a position such that units that end before it cannot depend on the group."""
        first = group.positions[0]
        for other in reversed(self._all):
            if other.positions[0] < first < other.positions[-1]:
                first = other.positions[0]
        return first

    # Order of units

    def _order(self) -> list[Operation | FusionGroup]:
        """Sort units by dependence, otherwise in the original order. Effects keep their order."""
        units: list[Operation | FusionGroup] = []
        for operation in self._operations:
            unit = self._groups.get(operation, operation)
            if not isinstance(unit, FusionGroup) or unit.operations[0] is operation:
                units.append(unit)
        needs: dict[Operation | FusionGroup, set[Operation | FusionGroup]] = {}
        for unit in units:
            read = self._sources if isinstance(unit, FusionGroup) else values_read
            needs[unit] = self._needs(unit, read)
            if not isinstance(unit, FusionGroup) and unit.next_op is None:
                needs[unit] |= set(units) - {unit}
        return list(topological_order(needs, self._key))

    def _key(self, unit: Operation | FusionGroup) -> int:
        return unit.positions[-1] if isinstance(unit, FusionGroup) else self._positions[unit]


def _has_effect(operation: Operation) -> bool:
    return not operation.name.startswith("flow.") and not is_memory_effect_free(operation)
