"""Lower elementwise operations to packed tensors: the body is applied to the elements of tiles.

Tiles may extend past the tensor's end. What an elementwise operation writes to this padding does
not matter unless it is added up. So the factors of a contraction, which is summed over K, are
computed on packed tensors only if K has no padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import MuliOp
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.arith.divisions import INTEGER_DIVISIONS
from ....dialects.linalg.bodies import IndexOp
from ....dialects.linalg.dialect import GenericOp
from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....ir.index import BuilderIndices
from ....ir.linear_forms import loops_of
from ....ir.locations import rebuilt
from ....ir.tensor_types import ranked
from ....tiling.packed_layouts import IDENTITY, PackedLayout, Swizzle
from .values import PackedValues, layout_in_memory, layout_of_tiles, leaves_padding


@dataclass(frozen=True, slots=True)
class PackedLoops:
    """A loop nest over tiles in the result's layout: outer loops in its order, then tile loops.

    Each tile loop is one loop, or with a swizzle one for each factor, in memory order.
    """

    outer: tuple[int, ...]
    """The original loop of each outer loop."""
    tiles: tuple[tuple[int, int], ...]
    """The original loop and the size of each dimension of a tile."""
    swizzle: Swizzle | None = None

    @property
    def count(self) -> int:
        inside = len(self.tiles) if self.swizzle is None else len(self.swizzle.permutation)
        return len(self.outer) + inside

    def outer_index(self, loop: int) -> int:
        return self.outer.index(loop)

    def tile_index(self, loop: int) -> int:
        """Return the index of a loop inside tiles; of its outermost factor with a swizzle."""
        return self.factors(loop)[0][0]

    def tile(self, loop: int) -> int | None:
        return dict(self.tiles).get(loop)

    def factors(self, loop: int) -> list[tuple[int, int]]:
        """Return index and extent of the loops inside tiles of a loop, outermost first."""
        group = [tiled for tiled, _ in self.tiles].index(loop)
        if self.swizzle is None:
            return [(len(self.outer) + group, self.tiles[group][1])]
        groups, permutation = self.swizzle.expand_shape, self.swizzle.permutation
        first = sum(map(len, groups[:group]))
        return [
            (len(self.outer) + permutation.index(first + position), factor.size)
            for position, factor in enumerate(groups[group])
        ]

    def keeps_tiles(self, map_: AffineMap) -> bool:
        """Return whether a map indexes by loops that are not split inside tiles."""
        return all(
            isinstance(result, AffineDimExpr)
            and (self.tile(result.position) is None or len(self.factors(result.position)) == 1)
            for result in map_.results
        )


def lower_in_memory(
    values: PackedValues, operation: Operation, layout: PackedLayout
) -> list[SSAValue] | None:
    """Emit an elementwise operation on tensors that are swizzled alike; return its results.

    Scalars and tensors that are broadcast may have another layout if the swizzle does not split
    the tiles along their dimensions. Return `None` if the layout has no swizzle, if the operation
    is not elementwise, or if its other tensors are not all stored in this layout, so that nothing
    is gained.
    """
    layout = layout_in_memory(layout)
    view = structured_view(operation)
    if layout.swizzle is None or view is None or not operation.results:
        return None
    loops = _packed_loops(view, layout)
    body = None if loops is None else _body_on_tiles(view.body, loops, layout)
    if loops is None or body is None:
        return None
    pairs = list(zip((*view.inputs, *view.outputs), view.maps, strict=True))
    tensors = [(value, map_) for value, map_ in pairs if isinstance(value.type, TensorType)]
    alike = view.output_maps[0]
    if not values.are_stored([value for value, map_ in tensors if map_ == alike], layout):
        return None
    if not all(loops.keeps_tiles(map_) for _, map_ in tensors if map_ != alike):
        return None
    operands: list[MappedOperand] = []
    for value, map_ in pairs:
        if not isinstance(value.type, TensorType):
            operands.append((value, AffineMap(loops.count, 0, ())))
        elif map_ == alike:
            operands.append((values.memory_form(value, layout), AffineMap.identity(loops.count)))
        else:
            wanted = _operand_layout(values, value, map_, loops)
            operands.append((values.form(value, wanted), _packed_map(map_, wanted, loops)))
    return _generic(values, operands, len(view.inputs), body)


def lower_elementwise(
    values: PackedValues, operation: Operation, layout: PackedLayout
) -> list[SSAValue] | None:
    """Emit an elementwise operation on packed tensors; return its results, all in one layout.

    Return `None` if the operation is not elementwise, or if an index that it uses is unknown or
    must not leave the tensor.
    """
    if layout == IDENTITY:
        return None
    view = structured_view(operation)
    if view is None:
        return _lower_on_tensors(values, operation, layout)
    loops = _packed_loops(view, layout)
    body = None if loops is None else _body_on_tiles(view.body, loops, layout)
    if loops is None or body is None:
        return None
    operands: list[MappedOperand] = []
    for value, map_ in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        if not isinstance(value.type, TensorType):
            operands.append((value, AffineMap(loops.count, 0, ())))
            continue
        if not all(isinstance(result, AffineDimExpr) for result in map_.results):
            return None
        wanted = _operand_layout(values, value, map_, loops)
        if wanted.has_dynamic_tiles and wanted != layout:
            # Dynamic tile sizes can only be queried for the result's layout.
            if replace(wanted, queried_operand=layout.queried_operand) != layout:
                return None
            wanted = layout
        operands.append((values.form(value, wanted), _packed_map(map_, wanted, loops)))
    return _generic(values, operands, len(view.inputs), body)


MappedOperand = tuple[SSAValue, AffineMap]
"""An operand of a `linalg.generic`, and the map by which it is read."""


def _generic(
    values: PackedValues, operands: Sequence[MappedOperand], inputs: int, body: Region
) -> list[SSAValue]:
    """Emit a parallel `linalg.generic`, the first `inputs` of whose operands are its inputs."""
    tensors, maps = zip(*operands, strict=True)
    generic = GenericOp(tensors[:inputs], tensors[inputs:], body, maps)
    return list(values.builder.insert(generic).results)


def copy_of(body: Block) -> Region:
    """Return a region with a copy of a block."""
    region = Region()
    if body.parent is not None:
        body.parent.clone_into(region)
    return region


def _body_on_tiles(body: Block, loops: PackedLoops, layout: PackedLayout) -> Region | None:
    """Return a copy of a body with the indices that its elements have in the tensor.

    Return `None` if it uses indices and tile sizes are dynamic. Indices in the padding lie outside
    of the tensor: return `None` also if elements are read by an index, or an operation may trap.
    """
    region = copy_of(body)
    indices = [op for op in region.walk() if isinstance(op, IndexOp)]
    if not indices:
        return region
    if layout.has_dynamic_tiles or any(op.name in NOT_ON_PADDING for op in region.walk()):
        return None
    for index in indices:
        loop = index.dim.value.data
        emit = BuilderIndices(Builder(InsertPoint.before(index)))
        position = emit.insert(IndexOp(loops.outer_index(loop)))
        if loops.tile(loop) is not None:
            for factor, extent in loops.factors(loop):
                inside = emit.insert(IndexOp(factor))
                position = emit.sum(emit.binary(MuliOp, position, extent), inside)
        Rewriter.replace_op(index, (), [position])
    return region


def _packed_loops(view: StructuredView, layout: PackedLayout) -> PackedLoops | None:
    """Return the loops over tiles; `None` unless every loop indexes a dimension of all results."""
    first = view.output_maps[0] if view.output_maps else None
    if first is None or any(map_ != first for map_ in view.output_maps):
        return None
    if any(kind is not IteratorType.PARALLEL for kind in view.iterators):
        return None
    dimensions = loops_of(first)
    if sorted(dimensions) != list(range(len(view.iterators))):
        return None
    order = layout.outer_permutation or range(len(dimensions))
    tiles = zip(layout.inner_positions, layout.inner_tiles, strict=True)
    return PackedLoops(
        tuple(dimensions[position] for position in order),
        tuple((dimensions[position], tile) for position, tile in tiles),
        layout.swizzle,
    )


def _operand_layout(
    values: PackedValues, value: SSAValue, map_: AffineMap, loops: PackedLoops
) -> PackedLayout:
    """Return a layout with the tiles of the loops: the operand's own if it fits, or a new one."""
    dimensions = [cast(AffineDimExpr, result).position for result in map_.results]
    wanted = {
        position: tile
        for position, loop in enumerate(dimensions)
        if (tile := loops.tile(loop)) is not None
    }
    forms = values.forms_of(value)
    own = forms.layout
    if forms.by_layout and dict(zip(own.inner_positions, own.inner_tiles, strict=True)) == wanted:
        return own
    if not wanted:
        return IDENTITY
    positions = sorted(wanted, key=lambda position: loops.tile_index(dimensions[position]))
    outer = sorted(range(len(dimensions)), key=lambda p: loops.outer_index(dimensions[p]))
    tiles = tuple(wanted[position] for position in positions)
    return layout_of_tiles(PackedLayout(tuple(positions), tiles, tuple(outer)))


