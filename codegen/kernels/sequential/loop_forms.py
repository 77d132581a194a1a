"""Find the sequential loops that are kernels: they set elements of tensors, and compute scalars.

    %r = scf.for %i = %low to %high step %step iter_args(%t = %initial) -> tensor<256xi32> {
      %old = tensor.extract %t[%at]                  # and scalar operations
      %n = tensor.insert %new into %t[%at]
      scf.yield %n
    }

Only the loop reads a carried tensor between two iterations, so that it is updated in place: element
by element (`in_place`), slice by slice or as a whole (`slice_loops`, `_SmallTensors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.linalg.structured_view import structured_view
from ....ir.attribute_access import flag
from ....ir.host_programs import CHOICES, CONTROL_FLOW, LOOPS
from ....ir.value_flow import carried_arguments, initial_values, passed_values
from ..elements.expressions import written_loops
from ..elements.index_ranges import is_scalar_code, most_turns, unproven
from ..elements.pointwise import is_pointwise
from ..elements.static_values import constant_attribute, is_tensor, shape_of
from .in_place import in_place_versions
from .slice_loops import SLICE_OPERATIONS, is_only_written, source_of, updates_slices

MAX_STEPS = 1 << 28
"""The most scalar operations of a kernel between two pauses, in which it can be interrupted."""

SECTION_STEPS = 1 << 16
"""The scalar operations between two pauses of a loop that may take longer."""


def is_element_loop(operation: Operation) -> bool:
    """Return whether a loop computes scalars, and sets elements or slices.

    The caller must check that kernels support the loop's other operations.
    """
    if operation.name not in LOOPS or not _has_known_form(operation):
        return False
    tensors = carried_tensors(operation)
    shapes = [shape_of(result) for _, result in tensors]
    if any(size < 0 for shape in shapes for size in shape):
        return False
    if _steps_of_turn(operation, most_turns(operation)) > MAX_STEPS:
        return False
    failing = unproven(operation)
    if failing and any(0 in shape for shape in shapes):
        # A kernel without results does not run.
        return False
    if in_place_versions(operation) is not None:
        return True
    if not all(
        is_scalar_code(each, operation) and each.name not in SLICE_OPERATIONS for each in failing
    ):
        return False
    if operation.name == "scf.while":
        blocks = [region.block for region in operation.regions]
        return all(_SmallTensors(block, failing).are_computed(shapes) for block in blocks)
    block = operation.regions[0].block
    updates = tensor_updates(operation)
    return updates_slices(block, updates) or _SmallTensors(block, failing).are_updated(updates)


def carried_tensors(loop: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """Return the arguments of a loop's first block that are tensors, with the results."""
    pairs = zip(carried_arguments(loop), loop.results, strict=True)
    return [each for each in pairs if is_tensor(each[0])]


