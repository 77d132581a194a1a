"""Convert `stablehlo.scatter`.

Small tensors become one loop nest over elements of the result and, as a reduction, over index
vectors, which can be partitioned. Large ones become a sequential loop over index vectors that
updates a window or an element each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

from xdsl.dialects.tensor import InsertOp
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.attributes import ScatterAttr, StructAttribute
from ....ir.attribute_access import attribute
from ....ir.diagnostics import OperationError
from ....ir.index import IndexList, IndexOrInt
from ..elementwise.conversions import convert_tensor
from ..lowering.element_types import Kind, element_kinds
from ..lowering.emitter import BOOL, Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from ..reduction.combiners import Combiner, combiner
from .gather import index_vector_position
from .progressions import index_progression

MAX_LOOP_POINTS = 1 << 22
"""The maximum number of pairs (element, index vector) for which one loop nest is emitted."""

MAX_SINGLE_ELEMENT_POINTS = 1 << 16
"""`MAX_LOOP_POINTS` for windows of one element, which one kernel can update one after the other."""


MAX_ELEMENTS_ALONE = 512
"""The maximum number of elements that a loop nest looks at for each index vector on one device.
There nothing is partitioned, and a loop over index vectors is one kernel, too."""


@tensor_rule("stablehlo.scatter")
def _scatter(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a scatter.

    Updates outside the tensor are dropped, those of one element apply in order. `is_large` chooses
    between a loop nest and a loop over index vectors.
    """
    numbers = attribute(op, "scatter_dimension_numbers")
    if not isinstance(numbers, ScatterAttr):
        raise OperationError(op, f"expects #stablehlo.scatter<...>, found {numbers}")
    count = (len(operands) - 1) // 2
    combined = combiner(lowering, op, op.regions[0], count, widen=False)
    kinds, indices = element_kinds(op, 0, len(operands)), op.operands[count]
    is_alone = lowering.is_on_one_device
    return scattered(lowering.emit, operands, kinds, numbers, combined, indices, is_alone=is_alone)


def scattered(
    e: Emitter,
    operands: Tensors,
    kinds: Sequence[Kind],
    numbers: StructAttribute,
    combined: Combiner,
    indices: SSAValue | None = None,
    *,
    is_alone: bool = False,
) -> Tensors:
    """Return the input tensors with updates applied at indices.

    `operands` are inputs, start indices and updates, in that order, `kinds` their elements' kinds.
    `indices` is the StableHLO value of the start indices, if there is one: it shows which of them
    count along a dimension (`progressions.py`). `is_alone` says that there is only one device.
    Raises OperationError if `numbers` do not fit.
    """
    scatter = _ScatterLowering(e, operands, kinds, numbers, combined, indices)
    if 0 in (*shape(scatter.updates[0]), *shape(scatter.inputs[0])):
        return scatter.inputs
    in_order = scatter.is_large(is_alone)
    return scatter.updates_in_order() if in_order else scatter.loops()


