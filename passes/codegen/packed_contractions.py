"""Contractions of packed tensors: `linalg.mmt4d`, and `linalg.batch_mmt4d` if there is a batch.

A target packs the left operand to (M, K) tiles of (m, k), the right one to (N, K) tiles of (n, k)
and the result to (M, N) tiles of (m, n), whatever the order of their dimensions was. The result of
a narrow N has its two exchanged: it is the transposed product, so the factors change places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.encoding_interfaces import Tensor
from ...dialects.linalg import NAMED_CLASSES, GenericOp
from ...dialects.linalg_body_ops import YieldOp
from ...dialects.structured import IteratorType, StructuredView, structured_view
from ...tiling.contractions import LHS, RESULT, RHS, ContractionOperand, DimensionMap, Role
from ...tiling.packed_layouts import PackedLayout
from ..dimension_sizes import Size
from ..encoding.contraction_matching import unsigned_factors
from .packed_values import PackedValues, typed

WIDENED_BY_MULTIPLICATION = frozenset({"arith.extf", "arith.extsi", "arith.sitofp"})
"""Conversions that `linalg.mmt4d` applies to its factors itself."""

ROLES_OF = {LHS: (Role.M, Role.K), RHS: (Role.N, Role.K), RESULT: (Role.M, Role.N)}


@dataclass(frozen=True, slots=True)
class PackedOperand:
    """A tensor of a contraction in tiles: the roles of its outer dimensions and of its tiles."""

    outer: tuple[Role, ...]
    tiles: dict[Role, int]


def lower_contraction(
    values: PackedValues, operation: Operation, layouts: tuple[PackedLayout, ...]
) -> SSAValue | None:
    """The packed result of a contraction of packed tensors.

    `layouts` are those of the left, right and result tensors. `None` if the operation is no sum of
    products, or its operands' layouts do not make one product of tiles.
    """
    view = structured_view(operation)
    if view is None or len(view.inputs) != 2 or len(view.outputs) != 1 or not operation.results:
        return None
    maps = tuple(_dimension_map(map_) for map_ in view.maps)
    roles = ContractionOperand(RESULT, (), maps, maps[RESULT]).roles()
    if roles is None or unsigned_factors(view.body) is None:
        return None
    left, right, result = (
        _packed(layout, map_, roles) for layout, map_ in zip(layouts, maps, strict=True)
    )
    if left is None or right is None or result is None:
        return None
    swapped = _fit(left, right, result)
    if swapped is None:
        return None
    forms: list[SSAValue] = []
    tensors = zip((*view.inputs, *view.outputs), (left, right, result), strict=True)
    for index, (value, operand) in enumerate(tensors):
        form = values.form(value, layouts[index])
        if index != RESULT:
            form = _widened(values, form, view, index)
        forms.append(_with_unit_roles(values, form, operand, index, swapped))
    factors = [forms[RHS], forms[LHS]] if swapped else [forms[LHS], forms[RHS]]
    batched = Role.BATCH in roles.values()
    kind = NAMED_CLASSES["linalg.batch_mmt4d" if batched else "linalg.mmt4d"]
    product = kind(factors, [forms[RESULT]])
    product.location = operation.location
    packed = values.builder.insert(product).results[0]
    return _without_unit_roles(values, packed, view.outputs[0], layouts[RESULT], result)


def _dimension_map(map_: AffineMap) -> DimensionMap:
    return tuple(
        result.position if isinstance(result, AffineDimExpr) else None for result in map_.results
    )


def _packed(
    layout: PackedLayout, map_: DimensionMap, roles: dict[int, Role]
) -> PackedOperand | None:
    """What the dimensions of a packed tensor are; `None` if it is not in tiles."""
    if not layout.inner_tiles:
        return None
    by_position = [roles[loop] for loop in map_ if loop is not None]
    order = layout.outer_permutation or tuple(range(len(map_)))
    tiles = zip(layout.inner_positions, layout.inner_tiles, strict=True)
    return PackedOperand(
        tuple(by_position[position] for position in order),
        {by_position[position]: tile for position, tile in tiles},
    )


def _fit(left: PackedOperand, right: PackedOperand, result: PackedOperand) -> bool | None:
    """Whether the result is transposed, `None` if these are no tiles of one product."""
    for operand, own in ((left, ROLES_OF[LHS]), (right, ROLES_OF[RHS])):
        if not _in_order(operand, own):
            return None
    swapped = not _in_order(result, ROLES_OF[RESULT])
    if swapped and not _in_order(result, (Role.N, Role.M)):
        return None
    for role, operands in (
        (Role.M, (left, result)),
        (Role.N, (right, result)),
        (Role.K, (left, right)),
    ):
        if operands[0].tiles.get(role) != operands[1].tiles.get(role):
            return None
    return swapped


def _in_order(operand: PackedOperand, own: tuple[Role, ...]) -> bool:
    """Whether outer dimensions and tiles come as a product of tiles wants them, batches first."""
    present = tuple(role for role in own if role in operand.outer)
    batch = tuple(role for role in operand.outer if role is Role.BATCH)
    return operand.outer == (*batch, *present) and tuple(operand.tiles) == present


def _with_unit_roles(
    values: PackedValues, form: SSAValue, operand: PackedOperand, index: int, swapped: bool
) -> SSAValue:
    """A vector as a matrix with one row or column: products of tiles have both M and N."""
    own = ROLES_OF[index]
    if index == RESULT and swapped:
        own = own[::-1]
    missing = [role for role in own if role not in operand.outer]
    if not missing:
        return form
    shape, groups = _unit_shape(values, form, operand, own)
    return values.expand(form, shape, groups)


def _unit_shape(
    values: PackedValues, form: SSAValue, operand: PackedOperand, own: tuple[Role, ...]
) -> tuple[list[Size], list[list[int]]]:
    """The shape with dimensions of size one, and which of its dimensions each one becomes."""
    sizes = list(values.dimensions.sizes(form))
    rank = len(operand.outer)
    batches = operand.outer.count(Role.BATCH)
    slots: list[Role | None] = [*([Role.BATCH] * batches), *own]
    kept_outer = iter(sizes[:rank])
    kept_inner = iter(sizes[rank:])
    shape: list[Size] = [next(kept_outer) if role in operand.outer else 1 for role in slots]
    shape += [next(kept_inner) if role in operand.tiles else 1 for role in own]
    real = [index for index, role in enumerate(slots) if role in operand.outer]
    real += [len(slots) + index for index, role in enumerate(own) if role in operand.tiles]
    groups: list[list[int]] = [[] for _ in sizes]
    for dimension in range(len(shape)):
        # A unit dimension joins the real one in front of it, or the first one.
        owner = max((i for i, place in enumerate(real) if place <= dimension), default=0)
        groups[owner].append(dimension)
    return shape, groups


def _without_unit_roles(
    values: PackedValues,
    packed: SSAValue,
    like: SSAValue,
    layout: PackedLayout,
    operand: PackedOperand,
) -> SSAValue:
    """The result of a product of a vector as a vector again."""
    own = ROLES_OF[RESULT]
    if all(role in operand.outer for role in own):
        return packed
    form = values.form(like, layout)
    _, groups = _unit_shape(values, form, operand, own)
    return values.collapse(packed, values.dimensions.sizes(form), groups)


def _widened(values: PackedValues, form: SSAValue, view: StructuredView, index: int) -> SSAValue:
    """A factor converted as the contraction's body does it, unless the product itself does."""
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
    rank = len(source.get_shape())
    sizes = values.dimensions.sizes(form)
    everywhere = AffineMap.identity(rank)
    generic = GenericOp(
        [form],
        [values.empty_of(result_element, sizes)],
        Region(body),
        [everywhere, everywhere],
        [IteratorType.PARALLEL] * rank,
        [typed(result_element, sizes)],
    )
    return values.builder.insert(generic).results[0]


def _conversions(body: Block, index: int) -> list[Operation]:
    """The conversions of a factor on its way from the body's argument to the product, in order."""
    chain: list[Operation] = []
    value: SSAValue = body.args[index]
    while True:
        users = [use.operation for use in value.uses]
        if len(users) != 1 or len(users[0].operands) != 1 or not users[0].results:
            return chain
        chain.append(users[0])
        value = users[0].results[0]
