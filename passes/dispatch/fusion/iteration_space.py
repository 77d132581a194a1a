"""Track the rows of a group: the parallel loops that all of its operations share.

Rows are numbered from 0. Each tensor that the group computes has one dimension for each row. An
operation keeps the rows independent if it reads the group's tensors at one row at a time; it may do
anything within the row. Softmax and normalisation are chains of such operations, whose rows are the
loops that are not reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....ir.locations import made_by
from ....ir.tensor_types import ranked


class GroupRows:
    """The rows of the tensors that a group computes."""

    def __init__(self) -> None:
        self._dimensions: dict[SSAValue, dict[int, int]] = {}
        self._rows: list[int] = []
        self._is_elementwise = True
        """Whether all operations so far are elementwise."""
        self._is_within_rows = True
        """Whether all operations so far are elementwise or reductions of one tensor."""

    def start(self, operation: Operation) -> None:
        """Start with the first operation: each dimension of its result is a row."""
        view = structured_view(operation)
        self._note_kind(view)
        if view is None:
            tensor = ranked(operation.results[0])
            rank = 0 if tensor is None else len(tensor.get_shape())
            self._rows = list(range(rank)) if len(operation.results) == 1 else []
            self._dimensions[operation.results[0]] = {row: row for row in self._rows}
            return
        loops = range(len(view.iterators))
        self._keep(operation, view, {loop: loop for loop in loops})

    def join(self, operation: Operation, repeated: set[Operation]) -> None:
        """Add an operation for which `may_join` holds, or an encode."""
        view = structured_view(operation)
        if view is None:
            self._dimensions[operation.results[0]] = self._dimensions[operation.operands[0]]
            return
        self._keep(operation, view, self._loops(view, repeated))
        self._note_kind(view)

    def may_join(self, operation: Operation, repeated: set[Operation]) -> bool:
        """Return whether an operation keeps the rows independent."""
        view = structured_view(operation)
        if view is None:
            return False
        own = [value for value in view.inputs if value in self._dimensions]
        kept = _result_rows(view, self._loops(view, repeated))
        is_complete = len(kept) == len(self._rows)
        if view.reduction_loops:
            if not (own and _is_simple_reduction(view)):
                return False
            return self._is_elementwise or (self._is_within_rows and bool(kept) and is_complete)
        if self._is_within_rows and self._rows:
            return is_complete
        return bool(own) and all(_reads_in_place(view, value) for value in own)

    def _loops(self, view: StructuredView, repeated: set[Operation]) -> dict[int, int]:
        """Return for each row the loop that indexes it wherever the operation reads the group."""
        found: dict[int, int | None] = {}
        for value, affine_map in reads(view, repeated):
            dimensions = self._dimensions.get(value)
            if dimensions is None:
                continue
            for row in self._rows:
                index = affine_map.results[dimensions[row]]
                loop = index.position if isinstance(index, AffineDimExpr) else None
                if loop is None or found.setdefault(row, loop) != loop:
                    found[row] = None
        return {row: loop for row, loop in found.items() if loop is not None}

    def _keep(self, operation: Operation, view: StructuredView, loops: dict[int, int]) -> None:
        kept = _result_rows(view, loops)
        self._rows = sorted(kept)
        for position, result in enumerate(operation.results):
            self._dimensions[result] = {row: places[position] for row, places in kept.items()}

    def _note_kind(self, view: StructuredView | None) -> None:
        is_elementwise = view is not None and not view.reduction_loops
        self._is_elementwise = self._is_elementwise and is_elementwise
        if view is None or not (is_elementwise or _is_simple_reduction(view)):
            self._is_within_rows = False


def reads(view: StructuredView, repeated: set[Operation]) -> list[tuple[SSAValue, AffineMap]]:
    """Return the tensors that an operation reads, and maps, looking through repeated broadcasts."""
    found: list[tuple[SSAValue, AffineMap]] = []
    for operand, operand_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        value, affine_map = operand, operand_map
        while isinstance(value, OpResult) and value.op in repeated:
            broadcast = structured_view(value.op)
            if broadcast is None:
                break
            affine_map = broadcast.maps[0].compose(affine_map)
            value = broadcast.inputs[0]
        found.append((value, affine_map))
    return found


def _result_rows(view: StructuredView, loops: dict[int, int]) -> dict[int, list[int]]:
    """Return for each row its dimension in each result. Rows that a result lacks are left out."""
    found: dict[int, list[int]] = {}
    taken: set[int] = set()
    for row, loop in loops.items():
        if view.iterators[loop] is not IteratorType.PARALLEL or loop in taken:
            continue
        places = [_position(affine_map, loop) for affine_map in view.output_maps]
        known = [place for place in places if place is not None]
        if len(known) == len(places):
            found[row] = known
            taken.add(loop)
    return found


def _position(affine_map: AffineMap, loop: int) -> int | None:
    """Return the dimension that a loop indexes; `None` if there is none."""
    for position, index in enumerate(affine_map.results):
        if isinstance(index, AffineDimExpr) and index.position == loop:
            return position
    return None


def _is_simple_reduction(view: StructuredView) -> bool:
    """Return whether a reduction reads each element of one tensor exactly once."""
    tensors = [value for value in view.inputs if isinstance(value.type, TensorType)]
    return len(tensors) == 1 and _reads_in_place(view, tensors[0])


def _reads_in_place(view: StructuredView, operand: SSAValue) -> bool:
    """Return whether each iteration reads one element of the operand, a different one each time."""
    indices = [i for i, value in enumerate(view.inputs) if value is operand]
    return all(
        view.maps[index].is_projected_permutation()
        and len(view.maps[index].results) == len(view.iterators)
        for index in indices
    )


def is_elementwise(operation: Operation) -> bool:
    """Return whether a structured operation has parallel loops only."""
    view = structured_view(operation)
    return view is not None and all(one is IteratorType.PARALLEL for one in view.iterators)


def is_broadcast(operation: Operation) -> bool:
    """Return whether an operation only broadcasts a tensor, keeping the order of its dimensions.

    It adds dimensions along which elements are repeated, and computes nothing.
    """
    view = structured_view(operation)
    if view is None or len(view.inputs) != 1 or len(view.outputs) != 1:
        return False
    body = view.body
    if made_by(view.outputs[0], "tensor.empty") is None:
        return False
    last = body.last_op
    if last is None or body.first_op is not last or last.operands[0] is not body.args[0]:
        return False
    loops = len(view.iterators)
    return (
        isinstance(view.inputs[0].type, TensorType)
        and view.maps[1] == AffineMap.identity(loops)
        and _is_increasing(view.maps[0])
    )


def _is_increasing(affine_map: AffineMap) -> bool:
    loops: Sequence[int] = [
        index.position for index in affine_map.results if isinstance(index, AffineDimExpr)
    ]
    constants = sum(isinstance(index, AffineConstantExpr) for index in affine_map.results)
    is_sorted = all(left < right for left, right in pairwise(loops))
    return is_sorted and len(loops) + constants == len(affine_map.results)
