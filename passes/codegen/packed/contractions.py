"""Lower contractions and convolutions of packed tensors, for instance to `linalg.mmt4d`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TypeVar, cast

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ....dialects.iree_encoding.attributes import dimension_map
from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.linalg.bodies import YieldOp
from ....dialects.linalg.dialect import NAMED_CLASSES, GenericOp
from ....dialects.linalg.structured_view import StructuredView
from ....ir.linear_forms import loops_of
from ....tiling.contractions import LHS, RESULT, RHS, ContractionOperand, DimensionMap, Role
from ....tiling.packed_layouts import PackedLayout
from ...encoding.analysis.contraction_matching import unsigned_factors, view_of_tensors
from ...sizes.dimension_sizes import Size
from .elementwise import copy_of
from .values import PackedValues, typed

WIDENED_BY_MULTIPLICATION = frozenset({"arith.extf", "arith.extsi", "arith.sitofp"})
"""Conversions that `linalg.mmt4d` applies to its factors itself."""

SizeT = TypeVar("SizeT", bound=Size | None)

ROLES_OF = {LHS: (Role.M, Role.K), RHS: (Role.N, Role.K), RESULT: (Role.M, Role.N)}


@dataclass(frozen=True, slots=True)
class PackedOperand:
    """A tiled tensor of a contraction.

    `roles` gives the role of each loop, `outer` the loops of the outer dimensions in layout order,
    and `tiles` the tile size of each tiled loop.
    """

    roles: dict[int, Role]
    outer: tuple[int, ...]
    tiles: dict[int, int]

    def loops(self, role: Role) -> tuple[int, ...]:
        """Return the outer loops of a role, in the order of the layout."""
        return tuple(loop for loop in self.outer if self.roles[loop] is role)

    def tile(self, role: Role) -> tuple[int, int] | None:
        """Return the tiled loop of a role and its tile size; `None` if the role has no tile."""
        return next((item for item in self.tiles.items() if self.roles[item[0]] is role), None)


@dataclass(frozen=True, slots=True)
class PackedProduct:
    """A contraction whose three tensors are tiled so that they make one product of tiles."""

    view: StructuredView
    operands: tuple[PackedOperand, PackedOperand, PackedOperand]
    """The left, right and result tensors."""
    swapped: bool
    """Whether the result is stored transposed, so that the factors are exchanged."""
    unsigned: tuple[bool, bool]
    """For each factor, whether it is read as unsigned."""


def packed_product(operation: Operation, layouts: tuple[PackedLayout, ...]) -> PackedProduct | None:
    """Return the product of tiles that an operation computes, given the layouts of its tensors.

    Return `None` if it is not a sum of products, or if the layouts do not make a product of tiles.
    """
    view = view_of_tensors(operation, 2)
    if view is None:
        return None
    maps = tuple(dimension_map(map_) for map_ in view.maps)
    roles = ContractionOperand(RESULT, (), maps, maps[RESULT]).roles()
    unsigned = unsigned_factors(view.body)
    if roles is None or unsigned is None:
        return None
    left, right, result = (
        _packed(layout, map_, roles) for layout, map_ in zip(layouts, maps, strict=True)
    )
    if left is None or right is None or result is None:
        return None
    swapped = _fit(left, right, result)
    if swapped is None:
        return None
    return PackedProduct(view, (left, right, result), swapped, unsigned)


def lower_contraction(
    values: PackedValues, operation: Operation, layouts: tuple[PackedLayout, ...]
) -> SSAValue | None:
    """Emit `linalg.mmt4d` or `linalg.batch_mmt4d` for a contraction; return the packed result.

    `layouts` are those of the left, right and result tensors. Return `None` if the operation is no
    sum of products, or if the layouts do not make one product of tiles.
    """
    product = packed_product(operation, layouts)
    if product is None:
        return None
    view, swapped, result = product.view, product.swapped, product.operands[RESULT]
    forms: list[SSAValue] = []
    shapes: list[Sequence[Size]] = []
    tensors = zip((*view.inputs, *view.outputs), layouts, strict=True)
    tiled = [values.form(value, layout) for value, layout in tensors]
    for index, operand in enumerate(product.operands):
        shapes.append(values.dimensions.sizes(tiled[index]))
        form = _as_matrix(values, tiled[index], operand, _sides(index, swapped))
        forms.append(form if index == RESULT else _widened(values, form, view, index))
    factors = [forms[RHS], forms[LHS]] if swapped else [forms[LHS], forms[RHS]]
    batched = Role.BATCH in result.roles.values()
    kind = NAMED_CLASSES["linalg.batch_mmt4d" if batched else "linalg.mmt4d"]
    mmt4d = kind(factors, [forms[RESULT]])
    mmt4d.location = operation.location
    packed = values.builder.insert(mmt4d).results[0]
    return _from_matrix(values, packed, shapes[RESULT], result, _sides(RESULT, swapped))


def _packed(
    layout: PackedLayout, map_: DimensionMap, roles: dict[int, Role]
) -> PackedOperand | None:
    """Return the loops of a packed tensor's dimensions; `None` if it is not tiled."""
    if not layout.inner_tiles:
        return None
    by_position = [loop for loop in map_ if loop is not None]
    order = layout.outer_permutation or tuple(range(len(map_)))
    tiles = zip(layout.inner_positions, layout.inner_tiles, strict=True)
    return PackedOperand(
        roles,
        tuple(by_position[position] for position in order),
        {by_position[position]: tile for position, tile in tiles},
    )


