"""Match the operations that a mark alone decides to encode, whether a target has tiles or not.

`iree.opt.data_tiling` marks them. These are contractions and convolutions of every kind that IREE
encodes: also those with a single element as result, of complex or truth values, with dilations or
groups, and pooling. A target without tiles for one stores its tensors in row-major order.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....dialects.iree_encoding.attributes import linear_map
from ....dialects.linalg.structured_view import StructuredView
from ....ir.locations import made_by
from ....tiling.contractions import LHS, Role, has_several
from ....tiling.convolutions import convolution_roles, has_loops_of_a_convolution
from .contraction_matching import (
    PRODUCTS_OF_SUMS,
    TiledContraction,
    added_product,
    element_types,
    scaled_contraction,
    tiled_contraction,
    tiled_convolution,
    unencoded_view,
)

HINT = "iree.opt.data_tiling"
"""Marks the operations to encode."""

PRODUCTS = PRODUCTS_OF_SUMS | {"complex.add": "complex.mul", "arith.ori": "arith.andi"}
"""The product that belongs to each sum: of numbers, and of truth values."""

WINDOWED = ("linalg.conv_", "linalg.depthwise_conv_", "linalg.pooling_")
"""How the names of convolutions and of pooling begin."""


def marked_operation(operation: Operation) -> TiledContraction | None:
    """Return the contraction or convolution of a marked operation; `None` if it is neither.

    The tensors must have no encodings yet.
    """
    return (
        tiled_contraction(operation)
        or scaled_contraction(operation)
        or any_convolution(operation)
        or _any_contraction(operation)
    )


def simple_contraction(operation: Operation) -> TiledContraction | None:
    """Return the contraction of an operation with at most one loop of each role; else `None`.

    K and at least one of M and N must exist. Factors may be computed from one number each.
    """
    contraction = _any_contraction(operation)
    if contraction is None:
        return None
    operand = contraction.encoding(LHS).contraction_operand()
    roles = None if operand is None else operand.roles()
    product = added_product(contraction.view.body)
    if roles is None or has_several(roles, Role) or product is None:
        return None
    return contraction


def any_convolution(operation: Operation) -> TiledContraction | None:
    """Return the convolution or pooling that an operation computes; `None` if it is neither."""
    view = unencoded_view(operation, 2)
    if view is None or not (operation.name.startswith(WINDOWED) or _has_windows(view)):
        return None
    if (convolution := tiled_convolution(operation)) is not None:
        return convolution
    convolution = TiledContraction(view, tuple(element_types(view)), view.loop_sizes(), "conv")
    operand = convolution.encoding(LHS).convolution_operand()
    if operand is not None and convolution_roles(operand) and not _adds_products(view.body):
        return None  # a target's tiles would be for another operation
    return convolution


def _has_windows(view: StructuredView) -> bool:
    """Return whether the loops of an operation are those of a convolution or pooling."""
    maps = [linear_map(map_) for map_ in view.maps]
    linear = tuple(map_ for map_ in maps if map_ is not None)
    parallel = frozenset(range(len(view.iterators))) - frozenset(view.reduction_loops)
    return len(linear) == len(maps) and has_loops_of_a_convolution(linear, parallel)


def _any_contraction(operation: Operation) -> TiledContraction | None:
    view = unencoded_view(operation, 2)
    if view is None or not view.reduction_loops or not _adds_products(view.body):
        return None
    if not all(map_.is_projected_permutation() for map_ in view.maps):
        return None
    return TiledContraction(view, tuple(element_types(view)), view.loop_sizes())


def _adds_products(body: Block) -> bool:
    """Return whether a body is `acc + x * y`, in which each value may be computed from one other.

    `acc + exp(x) * y` is one, too: its kernel keeps its body unless a target has tiles for it.
    """
    left, right, accumulator = body.args
    end = body.last_op
    addition = None if end is None or len(end.operands) != 1 else _source(end.operands[0])
    if addition is None or (sum_ := made_by(addition, *PRODUCTS)) is None:
        return False
    terms = [_source(term) for term in sum_.operands]
    products = [made_by(term, PRODUCTS[sum_.name]) for term in terms if term is not accumulator]
    if accumulator not in terms or len(products) != 1 or products[0] is None:
        return False
    return {_source(factor) for factor in products[0].operands} == {left, right}


def _source(value: SSAValue) -> SSAValue:
    """Follow operations of one operand upward."""
    while isinstance(owner := value.owner, Operation) and len(owner.operands) == 1:
        value = owner.operands[0]
    return value
