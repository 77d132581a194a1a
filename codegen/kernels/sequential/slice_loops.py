"""Write sequential loops that update slices of tensors, such as rows of a table.

    %r = scf.for %i = %low to %high step %step iter_args(%t = %initial) -> tensor<100x64xf32> {
      %at = ...                                      # scalar operations
      %old = tensor.extract_slice %t[%at, 0] [1, 64] [1, 1]
      %new = linalg.generic ins(%old) ...            # element by element
      %n = tensor.insert_slice %new into %t[%at, 0] [1, 64] [1, 1]
      scf.yield %n
    }

An element of a carried tensor is read only to compute the element that replaces it, so that
iterations update the tensor in place. A whole tensor that is computed element by element is a
slice, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....ir.attribute_access import integers, kept_dimensions
from ....ir.host_programs import CHOICES
from ....ir.index_lists import SLICE_LISTS
from ....ir.regions import captured
from ..elements.expressions import indices_in_whole
from ..elements.scalar_operations import is_scalar_operation
from ..elements.static_values import shape_of
from ..elements.writer import Indices, KernelWriter

MAX_SLICE_ELEMENTS = 1 << 16
"""The elements of a slice beyond which each iteration should be shared by threads instead."""

MAX_TENSOR_ELEMENTS = 1 << 12
"""The same for a whole tensor, of which an iteration costs no copy if it is a kernel of its own."""

SLICE_OPERATIONS = frozenset(
    ("tensor.empty", "tensor.extract_slice", "tensor.from_elements", "tensor.insert_slice")
)
"""Operations in such loops besides scalar and structured ones."""


def updates_slices(block: Block, updates: Sequence[tuple[SSAValue, SSAValue]]) -> bool:
    """Return whether a loop's body does nothing but update each carried tensor, or a slice of it.

    `updates` are the carried tensors, each with its new value. All slices have one static shape.
    The caller must check that they are in bounds.
    """
    turn = _Turn(block, updates)
    shapes = {shape_of(source_of(new)) for _, new in updates}
    is_slice = any(source_of(new) is not new for _, new in updates)
    return (
        bool(updates)
        and all(turn.is_update(*each) for each in updates)
        and len(shapes) == 1
        and all(
            prod(shape) <= (MAX_SLICE_ELEMENTS if is_slice else MAX_TENSOR_ELEMENTS)
            for shape in shapes
        )
        and all(map(turn.is_part_of_update, block.ops))
    )


def is_only_written(tensor: SSAValue, new: SSAValue) -> bool:
    """Return whether all that a turn does with a carried tensor is to write a slice of it."""
    return tensor.has_one_use() and _is_insertion(tensor, new)


def _is_insertion(tensor: SSAValue, new: SSAValue) -> bool:
    """Return whether a value is a tensor with a slice written, and is used once."""
    insert = new.owner
    return (
        isinstance(insert, Operation)
        and insert.name == "tensor.insert_slice"
        and insert.operands[1] is tensor
        and new.has_one_use()
        and _is_static_unit_stride_slice(insert, tensor, insert.operands[0])
    )


def source_of(new: SSAValue) -> SSAValue:
    """Return the tensor that an update writes: the slice that is inserted, or the whole tensor."""
    insert = new.owner
    if isinstance(insert, Operation) and insert.name == "tensor.insert_slice":
        return insert.operands[0]
    return new


class _Turn:
    """The body of a loop that may update slices."""

    def __init__(self, block: Block, updates: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        self._block = block
        self._updates = {tensor: new.owner for tensor, new in updates if source_of(new) is not new}

    def is_update(self, tensor: SSAValue, new: SSAValue) -> bool:
        """Return whether a slice is written, and only it or single elements are read.

        Of a tensor that is written as a whole an iteration reads single elements before it writes,
        or those at the same position (`is_part_of_update`).
        """
        update = new.owner
        if not isinstance(update, Operation) or update.parent_block() is not self._block:
            return False
        if source_of(new) is new:
            return (
                update.name != "arith.constant"
                and min(shape_of(tensor), default=0) >= 0
                and all(self._may_read_whole(use.operation) for use in tensor.uses)
            )
        return (
            _is_insertion(tensor, new)
            and source_of(new) is not tensor
            and all(
                use.operation is update or self._may_read(use.operation, update)
                for use in tensor.uses
            )
        )

    def _may_read(self, reader: Operation, insert: Operation) -> bool:
        """Return whether a reader of a carried tensor runs before the write, or at its element."""
        if reader.name == "tensor.extract":
            return self._is_scalar_code(reader)
        return reader.name == "tensor.extract_slice" and _is_same_slice(reader, insert)

    def _is_scalar_code(self, reader: Operation) -> bool:
        """Return whether an operation runs before the slices are written, as all scalar code does.

        A nest runs while they are written.
        """
        scope = reader.parent_op()
        while scope is not None and scope.name in CHOICES:
            scope = scope.parent_op()
        return scope is self._block.parent_op()

    def _may_read_whole(self, reader: Operation) -> bool:
        if reader.name == "tensor.extract":
            return self._is_scalar_code(reader)
        if reader in self._updates.values():
            return True  # it is the slice that is written to another tensor
        is_nest = structured_view(reader) is not None or is_scalar_operation(reader.name)
        return is_nest and reader.parent_block() is self._block

    def is_part_of_update(self, operation: Operation) -> bool:
        """Return whether an operation is scalar, or computes slices element by element."""
        if operation is self._block.last_op or operation in self._updates.values():
            return True
        tensors = [each for each in operation.results if isinstance(each.type, TensorType)]
        if not tensors or operation.name in ("arith.constant", "tensor.empty"):
            return all(min(shape_of(each), default=0) >= 0 for each in tensors)
        if operation.name == "tensor.from_elements":
            return shape_of(operation.results[0]) == ()
        if operation.name == "tensor.extract_slice":
            source = operation.operands[0]
            is_outside = source in self._updates or not self._is_made_here(source)
            return is_outside and _is_static_unit_stride_slice(
                operation, source, operation.results[0]
            )
        if is_scalar_operation(operation.name):
            tensors += [each for each in operation.operands if isinstance(each.type, TensorType)]
            return len(set(map(shape_of, tensors))) == 1
        view = structured_view(operation)
        return view is not None and self._is_pointwise(view)

    def _is_pointwise(self, view: StructuredView) -> bool:
        """Return whether a nest reads what the body computes only at the element that it writes."""
        sizes = view.loop_sizes()
        identity = AffineMap.identity(len(sizes))
        if any(
            isinstance(each.type, TensorType) and self._is_made_here(each)
            for each in captured(view.operation)
        ):
            return False
        return all(each is IteratorType.PARALLEL for each in view.iterators) and all(
            (
                affine_map == identity
                or (not affine_map.results and operand in view.inputs)
                or not (operand in view.outputs or self._is_made_here(operand))
            )
            and _fits(operand, affine_map, sizes)
            for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True)
        )

    def _is_made_here(self, value: SSAValue) -> bool:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent_block()
        return block is self._block


def _fits(operand: SSAValue, affine_map: AffineMap, sizes: Sequence[int | None]) -> bool:
    """Return whether an operand's dimensions are loops of the same static sizes."""
    shape = shape_of(operand)
    return len(shape) == len(affine_map.results) and all(
        isinstance(each, AffineDimExpr) and size >= 0 and sizes[each.position] == size
        for each, size in zip(affine_map.results, shape, strict=True)
    )


