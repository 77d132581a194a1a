"""Execute collectives on lists of arrays: from the devices' contributions to their results.

A list holds one array per device of a group, in group order: row-major over the grid axes as
listed. Where the extent of a dimension is not a multiple of the number of devices,
`default_offsets` says where the pieces begin and end. All functions raise ValueError for arrays
that do not fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ..runtime.abi.arrays import Array, arithmetic_dtype, shape_text
from ..runtime.abi.values import dtype_of, integer_width, is_unsigned, signed, unsigned
from ..sharding.local_shape import default_offsets
from ..sharding.sharding import ReductionKind
from .numbers import float_to_integer, maximum, minimum, to_float, truncated_quotient, wrapped


def pieces(array: Array, axis: int, count: int) -> list[Array]:
    """Split an array into `count` pieces along dimension `axis`."""
    _check_axis(array, axis)
    limits = default_offsets(array.shape[axis], count)
    before = (slice(None),) * axis
    return [array[(*before, slice(start, end))] for start, end in pairwise(limits)]


def joined(arrays: Sequence[Array], axis: int) -> Array:
    """Concatenate arrays along dimension `axis`. All other extents must be equal."""
    for array in arrays:
        _check_axis(array, axis)
    rest = {array.shape[:axis] + array.shape[axis + 1 :] for array in arrays}
    if len(rest) > 1:
        raise ValueError(
            f"cannot concatenate {_shapes(arrays)} along dimension {axis}: another dimension "
            "differs"
        )
    return np.concatenate(arrays, axis=axis)


def all_to_all(arrays: Sequence[Array], split_axis: int, concat_axis: int) -> list[Array]:
    """Give device i piece i of every array along `split_axis`, concatenated along `concat_axis`."""
    cut = [pieces(array, split_axis, len(arrays)) for array in arrays]
    return [joined([row[position] for row in cut], concat_axis) for position in range(len(arrays))]


def reduced(arrays: Sequence[Array], kind: ReductionKind, value_type: Attribute) -> Array:
    """Reduce arrays of one shape element by element. `value_type` gives the element type."""
    if len({array.shape for array in arrays}) > 1:
        raise ValueError(f"cannot combine {_shapes(arrays)} element by element")
    if integer_width(value_type) is not None:
        return _reduced_integers(arrays, kind, value_type)
    return _reduced_floats(arrays, kind)


_INTEGER_KINDS: dict[ReductionKind, Callable[[Array, Array], Array]] = {
    ReductionKind.SUM: np.add,
    ReductionKind.AVERAGE: np.add,
    ReductionKind.PRODUCT: np.multiply,
    ReductionKind.MAX: np.maximum,
    ReductionKind.MIN: np.minimum,
    ReductionKind.BITWISE_AND: np.bitwise_and,
    ReductionKind.BITWISE_OR: np.bitwise_or,
    ReductionKind.BITWISE_XOR: np.bitwise_xor,
}
_FLOAT_KINDS: dict[ReductionKind, Callable[[Array, Array], Array]] = {
    ReductionKind.SUM: np.add,
    ReductionKind.AVERAGE: np.add,
    ReductionKind.PRODUCT: np.multiply,
    ReductionKind.MAX: maximum,
    ReductionKind.MIN: minimum,
}


def _reduced_integers(arrays: Sequence[Array], kind: ReductionKind, value_type: Attribute) -> Array:
    combine = _INTEGER_KINDS.get(kind)
    if combine is None:
        raise ValueError(f"reduction '{kind}' is not supported")
    width = integer_width(value_type) or 1
    read = unsigned if is_unsigned(value_type) else signed
    total = read(arrays[0], width)
    for array in arrays[1:]:
        total = combine(total, read(array, width))
    if kind is ReductionKind.AVERAGE:
        count = np.asarray(len(arrays), np.int64)
        total = truncated_quotient(read(wrapped(total, value_type), width).astype(np.int64), count)
    return wrapped(total, value_type)


def _reduced_floats(arrays: Sequence[Array], kind: ReductionKind) -> Array:
    combine = _FLOAT_KINDS.get(kind)
    if combine is None:
        raise ValueError(f"reduction '{kind}' is not supported on floats")
    dtype = arrays[0].dtype
    wide = arithmetic_dtype(dtype)
    total = arrays[0].astype(wide, copy=False)
    for array in arrays[1:]:
        total = combine(total, array.astype(wide, copy=False))
    if kind is ReductionKind.AVERAGE:
        total = total / wide.type(len(arrays))
    return total.astype(dtype, copy=False)


def converted(array: Array, source: Attribute, target: Attribute) -> Array:
    """Convert elements from one type to another, as a reduction converts its input first."""
    dtype: np.dtype[Any] = dtype_of(target)
    from_width, to_width = integer_width(source), integer_width(target)
    if from_width is not None:
        read = unsigned if is_unsigned(source) else signed
        numbers = read(array, from_width)
        return to_float(numbers, dtype) if to_width is None else wrapped(numbers, target)
    if to_width is not None:
        return float_to_integer(array, target, to_width, is_signed=not is_unsigned(target))
    return to_float(array, dtype)


def exchanged_halos(arrays: Sequence[Array], axis: int, low: int, high: int) -> list[Array]:
    """Fill the halos of consecutive shards along a dimension from their neighbours.

    Every shard holds `low` halo elements before and `high` after its own. The outer halos of the
    first and last shard keep their contents. Raises ValueError if a halo is wider than the
    neighbour.
    """
    results = [array.copy() for array in arrays]
    before = (slice(None),) * axis

    def part(array: Array, start: int, end: int) -> Array:
        return array[(*before, slice(start, end))]

    for position, result in enumerate(results):
        own = result.shape[axis] - low - high
        if own < 0:
            raise ValueError(
                f"a shard of extent {result.shape[axis]} cannot hold halos of {low} and {high}"
            )
        for size, neighbour in ((low, position - 1), (high, position + 1)):
            if not size or not 0 <= neighbour < len(arrays):
                continue
            other = arrays[neighbour]
            extent = other.shape[axis] - low - high
            if extent < size:
                raise ValueError(
                    f"the halo of {size} is wider than the {extent} elements of the neighbour"
                )
            if neighbour < position:
                part(result, 0, low)[...] = part(other, extent, low + extent)
            else:
                part(result, low + own, low + own + high)[...] = part(other, low, low + high)
    return results


def _check_axis(array: Array, axis: int) -> None:
    if not 0 <= axis < array.ndim:
        raise ValueError(f"there is no dimension {axis} in shape {shape_text(array.shape)}")


def _shapes(arrays: Sequence[Array]) -> str:
    return ", ".join(shape_text(array.shape) for array in arrays)
