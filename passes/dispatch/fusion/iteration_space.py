"""Track the parallel dimensions that all operations of a fusion group share.

The dimensions are numbered from 0. Each tensor that the group computes has each of them. An
operation keeps the iterations along them independent if it reads the group's tensors at one point
of them at a time; whatever it does at that point is up to it. Softmax and normalisation are chains
of such operations, and share the dimensions that are not reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....ir.linear_forms import loops_of
from ....ir.locations import made_by
from ....ir.tensor_types import ranked

REARRANGEMENTS = frozenset({"tensor.concat", "tensor.extract_slice", "tensor.pad"})
"""Operations that only copy elements to other places."""


class SharedParallelDims:
    """The parallel dimensions that the operations of a fusion group share."""

    def __init__(self) -> None:
        self._dims: list[int] = []
        self._positions: dict[SSAValue, dict[int, int]] = {}
        """For each tensor of the group, the position in its shape of each shared dimension."""
        self._is_elementwise = True
        """Whether all operations so far are elementwise."""
        self._is_independent = True
        """Whether all operations so far are elementwise or reductions of one tensor."""

    def start(self, operation: Operation) -> None:
        """Start with the first operation, which shares each dimension of its result."""
        view = structured_view(operation)
        if operation.name not in REARRANGEMENTS:
            self._note_kind(view)
        if view is None:
            tensor = ranked(operation.results[0])
            rank = 0 if tensor is None else len(tensor.get_shape())
            self._dims = list(range(rank)) if len(operation.results) == 1 else []
            self._positions[operation.results[0]] = {dim: dim for dim in self._dims}
            return
        self._narrow(operation, view, {loop: loop for loop in range(len(view.iterators))})

    def join(self, operation: Operation, rematerialized: set[Operation]) -> None:
        """Add an operation for which `may_join` holds, or an encode."""
        view = structured_view(operation)
        if operation.name in REARRANGEMENTS:
            self._dims = []
            self._positions[operation.results[0]] = {}
            self._note_kind(view)
            return
        if view is None:
            self._positions[operation.results[0]] = self._positions[operation.operands[0]]
            return
        self._narrow(operation, view, self._loops(view, rematerialized))
        self._note_kind(view)

    def may_join(self, operation: Operation, rematerialized: set[Operation]) -> bool:
        """Return whether an operation keeps the shared dimensions independent."""
        view = structured_view(operation)
        if view is None:
            return operation.name in REARRANGEMENTS and self._is_elementwise
        own = [value for value in view.inputs if value in self._positions]
        kept = _result_positions(view, self._loops(view, rematerialized))
        is_complete = len(kept) == len(self._dims)
        if view.reduction_loops:
            if not (own and _is_simple_reduction(view)):
                return False
            return self._is_elementwise or (self._is_independent and bool(kept) and is_complete)
        if self._is_independent and self._dims:
            return is_complete
        return bool(own) and all(_reads_in_place(view, value) for value in own)

    def merge(
        self, other: SharedParallelDims, operation: Operation, rematerialized: set[Operation]
    ) -> bool:
        """Take in another group that an operation of this one reads; return whether that is done.

        It is if both groups are elementwise and the operation indexes the shared dimensions of both
        alike.
        """
        view = structured_view(operation)
        if view is None or not (self._is_elementwise and other._is_elementwise):
            return False
        here = self._positions[operation.results[0]]
        by_position = {position: dim for dim, position in here.items()}
        kept = _result_positions(view, other._loops(view, rematerialized))
        names = {
            dim: by_position[positions[0]]
            for dim, positions in kept.items()
            if positions[0] in by_position
        }
        if not len(names) == len(other._dims) == len(self._dims):
            return False
        for value, positions in other._positions.items():
            self._positions[value] = {name: positions[dim] for dim, name in names.items()}
        return True

    def _loops(self, view: StructuredView, rematerialized: set[Operation]) -> dict[int, int]:
        """Return for each dimension the loop that indexes it in all reads of group tensors."""
        loops: dict[int, int | None] = {}
        for value, affine_map in tensors_read(view, rematerialized):
            positions = self._positions.get(value)
            if positions is None:
                continue
            for dim in self._dims:
                index = affine_map.results[positions[dim]]
                loop = index.position if isinstance(index, AffineDimExpr) else None
                if loop is None or loops.setdefault(dim, loop) != loop:
                    loops[dim] = None
        return {dim: loop for dim, loop in loops.items() if loop is not None}

    def _narrow(self, operation: Operation, view: StructuredView, loops: dict[int, int]) -> None:
        """Share only the dimensions that all results of an operation have as well."""
        kept = _result_positions(view, loops)
        self._dims = sorted(kept)
        for number, result in enumerate(operation.results):
            self._positions[result] = {dim: positions[number] for dim, positions in kept.items()}

    def _note_kind(self, view: StructuredView | None) -> None:
        is_elementwise = view is not None and not view.reduction_loops
        self._is_elementwise = self._is_elementwise and is_elementwise
        if view is None or not (is_elementwise or _is_simple_reduction(view)):
            self._is_independent = False


def tensors_read(
    view: StructuredView, rematerialized: set[Operation]
) -> list[tuple[SSAValue, AffineMap]]:
    """Return the tensors that an operation reads, with maps. Look through repeated broadcasts."""
    found: list[tuple[SSAValue, AffineMap]] = []
    for operand, operand_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        value, affine_map = operand, operand_map
        while isinstance(value, OpResult) and value.op in rematerialized:
            broadcast = structured_view(value.op)
            if broadcast is None:
                break
            affine_map = broadcast.maps[0].compose(affine_map)
            value = broadcast.inputs[0]
        found.append((value, affine_map))
    return found


def _result_positions(view: StructuredView, loops: dict[int, int]) -> dict[int, list[int]]:
    """Return the positions in each result of the dimensions that all results have.

    `loops` are the loops that index the dimensions. A loop that indexes two of them counts once.
    """
    found: dict[int, list[int]] = {}
    used_loops: set[int] = set()
    for dim, loop in loops.items():
        if view.iterators[loop] is not IteratorType.PARALLEL or loop in used_loops:
            continue
        positions = [_position(affine_map, loop) for affine_map in view.output_maps]
        known = [position for position in positions if position is not None]
        if len(known) == len(positions):
            found[dim] = known
            used_loops.add(loop)
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
    if view is None or len(view.inputs) != 1 or view.moved_input() is None:
        return False
    if made_by(view.outputs[0], "tensor.empty") is None:
        return False
    loops = len(view.iterators)
    return (
        isinstance(view.inputs[0].type, TensorType)
        and view.maps[1] == AffineMap.identity(loops)
        and _is_increasing(view.maps[0])
    )


def _is_increasing(affine_map: AffineMap) -> bool:
    loops: Sequence[int] = loops_of(affine_map)
    constants = sum(isinstance(index, AffineConstantExpr) for index in affine_map.results)
    is_sorted = all(left < right for left, right in pairwise(loops))
    return is_sorted and len(loops) + constants == len(affine_map.results)
