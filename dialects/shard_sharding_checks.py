"""When a sharding means something: on its grid alone, and for a given tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..sharding.grid import Grid
from ..sharding.sharding import Axes, ReductionKind
from .shard_checks import check_axes, check_reduction, element_type_of, shape_of

Mixed = Sequence[int | SSAValue]
"""Numbers, and operands that are known at run time."""


def check_sharding_by_itself(
    split_axes: Sequence[Axes],
    halos: Mixed,
    offsets: Mixed,
    partial: tuple[ReductionKind, Axes] | None,
    word: str,
) -> None:
    """Check what needs no grid. `word` is what the dialect calls a grid."""
    used = [axis for axes in split_axes for axis in axes]
    for axis in used:
        if axis < 0:
            raise VerifyException(f"{word} axis is expected to be non-negative, got {axis}")
        if used.count(axis) > 1:
            shown = [list(axes) for axes in split_axes]
            raise VerifyException(
                f"{word} axis duplicated: {axis} occurs more than once in {shown}"
            )
    if partial is not None:
        kind, axes = partial
        if not axes:
            raise VerifyException("partial needs at least one axis")
        if kind is ReductionKind.GENERIC:
            raise VerifyException("partial cannot be generic: nothing could finish the reduction")
    if halos and offsets:
        raise VerifyException("halo sizes and shard offsets are mutually exclusive")
    if halos:
        _check_halos(split_axes, halos)


def check_sharding_on_grid(
    grid: Grid,
    split_axes: Sequence[Axes],
    offsets: Mixed,
    partial: tuple[ReductionKind, Axes] | None,
    word: str,
) -> None:
    """Check a sharding, correct by itself, on its grid."""
    pending = () if partial is None else partial[1]
    check_axes([*(axis for axes in split_axes for axis in axes), *pending], grid, word)
    if offsets:
        _check_offsets(grid, split_axes, offsets, word)


def _check_halos(split_axes: Sequence[Axes], halos: Mixed) -> None:
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


def _check_offsets(grid: Grid, split_axes: Sequence[Axes], offsets: Mixed, word: str) -> None:
    if not grid.is_static:
        plural = "meshes" if word == "mesh" else f"{word}s"
        raise VerifyException(
            f"sharded dims offsets are not allowed for device {plural} with dynamic shape, as "
            f"@{grid.name}"
        )
    expected = sum((grid.size(axes) or 0) + 1 for axes in split_axes if axes)
    if len(offsets) != expected:
        counts = [f"{(grid.size(axes) or 0) + 1}" for axes in split_axes if axes]
        raise VerifyException(
            f"sharded dims offsets has wrong size. Got {len(offsets)}, expected {expected}: for "
            f"each split dimension one more than its shards ({' + '.join(counts) or 'none'})"
        )
    for dimension, borders in offset_runs(grid, split_axes, offsets):
        first = borders[0]
        if isinstance(first, int) and first != 0:
            raise VerifyException(f"offsets of dimension {dimension} start at {first}, not at 0")
        known = [border for border in borders if isinstance(border, int)]
        if any(after < before for before, after in pairwise(known)):
            raise VerifyException(
                f"sharded dims offsets must be non-decreasing. Dimension {dimension} has {known}"
            )


def offset_runs(
    grid: Grid, split_axes: Sequence[Axes], offsets: Mixed
) -> Iterator[tuple[int, Mixed]]:
    """For each split dimension its number and the `n + 1` borders of its `n` shards."""
    start = 0
    for dimension, axes in enumerate(split_axes):
        if axes:
            end = start + (grid.size(axes) or 0) + 1
            yield dimension, offsets[start:end]
            start = end


def check_sharding_of_tensor(
    tensor_type: Attribute,
    grid: Grid,
    split_axes: Sequence[Axes],
    halos: Mixed,
    offsets: Mixed,
    partial: tuple[ReductionKind, Axes] | None,
) -> None:
    """Check that a sharding, itself correct, means something for a tensor of this type."""
    shape = shape_of(tensor_type)
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
        check_reduction(partial[0], element_type_of(tensor_type))
    if offsets:
        for dimension, borders in offset_runs(grid, split_axes, offsets):
            size, last = shape[dimension], borders[-1]
            if isinstance(last, int) and size is not None and last != size:
                raise VerifyException(
                    f"offsets of dimension {dimension} end at {last}, expected its size, {size}"
                )
    if halos:
        _check_halo_lengths(shape, grid, split_axes, halos)


def _check_halo_lengths(
    shape: Sequence[int | None], grid: Grid, split_axes: Sequence[Axes], halos: Mixed
) -> None:
    """A halo is what the direct neighbours own, so it is no longer than the shortest shard."""
    pairs = iter(halos)
    for dimension, axes in enumerate(split_axes):
        if not axes:
            continue
        size, parts = shape[dimension], grid.size(axes)
        for side, halo in zip(("low", "high"), (next(pairs), next(pairs)), strict=True):
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
    halos: Mixed,
    word: str,
) -> None:
    """Check an update of the halos of a shard whose local shape includes them."""
    check_axes([axis for axes in split_axes for axis in axes], grid, word)
    if len(split_axes) > len(local_shape):
        raise VerifyException(
            f"has {len(split_axes)} lists of axes for a tensor of rank {len(local_shape)}"
        )
    if not halos:
        return
    _check_halos(split_axes, halos)
    pairs = iter(halos)
    for dimension, axes in enumerate(split_axes):
        if not axes:
            continue
        low, high, size = next(pairs), next(pairs), local_shape[dimension]
        if size is None or not isinstance(low, int) or not isinstance(high, int):
            continue
        if max(low, high) > size - low - high:
            raise VerifyException(
                f"halos {low} and {high} of dimension {dimension} leave {size - low - high} of "
                f"{size} elements of its own, too few to serve its neighbours"
            )
