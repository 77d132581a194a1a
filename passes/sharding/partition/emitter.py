"""Emission of one device's program: operations at the end of a block, sizes folded on the way.

A size is a Python integer where it is known and an `index` value otherwise; arithmetic on
sizes emits `arith` operations only for what is not known. Constants and the coordinates of the
process are emitted once per block and found again from the blocks inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects.shard.dialect import GridShapeOp
from ....dialects.shard.process_arithmetic import ProcessArithmetic
from ....ir.index import INDEX, IndexOrInt
from ....ir.index_lists import slice_properties, split_list
from ....ir.tensor_types import tensor_shape
from ....sharding.grid import Grid
from ....sharding.sharding import Axes

FEW = 4
"""Runs of equal numbers that are told apart by comparisons; more are looked up in a table."""


def _has_no_elements(value: SSAValue) -> bool:
    return 0 in (tensor_shape(value) or ())


class Emitter(ProcessArithmetic):
    """Appends operations to a block.

    `around` is the emitter of the block around this one, whose values may be used here.
    `define_grid` defines a finer grid beside a named one, and returns the name that it has then.
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
        """The terminator, once it is emitted; what is still needed goes before it."""
        self.helpers: list[Operation] = [] if around is None else around.helpers
        """What this emitter and those inside it made up: may be erased again when unused."""

    def inside(self, block: Block) -> Emitter:
        """An emitter for a block in a region of an operation of this block."""
        return Emitter(block, self)

    def reaches(self, other: Emitter) -> bool:
        """Whether values that another emitter appends can be used here."""
        return any(scope is other for scope in self._scopes())

    def append(self, operation: Operation) -> Operation:
        """Append an operation of the source program."""
        self._append(operation)
        return operation

    def close(self, end: Operation) -> None:
        """Append the terminator; what is still needed goes before it."""
        self._append(end)
        self.end = end

    def _append(self, operation: Operation) -> None:
        if self.end is None:
            self.block.add_op(operation)
        else:
            self.block.insert_op_before(operation, self.end)

    def insert(self, operation: Operation) -> SSAValue:
        """Append an operation that the partitioner needs; returns its first result."""
        if self.location is not None:
            operation.location = self.location
        self._append(operation)
        self.helpers.append(operation)
        return operation.results[0]

    def once(self, key: object, make: Callable[[], SSAValue]) -> SSAValue:
        """The value remembered under a key in this block or one around it, else made here."""
        found = self.known(key)
        if found is None:
            found = self._known[key] = make()
        return found

    def known(self, key: object) -> SSAValue | None:
        """The value remembered under a key in this block or one around it, if there is one."""
        for scope in self._scopes():
            if (found := scope._known.get(key)) is not None:
                return found
        return None

    def _scopes(self) -> Iterator[Emitter]:
        scope: Emitter | None = self
        while scope is not None:
            yield scope
            scope = scope._around

    # Sizes

    def index(self, number: IndexOrInt) -> SSAValue:
        """A number as a value."""
        if isinstance(number, SSAValue):
            return number
        return self.once(("index", number), lambda: super(Emitter, self).index(number))

    def binary(
        self, make: Callable[[SSAValue, SSAValue], Operation], left: IndexOrInt, right: IndexOrInt
    ) -> SSAValue:
        """What an operation makes of two numbers that are not both known; once."""
        key = (make, self.index(left), self.index(right))
        return self.once(key, lambda: super(Emitter, self).binary(make, left, right))

    # The process

    def finer_grid(self, coarse: Grid, fine: Grid) -> Grid:
        """A grid of the same processes as the emitted program knows it."""
        for scope in self._scopes():
            if scope._define_grid is not None:
                return Grid(scope._define_grid(coarse.name, fine), fine.shape)
        raise ValueError(f"no one to define a finer grid than @{coarse.name}")

    def extent(self, grid: Grid, axis: int) -> IndexOrInt:
        """The number of processes along an axis; asked for once where it is not known."""
        known = grid.shape[axis]
        if known is not None:
            return known
        return self.once(
            ("extent", grid.name, axis), lambda: self.insert(GridShapeOp(grid.name, [axis]))
        )

    def own_coordinates(self, grid: Grid, axes: Axes) -> Sequence[SSAValue]:
        """Where this process is along some axes; each asked for once."""
        return [self.coordinate(grid, axis) for axis in axes]

    def coordinate(self, grid: Grid, axis: int) -> SSAValue:
        """Where this process is along an axis; asked for once."""
        return self.once(
            ("coordinate", grid.name, axis),
            lambda: super(Emitter, self).own_coordinates(grid, (axis,))[0],
        )

    def element(self, numbers: Sequence[int], at: IndexOrInt) -> IndexOrInt:
        """`numbers[at]`."""
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
        if len(runs) <= FEW:
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

    def _choose(self, numbers: Sequence[int], runs: Sequence[int], at: SSAValue) -> SSAValue:
        """`numbers[at]` by comparisons with where the runs of equal numbers begin."""
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

    # Tensors

    def dimension(self, value: SSAValue, dimension: int) -> IndexOrInt:
        """The size of a dimension of a tensor of the emitted program."""
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

    def empty(self, tensor_type: TensorType[Attribute], sizes: Sequence[IndexOrInt]) -> SSAValue:
        """An uninitialised tensor of a type whose dynamic dimensions have the given sizes."""
        dynamic = self.dynamic_sizes(tensor_type, sizes)
        return self.insert(tensor.EmptyOp.create(operands=dynamic, result_types=[tensor_type]))

    def dynamic_sizes(
        self, tensor_type: TensorType[Attribute], sizes: Sequence[IndexOrInt]
    ) -> list[SSAValue]:
        """Those of the sizes that a type leaves open, as values."""
        return [
            self.index(size)
            for size, extent in zip(sizes, tensor_type.get_shape(), strict=True)
            if extent == DYNAMIC_INDEX
        ]

    def slice(
        self,
        value: SSAValue,
        offsets: Sequence[IndexOrInt],
        sizes: Sequence[IndexOrInt],
        result_type: TensorType[Attribute],
    ) -> SSAValue:
        """The rectangle of a tensor at offsets, of sizes; `result_type` may know less or more.

        MLIR has no slice at offset 0 of a dimension without elements: such a one is made anew.
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
        self,
        value: SSAValue,
        into: SSAValue,
        offsets: Sequence[IndexOrInt],
        sizes: Sequence[IndexOrInt],
    ) -> SSAValue:
        """A copy of `into` whose rectangle at offsets, of sizes, is `value`."""
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

    def cast(self, value: SSAValue, result_type: TensorType[Attribute]) -> SSAValue:
        """The same tensor by a type that knows more or less of its sizes."""
        if value.type == result_type:
            return value
        return self.insert(tensor.CastOp(value, result_type))

    def discard(self, block: Block) -> None:
        """Forget a block that was emitted, and that no operation has been given."""
        inside = set(block.walk())
        self.helpers[:] = [helper for helper in self.helpers if helper not in inside]
        block.drop_all_references()

    def sweep(self) -> None:
        """Erase what this emitter made up and nothing uses."""
        for operation in reversed(self.helpers):
            if not any(result.first_use for result in operation.results):
                Rewriter.erase_op(operation)
        self.helpers.clear()
