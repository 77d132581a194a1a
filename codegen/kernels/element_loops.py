"""Write sequential loops that set elements of tensors, such as scatters.

    %r = scf.for %i = %low to %high step %step iter_args(%t = %initial) -> tensor<256xi32> {
      %old = tensor.extract %t[%at]                  # and scalar operations
      %n = tensor.insert %new into %t[%at]
      scf.yield %n
    }

Only the loop reads a carried tensor between two iterations, so that its elements are updated in
place. One thread runs all iterations in order. Loops that update slices are written alike
(`slice_loops`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.attribute_access import flag
from .index_ranges import unproven
from .kernel_text import TileCount
from .slice_loops import updates_slices, write_slices
from .static_values import constant_attribute, shape_of
from .writer import KernelWriter


def is_element_loop(operation: Operation) -> bool:
    """Return whether a loop only sets elements, or slices, that are proven to be in bounds.

    The caller must check that kernels support its other operations.
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
    pairs = zip(operation.operands[3:], carried, yielded, operation.results, strict=True)
    return (
        all(len({value.type for value in values}) == 1 for values in pairs)
        and (_sets_elements(block, carried, yielded) or updates_slices(block, carried, yielded))
        and not unproven(operation)
    )


def _sets_elements(block: Block, carried: Sequence[SSAValue], yielded: Sequence[SSAValue]) -> bool:
    """Return whether one element of each carried tensor is set, and no other tensor is computed."""
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
    carried = block.args[1:]
    inserts = [each for each in block.ops if each.name == "tensor.insert_slice"]
    if inserts:
        # Elements of tensors that an iteration computes are written where they are read.
        is_outer = writer.is_fused
        writer.is_fused = lambda value: is_outer(value) or _is_made_in(block, value)
    with code.loop("first", "last"):
        for initial, result in zip(operation.operands[3:], operation.results, strict=True):
            _copy(writer, initial, result)
        for tensor, result in zip(carried, operation.results, strict=True):
            writer.updated_in_place[tensor] = result
        with code.loop(low, high, step) as turn:
            writer.body(block, (turn,))
            if inserts:
                write_slices(writer, inserts)
    return TileCount()


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
