"""Write sequential loops that update slices of tensors, such as rows of a table.

    %r = scf.for %i = %low to %high step %step iter_args(%t = %initial) -> tensor<100x64xf32> {
      %at = ...                                      # scalar operations
      %old = tensor.extract_slice %t[%at, 0] [1, 64] [1, 1]
      %new = linalg.generic ins(%old) ...            # element by element
      %n = tensor.insert_slice %new into %t[%at, 0] [1, 64] [1, 1]
      scf.yield %n
    }

An element of a carried tensor is read only to compute the element that replaces it, so that
iterations update the tensor in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...ir.attribute_access import integers, kept_dimensions, operand_groups
from ...ir.regions import captured
from ..scalar_ops.scalars import is_scalar_operation
from .expressions import expand_indices, slice_geometry
from .static_values import dimensions_of_part, shape_of
from .writer import KernelWriter

LARGEST_SLICE = 1 << 16
"""The elements of a slice beyond which each iteration should be shared by threads instead."""

SLICE_OPERATIONS = frozenset(("tensor.empty", "tensor.extract_slice", "tensor.insert_slice"))
"""Operations in such loops besides scalar and structured ones."""


def updates_slices(block: Block, carried: Sequence[SSAValue], yielded: Sequence[SSAValue]) -> bool:
    """Return whether a loop's body does nothing but update a slice of each carried tensor.

    All slices have one static shape. The caller must check that they are in bounds.
    """
    turn = _Turn(block, carried, yielded)
    return (
        all(turn.is_update(*each) for each in zip(carried, yielded, strict=True))
        and len({shape_of(new) for new in turn.sources(yielded)}) == 1
        and all(prod(shape_of(new)) <= LARGEST_SLICE for new in turn.sources(yielded))
        and all(map(turn.is_part_of_update, block.ops))
    )


class _Turn:
    """The body of a loop that may update slices."""

    def __init__(
        self, block: Block, carried: Sequence[SSAValue], yielded: Sequence[SSAValue]
    ) -> None:
        self._block = block
        self._updates = dict(zip(carried, (new.owner for new in yielded), strict=True))

    @staticmethod
    def sources(yielded: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the tensors that are written to the slices."""
        return [new.owner.operands[0] for new in yielded if isinstance(new.owner, Operation)]

    def is_update(self, tensor: SSAValue, new: SSAValue) -> bool:
        """Return whether a slice is written, and only it or single elements are read."""
        insert = new.owner
        return (
            isinstance(insert, Operation)
            and insert.name == "tensor.insert_slice"
            and insert.parent_block() is self._block
            and insert.operands[1] is tensor
            and insert.operands[0] is not tensor
            and new.has_one_use()
            and _is_static_unit_stride_slice(insert, tensor, insert.operands[0])
            and all(
                use.operation is insert or self._may_read(use.operation, insert)
                for use in tensor.uses
            )
        )

    def _may_read(self, reader: Operation, insert: Operation) -> bool:
        """Return whether a reader of a carried tensor runs before the write, or at its element."""
        if reader.name == "tensor.extract":
            # Scalars of the body are computed before the slices; a nest runs while they are
            # written.
            scope = reader.parent_op()
            while scope is not None and scope.name == "scf.if":
                scope = scope.parent_op()
            return scope is self._block.parent_op()
        return reader.name == "tensor.extract_slice" and _is_same_slice(reader, insert)

    def is_part_of_update(self, operation: Operation) -> bool:
        """Return whether an operation is scalar, or computes slices element by element."""
        if operation is self._block.last_op or operation in self._updates.values():
            return True
        tensors = [each for each in operation.results if isinstance(each.type, TensorType)]
        if not tensors or operation.name in ("arith.constant", "tensor.empty"):
            return all(min(shape_of(each), default=0) >= 0 for each in tensors)
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
            (affine_map == identity or not (operand in view.outputs or self._is_made_here(operand)))
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
    lists = ("static_offsets", "static_sizes", "static_strides")
    return (
        all(integers(extract, name) == integers(insert, name) for name in lists)
        and tuple(extract.operands[1:]) == tuple(insert.operands[2:])
        and shape_of(extract.results[0]) == shape_of(insert.operands[0])
    )


def write_slices(writer: KernelWriter, inserts: Sequence[Operation]) -> None:
    """Write the slices of an iteration, element by element, after its scalars."""
    code = writer.code
    with code.loops(shape_of(inserts[0].operands[0])) as indices:
        elements = [writer.element(insert.operands[0], indices) for insert in inserts]
        for insert, element in zip(inserts, elements, strict=True):
            source, tensor, *dynamic = operand_groups(insert, insert.operands)
            offsets, _, _ = slice_geometry(writer, insert, dynamic)
            within = expand_indices(dimensions_of_part(insert, source[0]), len(offsets), indices)
            place = [code.add(*each) for each in zip(offsets, within, strict=True)]
            position = code.linear(place, writer.shape(tensor[0]))
            writer.store(writer.updated_in_place[tensor[0]], position, element)