def _packed_map(map_: AffineMap, layout: PackedLayout, loops: PackedLoops) -> AffineMap:
    dimensions = [cast(AffineDimExpr, result).position for result in map_.results]
    order = layout.outer_permutation or range(len(dimensions))
    indices = [loops.outer_index(dimensions[position]) for position in order]
    indices += [loops.tile_index(dimensions[position]) for position in layout.inner_positions]
    results = tuple(map(AffineExpr.dimension, indices))
    return AffineMap(loops.count, 0, results)


NOT_ON_PADDING = INTEGER_DIVISIONS | {"tensor.extract"}
"""What must not run with an index that lies outside of the tensor."""

ON_TENSORS = frozenset({"arith", "math", "complex"})


def _lower_on_tensors(
    values: PackedValues, operation: Operation, layout: PackedLayout
) -> list[SSAValue] | None:
    """Lower operations such as `arith.addf`, which take tensors of equal shapes."""
    if operation.name.partition(".")[0] not in ON_TENSORS or not operation.operands:
        return None
    operands = [
        values.form(value, layout) if isinstance(value.type, TensorType) else value
        for value in operation.operands
    ]
    tensors = [tensor for value in operands if (tensor := ranked(value)) is not None]
    shape = tensors[0].get_shape()
    results = [
        TensorType(tensor.element_type, shape)
        for result in operation.results
        if (tensor := ranked(result)) is not None
    ]
    return list(values.builder.insert(rebuilt(operation, operands, results)).results)


def sums_padding(
    values: PackedValues, result: SSAValue, layout: PackedLayout, summed: Sequence[int] | None
) -> bool:
    """Return whether a reader may add up the padding of a packed tensor.

    `summed` are the dimensions that a contraction adds up; `None` if that is not known.
    """
    return leaves_padding(values.sizes(result), layout, summed)
