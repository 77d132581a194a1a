"""Merge neighbouring loops of a kernel, so that short ones fill vectors together.

A mean over the last two dimensions of `8x512x7x7` has 49 contiguous terms: the loop over rows
stays at 0, and that over columns has 49 turns. Position `[a, b, 0, 48]` is that of `[a, b, 6, 6]`,
since positions are computed from indices without a check. So do the results of a sum over the
first dimension of `256x1024x4`, which are one row of 4096, and the elements of each channel of
`8x512x7x7` that are scaled by a number of the channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import pairwise

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....ir.linear_forms import Linear, linear
from ..elements.expressions import RESHAPES, unit_reshape
from ..elements.scalar_operations import is_scalar_operation
from ..elements.static_values import constant_attribute, shape_of
from ..elements.writer import Indices, KernelWriter


def merge_loops(
    writer: KernelWriter, view: StructuredView, sizes: Indices, loops: Sequence[int]
) -> tuple[Indices, tuple[int, ...]]:
    """Return the trip counts of all loops, and those of `loops` that are left; these are of a kind.

    A loop is merged with the next one if both have static sizes, and if every operand, and what is
    fused into it, has them as neighbouring dimensions or has neither. Its trip count is 1 then.
    """
    return _merged(sizes, loops, partial(_are_neighbours, writer, view))


def without_unit_windows(view: StructuredView, sizes: Indices) -> StructuredView:
    """Return a view whose sums of indices leave out loops of one turn: `d2 + d5` is `d2`.

    A convolution with a window of one element is a matrix product then, whose rows of pixels are
    neighbouring dimensions.
    """
    units = {loop for loop, size in enumerate(sizes) if size == 1}

    def folded(affine_map: AffineMap) -> AffineMap:
        results = tuple(_without(each, units) for each in affine_map.results)
        return AffineMap(affine_map.num_dims, affine_map.num_symbols, results)

    return replace(view, maps=tuple(map(folded, view.maps)))


def _without(expression: AffineExpr, units: Set[int]) -> AffineExpr:
    """Return the only loop of an index beside some loops that stay at 0, else the index."""
    form = linear(expression)
    if form is None:
        return expression
    kept = {loop: number for loop, number in form.coefficients.items() if loop not in units}
    loop = Linear(kept, form.constant).plain_loop
    return expression if loop is None else AffineExpr.dimension(loop)


def merge_dimensions(writer: KernelWriter, results: Sequence[SSAValue]) -> Indices:
    """Return the trip counts of the loops over the dimensions of results, merged in this way."""
    sizes = writer.shape(results[0])

    def are_neighbours(first: int, second: int) -> bool:
        return all(_is_computed_contiguously(writer, each, first) for each in results)

    return _merged(sizes, range(len(sizes)), are_neighbours)[0]


def _merged(
    sizes: Indices, loops: Sequence[int], are_neighbours: Callable[[int, int], bool]
) -> tuple[Indices, tuple[int, ...]]:
    """Return the trip counts after loops are merged, and those of `loops` that are left."""
    merged, targets = list(sizes), {loop: loop for loop in loops}
    for loop, following in reversed(list(pairwise(loops))):
        target = targets[following]
        size, inner = sizes[loop], merged[target]
        if not (isinstance(size, int) and isinstance(inner, int)):
            continue
        if are_neighbours(loop, following):
            targets[loop] = target
            merged[target], merged[loop] = size * inner, 1
    return tuple(merged), tuple(loop for loop in loops if targets[loop] == loop)


def _are_neighbours(writer: KernelWriter, view: StructuredView, first: int, second: int) -> bool:
    """Return whether all operands have two loops as neighbouring dimensions, or have neither."""
    if any(each.name == "linalg.index" for each in view.body.walk()):
        return False
    loops = {first, second}
    operands = (*view.inputs, *view.outputs)
    for value, affine_map, read in zip(operands, view.maps, view.body.args, strict=True):
        places = [
            place for place, index in enumerate(affine_map.results) if index.used_dims() & loops
        ]
        if not places:
            continue
        place = places[0]
        wanted = [AffineExpr.dimension(first), AffineExpr.dimension(second)]
        if list(affine_map.results[place : place + 2]) != wanted or len(places) != 2:
            return False
        if read.first_use is not None and not _is_contiguous(writer, value, place):
            return False
    return True


def _is_contiguous(writer: KernelWriter, value: SSAValue, place: int) -> bool:
    """Return whether an element's code allows indices beyond a dimension, up to both sizes."""
    is_stored = not writer.is_fused(value) or constant_attribute(value) is not None
    return is_stored or _is_computed_contiguously(writer, value, place)


def _is_computed_contiguously(writer: KernelWriter, value: SSAValue, place: int) -> bool:
    """Return the same for an element that is not loaded."""
    operation = value.owner
    if not isinstance(operation, Operation):
        return False
    if is_scalar_operation(operation.name):
        return all(_is_contiguous(writer, each, place) for each in operation.operands)
    if operation.name in RESHAPES:
        source = operation.operands[0]
        inner = _place_before(shape_of(source), shape_of(value), place)
        return inner is not None and _is_contiguous(writer, source, inner)
    view = structured_view(operation)
    if view is None:
        return False
    wanted = view.output_maps[0].results[place : place + 2]
    loops = [each.position for each in wanted if isinstance(each, AffineDimExpr)]
    same = all(each == view.output_maps[0] for each in view.output_maps)
    return same and len(loops) == 2 and _are_neighbours(writer, view, *loops)


def _place_before(source: Sequence[int], target: Sequence[int], place: int) -> int | None:
    """Return the dimension of a source that becomes dimension `place` by adding or removing ones.

    The next dimensions must be neighbours, too.
    """
    kept = unit_reshape(source, target)
    if kept is None or not {place, place + 1} <= set(kept):
        return None
    places = [each for each, size in enumerate(source) if size != 1]
    first, second = (places[kept.index(each)] for each in (place, place + 1))
    return first if second == first + 1 else None