def _sides(index: int, swapped: bool) -> tuple[Role, Role]:
    """Return the roles of the rows and columns of a tensor seen as a matrix."""
    first, second = ROLES_OF[index]
    return (second, first) if index == RESULT and swapped else (first, second)


def _fit(left: PackedOperand, right: PackedOperand, result: PackedOperand) -> bool | None:
    """Return whether the result is stored transposed; `None` if the tiles make no product."""
    if not _in_order(left, ROLES_OF[LHS]) or not _in_order(right, ROLES_OF[RHS]):
        return None
    # With a vector on the right the factors are exchanged: the vector is a single row on the left.
    swapped = not right.loops(Role.N) or not _in_order(result, ROLES_OF[RESULT])
    if swapped and not _in_order(result, _sides(RESULT, swapped)):
        return None
    for role, one, other in (
        (Role.BATCH, left, right),
        (Role.BATCH, left, result),
        (Role.M, left, result),
        (Role.N, right, result),
        (Role.K, left, right),
    ):
        if one.loops(role) != other.loops(role) or one.tile(role) != other.tile(role):
            return None
    return swapped


def _in_order(operand: PackedOperand, sides: tuple[Role, ...]) -> bool:
    """Return whether outer dimensions and tiles are ordered as a product of tiles needs them.

    Batches come first. Each side that has loops has exactly one tile.
    """
    loops = [loop for role in (Role.BATCH, *sides) for loop in operand.loops(role)]
    tiled = [operand.roles[loop] for loop in operand.tiles]
    return list(operand.outer) == loops and tiled == [role for role in sides if operand.loops(role)]


def _as_matrix(
    values: PackedValues, form: SSAValue, operand: PackedOperand, sides: tuple[Role, ...]
) -> SSAValue:
    """Reshape a packed tensor to one dimension each for batches, rows and columns, and their tiles.

    Dimensions of one role are collapsed; a vector becomes a matrix with one row or column.
    """
    sizes = values.dimensions.sizes(form)
    joined = _joined_groups(operand, sides)
    if len(joined) != len(sizes):
        form = values.collapse(form, _joined_sizes(sizes, joined), joined)
    if all(operand.loops(role) for role in sides):
        return form
    shape, groups = _unit_shape(values.dimensions.sizes(form), operand, sides)
    return values.expand(form, shape, groups)


def _from_matrix(
    values: PackedValues,
    packed: SSAValue,
    sizes: Sequence[Size],
    operand: PackedOperand,
    sides: tuple[Role, ...],
) -> SSAValue:
    """Undo `_as_matrix`: reshape its result to the original shape."""
    joined = _joined_groups(operand, sides)
    if not all(operand.loops(role) for role in sides):
        few = _joined_sizes(sizes, joined)
        _, groups = _unit_shape(few, operand, sides)
        packed = values.collapse(packed, few, groups)
    return packed if len(joined) == len(sizes) else values.expand(packed, sizes, joined)


def _joined_groups(operand: PackedOperand, sides: tuple[Role, ...]) -> list[list[int]]:
    """Return the dimensions of a packed tensor, grouped by role; each tile is its own group."""
    counts = [len(operand.loops(role)) for role in (Role.BATCH, *sides)]
    counts = [count for count in counts if count] + [1] * len(operand.tiles)
    ends = list(accumulate(counts))
    return [list(range(end - count, end)) for count, end in zip(counts, ends, strict=True)]


def _joined_sizes(sizes: Sequence[Size], groups: Sequence[Sequence[int]]) -> list[Size | None]:
    """Return the sizes of collapsed dimensions; `None` where one of several is dynamic."""
    joined: list[Size | None] = []
    for group in groups:
        known = [size for index in group if isinstance(size := sizes[index], int)]
        if len(known) == len(group):
            joined.append(prod(known))
        else:
            joined.append(sizes[group[0]] if len(group) == 1 else None)
    return joined


def _unit_shape(
    sizes: Sequence[SizeT], operand: PackedOperand, sides: tuple[Role, ...]
) -> tuple[list[SizeT | int], list[list[int]]]:
    """Return the shape with added unit dimensions, and the group that each size expands to."""
    slots = [*([Role.BATCH] if operand.loops(Role.BATCH) else []), *sides]
    real_sizes = iter(sizes)
    is_real = [bool(operand.loops(role)) for role in (*slots, *sides)]
    shape: list[SizeT | int] = [next(real_sizes) if real else 1 for real in is_real]
    real_dimensions = [index for index, real in enumerate(is_real) if real]
    groups: list[list[int]] = [[] for _ in sizes]
    for dimension in range(len(shape)):
        # A unit dimension joins the next real one: a unit row the columns, a unit tile row their
        # tile.
        owner = next(i for i, real in enumerate(real_dimensions) if real >= dimension)
        groups[owner].append(dimension)
    return shape, groups


