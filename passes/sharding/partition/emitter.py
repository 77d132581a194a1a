"""Emit the program of one device: append operations to a block, and fold sizes.

A size is a Python integer if it is known and an `index` value otherwise; arithmetic on sizes emits
`arith` operations only for unknown ones. Constants and the coordinates of the process are emitted
once per block and reused in nested blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    UNKNOWN_LOC,
    DenseIntOrFPElementsAttr,
    LocationAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects.shard.collectives import UpdateHaloOp
from ....dialects.shard.grids import GridShapeOp
from ....dialects.shard.process_arithmetic import ProcessArithmetic
from ....ir.index import IndexList, IndexOrInt
from ....ir.index_lists import INDEX, slice_properties, split_list
from ....ir.tensor_types import tensor_shape
from ....sharding.grid import Grid
from ....sharding.local_shape import explicit_offsets, halo
from ....sharding.sharding import Axes, Sharding
from .local_types import tensor_type_of, with_shape

MAX_SELECTED_RUNS = 4
"""Maximum number of runs of equal numbers to select by comparisons; more use a constant table."""


def _has_no_elements(value: SSAValue) -> bool:
    return 0 in (tensor_shape(value) or ())


class Emitter(ProcessArithmetic):
    """Appends operations to a block.

    `around` is the emitter of the enclosing block, whose values may be used here. `define_grid`
    defines a finer grid beside a named one, and returns the new grid's name.
    """

    def __init__(
        self,
        block: Block,
        around: Emitter | None = None,
        define_grid: Callable[[str, Grid], str] | None = None,
    ) -> None:
        self.block = block
        self._define_grid = define_grid
        self.location: LocationAttr | None = None if around is None else around.location
        self._around = around
        self._known: dict[object, SSAValue] = {}
        self.end: Operation | None = None
        """The terminator, once it is emitted; later operations are inserted before it."""
        self.helpers: list[Operation] = [] if around is None else around.helpers
        """Operations added by this emitter and those that share the list, erased if unused."""

    def reaches(self, other: Emitter) -> bool:
        """Return whether values that another emitter appends can be used here."""
        return any(scope is other for scope in self._scopes())

    def append(self, operation: Operation) -> Operation:
        """Append an operation, and return it; `insert` is for those that the partitioner adds.

        One without a location gets that of the operation that is partitioned.
        """
        if self.location is not None and operation.location is UNKNOWN_LOC:
            operation.location = self.location
        if self.end is None:
            self.block.add_op(operation)
        else:
            self.block.insert_op_before(operation, self.end)
        return operation

    def close(self, end: Operation) -> None:
        """Append the terminator; later operations are inserted before it."""
        self.end = self.append(end)

    def insert(self, operation: Operation) -> SSAValue:
        """Append an operation that the partitioner needs; return its first result."""
        self.append(operation)
        self.helpers.append(operation)
        return operation.results[0]

    def once(self, key: object, make: Callable[[], SSAValue]) -> SSAValue:
        """Return the value cached under a key in this or an enclosing block, else make it."""
        found = self.known(key)
        if found is None:
            found = self._known[key] = make()
        return found

    def known(self, key: object) -> SSAValue | None:
        """Return the value cached under a key in this block or an enclosing one, or `None`."""
        for scope in self._scopes():
            if (found := scope._known.get(key)) is not None:
                return found
        return None

    def _scopes(self) -> Iterator[Emitter]:
        scope: Emitter | None = self
        while scope is not None:
            yield scope
            scope = scope._around

    def index(self, number: IndexOrInt) -> SSAValue:
        """Return a number as an SSA value."""
        if isinstance(number, SSAValue):
            return number
        return self.once(("index", number), lambda: super(Emitter, self).index(number))

    def binary(
        self, make: Callable[[SSAValue, SSAValue], Operation], left: IndexOrInt, right: IndexOrInt
    ) -> SSAValue:
        """Emit an operation on two numbers that are not both known; cached."""
        key = (make, self.index(left), self.index(right))
        return self.once(key, lambda: super(Emitter, self).binary(make, left, right))

    def finer_grid(self, coarse: Grid, fine: Grid) -> Grid:
        """Define a finer grid of the same processes in the program, and return it with its name.

        Raises ValueError if no emitter around defines grids.
        """
        for scope in self._scopes():
            if scope._define_grid is not None:
                return Grid(scope._define_grid(coarse.name, fine), fine.shape)
        raise ValueError(f"no definition of a finer grid than @{coarse.name}")

    def extent(self, grid: Grid, axis: int) -> IndexOrInt:
        """Return the number of processes along an axis; an unknown extent is queried once."""
        known = grid.shape[axis]
        if known is not None:
            return known
        return self.once(
            ("extent", grid.name, axis), lambda: self.insert(GridShapeOp(grid.name, [axis]))
        )

    def own_coordinates(self, grid: Grid, axes: Axes) -> Sequence[SSAValue]:
        """Return this process's coordinates along axes; each is queried once."""
        return [self.coordinate(grid, axis) for axis in axes]

    def coordinate(self, grid: Grid, axis: int) -> SSAValue:
        """Return this process's coordinate along an axis; it is queried once."""
        return self.once(
            ("coordinate", grid.name, axis),
            lambda: super(Emitter, self).own_coordinates(grid, (axis,))[0],
        )

    def element(self, numbers: Sequence[int], at: IndexOrInt) -> IndexOrInt:
        """Return `numbers[at]`, as arithmetic, comparisons or a table lookup."""
        if isinstance(at, int):
            return numbers[at]
        if len(set(numbers)) == 1:
            return numbers[0]
        steps = {after - before for before, after in pairwise(numbers)}
        if len(steps) == 1:
            return self.add(self.multiply(at, steps.pop()), numbers[0])

        runs = [
            0,
            *(i for i, (before, after) in enumerate(pairwise(numbers), 1) if before != after),
        ]
        if len(runs) <= MAX_SELECTED_RUNS:
            return self.once(
                ("element", tuple(numbers), at), lambda: self._choose(numbers, runs, at)
            )
        held = TensorType(INDEX, [len(numbers)])
        values = self.once(
            ("table", tuple(numbers)),
            lambda: self.insert(
                arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(held, list(numbers)))
            ),
        )
        return self.once(
            ("element", tuple(numbers), at),
            lambda: self.insert(tensor.ExtractOp(values, [at], INDEX)),
        )

    def own(self, numbers: Sequence[int], grid: Grid, axes: Axes) -> IndexOrInt:
        """Return this process's number, given those of all processes along some axes."""
        return self.element(numbers, self.position(grid, axes))

    def _choose(self, numbers: Sequence[int], runs: Sequence[int], at: SSAValue) -> SSAValue:
        """Emit `numbers[at]` by comparisons with the starts of runs of equal numbers."""
        found = self.index(numbers[0])
        for start in runs[1:]:
            beyond = self._is_at_least(at, start)
            found = self.insert(arith.SelectOp(beyond, self.index(numbers[start]), found))
        return found

    def _is_at_least(self, at: SSAValue, start: int) -> SSAValue:
        return self.once(
            ("at least", at, start),
            lambda: self.insert(arith.CmpiOp(at, self.index(start), "uge")),
        )

    def dimension(self, value: SSAValue, dimension: int) -> IndexOrInt:
        """Return the size of a dimension of a tensor of the emitted program.

        Raises ValueError if the value is not a ranked tensor.
        """
        value_type = value.type
        if not isinstance(value_type, TensorType):
            raise ValueError(f"{value_type} has no dimensions")
        size = value_type.get_shape()[dimension]
        if size != DYNAMIC_INDEX:
            return size
        return self.once(
            ("dim", value, dimension),
            lambda: self.insert(tensor.DimOp(value, self.index(dimension))),
        )

    def empty(self, tensor_type: TensorType[Attribute], sizes: IndexList) -> SSAValue:
        """Return an uninitialised tensor; `sizes` has all its sizes, static ones included."""
        dynamic = self.dynamic_sizes(tensor_type, sizes)
        return self.insert(tensor.EmptyOp.create(operands=dynamic, result_types=[tensor_type]))

    def dynamic_sizes(self, tensor_type: TensorType[Attribute], sizes: IndexList) -> list[SSAValue]:
        """Return the sizes of the dynamic dimensions of a type as SSA values."""
        return [
            self.index(size)
            for size, extent in zip(sizes, tensor_type.get_shape(), strict=True)
            if extent == DYNAMIC_INDEX
        ]

    def slice(
        self,
        value: SSAValue,
        offsets: IndexList,
        sizes: IndexList,
        result_type: TensorType[Attribute],
    ) -> SSAValue:
        """Return a slice of a tensor, cast to `result_type`.

        The sizes in `result_type` may be more or less static. MLIR rejects a slice at offset 0 of a
        dimension without elements: an empty tensor is made instead.
        """
        shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
        if (
            list(offsets) == [0] * len(shape)
            and value.type == result_type
            and (result_type.has_static_shape() and list(result_type.get_shape()) == shape)
        ):
            return value
        if 0 in shape or _has_no_elements(value):
            return self.empty(result_type, sizes)
        found = TensorType(result_type.element_type, shape, result_type.encoding)
        ones = [1] * len(sizes)
        return self.cast(
            self.insert(tensor.ExtractSliceOp(value, offsets, sizes, ones, found)), result_type
        )

    def insert_slice(
        self, value: SSAValue, into: SSAValue, offsets: IndexList, sizes: IndexList
    ) -> SSAValue:
        """Return a copy of `into` with a slice replaced by `value`."""
        if 0 in sizes or _has_no_elements(value) or _has_no_elements(into):
            return into
        dynamic = (split_list(each)[1] for each in (offsets, sizes))
        return self.insert(
            tensor.InsertSliceOp.build(
                operands=[value, into, *dynamic, []],
                properties=slice_properties(offsets, sizes),
                result_types=[into.type],
            )
        )

    def slice_dimension(
        self,
        value: SSAValue,
        dimension: int,
        first: IndexOrInt,
        length: IndexOrInt,
        result: TensorType[Attribute] | None = None,
    ) -> SSAValue:
        """Slice one dimension of a local tensor; the type follows from the sizes if not given."""
        held = tensor_type_of(value)
        rank = held.get_num_dims()
        offsets: list[IndexOrInt] = [0] * rank
        sizes = [self.dimension(value, each) for each in range(rank)]
        offsets[dimension], sizes[dimension] = first, length
        extents = [size if isinstance(size, int) else None for size in sizes]
        return self.slice(value, offsets, sizes, result or with_shape(held, extents))

    def cast(self, value: SSAValue, result_type: TensorType[Attribute]) -> SSAValue:
        """Return the tensor with a type whose sizes are more or less static."""
        if value.type == result_type:
            return value
        return self.insert(tensor.CastOp(value, result_type))

    def shard_interval(
        self, size: IndexOrInt, sharding: Sharding, dimension: int
    ) -> tuple[IndexOrInt, IndexOrInt]:
        """Emit the start and the length of this process's shard of a dimension, without halos."""
        axes = sharding.dimension_axes[dimension]
        if not axes:
            return 0, size
        grid = sharding.grid
        position = self.position(grid, axes)
        limits = explicit_offsets(sharding, dimension)
        if limits is not None:
            start = self.element(limits[:-1], position)
            lengths = [end - begin for begin, end in pairwise(limits)]
            return start, self.element(lengths, position)
        parts = self.parts(grid, axes)
        small = self.divide(size, parts)
        larger = self.remainder(size, parts)
        if isinstance(larger, int) and larger == 0:
            return self.multiply(position, small), small
        # The first `parts - larger` shards have `small` elements, the others one more.
        first_larger = self.subtract(parts, larger)
        before = self.maximum(self.subtract(position, first_larger), 0)
        after = self.maximum(self.subtract(self.add(position, 1), first_larger), 0)
        start = self.add(self.multiply(position, small), before)
        return start, self.add(small, self.subtract(after, before))

    def exchange_halo(
        self, value: SSAValue, after: Sharding, result: TensorType[Attribute]
    ) -> SSAValue:
        """Surround a shard by halos from its neighbours, as wide as the sharding says.

        Halos without a neighbour are left uninitialised.
        """
        rank = after.rank
        lows: list[IndexOrInt] = [halo(after, d)[0] for d in range(rank)]
        core = [self.dimension(value, d) for d in range(rank)]
        sizes = [self.add(core[d], sum(halo(after, d))) for d in range(rank)]
        buffer = self.empty(result, sizes)
        filled = self.insert_slice(value, buffer, lows, core)
        halos = [
            width
            for dimension, axes in enumerate(after.dimension_axes)
            if axes
            for width in halo(after, dimension)
        ]
        return self.insert(UpdateHaloOp(filled, after.grid.name, after.dimension_axes, halos))

    def discard(self, block: Block) -> None:
        """Drop an emitted block that no operation owns."""
        inside = set(block.walk())
        self.helpers[:] = [helper for helper in self.helpers if helper not in inside]
        block.drop_all_references()

    def sweep(self) -> None:
        """Erase the unused ones of `helpers`."""
        for operation in reversed(self.helpers):
            if not any(result.first_use for result in operation.results):
                Rewriter.erase_op(operation)
        self.helpers.clear()