class _ScatterLowering:
    """One scatter: its dimension numbers, and the loops over its results and index vectors."""

    def __init__(
        self,
        e: Emitter,
        operands: Tensors,
        kinds: Sequence[Kind],
        numbers: StructAttribute,
        combined: Combiner,
        indices: SSAValue | None,
    ) -> None:
        count = (len(operands) - 1) // 2
        self.emit, self.kinds, self.combined = e, kinds, combined
        self.count = count
        self.inputs, self.starts = operands[:count], operands[count]
        self.updates = operands[count + 1 :]
        self.rank = len(shape(self.inputs[0]))
        self.windows = numbers.integers("update_window_dims")
        dropped = (
            *numbers.integers("inserted_window_dims"),
            *numbers.integers("input_batching_dims"),
        )
        self.window = [i for i in range(self.rank) if i not in dropped]
        update_rank = len(shape(self.updates[0]))
        self.batch = [i for i in range(update_rank) if i not in self.windows]
        self.vector = numbers.integer("index_vector_dim")
        self._indexed = dict(enumerate(numbers.integers("scatter_dims_to_operand_dims")))
        """Maps each component of an index vector to the dimension of the input that it indexes."""
        self.starts_batch_dims = [i for i in range(len(shape(self.starts))) if i != self.vector]
        pairs = zip(
            numbers.integers("scatter_indices_batching_dims"),
            numbers.integers("input_batching_dims"),
            strict=True,
        )
        self.shared = {
            self.starts_batch_dims.index(of_starts): of_input for of_starts, of_input in pairs
        }
        """Maps each batch dimension that is paired with an input dimension to that dimension."""
        if indices is not None:
            self._use_progressions(indices)
        if len(self.window) != len(self.windows) or len(self.batch) != len(self.starts_batch_dims):
            raise OperationError(e.origin, "has dimension numbers that do not fit its operands")

    def _use_progressions(self, indices: SSAValue) -> None:
        """Pair batch dimensions with the input dimensions along which their indices count.

        This removes the component from the index vectors. A component that is always 0 is removed,
        too, if its window is as wide as the tensor.
        """
        extents = shape(self.inputs[0])
        for number, dimension in tuple(self._indexed.items()):
            counted = index_progression(indices, self.vector, number)
            if counted is None or counted.first != 0 or extents[dimension] < 0:
                continue
            if counted.dimension is None and dimension in self.window:
                if extents[dimension] == self._width(self.emit, dimension):
                    del self._indexed[number]
            elif counted.dimension is not None and dimension not in self.window:
                batch = self.starts_batch_dims.index(counted.dimension)
                is_all = counted.step == 1 and counted.count == extents[dimension]
                if is_all and batch not in self.shared:
                    self.shared[batch] = dimension
                    del self._indexed[number]

    def loops(self) -> list[SSAValue]:
        """Emit parallel loops over the input's elements, and reductions over the index vectors.

        Index vectors are read through indexing maps, and so are updates if each window spans the
        tensor: then a device that holds a shard of the updates reduces only these.
        """
        e, combined = self.emit, self.combined
        inputs = self._promoted()
        given = self.kinds[self.count + 1 :]
        own = [number for number in range(len(self.batch)) if number not in self.shared]
        sizes = [e.size(self.updates[0], self.batch[number]) for number in own]
        loops = self.rank + len(sizes)
        batch_loops = self.shared | {number: self.rank + i for i, number in enumerate(own)}
        vectors = self._vectors(e)
        of_vectors = dims(*(batch_loops[number] for number in range(len(self.batch))), loops=loops)
        read, maps = list(vectors), [of_vectors] * len(vectors)
        if not vectors:
            read, maps = [e.empty(sizes, BOOL)], [dims(*range(self.rank, loops), loops=loops)]
        is_whole = all(map(self._is_whole, self.window))
        if is_whole:
            along = {
                update_dim: batch_loops[number] for number, update_dim in enumerate(self.batch)
            }
            along |= dict(zip(self.windows, self.window, strict=True))
            read += self.updates
            maps += [dims(*(along[i] for i in range(len(along))), loops=loops)] * self.count

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            values, carried = args[len(read) - self.count : len(read)], args[len(read) :]
            batch = [inner.loop_index(batch_loops[number]) for number in range(len(self.batch))]
            starts = self._starts(inner, batch, args[: len(vectors)])
            hit, indices = self._source(inner, batch, starts)
            if not is_whole:
                values = [inner.element(update, indices) for update in self.updates]
            added = combined.combine(inner, carried, values, given)
            return [inner.select(hit, new, old) for new, old in zip(added, carried, strict=True)]

        return e.loops(
            read,
            maps,
            inputs,
            [dims(*range(self.rank), loops=loops)] * self.count,
            body,
        )

    def _is_whole(self, dimension: int) -> bool:
        """Return whether windows span the tensor along a dimension that is not indexed."""
        if dimension in self._indexed.values():
            return False
        extent = shape(self.inputs[0])[dimension]
        update_dim = self.windows[self.window.index(dimension)]
        return extent >= 0 and extent == shape(self.updates[0])[update_dim]

    def is_large(self, is_alone: bool) -> bool:
        """Return whether there are too many pairs (element, index vector) for one loop nest.

        A dynamic size counts as large. Complex tensors are never large: their slices are loops over
        all elements, so there is no gain.
        """
        if self.kinds[0].name == "complex":
            return False
        updates = [
            shape(self.updates[0])[update_dim]
            for number, update_dim in enumerate(self.batch)
            if number not in self.shared
        ]
        most = MAX_SINGLE_ELEMENT_POINTS if self._has_single_elements() else MAX_LOOP_POINTS
        if is_alone:
            # One element is set without a loop.
            is_element = self._has_single_elements() and prod(updates) == 1
            most = 1 if is_element else min(most, MAX_ELEMENTS_ALONE * prod(updates))
        sizes = (*shape(self.inputs[0]), *updates)
        return min(sizes, default=1) < 0 or prod(sizes) > most

    def _has_single_elements(self) -> bool:
        """Return whether windows are single elements and the tensor is static and not empty."""
        windows = [shape(self.updates[0])[update_dim] for update_dim in self.windows]
        extents = shape(self.inputs[0])
        return all(size == 1 for size in windows) and all(size > 0 for size in extents)

    def updates_in_order(self) -> list[SSAValue]:
        """Emit sequential loops over index vectors; each updates its window inside the tensor."""
        e, inputs = self.emit, self._promoted()
        sizes = [e.size(self.updates[0], update_dim) for update_dim in self.batch]
        if self._has_single_elements():
            return self._update_elements(e, sizes, [], inputs)
        # Kernels that update slices have one loop.
        total = reduce(e.multiply, sizes, 1)
        if total == 1:
            return self._updated(e, [0] * len(sizes), inputs)

        def body(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
            batch: list[IndexOrInt] = []
            rest: IndexOrInt = args[0]
            for size in reversed(sizes):
                batch.insert(0, inner.remainder(rest, size))
                rest = inner.divide(rest, size)
            return self._updated(inner, batch, args[1:])

        return e.sequential_loop(total, inputs, body)

    def _update_elements(
        self, e: Emitter, sizes: IndexList, batch: IndexList, carried: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Emit a loop for each batch dimension that `batch` has no index for."""
        if len(batch) == len(sizes):
            return self._updated_element(e, batch, carried)
        size = sizes[len(batch)]
        if size == 1:
            return self._update_elements(e, sizes, [*batch, 0], carried)

        def body(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
            return self._update_elements(inner, sizes, [*batch, args[0]], args[1:])

        return e.sequential_loop(size, carried, body)

    def _updated(self, e: Emitter, batch: IndexList, carried: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the carried tensors with one window updated.

        Its part outside the tensor is dropped.

        The slice that is rewritten has the size of the window but is moved inside the tensor;
        elements of the slice that the window does not cover keep their values.
        """
        offsets, sizes, shifts, hit = self._slice_to_rewrite(e, batch, carried[0])
        parts = [e.extract_slice(value, offsets, sizes) for value in carried]
        combined, given = self.combined, self.kinds[self.count + 1 :]
        rank = len(shape(self.updates[0]))

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            indices: list[IndexOrInt] = [0] * rank
            for update_dim, index in zip(self.batch, batch, strict=True):
                indices[update_dim] = index
            covered = hit
            for update_dim, dimension in zip(self.windows, self.window, strict=True):
                indices[update_dim] = index = inner.loop_index(dimension)
                if dimension in shifts:
                    inside, indices[update_dim] = inner.clamp_to_dimension(
                        inner.index(inner.add(index, shifts[dimension])),
                        inner.size(self.updates[0], update_dim),
                    )
                    covered = inner.both(covered, inside)
            values = [inner.element(update, indices) for update in self.updates]
            old = args[: self.count]
            new = combined.combine(inner, old, values, given)
            return [inner.select(covered, *each) for each in zip(new, old, strict=True)]

        empties = [e.empty(sizes, type_) for type_ in combined.carried]
        made = e.loops(parts, None, empties, None, body)
        return [
            e.insert_slice(new, old, offsets, sizes=sizes)
            for new, old in zip(made, carried, strict=True)
        ]

    def _slice_to_rewrite(
        self, e: Emitter, batch: IndexList, tensor: SSAValue
    ) -> tuple[list[IndexOrInt], list[IndexOrInt], dict[int, SSAValue], SSAValue]:
        """Return the slice that a window updates: offsets, sizes, shifts, and whether it is hit.

        A shift is the distance from the start of the window to that of the slice, by dimension of
        the window. The slice is not hit if the start is out of bounds in a dimension without a
        window.
        """
        starts = self._starts(e, batch, self._vector(e, batch))
        offsets: list[IndexOrInt] = []
        sizes: list[IndexOrInt] = []
        shifts: dict[int, SSAValue] = {}
        hit = e.constant(1, BOOL)
        for dimension, start in enumerate(starts):
            extent, width = e.size(tensor, dimension), self._width(e, dimension)
            size = e.minimum(width, extent)
            sizes.append(size)
            if start == 0:
                # The window starts at the tensor's first element and cannot be larger than it.
                offsets.append(0)
                continue
            offset = e.maximum(e.minimum(start, e.subtract(extent, size)), 0)
            offsets.append(offset)
            if dimension in self.window:
                shifts[dimension] = e.index(e.subtract(offset, start))
            else:
                hit = e.both(hit, e.compare_integers("eq", e.index(offset), e.index(start)))
        return offsets, sizes, shifts, hit

    def _width(self, e: Emitter, dimension: int) -> IndexOrInt:
        """Return the size of a window along a dimension of the tensor."""
        if dimension not in self.window:
            return 1
        return e.size(self.updates[0], self.windows[self.window.index(dimension)])

    def _updated_element(
        self, e: Emitter, batch: IndexList, carried: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Return the carried tensors with one element updated.

        If the index vector is out of bounds, the nearest element is rewritten with its own value.
        """
        starts = self._starts(e, batch, self._vector(e, batch))
        hit, bounded_starts = e.clamp_to_tensor(starts, self.inputs[0])
        indices: list[IndexOrInt] = [0] * len(shape(self.updates[0]))
        for update_dim, each in zip(self.batch, batch, strict=True):
            indices[update_dim] = each
        old = [e.element(value, bounded_starts) for value in carried]
        values = [e.element(update, indices) for update in self.updates]
        added = self.combined.combine(e, old, values, self.kinds[self.count + 1 :])
        return [
            e.insert(InsertOp(e.select(hit, new, before), value, bounded_starts))
            for new, before, value in zip(added, old, carried, strict=True)
        ]

    def _vectors(self, e: Emitter) -> list[SSAValue]:
        """Return one tensor for each component of the index vectors."""
        if self.vector >= len(shape(self.starts)):
            return [self.starts] * len(self._indexed)
        sizes = e.sizes(self.starts)
        kept = [sizes[dimension] for dimension in self.starts_batch_dims]
        sizes[self.vector] = 1
        found: list[SSAValue] = []
        for number in self._indexed:
            offsets = [number if dimension == self.vector else 0 for dimension in range(len(sizes))]
            part = self.starts
            if shape(self.starts)[self.vector] != 1:
                part = e.extract_slice(self.starts, offsets, sizes)
            found.append(e.reshape(part, kept))
        return found

    def _vector(self, e: Emitter, batch: IndexList) -> list[SSAValue]:
        """Return the components of one index vector."""
        return [
            e.element(self.starts, index_vector_position(batch, self.vector, number, self.starts))
            for number in self._indexed
        ]

    def _starts(self, e: Emitter, batch: IndexList, vector: Sequence[SSAValue]) -> list[IndexOrInt]:
        """Return where the window of an index vector starts, 0 in dimensions without an index."""
        starts: list[IndexOrInt] = [0] * self.rank
        is_signed = self.kinds[self.count].name == "signed"
        for number, dimension in zip(vector, self._indexed.values(), strict=True):
            starts[dimension] = e.to_index(number, is_signed)
        for number, dimension in self.shared.items():
            starts[dimension] = e.index(batch[number])
        return starts

    def _promoted(self) -> list[SSAValue]:
        """Return the inputs converted to the types that the combiner carries."""
        given = self.kinds[: self.count]
        return [
            convert_tensor(self.emit, *each)
            for each in zip(self.inputs, given, self.combined.carried_kinds, strict=True)
        ]

    def _source(
        self, e: Emitter, batch: Sequence[SSAValue], starts: IndexList
    ) -> tuple[SSAValue, list[IndexOrInt]]:
        """Return whether the update at this point of the loops is for this element, and where."""
        hit = e.constant(1, BOOL)
        indices: list[IndexOrInt] = [0] * (len(self.batch) + len(self.windows))
        for update_dim, index in zip(self.batch, batch, strict=True):
            indices[update_dim] = index
        for dimension, start in enumerate(starts):
            own = e.loop_index(dimension)
            if dimension in self.window:
                update_dim = self.windows[self.window.index(dimension)]
                indices[update_dim] = own
                if not self._is_whole(dimension):
                    distance = e.index(e.subtract(own, start))
                    inside, indices[update_dim] = e.clamp_to_dimension(
                        distance, e.size(self.updates[0], update_dim)
                    )
                    hit = e.both(hit, inside)
            elif dimension not in self.shared.values():
                hit = e.both(hit, e.compare_integers("eq", own, e.index(start)))
        return hit, indices
