"""Convolutions of packed tensors: the same loops over tiles of channels.

    result[n, h, w, f] += input[n, h + i, w + j, c] * filter[i, j, c, f]

becomes, with tiles of 16 channels,

    result[n, F, h, w, f] += input[n, C, h + i, w + j, c] * filter[F, C, i, j, c, f]

There is no named operation for it, so it is a `linalg.generic` with a loop more for each tile. What
is beyond the end of the input channels is zero in both factors.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects.linalg.dialect import GenericOp
from ...dialects.linalg.structured_view import structured_view
from ...tiling.packed_layouts import PackedLayout
from ..encoding.contraction_matching import unsigned_factors
from .packed_elementwise import copy_of
from .packed_values import PackedValues


def lower_convolution(
    values: PackedValues, operation: Operation, layouts: tuple[PackedLayout, ...]
) -> SSAValue | None:
    """The packed result of a sum of products of packed tensors, some of whose loops are tiled.

    `layouts` are those of the two factors and the result. `None` if the operation is no sum of
    products, nothing is tiled, or tensors do not cut the same loops into the same tiles.
    """
    view = structured_view(operation)
    if view is None or len(view.inputs) != 2 or len(view.outputs) != 1 or not operation.results:
        return None
    if unsigned_factors(view.body) is None:
        return None
    tiles: dict[int, int] = {}
    for map_, layout in zip(view.maps, layouts, strict=True):
        for position, tile in zip(layout.inner_positions, layout.inner_tiles, strict=True):
            loop = map_.results[position]
            if not isinstance(loop, AffineDimExpr) or tiles.setdefault(loop.position, tile) != tile:
                return None
    loops = len(view.iterators)
    inner = {loop: loops + number for number, loop in enumerate(tiles)}
    maps: list[AffineMap] = []
    for map_, layout in zip(view.maps, layouts, strict=True):
        tiled = {map_.results[position] for position in layout.inner_positions}
        used = {e.position for r in map_.results for e in r.dfs() if isinstance(e, AffineDimExpr)}
        if {AffineExpr.dimension(loop) for loop in used & set(tiles)} != tiled:
            return None
        order = layout.outer_permutation or range(len(map_.results))
        results = [map_.results[position] for position in order]
        for position in layout.inner_positions:
            loop = map_.results[position]
            if isinstance(loop, AffineDimExpr):
                results.append(AffineExpr.dimension(inner[loop.position]))
        maps.append(AffineMap(loops + len(tiles), 0, tuple(results)))
    if not tiles:
        return None
    tensors = zip((*view.inputs, *view.outputs), layouts, strict=True)
    left, right, start = (values.form(value, layout) for value, layout in tensors)
    iterators = [*view.iterators, *(view.iterators[loop] for loop in tiles)]
    generic = GenericOp([left, right], [start], copy_of(view.body), maps, iterators)
    generic.location = operation.location
    return values.builder.insert(generic).results[0]
