"""The rules that the verifiers of `shard` ops check, one function per rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.index import IndexList
from ...ir.symbols import find_visible_symbol, visible_names
from ...ir.tensor_types import Shape, shape_of
from ...sharding.grid import Grid
from ...sharding.sharding import Axes, ReductionKind
from .attributes import IndicesAttr

DEVICES = "devices"
"""Attribute of a grid: the device of each process."""

AXIS_NAMES = "shard.axis_names"
"""Attribute of a grid: the names that its axes had in the mesh it was converted from."""


def grid_value(grid: Operation) -> Grid:
    """Return the `Grid` of a `shard.grid`.

    Raises VerifyException if the op has no name or no shape, or if the shape is not valid.
    """
    # A class of another compiler for this op may store these as attributes.
    name, shape = grid.get_attr_or_prop("sym_name"), grid.get_attr_or_prop("shape")
    if not isinstance(name, StringAttr) or not isinstance(shape, DenseArrayBase):
        raise VerifyException("grid has no name or no shape")
    return _grid(name.data, cast(IndicesAttr, shape).get_values())


@lru_cache(maxsize=256)
def _grid(name: str, extents: tuple[int, ...]) -> Grid:
    try:
        return Grid(name, tuple(None if n == DYNAMIC_INDEX else n for n in extents))
    except ValueError as error:
        raise VerifyException(str(error)) from error


def resolve_grid(operation: Operation, symbol: SymbolRefAttr) -> Grid:
    """Return the grid that an op refers to.

    Raises VerifyException if the symbol is undefined or names something else.
    """
    name = symbol.root_reference.data
    found = find_visible_symbol(operation, symbol)
    if found is None:
        names = visible_names(operation, ("shard.grid",))
        there = ", ".join(f"@{each}" for each in names) or "no grid"
        raise VerifyException(f'Undefined required grid symbol "{name}". The program has {there}.')
    if found.name != "shard.grid":
        raise VerifyException(
            f"Undefined required grid symbol \"{name}\". The name belongs to a '{found.name}'."
        )
    return grid_value(found)


def check_axes(axes: Sequence[int], grid: Grid) -> None:
    """Check that axes are distinct and exist on the grid."""
    check_distinct(axes)
    for axis in axes:
        if not 0 <= axis < grid.rank:
            raise VerifyException(
                f"0-based grid axis index {axis} is out of bounds. The referenced grid "
                f'"{grid.name}" is of rank {grid.rank}.'
            )


def check_distinct(axes: Sequence[int]) -> None:
    """Check that no axis is listed twice."""
    if len(set(axes)) != len(axes):
        raise VerifyException("Grid axes contains duplicate elements.")


def check_index_count(what: str, numbers: Sequence[int], operands: Sequence[object]) -> None:
    """Check that there is one operand for each `DYNAMIC_INDEX` of a list."""
    holes = numbers.count(DYNAMIC_INDEX)
    if holes != len(operands):
        raise VerifyException(
            f"{what} has {len(operands)} dynamic operands, expected {holes}, one for each "
            "dynamic entry of the static list"
        )


def require_ranked(value_type: Attribute) -> TensorType[Attribute]:
    """Return a ranked tensor or memref type. Raises VerifyException for other types."""
    if not isinstance(value_type, TensorType | MemRefType):
        raise VerifyException(f"expected a ranked tensor or memref, got {value_type}")
    return cast("TensorType[Attribute]", value_type)


def ranked_shape(value_type: Attribute) -> Shape:
    """Return the shape of a ranked tensor or memref. Raises VerifyException for other types."""
    return shape_of(require_ranked(value_type))


def _size_text(size: int | None) -> str:
    """Return a size as text, such as `4` or `dynamic`."""
    return "dynamic" if size is None else str(size)


def check_same_element_type(source: Attribute, result: Attribute, singles_out: bool) -> None:
    """Check that source and result have the same element type.

    `singles_out` selects upstream's other wording, for ops that name one device of a group.
    """
    if require_ranked(source).element_type != require_ranked(result).element_type:
        rule = "requires the same element type for all operands and results"
        if singles_out:
            rule = "failed to verify that all of {input, result} have same element type"
        raise VerifyException(f"{rule}, got {source} and {result}")


def check_same_shape(source: Attribute, result: Attribute) -> None:
    """Check that source and result have the same shape.

    A dynamic size is equal only to a dynamic one.
    """
    if ranked_shape(source) != ranked_shape(result):
        raise VerifyException(
            f"failed to verify that all of {{input, result}} have same shape, got {source} and "
            f"{result}"
        )


def check_compatible_shape(source: Attribute, result: Attribute) -> None:
    """Check that source and result have compatible shapes; a dynamic size matches any."""
    before, after = ranked_shape(source), ranked_shape(result)
    if len(before) != len(after) or any(
        None not in (a, b) and a != b for a, b in zip(before, after, strict=True)
    ):
        raise VerifyException(
            f"requires the same shape for all operands and results, got {source} and {result}"
        )


def check_ranked_above_zero(source: Attribute) -> None:
    """Check that a tensor does not have rank 0, which upstream rejects for some collectives."""
    if not ranked_shape(source):
        raise VerifyException(
            f"operand #0 must be non-0-ranked.tensor of any type values, but got '{source}'"
        )


def check_shape(found: Shape, expected: Shape) -> None:
    """Check that each size is the expected one; a dynamic size is always accepted."""
    if len(found) != len(expected):
        raise VerifyException(
            f"result type has different rank than operands: {len(found)}, expected {len(expected)}"
        )
    for axis, (size, want) in enumerate(zip(found, expected, strict=True)):
        if size is not None and size != want:
            raise VerifyException(
                f"Dimension size mismatch for result axis {axis}. "
                f"Expected {_size_text(want)}, but got {_size_text(size)}."
            )


def check_dimension(what: str, dimension: int, rank: int) -> None:
    """Check that a tensor dimension exists; `what` names it in the message."""
    if not 0 <= dimension < rank:
        raise VerifyException(f"{what} {dimension} is out of bounds [0, {rank}).")


def check_in_group_device(
    what: str, device: Sequence[int], axes: Sequence[int], grid: Grid
) -> None:
    """Check the coordinates of one device within its group.

    `device` has `DYNAMIC_INDEX` for each coordinate that is an operand.
    """
    if len(device) != len(axes):
        raise VerifyException(
            f'In-group device "{what}" has unexpected multi-index size {len(device)}. '
            f"Expected {len(axes)}."
        )
    for position, (coordinate, axis) in enumerate(zip(device, axes, strict=True)):
        extent = grid.shape[axis]
        if coordinate == DYNAMIC_INDEX:
            continue
        if coordinate < 0 or (extent is not None and coordinate >= extent):
            limit = "" if extent is None else str(extent - 1)
            raise VerifyException(
                f'Out of bounds coordinate {position} for in-group device "{what}". '
                f"Got {coordinate}, but expected value in the range [0, {limit}]."
            )


_BITWISE = (ReductionKind.BITWISE_AND, ReductionKind.BITWISE_OR, ReductionKind.BITWISE_XOR)
_ORDERED = (ReductionKind.MAX, ReductionKind.MIN)


def check_reduction(kind: ReductionKind, element_type: Attribute) -> None:
    """Check that a reduction kind is defined for an element type."""
    if kind in _BITWISE and not isinstance(element_type, IntegerType | IndexType):
        raise VerifyException(
            f"reduction {kind} needs elements of an integer type, got {element_type}"
        )
    if kind in _ORDERED and isinstance(element_type, ComplexType):
        raise VerifyException(f"reduction {kind} needs elements with an order, got {element_type}")


def check_conversion(source: Attribute, result: Attribute) -> None:
    """Check that elements of a reduction's input can be converted to the result's element type.

    Conversions stay within integers, floats or complex numbers.
    """
    before, after = require_ranked(source).element_type, require_ranked(result).element_type
    if before == after:
        return
    for family in (IntegerType | IndexType, AnyFloat, ComplexType):
        if isinstance(before, family) and isinstance(after, family):
            return
    raise VerifyException(
        f"cannot convert elements of type {before} to the result's {after} before the reduction"
    )


NumberT = TypeVar("NumberT", bound=int | SSAValue)


def check_sharding_by_itself(
    split_axes: Sequence[Axes],
    halos: IndexList,
    offsets: IndexList,
    partial: tuple[ReductionKind, Axes] | None,
) -> None:
    """Check the parts of a sharding that do not depend on the grid."""
    used = [axis for axes in split_axes for axis in axes]
    for axis in used:
        if axis < 0:
            raise VerifyException(f"grid axis is expected to be non-negative, got {axis}")
        if used.count(axis) > 1:
            shown = [list(axes) for axes in split_axes]
            raise VerifyException(f"grid axis duplicated: {axis} occurs more than once in {shown}")
    if partial is not None and not partial[1]:
        raise VerifyException("partial needs at least one axis")
    if halos and offsets:
        raise VerifyException("halo sizes and shard offsets are mutually exclusive")
    if halos:
        _check_halos(split_axes, halos)


def check_sharding_on_grid(
    grid: Grid,
    split_axes: Sequence[Axes],
    offsets: IndexList,
    partial: tuple[ReductionKind, Axes] | None,
) -> None:
    """Check a sharding against its grid; it must have passed `check_sharding_by_itself`."""
    used = [axis for axes in split_axes for axis in axes]
    check_axes(used, grid)
    kind, partial_axes = partial or (None, ())
    check_distinct([*used, *partial_axes])
    if offsets:
        _check_offsets(grid, split_axes, offsets)
    if kind is ReductionKind.GENERIC:
        raise VerifyException("partial cannot be generic: the reduction could not be finished")
    check_axes(partial_axes, grid)


def _check_halos(split_axes: Sequence[Axes], halos: IndexList) -> None:
    split = sum(1 for axes in split_axes if axes)
    if len(halos) != 2 * split:
        raise VerifyException(
            "halo sizes must be specified for all split axes. "
            f"Got {len(halos)}, expected {2 * split}: a low and a high one for each of {split} "
            "split dimensions"
        )
    for size in halos:
        if isinstance(size, int) and size < 0:
            raise VerifyException(f"halo sizes must not be negative, got {size}")


def _check_offsets(grid: Grid, split_axes: Sequence[Axes], offsets: IndexList) -> None:
    if not grid.is_static:
        raise VerifyException(
            f"sharded dims offsets are not allowed for device grids with dynamic shape. "
            f"@{grid.name} has one"
        )
    counts = [(grid.size(axes) or 0) + 1 for axes in split_axes if axes]
    if len(offsets) != sum(counts):
        listed = " + ".join(map(str, counts)) or "none"
        raise VerifyException(
            f"sharded dims offsets has wrong size. Got {len(offsets)}, expected {sum(counts)}: for "
            f"each split dimension one more than its shards ({listed})"
        )
    for dimension, limits in offset_runs(grid, split_axes, offsets):
        first = limits[0]
        if isinstance(first, int) and first != 0:
            raise VerifyException(f"offsets of dimension {dimension} start at {first}, not at 0")
        known = [limit for limit in limits if isinstance(limit, int)]
        if any(after < before for before, after in pairwise(known)):
            raise VerifyException(
                f"sharded dims offsets must be non-decreasing. Dimension {dimension} has {known}"
            )


def offset_runs(
    grid: Grid, split_axes: Sequence[Axes], offsets: Sequence[NumberT]
) -> Iterator[tuple[int, Sequence[NumberT]]]:
    """Yield each split dimension with the `n + 1` offsets of its `n` shards."""
    start = 0
    for dimension, axes in enumerate(split_axes):
        if axes:
            end = start + (grid.size(axes) or 0) + 1
            yield dimension, offsets[start:end]
            start = end


def halo_pairs(
    split_axes: Sequence[Axes], halos: Sequence[NumberT]
) -> Iterator[tuple[int, NumberT, NumberT]]:
    """Yield each split dimension with its low and its high halo."""
    dimensions = (dimension for dimension, axes in enumerate(split_axes) if axes)
    return zip(dimensions, halos[::2], halos[1::2], strict=True)


def check_sharding_of_tensor(
    tensor_type: Attribute,
    grid: Grid,
    split_axes: Sequence[Axes],
    halos: IndexList,
    offsets: IndexList,
    partial: tuple[ReductionKind, Axes] | None,
) -> None:
    """Check a sharding, which is valid by itself, against the type of a tensor."""
    shape = ranked_shape(tensor_type)
    if any(split_axes[len(shape) :]):
        raise VerifyException(
            f"sharding splits dimension {max(d for d, axes in enumerate(split_axes) if axes)} of "
            f"a tensor of rank {len(shape)}"
        )
    if len(split_axes) > max(len(shape), 1):
        raise VerifyException(
            f"sharding has {len(split_axes)} lists of axes for a tensor of rank {len(shape)}"
        )
    if partial is not None:
        check_reduction(partial[0], require_ranked(tensor_type).element_type)
    if offsets:
        for dimension, limits in offset_runs(grid, split_axes, offsets):
            size, last = shape[dimension], limits[-1]
            if isinstance(last, int) and size is not None and last != size:
                raise VerifyException(
                    f"offsets of dimension {dimension} end at {last}, expected its size, {size}"
                )
    if halos:
        _check_halo_lengths(shape, grid, split_axes, halos)


def _check_halo_lengths(
    shape: Sequence[int | None], grid: Grid, split_axes: Sequence[Axes], halos: IndexList
) -> None:
    """Check that halos are no longer than the shortest shard.

    A halo is filled from the elements of the direct neighbours only.
    """
    for dimension, low, high in halo_pairs(split_axes, halos):
        size, parts = shape[dimension], grid.size(split_axes[dimension])
        for side, halo in (("low", low), ("high", high)):
            if size is None or not parts or not isinstance(halo, int):
                continue
            shortest = size // parts
            if halo > shortest:
                raise VerifyException(
                    f"{side} halo of dimension {dimension} is {halo}, more than the {shortest} "
                    f"elements of the shortest of {parts} shards of {size}"
                )


def check_halo_update(
    grid: Grid,
    local_shape: Sequence[int | None],
    split_axes: Sequence[Axes],
    halos: IndexList,
) -> None:
    """Check a halo update of a shard; `local_shape` includes the halos."""
    check_axes([axis for axes in split_axes for axis in axes], grid)
    if len(split_axes) > len(local_shape):
        raise VerifyException(
            f"has {len(split_axes)} lists of axes for a tensor of rank {len(local_shape)}"
        )
    if not halos:
        return
    _check_halos(split_axes, halos)
    for dimension, low, high in halo_pairs(split_axes, halos):
        size = local_shape[dimension]
        if size is None or not isinstance(low, int) or not isinstance(high, int):
            continue
        if max(low, high) > size - low - high:
            raise VerifyException(
                f"halos {low} and {high} of dimension {dimension} leave {size - low - high} of "
                f"{size} elements in the core of the shard, fewer than the halos of its "
                "neighbours need"
            )
