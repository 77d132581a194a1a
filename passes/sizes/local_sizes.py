"""Evaluate the sizes of tensors on one process of a partitioned program.

If shards differ in size, types have dynamic sizes and the program computes them from the process
index. This module evaluates them for one process: the last one along all grid axes, which has the
longest shards by the rule of `shard.shard_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.arith.canonicalization import evaluate, width_of
from ...dialects.shard.boundary import boundary_of, enclosing_grid
from ...ir.attribute_access import constant_integer
from ...ir.tensor_types import ranked
from ...sharding.grid import Grid
from ...sharding.local_shape import halo, shard_intervals
from ..sharding.annotations.access import axes_of, grid_name
from .dimension_sizes import DimensionSizes

Shape = tuple[int, ...]


class LocalSizes:
    """Evaluates the sizes of tensors in the functions of a module.

    `DimensionSizes` inserts ops that compute sizes into the module.
    """

    def __init__(self) -> None:
        self._sizes = DimensionSizes()
        self._numbers: dict[tuple[SSAValue, frozenset[int]], int | None] = {}

    def shape(self, value: SSAValue, first_along: Collection[int] = ()) -> Shape | None:
        """Return a tensor's shape on the last process, but the first along axes `first_along`.

        Return `None` if it depends on more than the process index, or if the value is not a tensor.
        """
        if ranked(value) is None:
            return None
        first = frozenset(first_along)
        sizes = [self._size(size, first) for size in self._sizes.sizes(value)]
        known = [size for size in sizes if size is not None]
        return tuple(known) if len(known) == len(sizes) else None

    def _size(self, size: SSAValue | int, first: frozenset[int]) -> int | None:
        return size if isinstance(size, int) else self._number(size, first)

    def _number(self, value: SSAValue, first: frozenset[int]) -> int | None:
        key = value, first
        if key not in self._numbers:
            self._numbers[key] = None  # ends the recursion if the value depends on itself
            self._numbers[key] = self._compute(value, first)
        return self._numbers[key]

    def _compute(self, value: SSAValue, first: frozenset[int]) -> int | None:
        if not isinstance(value, OpResult):
            return None
        op = value.op
        if op.name == "arith.constant":
            return constant_integer(value)
        if op.name == "tensor.dim":
            return self._dimension(op, first)
        if op.name in _PROCESS_QUERIES:
            return _PROCESS_QUERIES[op.name](op, value.index, first)
        numbers = [self._number(operand, first) for operand in op.operands]
        known = [number for number in numbers if number is not None]
        if len(known) != len(numbers) or not known:
            return None
        if op.name == "arith.select":
            return known[1] if known[0] else known[2]
        width = width_of(op.operands[0].type)
        return None if width is None else evaluate(op, known, width)

    def _dimension(self, op: Operation, first: frozenset[int]) -> int | None:
        """Evaluate a `tensor.dim`, for arguments from their boundary.

        A value carried by a loop has the size of its initial value.
        """
        source, index = _before_loop(op.operands[0]), self._number(op.operands[1], first)
        if index is None:
            return None
        shape = _argument_shape(source, first)
        if shape is None:
            size = self._sizes.size(source, index)
            return None if size is op.results[0] else self._size(size, first)
        return shape[index] if 0 <= index < len(shape) else None


def _before_loop(value: SSAValue) -> SSAValue:
    """Return the initial value of a value that `scf.for` carries or returns.

    Other values are returned unchanged.
    """
    loop = value.op if isinstance(value, OpResult) else value.owner.parent_op()
    if loop is None or loop.name != "scf.for" or not isinstance(value, OpResult | BlockArgument):
        return value
    position = value.index + (3 if isinstance(value, OpResult) else 2)
    return _before_loop(loop.operands[position]) if position >= 3 else value


def _argument_shape(value: SSAValue, first: frozenset[int]) -> Shape | None:
    """Return the local shape of a function argument that is a shard, else `None`."""
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(value, BlockArgument) or not isinstance(function, FuncOp):
        return None
    if value.owner is not function.body.blocks.first:
        return None
    try:
        boundary = boundary_of(function, "arg_attrs", value.index)
    except VerifyException:
        return None
    if boundary is None or not boundary.global_type.has_static_shape():
        return None
    sharding = boundary.sharding
    coordinates = _coordinates(sharding.grid, first)
    if coordinates is None:
        return None
    process = sharding.grid.linear_index(coordinates, range(sharding.grid.rank))
    intervals = shard_intervals(boundary.global_type.get_shape(), sharding, process)
    return tuple(
        end - start + sum(halo(sharding, dimension))
        for dimension, (start, end) in enumerate(intervals)
    )


def _coordinates(grid: Grid, first: frozenset[int]) -> Shape | None:
    """Return the process's multi-index; `None` if the grid has dynamic extents."""
    if not grid.is_static:
        return None
    return tuple(
        0 if axis in first else max(0, (extent or 1) - 1) for axis, extent in enumerate(grid.shape)
    )


def _process_index(op: Operation, index: int, first: frozenset[int]) -> int | None:
    grid = enclosing_grid(op, grid_name(op))
    coordinates = None if grid is None else _coordinates(grid, first)
    if grid is None or coordinates is None:
        return None
    axes = range(grid.rank)
    if op.name == "shard.process_linear_index":
        return grid.linear_index(coordinates, axes)
    return coordinates[(axes_of(op, "axes") or axes)[index]]


def _grid_shape(op: Operation, index: int, first: frozenset[int]) -> int | None:
    grid = enclosing_grid(op, grid_name(op))
    return None if grid is None else grid.shape[(axes_of(op, "axes") or range(grid.rank))[index]]


_PROCESS_QUERIES: dict[str, Callable[[Operation, int, frozenset[int]], int | None]] = {
    "shard.grid_shape": _grid_shape,
    "shard.process_linear_index": _process_index,
    "shard.process_multi_index": _process_index,
}