def tensor_updates(loop: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """Return the tensors that an `scf.for` carries, each with what it is in the next turn."""
    pairs = zip(carried_arguments(loop), passed_values(loop.regions[0].block), strict=True)
    return [each for each in pairs if is_tensor(each[0])]


def turns_of_section(loop: Operation) -> int | None:
    """Return the turns of a loop between two pauses, `None` if it needs no pause."""
    turns = most_turns(loop)
    steps = _steps_of_turn(loop, turns)
    if loop in turns and turns[loop] * steps <= MAX_STEPS:
        return None
    return max(1, SECTION_STEPS // max(1, steps))


def _steps_of_turn(loop: Operation, turns: Mapping[Operation, int]) -> int:
    """Return the most scalar operations of a turn of a loop."""
    whole = [
        prod(shape_of(new))
        for region in loop.regions
        for block in region.blocks
        if block.last_op is not None
        for new in block.last_op.operands
        if isinstance(new.type, TensorType) and not _is_updated(new)
    ]
    return max([1, *whole]) * sum(_steps(block, turns) for r in loop.regions for block in r.blocks)


def _steps(block: Block, turns: Mapping[Operation, int]) -> int:
    count = 0
    for operation in block.ops:
        inner = sum(_steps(each, turns) for region in operation.regions for each in region.blocks)
        count += 1 + inner * turns.get(operation, 1)
    return count


def _is_updated(new: SSAValue) -> bool:
    """Return whether a tensor costs no more than the operation that returns it, or its slice."""
    owner = new.owner
    return not isinstance(owner, Operation) or owner.name in (
        *("tensor.insert", "tensor.insert_slice", "scf.for", *CHOICES),
    )


def _has_known_form(loop: Operation) -> bool:
    """Return whether a loop carries values of fixed types, in steps that are known."""
    if not loop.results or any(len(region.blocks) != 1 for region in loop.regions):
        return False
    if any(region.block.last_op is None for region in loop.regions):
        return False
    nested = (each for each in loop.walk() if each.name == "scf.for")
    return all(map(_has_known_steps, nested)) and _keeps_types(loop)


def _has_known_steps(loop: Operation) -> bool:
    """Return whether an `scf.for` has a positive step, and indices or numbers as bounds."""
    step = constant_attribute(loop.operands[2])
    return (
        not flag(loop, "unsignedCmp")
        and isinstance(step, IntegerAttr)
        and step.value.data > 0
        and all(
            isinstance(each.type, IndexType) or constant_attribute(each) is not None
            for each in loop.operands[:2]
        )
    )


def _keeps_types(loop: Operation) -> bool:
    """Return whether a loop carries as many values as it has results, of the same types."""
    types = [each.type for each in loop.results]
    blocks = [region.block for region in loop.regions]
    lists = [initial_values(loop), carried_arguments(loop), *(block.args for block in blocks[1:])]
    lists += map(passed_values, blocks)
    return all([each.type for each in values] == types for values in lists)


MAX_ELEMENTS = 16
"""The most elements that a loop over small tensors carries, whose code is written one by one."""

MAX_TERMS = 64
"""The most terms of a reduction in such a loop."""

MAX_OPERATIONS = 128
"""The most operations of the body of such a loop."""


@dataclass(frozen=True, slots=True)
class _SmallTensors:
    """A block of a loop that may carry few elements, each of which is computed on its own.

        %a = tensor.extract_slice %y[1] [1] [1]        # elements are read anywhere
        %n = tensor.concat dim(0) %b, %c, %d
        scf.yield %n

    Each element is a variable while the loop runs, and a reduction is written term by term.

    `failing` are the operations of the loop that may fail.
    """

    block: Block
    failing: Set[Operation]

    def are_updated(self, updates: Sequence[tuple[SSAValue, SSAValue]]) -> bool:
        """Return whether few elements are carried, given the carried tensors and their new values.

        Tensors of any size may be carried, too, if a turn only writes a few elements of them, as
        the rows that a scan stacks.
        """
        tables = [new for tensor, new in updates if is_only_written(tensor, new)]
        small = [shape_of(tensor) for tensor, new in updates if new not in tables]
        shapes = [shape_of(tensor) for tensor, _ in updates]
        return (
            all(min(shape, default=0) >= 0 for shape in shapes)
            and all(prod(shape_of(source_of(new))) <= MAX_ELEMENTS for new in tables)
            and self.are_computed(small, {new.owner for new in tables})
            and len({shape_of(new) for _, new in updates} | set(shapes)) == len(set(shapes))
        )

    def are_computed(
        self, carried: Sequence[tuple[int, ...]], inserts: Set[Operation | Block] = frozenset()
    ) -> bool:
        """Return whether tensors of these shapes have few elements, and the block is short.

        `inserts` only write other tensors.
        """
        steps = [op for op in self.block.ops if op is not self.block.last_op and op not in inserts]
        return (
            bool(carried)
            and sum(map(prod, carried)) <= MAX_ELEMENTS
            and _operations(self.block) <= MAX_OPERATIONS
            and all(map(self._is_known, steps))
        )

    def _is_known(self, operation: Operation) -> bool:
        tensors = [each for each in operation.results if isinstance(each.type, TensorType)]
        if operation.name in CHOICES:
            return all(0 <= prod(shape_of(each)) <= MAX_ELEMENTS for each in tensors) and all(
                inner is branch.last_op or self._is_known(inner)
                for region in operation.regions
                for branch in region.blocks
                for inner in branch.ops
            )
        if operation.name in ("tensor.extract", *CONTROL_FLOW):
            inner = list(operation.walk())
            results = (each for inside in inner for each in inside.results)
            return not any(isinstance(each.type, TensorType) for each in results) and all(
                self._is_readable(each) for each in inner if each.name == "tensor.extract"
            )
        if any(
            isinstance(each.type, TensorType) and min(shape_of(each), default=0) < 0
            for each in (*operation.operands, *operation.results)
        ):
            return False
        if not tensors or operation.name in ("arith.constant", "tensor.empty"):
            return True
        if operation.name == "tensor.insert":
            return self._is_chosen(operation, operation.results[0])
        if operation.name == "tensor.extract_slice" and not is_pointwise(operation):
            return self._is_chosen(operation, operation.operands[0])
        return is_pointwise(operation) or _is_small_reduction(operation)

    def _is_readable(self, extract: Operation) -> bool:
        """Return whether an element is read at constant indices, from outside of the block, or is
        chosen from a few.
        """
        tensor, *indices = extract.operands
        is_constant = all(constant_attribute(each) is not None for each in indices)
        return is_constant or _is_outside(tensor, self.block) or self._is_chosen(extract, tensor)

    def _is_chosen(self, operation: Operation, tensor: SSAValue) -> bool:
        """Return whether an access cannot fail, and a tensor has few elements."""
        return 0 < prod(shape_of(tensor)) <= MAX_ELEMENTS and operation not in self.failing


def _operations(block: Block) -> int:
    """Return the number of operations with code in a block and its branches."""
    inner = (each for op in block.ops if op.name in CHOICES for each in op.regions)
    own = sum(op.name not in ("arith.constant", "tensor.empty") for op in block.ops)
    return own + sum(_operations(each) for region in inner for each in region.blocks)


def _is_small_reduction(operation: Operation) -> bool:
    """Return whether an operation combines few elements, each of which is written as code."""
    view = structured_view(operation)
    if view is None or written_loops(view) is None or len(set(view.output_maps)) != 1:
        return False
    points = view.points()
    return points is not None and points <= MAX_TERMS


def _is_outside(tensor: SSAValue, block: Block) -> bool:
    """Return whether a tensor is no value of a loop's block or its branches."""
    owner = tensor.owner
    if not isinstance(owner, Operation):
        return owner is not block
    loop = block.parent_op()
    return loop is not None and not is_scalar_code(owner, loop)
