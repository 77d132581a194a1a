"""Write sequential loops that set elements of tensors, such as scatters.

    %r = scf.for %i = %low to %high step %step iter_args(%t = %initial) -> tensor<256xi32> {
      %old = tensor.extract %t[%at]                  # and scalar operations
      %n = tensor.insert %new into %t[%at]
      scf.yield %n
    }

Only the loop reads a carried tensor between two iterations, so that its elements are updated in
place. One thread runs all iterations in order. Loops that update slices, or whole tensors element
by element, are written alike (`slice_loops`). Scalars that a loop carries are variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.attribute_access import flag
from ..scalar_ops.scalars import INTEGER_DIVISIONS
from .ast_builder import Term
from .index_ranges import unproven
from .kernel_text import TileCount
from .slice_loops import updates_slices, write_slices
from .small_tensors import updates_small_tensors
from .static_values import constant_attribute, shape_of
from .writer import KernelWriter

MAX_STEPS = 1 << 28
"""The most scalar operations of a loop over numbers and whole tensors: it cannot be interrupted."""


def is_element_loop(operation: Operation, is_pointwise: Callable[[Operation], bool]) -> bool:
    """Return whether a loop computes scalars, and sets elements or slices, all surely in bounds.

    `is_pointwise` tells whether elements of an operation's results can be computed alone. The
    caller must check that kernels support the loop's other operations.
    """
    if operation.name != "scf.for" or flag(operation, "unsignedCmp"):
        return False
    region = operation.regions[0]
    last = region.blocks.first.last_op if region.blocks.first is not None else None
    if len(region.blocks) != 1 or not operation.results or last is None:
        return False
    bounds = [_known_number(each) for each in operation.operands[:3]]
    if None in bounds or (bounds[2] or 0) <= 0:
        return False
    block = region.block
    carried, yielded = block.args[1:], last.operands
    if not len(carried) == len(yielded) == len(operation.results) == len(operation.operands) - 3:
        return False
    quads = list(zip(operation.operands[3:], carried, yielded, operation.results, strict=True))
    if any(len({value.type for value in values}) > 1 for values in quads):
        return False
    tensors = [each for each in quads if isinstance(each[1].type, TensorType)]
    if len(tensors) < len(quads) and any(each.name in INTEGER_DIVISIONS for each in block.walk()):
        return False
    carried, yielded = [each[1] for each in tensors], [each[2] for each in tensors]
    whole = [new for _, _, new, _ in quads if not _is_inserted(new)]
    if whole and _steps(block, bounds, whole) > MAX_STEPS:
        return False
    return (
        _sets_elements(block, carried, yielded)
        or updates_slices(block, carried, yielded)
        or updates_small_tensors(block, carried, yielded, is_pointwise)
    ) and not unproven(operation)


def _steps(block: Block, bounds: Sequence[int | None], whole: Sequence[SSAValue]) -> int:
    """Return how many scalar operations a loop takes that computes some values as a whole."""
    low, high, step = (each or 0 for each in bounds)
    sizes = [prod(shape_of(each)) for each in whole if isinstance(each.type, TensorType)]
    turns = max(0, high - low) // max(1, step)
    return turns * sum(1 for _ in block.walk()) * max([1, *sizes])


def _sets_elements(block: Block, carried: Sequence[SSAValue], yielded: Sequence[SSAValue]) -> bool:
    """Return whether one element of each carried tensor is set, and no other tensor is computed.

    Without carried tensors this holds for a body that computes scalars alone.
    """
    return all(
        _is_set_last(block, tensor, new) for tensor, new in zip(carried, yielded, strict=True)
    ) and all(
        not isinstance(result.type, TensorType)
        or inner.name == "arith.constant"
        or result in yielded
        for inner in block.walk()
        for result in inner.results
    )


def _known_number(value: SSAValue) -> int | None:
    attribute = constant_attribute(value)
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _is_set_last(block: Block, tensor: SSAValue, new: SSAValue) -> bool:
    """Return whether one element of a carried tensor is set, after all reads of the tensor."""
    insert = new.owner
    if not isinstance(insert, Operation) or insert.name != "tensor.insert":
        return False
    if insert.parent_block() is not block or insert.operands[1] is not tensor:
        return False
    if not new.has_one_use() or any(size < 0 for size in shape_of(tensor)):
        return False
    for use in tensor.uses:
        reader = block.find_ancestor_op_in_block(use.operation)
        if use.operation is not insert and (
            use.operation.name != "tensor.extract"
            or reader is None
            or not reader.is_before_in_block(insert)
        ):
            return False
    return True


def write_element_loop(writer: KernelWriter, operation: Operation) -> TileCount:
    """Write the loops: copy initial values unless they are in place, then run the iterations.

    Raises OperationError for an operation that kernels do not support.
    """
    code, block = writer.code, operation.regions[0].block
    low, high, step = (writer.number(each) for each in operation.operands[:3])
    updates = _updates(block)
    is_sliced = updates_slices(block, [each for each, _ in updates], [new for _, new in updates])
    small = frozenset[SSAValue]() if is_sliced else frozenset(each for each, _ in updates)
    if updates:
        # Elements of tensors that an iteration computes are written where they are read.
        is_outer = writer.is_fused
        writer.is_fused = lambda value: (
            is_outer(value) or value in small or _is_made_in(block, value)
        )
    with code.loop("first", "last"):
        variables: list[_Variable] = []
        for index, result in enumerate(operation.results):
            tensor, initial = block.args[1 + index], operation.operands[3 + index]
            if not isinstance(tensor.type, TensorType) or tensor in small:
                variables += _variables(writer, index, initial)
            else:
                _copy(writer, initial, result)
                writer.updated_in_place[tensor] = result
        with code.loop(low, high, step) as turn:
            _write_turn(writer, block, turn, variables)
            if is_sliced:
                write_slices(writer, updates)
            for each in variables:
                code.set(each.name, each.following)
        for each in variables:
            result = operation.results[each.index]
            position = code.linear(each.indices, shape_of(result)) if each.indices else 0
            writer.store(result, position, each.name)
    return TileCount()


@dataclass
class _Variable:
    """A scalar that a loop carries, or an element of a small tensor.

    - `name`: the variable that holds it;
    - `index`: its position, or its tensor's, among the carried values;
    - `following`: its value after the iteration that is being written.
    """

    name: str
    index: int
    indices: tuple[int, ...]
    following: Term = 0


def _updates(block: Block) -> list[tuple[SSAValue, SSAValue]]:
    """Return the carried tensors of which not only an element is set, with their new values."""
    assert block.last_op is not None
    return [
        (tensor, new)
        for tensor, new in zip(block.args[1:], block.last_op.operands, strict=True)
        if isinstance(new.type, TensorType) and not _is_set(new)
    ]


def _variables(writer: KernelWriter, index: int, initial: SSAValue) -> list[_Variable]:
    """Return variables for a carried value, which hold its initial elements."""
    shape = shape_of(initial) if isinstance(initial.type, TensorType) else ()
    return [
        _Variable(writer.code.copy(writer.element(initial, indices)), index, indices)
        for indices in product(*map(range, shape))
    ]


def _write_turn(
    writer: KernelWriter, block: Block, turn: Term, variables: Sequence[_Variable]
) -> None:
    """Write the scalars of an iteration, and what its variables are afterwards."""
    code = writer.code
    assert block.last_op is not None
    for each in variables:
        carried = block.args[1 + each.index]
        is_tensor = isinstance(carried.type, TensorType)
        code.remember((carried, each.indices) if is_tensor else carried, each.name)
    writer.body(block, (turn,), yielded=())
    for each in variables:
        new = block.last_op.operands[each.index]
        each.following = code.copy(writer.element(new, each.indices))


def _is_set(new: SSAValue) -> bool:
    return isinstance(new.owner, Operation) and new.owner.name == "tensor.insert"


def _is_inserted(new: SSAValue) -> bool:
    return isinstance(new.owner, Operation) and new.owner.name.startswith("tensor.insert")


def _is_made_in(block: Block, value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.parent_block() is block


def _copy(writer: KernelWriter, initial: SSAValue, result: SSAValue) -> None:
    code, shape = writer.code, writer.shape(result)
    if writer.is_fused(initial) or constant_attribute(initial) is not None:
        with code.loops(shape) as indices:
            element = writer.element(initial, indices)
            writer.store(result, code.linear(indices, shape), element)
        return
    is_elsewhere = code.compare("ne", writer.address(initial), writer.address(result))
    with code.when(is_elsewhere), code.loop(0, code.product(shape)) as position:
        writer.store(result, position, writer.load(initial, position))
