"""Lower contractions of tiles to `iree_codegen.inner_tiled`, that is, to the target's instruction.

The tensors are used in their memory form, with swizzled tiles, so no transposes are needed.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.iree_codegen import InnerTiledOp
from ....dialects.iree_encoding.interfaces import EncodingSolverInterface, Tensor
from ....dialects.linalg.base import IteratorTypeAttr
from ....dialects.linalg.structured_view import IteratorType
from ....ir.tensor_types import element_of
from ....tiling.contractions import Role
from ....tiling.packed_layouts import PackedLayout
from .contractions import ROLES_OF, packed_product
from .values import PackedValues


def lower_inner_tiled(
    values: PackedValues,
    operation: Operation,
    layouts: tuple[PackedLayout, ...],
    solver: EncodingSolverInterface,
) -> SSAValue | None:
    """Emit a contraction as `iree_codegen.inner_tiled`; return its result in memory form.

    `layouts` are those of the left, right and result tensors. Return `None` if the target has no
    instruction for this contraction.
    """
    product = packed_product(operation, layouts)
    if product is None or product.swapped:
        return None
    view = product.view
    tensors = (*view.inputs, *view.outputs)
    tiled = solver.inner_tiled(cast(Tensor, tensors[-1].type))
    if tiled is None or [layout.swizzle for layout in layouts] != list(tiled.swizzles):
        return None
    types = [element_of(cast(Tensor, tensor.type)).name for tensor in tensors]
    unsigned = [one.startswith("u") for one in tiled.element_types]
    if types != [one.lstrip("su") for one in tiled.element_types]:
        return None
    if list(product.unsigned) != unsigned[:-1]:
        return None
    if any(
        operand.tile(role) is None
        for index, operand in enumerate(product.operands)
        for role in ROLES_OF[index]
    ):
        return None
    forms = [
        values.memory_form(value, layout) for value, layout in zip(tensors, layouts, strict=True)
    ]
    left, right, result = product.operands
    parallel = (*result.loops(Role.BATCH), *result.loops(Role.M), *result.loops(Role.N))
    order = (*parallel, *left.loops(Role.K))
    maps = [
        AffineMapAttr(AffineMap(len(order), 0, tuple(map(AffineExpr.dimension, loops))))
        for loops in ([order.index(loop) for loop in one.outer] for one in (left, right, result))
    ]
    kinds = [IteratorType.PARALLEL] * len(parallel)
    kinds += [IteratorType.REDUCTION] * (len(order) - len(parallel))
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
