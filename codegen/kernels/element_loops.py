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

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.attribute_access import flag
from ..scalar_ops.scalars import INTEGER_DIVISIONS
from .ast_builder import Term
from .index_ranges import unproven
from .kernel_text import TileCount
from .slice_loops import updates_slices, write_slices
from .static_values import constant_attribute, shape_of
from .writer import KernelWriter

MOST_TURNS = 1 << 24
"""The most iterations of a loop of scalars: a kernel cannot be interrupted."""


def is_element_loop(operation: Operation) -> bool:
    """Return whether a loop computes scalars, and sets elements or slices, all surely in bounds.

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
    quads = list(zip(operation.operands[3:], carried, yielded, operation.results, strict=True))
    if any(len({value.type for value in values}) > 1 for values in quads):
        return False
    tensors = [each for each in quads if isinstance(each[1].type, TensorType)]
    if len(tensors) < len(quads) and not _computes_scalars(block, bounds):
        return False
    carried, yielded = [each[1] for each in tensors], [each[2] for each in tensors]
    return (
        _sets_elements(block, carried, yielded) or updates_slices(block, carried, yielded)
    ) and not unproven(operation)


def _computes_scalars(block: Block, bounds: Sequence[int | None]) -> bool:
    """Return whether a body computes scalars without failing, in a loop of not too many turns."""
    low, high, step = (each or 0 for each in bounds)
    return (high - low) // step <= MOST_TURNS and not any(
        inner.name in INTEGER_DIVISIONS for inner in block.walk()
    )


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
    carried, end = block.args[1:], block.last_op
    assert end is not None
    updates = [
        (tensor, new)
        for tensor, new in zip(carried, end.operands, strict=True)
        if isinstance(new.type, TensorType) and not _is_set(new)
    ]
    if updates:
        # Elements of tensors that an iteration computes are written where they are read.
        is_outer = writer.is_inline
        writer.is_inline = lambda value: is_outer(value) or _is_made_in(block, value)
    with code.loop("first", "last"):
        terms: list[Term] = []
        for initial, result in zip(operation.operands[3:], operation.results, strict=True):
            if isinstance(initial.type, TensorType):
                _copy(writer, initial, result)
                terms.append("")
            else:
                terms.append(code.copy(writer.scalar(initial)))
        for tensor, result in zip(carried, operation.results, strict=True):
            if isinstance(tensor.type, TensorType):
                writer.places[tensor] = result
        with code.loop(low, high, step) as turn:
            found = writer.body(block, (turn, *terms))
            new = [code.copy(each) if name else "" for name, each in zip(terms, found, strict=True)]
            write_slices(writer, updates)
            for name, each in zip(terms, new, strict=True):
                if isinstance(name, str) and name:
                    code.set(name, each)
        for name, result in zip(terms, operation.results, strict=True):
            if name:
                writer.store(result, 0, name)
    return TileCount()


def _is_set(new: SSAValue) -> bool:
    return isinstance(new.owner, Operation) and new.owner.name == "tensor.insert"


def _is_made_in(block: Block, value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.parent_block() is block


def _copy(writer: KernelWriter, initial: SSAValue, result: SSAValue) -> None:
    code, shape = writer.code, writer.shape(result)
    if writer.is_inline(initial) or constant_attribute(initial) is not None:
        with code.loops(shape) as indices:
            element = writer.element(initial, indices)
            writer.store(result, code.linear(indices, shape), element)
        return
    is_elsewhere = code.compare("ne", writer.address(initial), writer.address(result))
    with code.when(is_elsewhere), code.loop(0, code.product(shape)) as position:
        writer.store(result, position, writer.load(initial, position))
