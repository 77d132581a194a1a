"""Find the tensor that an element of a rearranged tensor comes from.

    %i = tensor.expand_shape %rows [[0, 1]] ...     # 62, as 62x1
    %j = tensor.concat dim(1) %i, %columns          # 62x2

Element `[k, 0]` of `%j` is element `[k]` of `%rows`. A gather then reads the components of its
indices where they are, and `%j` is not stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.tensor import CollapseShapeOp, ConcatOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from ....dialects.linalg.dialect import GenericOp
from ....dialects.linalg.structured_view import structured_view
from ....dialects.tensor.reshapes import ExpandShapeOp
from ....ir.attribute_access import integer, integer_lists
from ....ir.index import IndexOrInt
from ....ir.index_lists import INDEX
from ....ir.tensor_types import part_at, static_shape

Element = tuple[SSAValue, list[IndexOrInt]]
"""A tensor, and the indices of one of its elements."""


def element_origin(value: SSAValue, indices: Sequence[IndexOrInt]) -> Element:
    """Return the tensor and the indices that an element of a tensor comes from."""
    found: Element | None = value, list(indices)
    while found is not None:
        value, indices = found
        match value.owner:
            case ConcatOp() as op:
                found = _of_part(op, indices)
            case ExpandShapeOp() as op:
                found = _of_expanded(op, indices)
            case CollapseShapeOp() as op:
                found = _of_collapsed(op, indices)
            case GenericOp() as op:
                found = _of_rearranged(op, indices)
            case _:
                found = None
    return value, list(indices)


def broadcast_origin(value: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """Return the tensor that a tensor broadcasts, and the dimension that each of its own becomes.

    Dimensions of size 1 may be added or removed in between. Returns `None` if none is added.
    """
    rank = len(static_shape(value))
    places = Block(arg_types=[INDEX] * rank).args
    origin, indices = element_origin(value, places)
    found = tuple(places.index(each) for each in indices if each in places)
    return (origin, found) if len(found) == len(indices) < rank else None


def _of_part(op: Operation, indices: Sequence[IndexOrInt]) -> Element | None:
    """Return the element of an operand of a concatenation, if the index along it is known."""
    joined = integer(op, "dim")
    index = indices[joined]
    if not isinstance(index, int):
        return None
    found = part_at(op.operands, joined, index)
    return found and (found[0], [*indices[:joined], found[1], *indices[joined + 1 :]])


def _of_expanded(op: Operation, indices: Sequence[IndexOrInt]) -> Element | None:
    sizes = static_shape(op.results[0])
    found: list[IndexOrInt] = []
    for group in integer_lists(op, "reassociation"):
        long = [each for each in group if sizes[each] != 1]
        if len(long) > 1:
            return None
        found.append(indices[long[0]] if long else 0)
    return op.operands[0], found


def _of_collapsed(op: Operation, indices: Sequence[IndexOrInt]) -> Element | None:
    sizes = static_shape(op.operands[0])
    found: list[IndexOrInt] = [0] * len(sizes)
    for index, group in zip(indices, integer_lists(op, "reassociation"), strict=True):
        long = [each for each in group if sizes[each] != 1]
        if len(long) > 1:
            return None
        if long:
            found[long[0]] = index
    return op.operands[0], found


def _of_rearranged(op: Operation, indices: Sequence[IndexOrInt]) -> Element | None:
    """Return the element that a loop nest yields, if it only broadcasts or permutes a tensor."""
    view = structured_view(op)
    if view is None or len(view.inputs) != 1 or view.moved_input() is None:
        return None
    read, written = view.maps
    loops = {
        each.position: index
        for each, index in zip(written.results, indices, strict=True)
        if isinstance(each, AffineDimExpr)
    }
    found: list[IndexOrInt] = []
    for each in read.results:
        if isinstance(each, AffineDimExpr) and each.position in loops:
            found.append(loops[each.position])
        elif isinstance(each, AffineConstantExpr):
            found.append(each.value)
        else:
            return None
    return view.inputs[0], found
