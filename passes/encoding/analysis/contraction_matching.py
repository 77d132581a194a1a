"""Match the operations that a target may want to tile, and build the encodings of their tensors.

Matched are contractions of two tensors, convolutions, and contractions of scaled factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....dialects.iree_encoding.attributes import EncodingAttr
from ....dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....ir.index_lists import INDEX
from ....ir.locations import made_by
from ....ir.tensor_types import ranked
from ....tiling.contractions import LHS
from ....tiling.convolutions import convolution_roles

PRODUCTS_OF_SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}
"""The multiplication that belongs to each addition in a sum of products."""

WIDENING = {
    "arith.extf": False,
    "arith.extsi": False,
    "arith.extui": True,
    "arith.sitofp": False,
    "arith.uitofp": True,
}
"""Conversions that may be applied to a factor before it is multiplied. The value says whether the
conversion reads its operand as unsigned.
"""


@dataclass(frozen=True, slots=True)
class TiledContraction:
    """A contraction of two tensors into a third, as `#iree_encoding.encoding` describes it."""

    view: StructuredView
    element_types: tuple[Attribute, ...]
    """Element types of the factors, of their scales if there are any, and of the result. An integer
    factor that is read as unsigned has a type such as `ui8`.
    """
    sizes: tuple[int | None, ...]
    """The extent of each loop, `None` where dynamic."""
    kind: str = "matmul"
    """`matmul`; `conv` for a convolution, whose left tensor is indexed by sums of loops; or
    `scaled_matmul` for a contraction whose two factors each have a tensor of scales.
    """

    def encoding(self, operand: int) -> EncodingAttr:
        """Return the encoding of a tensor, in the order factors, their scales, result."""
        return _encodings(self.kind, self.element_types, self.view.maps, self.sizes)[operand]


@lru_cache(maxsize=256)
def _encodings(
    kind: str,
    element_types: tuple[Attribute, ...],
    maps: tuple[AffineMap, ...],
    sizes: tuple[int | None, ...],
) -> tuple[EncodingAttr, ...]:
    """Return the encodings of all tensors of a contraction.

    Cached, since a program has few different contractions and repeats each of them often.
    """
    numbers = [DYNAMIC_INDEX if size is None else size for size in sizes]
    return tuple(
        EncodingAttr(
            IntegerAttr(operand, INDEX),
            StringAttr(kind),
            ArrayAttr(element_types),
            NoneAttr(),
            ArrayAttr[Attribute]([AffineMapAttr(one) for one in maps]),
            NoneAttr(),
            NoneAttr(),
            ArrayAttr([IntegerAttr(number, i64) for number in numbers]),
            NoneAttr(),
        )
        for operand in range(len(maps))
    )


@lru_cache(maxsize=256)
def _has_roles(encoding: EncodingAttr) -> bool:
    """Return whether its loops are all those of a contraction or convolution."""
    if (operand := encoding.contraction_operand()) is not None:
        return operand.roles() is not None
    convolution = encoding.convolution_operand()
    return convolution is not None and convolution_roles(convolution) is not None


def tiled_contraction(operation: Operation) -> TiledContraction | None:
    """Return the contraction that an operation computes; `None` if it is none that can be tiled.

    The tensors must have no encodings yet. The body must add up products of elements, which may be
    widened first. Each loop must be a batch, M, N or K loop; K and at least one of M and N must
    exist.
    """
    contraction = _sum_of_products(operation, "matmul")
    if contraction is None:
        return None
    if not all(map_.is_projected_permutation() for map_ in contraction.view.maps):
        return None
    return contraction if _has_roles(contraction.encoding(LHS)) else None


def tiled_convolution(operation: Operation) -> TiledContraction | None:
    """Return the convolution that an operation computes; `None` if its channels cannot be tiled.

    The convolution may have strides, but neither dilations nor groups.
    """
    convolution = _sum_of_products(operation, "conv")
    if convolution is None or not _has_roles(convolution.encoding(LHS)):
        return None
    return convolution


def scaled_contraction(operation: Operation) -> TiledContraction | None:
    """Return the contraction of scaled factors that an operation computes; `None` if it is none.

    The body must add up products of `arith.scaling_extf`. The inputs are the left factor, the right
    factor and the scales of each. The factors run along two reduction loops, the scales along one.
    """
    view = unencoded_view(operation, 4)
    if view is None or not scales_factors(view.body) or len(view.reduction_loops) != 2:
        return None
    for map_ in view.maps:
        if not all(isinstance(result, AffineDimExpr) for result in map_.results):
            return None
    loops = [set(map_.used_dims()) for map_ in view.maps]
    left, right, left_scales, right_scales, _ = loops
    inner = left - left_scales
    if inner != right - right_scales or len(inner) != 1 or not inner <= set(view.reduction_loops):
        return None
    types = tuple(element_types(view))
    return TiledContraction(view, types, view.loop_sizes(), "scaled_matmul")


def unencoded_view(operation: Operation, inputs: int) -> StructuredView | None:
    """Return the view of an operation of some inputs and one result, all tensors without encodings.

    Return `None` for any other operation.
    """
    view = view_of_tensors(operation, inputs)
    tensors = [] if view is None else [ranked(value) for value in (*view.inputs, *view.outputs)]
    if any(tensor is None or tensor_encoding(tensor) is not None for tensor in tensors):
        return None
    return view


def view_of_tensors(operation: Operation, inputs: int) -> StructuredView | None:
    """Return the view of an operation on tensors with so many inputs and one result, or `None`."""
    view = structured_view(operation)
    if view is None or len(view.inputs) != inputs or len(view.outputs) != 1:
        return None
    return view if operation.results else None


def element_types(view: StructuredView) -> list[Attribute]:
    """Return the element types of the inputs and of the output."""
    return [cast(Tensor, value.type).element_type for value in (*view.inputs, *view.outputs)]


def scales_factors(body: Block) -> bool:
    """Return whether a body is `acc + scaling_extf(left, scale) * scaling_extf(right, scale)`."""
    product = added_product(body)
    if product is None or product.name != "arith.mulf":
        return False
    left, right, left_scale, right_scale, _ = body.args
    factors = {made_by(factor, "arith.scaling_extf") for factor in product.operands}
    scaled = {tuple(factor.operands[:2]) for factor in factors if factor is not None}
    return scaled == {(left, left_scale), (right, right_scale)}


def _sum_of_products(operation: Operation, kind: str) -> TiledContraction | None:
    """Match an operation that adds up products of elements of two tensors without encodings."""
    view = unencoded_view(operation, 2)
    unsigned = None if view is None else unsigned_factors(view.body)
    if view is None or unsigned is None:
        return None
    types = element_types(view)
    for index in range(2):
        factor = types[index]
        if unsigned[index] and isinstance(factor, IntegerType):
            width = cast(IntegerType[int], factor).width.data
            types[index] = IntegerType(width, Signedness.UNSIGNED)
    return TiledContraction(view, tuple(types), view.loop_sizes(), kind)


def unsigned_factors(body: Block) -> tuple[bool, bool] | None:
    """Return whether each factor is read as unsigned; `None` if the body is not a product."""
    product = added_product(body) if len(body.args) == 3 else None
    if product is None:
        return None
    is_unsigned: dict[SSAValue, bool] = {}
    for factor in product.operands:
        unsigned = False
        value = factor
        while (widening := made_by(value, *WIDENING)) is not None:
            unsigned = WIDENING[widening.name]
            value = widening.operands[0]
        is_unsigned[value] = unsigned
    left, right = body.args[:2]
    if set(is_unsigned) != {left, right}:
        return None
    return is_unsigned[left], is_unsigned[right]


def added_product(body: Block) -> Operation | None:
    """Return the product that a body adds to its last argument; `None` if there is none.

    Sums of `i1` are none: they are modulo 2, but those of `linalg.mmt4d`, as of all named
    operations, are true if any product is.
    """
    end = body.last_op
    if end is None or len(end.operands) != 1:
        return None
    addition = made_by(end.operands[0], *PRODUCTS_OF_SUMS)
    if addition is None or addition.results[0].type == i1:
        return None
    terms = [term for term in addition.operands if term is not body.args[-1]]
    return made_by(terms[0], PRODUCTS_OF_SUMS[addition.name]) if len(terms) == 1 else None