def _is_static_unit_stride_slice(operation: Operation, whole: SSAValue, part: SSAValue) -> bool:
    """Return whether a slice has unit strides and static sizes, which are those of the part."""
    sizes = integers(operation, "static_sizes")
    return (
        len(sizes) == len(shape_of(whole))
        and min((*sizes, *shape_of(whole), *shape_of(part)), default=0) >= 0
        and set(integers(operation, "static_strides")) <= {1}
        and kept_dimensions(sizes, shape_of(part)) is not None
    )


def _is_same_slice(extract: Operation, insert: Operation) -> bool:
    """Return whether a read slice is the written slice, with the same dimensions."""
    return (
        all(integers(extract, name) == integers(insert, name) for name in SLICE_LISTS)
        and tuple(extract.operands[1:]) == tuple(insert.operands[2:])
        and shape_of(extract.results[0]) == shape_of(insert.operands[0])
    )


def write_slices(writer: KernelWriter, updates: Sequence[tuple[SSAValue, SSAValue]]) -> None:
    """Write the slices of an iteration, element by element, after its scalars.

    `updates` are the carried tensors, each with its new value.
    """
    code = writer.code
    with code.loops(shape_of(source_of(updates[0][1]))) as indices:
        elements = [writer.element(source_of(new), indices) for _, new in updates]
        for (tensor, new), element in zip(updates, elements, strict=True):
            place = indices if source_of(new) is new else _place(writer, new, indices)
            position = code.linear(place, writer.shape(tensor))
            writer.store(writer.updated_in_place[tensor], position, element)


def write_elements(writer: KernelWriter, updates: Sequence[tuple[SSAValue, SSAValue]]) -> None:
    """Write slices whose elements are variables, or computed from variables, one by one.

    `updates` are as for `write_slices`; the turn reads none of the carried tensors.
    """
    for tensor, new in updates:
        source = source_of(new)
        for indices in product(*map(range, shape_of(source))):
            position = writer.code.linear(_place(writer, new, indices), writer.shape(tensor))
            element = writer.element(source, indices)
            writer.store(writer.updated_in_place[tensor], position, element)


def _place(writer: KernelWriter, new: SSAValue, indices: Indices) -> Indices:
    """Return where an element of a slice lies in the whole tensor."""
    insert = new.owner
    assert isinstance(insert, Operation)
    return indices_in_whole(writer, insert, insert.operands[0], indices)