def _widened(values: PackedValues, form: SSAValue, view: StructuredView, index: int) -> SSAValue:
    """Return a factor converted as in the contraction's body, unless `linalg.mmt4d` converts it."""
    chain = _conversions(view.body, index)
    if not chain or (len(chain) == 1 and chain[0].name in WIDENED_BY_MULTIPLICATION):
        return form
    source = cast(Tensor, form.type)
    result_element = chain[-1].results[0].type
    body = Block(arg_types=[source.element_type, result_element])
    element: SSAValue = body.args[0]
    for conversion in chain:
        step = conversion.clone({conversion.operands[0]: element})
        body.add_op(step)
        element = step.results[0]
    body.add_op(YieldOp(element))
    sizes = values.dimensions.sizes(form)
    everywhere = AffineMap.identity(source.get_num_dims())
    empty = values.empty_of(result_element, sizes)
    types = [typed(result_element, sizes)]
    generic = GenericOp([form], [empty], Region(body), [everywhere] * 2, result_types=types)
    return values.builder.insert(generic).results[0]


def _conversions(body: Block, index: int) -> list[Operation]:
    """Return the conversions from the body's argument to the product, in order."""
    chain: list[Operation] = []
    value: SSAValue = body.args[index]
    while True:
        users = [use.operation for use in value.uses]
        if len(users) != 1 or len(users[0].operands) != 1 or not users[0].results:
            return chain
        chain.append(users[0])
        value = users[0].results[0]


def lower_convolution(
    values: PackedValues, operation: Operation, layouts: tuple[PackedLayout, ...]
) -> SSAValue | None:
    """Emit a sum of products over tiled loops as a `linalg.generic`; return the packed result.

    `layouts` are those of the two factors and the result. Return `None` if the operation is not a
    sum of products, if nothing is tiled, or if the tensors do not tile the same loops alike.
    """
    view = view_of_tensors(operation, 2)
    if view is None or unsigned_factors(view.body) is None:
        return None
    tiled = _tiled_loops(view, layouts)
    if not tiled:
        return None
    pairs = zip(view.maps, layouts, strict=True)
    maps = [_on_tiles(map_, layout, tiled) for map_, layout in pairs]
    known = [map_ for map_ in maps if map_ is not None]
    if len(known) < len(maps):
        return None
    tensors = zip((*view.inputs, *view.outputs), layouts, strict=True)
    left, right, start = (values.form(value, layout) for value, layout in tensors)
    iterators = [*view.iterators, *(view.iterators[loop] for loop in tiled)]
    order = _loop_order(known, len(view.iterators))
    positions = [AffineExpr.dimension(order.index(loop)) for loop in range(len(iterators))]
    reordered = AffineMap(len(order), 0, tuple(positions))
    generic = GenericOp(
        [left, right],
        [start],
        copy_of(view.body),
        [map_.compose(reordered) for map_ in known],
        [iterators[loop] for loop in order],
    )
    return values.builder.insert(generic).results[0]


def _loop_order(maps: Sequence[AffineMap], outer: int) -> list[int]:
    """Return the loops of a tiled convolution in IREE's order, given the maps of its tensors.

    The first `outer` loops come before those inside of tiles. In both groups, loops of the result
    come first, then those of the filter, each as memory has them.
    """
    seen = [loop for index in (RESULT, RHS, LHS) for loop in loops_of(maps[index])]
    loops = dict.fromkeys((*seen, *range(maps[RESULT].num_dims)))
    return sorted(loops, key=lambda loop: loop >= outer)


def _tiled_loops(view: StructuredView, layouts: tuple[PackedLayout, ...]) -> tuple[int, ...]:
    """Return the loops along which tensors are tiled, in order of appearance.

    The result is empty if two tensors tile one loop differently, or a tile is along no single loop.
    """
    tiles: dict[int, int] = {}
    for map_, layout in zip(view.maps, layouts, strict=True):
        for position, tile in zip(layout.inner_positions, layout.inner_tiles, strict=True):
            loop = map_.results[position]
            if not isinstance(loop, AffineDimExpr) or tiles.setdefault(loop.position, tile) != tile:
                return ()
    return tuple(tiles)


def _on_tiles(map_: AffineMap, layout: PackedLayout, tiled: tuple[int, ...]) -> AffineMap | None:
    """Return the map by which a packed tensor is read, given that by which it is read unpacked.

    Behind the old loops there is a loop inside of tiles for each loop in `tiled`. Return `None` if
    the tensor is not tiled along one of these that it is read by.
    """
    inside = [cast(AffineDimExpr, map_.results[p]).position for p in layout.inner_positions]
    if map_.used_dims() & set(tiled) != set(inside):
        return None
    order = layout.outer_permutation or range(len(map_.results))
    outer = [map_.results[position] for position in order]
    inner = [AffineExpr.dimension(map_.num_dims + tiled.index(loop)) for loop in inside]
    return AffineMap(map_.num_dims + len(tiled), 0, (*outer, *inner))
