"""Lower contractions of tiles to `iree_codegen.inner_tiled`, that is, to the target's instruction.

The tensors are used in their memory form, with swizzled tiles, so no transposes are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.iree_codegen import InnerTiledOp
from ....dialects.iree_encoding.attributes import dimension_map
from ....dialects.iree_encoding.interfaces import EncodingSolverInterface, Tensor
from ....dialects.linalg.base import IteratorTypeAttr
from ....dialects.linalg.structured_view import IteratorType, StructuredView
from ....ir.tensor_types import element_of
from ....tiling.contractions import ContractionOperand, Role
from ....tiling.gpu_scaled_intrinsics import SCALED_RESULT, SCALED_SIDES
from ....tiling.packed_layouts import PackedLayout
from ...encoding.analysis.contraction_matching import scales_factors, view_of_tensors
from .contractions import ROLES_OF, packed_product
from .values import PackedValues

_ROLES = (Role.BATCH, Role.M, Role.N, Role.K, Role.BLOCK)


@dataclass(frozen=True, slots=True)
class TiledProduct:
    """A contraction whose tensors have tiles that one instruction takes."""

    view: StructuredView
    outer: Sequence[Sequence[int]]
    """The loops of the outer dimensions of each tensor, in the order of its layout."""
    roles: dict[int, Role]
    unsigned: Sequence[bool]
    """For each input, whether it is read as unsigned."""

    def loops(self) -> list[int]:
        """Return the loops in the order of their roles."""
        used = dict.fromkeys(loop for loops in self.outer for loop in loops)
        return [loop for role in _ROLES for loop in used if self.roles[loop] is role]


def lower_inner_tiled(
    values: PackedValues,
    operation: Operation,
    layouts: tuple[PackedLayout, ...],
    solver: EncodingSolverInterface,
) -> SSAValue | None:
    """Emit a contraction as `iree_codegen.inner_tiled`; return its result in memory form.

    `layouts` are those of its tensors, of the result last. Return `None` if the target has no
    instruction for this contraction.
    """
    product = _product(operation, layouts) or _scaled_product(operation, layouts)
    if product is None:
        return None
    tensors = (*product.view.inputs, *product.view.outputs)
    tiled = solver.inner_tiled(cast(Tensor, tensors[-1].type))
    if tiled is None or [layout.swizzle for layout in layouts] != list(tiled.swizzles):
        return None
    types = [element_of(cast(Tensor, tensor.type)).name for tensor in tensors]
    if types != [_signless(one) for one in tiled.element_types]:
        return None
    if list(product.unsigned) != [one.startswith("u") for one in tiled.element_types[:-1]]:
        return None
    forms = [
        values.memory_form(value, layout) for value, layout in zip(tensors, layouts, strict=True)
    ]
    order = product.loops()
    maps = [
        AffineMapAttr(AffineMap(len(order), 0, tuple(map(AffineExpr.dimension, loops))))
        for loops in ([order.index(loop) for loop in one] for one in product.outer)
    ]
    kinds = [
        IteratorType.PARALLEL if loop in product.outer[-1] else IteratorType.REDUCTION
        for loop in order
    ]
    operation = InnerTiledOp.build(
        operands=[forms[:-1], forms[-1:]],
        result_types=[[forms[-1].type]],
        properties={
            "indexing_maps": ArrayAttr(maps),
            "iterator_types": ArrayAttr[Attribute](map(IteratorTypeAttr, kinds)),
            "kind": tiled.kind,
            "semantics": tiled.semantics,
        },
    )
    return values.builder.insert(operation).results[0]


def _signless(name: str) -> str:
    return name.lstrip("su")


def _product(operation: Operation, layouts: tuple[PackedLayout, ...]) -> TiledProduct | None:
    """Return the product of two tiled factors; `None` if an operation computes none."""
    product = packed_product(operation, layouts) if len(layouts) == 3 else None
    if product is None or product.swapped:
        return None
    if any(
        operand.tile(role) is None
        for index, operand in enumerate(product.operands)
        for role in ROLES_OF[index]
    ):
        return None
    outer = [operand.outer for operand in product.operands]
    return TiledProduct(product.view, outer, product.operands[0].roles, product.unsigned)


def _scaled_product(operation: Operation, layouts: tuple[PackedLayout, ...]) -> TiledProduct | None:
    """Return the product of two tiled factors with scales; `None` if an operation computes none."""
    view = view_of_tensors(operation, len(layouts) - 1)
    if view is None or len(layouts) != len(SCALED_SIDES) or not scales_factors(view.body):
        return None
    maps = tuple(dimension_map(map_) for map_ in view.maps)
    roles = ContractionOperand(SCALED_RESULT, (), maps, maps[-1]).roles()
    if roles is None:
        return None
    outer: list[list[int]] = []
    tiled: dict[Role, int] = {}
    for index, (map_, layout) in enumerate(zip(maps, layouts, strict=True)):
        loops = [loop for loop in map_ if loop is not None]
        inner = [loops[position] for position in layout.inner_positions]
        if tuple(roles[loop] for loop in inner) != SCALED_SIDES[index]:
            return None
        if any(tiled.setdefault(roles[loop], loop) != loop for loop in inner):
            return None
        outer.append([loops[position] for position in layout.outer_permutation])
    return TiledProduct(view, outer, roles, [False] * len(view.inputs))
