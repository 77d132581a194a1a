"""Which operations are contractions that a target may want to tile, and how encodings name them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....dialects.iree_encoding.attributes import EncodingAttr
from ....dialects.iree_encoding.interfaces import Tensor, tensor_encoding
from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....ir.index_lists import DYNAMIC_SIZE
from ....ir.locations import made_by
from ....ir.tensor_types import ranked
from ....tiling.contractions import LHS
from ....tiling.convolutions import convolution_roles

PRODUCTS_OF_SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}
"""Each addition with the multiplication whose results it adds up."""

WIDENING = {
    "arith.extf": False,
    "arith.extsi": False,
    "arith.extui": True,
    "arith.sitofp": False,
    "arith.uitofp": True,
}
"""Conversions of an operand on its way into the product: whether it is read as unsigned."""


@dataclass(frozen=True, slots=True)
class TiledContraction:
    """A contraction of two tensors into a third, as `#iree_encoding.encoding` describes one."""

    view: StructuredView
    element_types: tuple[Attribute, ...]
    """Of the left, right and result tensors; `ui8` and the like where read as unsigned."""
    sizes: tuple[int | None, ...]
    """The extent of each loop, `None` where dynamic."""
    kind: str = "matmul"
    """`matmul`; `conv` for a convolution, whose left tensor is indexed by sums of loops;
    `scaled_matmul` for a contraction of factors that each have a tensor of scales."""

    def encoding(self, operand: int) -> EncodingAttr:
        """The encoding of an operand: factors, their scales if there are any, then the result."""
        return _encodings(self.kind, self.element_types, self.view.maps, self.sizes)[operand]


@lru_cache(maxsize=256)
def _encodings(
    kind: str,
    element_types: tuple[Attribute, ...],
    maps: tuple[AffineMap, ...],
    sizes: tuple[int | None, ...],
) -> tuple[EncodingAttr, ...]:
    """The encodings of all operands; programs have few kinds of contractions, each many times."""
    numbers = [DYNAMIC_SIZE if size is None else size for size in sizes]
    return tuple(
        EncodingAttr(
            IntegerAttr(operand, IndexType()),
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
    """Whether the loops of an encoding's operation are those of a contraction, or convolution."""
    if (operand := encoding.contraction_operand()) is not None:
        return operand.roles() is not None
    convolution = encoding.convolution_operand()
    return convolution is not None and convolution_roles(convolution) is not None


def tiled_contraction(operation: Operation) -> TiledContraction | None:
    """The contraction that an operation is, `None` if it is none that can be tiled.

    Its operands are tensors without encodings, its body adds up products of elements that may be
    widened first, and each of its loops is a batch, M, N or K, K and one of M and N among them.
    """
    found = _sum_of_products(operation, "matmul")
    if found is None:
        return None
    for map_ in found.view.maps:
        if not all(isinstance(result, AffineDimExpr) for result in map_.results):
            return None
        if len(set(map_.results)) != len(map_.results):
            return None
    return found if _has_roles(found.encoding(LHS)) else None


def tiled_convolution(operation: Operation) -> TiledContraction | None:
    """The convolution that an operation is, `None` if it is none whose channels can be tiled.

    It may have strides; it has no dilations and no groups.
    """
    found = _sum_of_products(operation, "conv")
    return found if found is not None and _has_roles(found.encoding(LHS)) else None


def scaled_contraction(operation: Operation) -> TiledContraction | None:
    """The contraction of scaled factors that an operation is, `None` if it is no such one.

    Its body adds up products of `arith.scaling_extf`, its operands are left and right factor, then
    the scales of each. The scales run along one loop of K, and the factors along two.
    """
    view = structured_view(operation)
    if view is None or len(view.inputs) != 4 or len(view.outputs) != 1 or not operation.results:
        return None
    tensors = [ranked(value) for value in (*view.inputs, *view.outputs)]
    if any(tensor is None or tensor_encoding(tensor) is not None for tensor in tensors):
        return None
    if not _scales_factors(view.body) or len(view.reduction_loops) != 2:
        return None
    for map_ in view.maps:
        if not all(isinstance(result, AffineDimExpr) for result in map_.results):
            return None
    loops = [set(map_.used_dims()) for map_ in view.maps]
    left, right, left_scales, right_scales, _ = loops
    inner = left - left_scales
    if inner != right - right_scales or len(inner) != 1 or not inner <= set(view.reduction_loops):
        return None
    types = [tensor.element_type for tensor in tensors if tensor is not None]
    return TiledContraction(view, tuple(types), view.loop_sizes(), "scaled_matmul")


def _scales_factors(body: Block) -> bool:
    """Whether a body is `acc + scaling_extf(left, scale) * scaling_extf(right, scale)`."""
    product = _added_product(body)
    if product is None or product.name != "arith.mulf":
        return False
    left, right, left_scale, right_scale, _ = body.args
    factors = {made_by(factor, "arith.scaling_extf") for factor in product.operands}
    scaled = {tuple(factor.operands[:2]) for factor in factors if factor is not None}
    return scaled == {(left, left_scale), (right, right_scale)}


def _sum_of_products(operation: Operation, kind: str) -> TiledContraction | None:
    """An operation on two plain tensors that adds up products of their elements in a third."""
    view = structured_view(operation)
    if view is None or len(view.inputs) != 2 or len(view.outputs) != 1:
        return None
    if not operation.results:
        return None
    for value in (*view.inputs, *view.outputs):
        tensor = ranked(value)
        if tensor is None or tensor_encoding(tensor) is not None:
            return None
    unsigned = unsigned_factors(view.body)
    if unsigned is None:
        return None
    types = [cast(Tensor, value.type).element_type for value in (*view.inputs, *view.outputs)]
    for index in range(2):
        factor = types[index]
        if unsigned[index] and isinstance(factor, IntegerType):
            width = cast(IntegerType[int], factor).width.data
            types[index] = IntegerType(width, Signedness.UNSIGNED)
    return TiledContraction(view, tuple(types), view.loop_sizes(), kind)


def unsigned_factors(body: Block) -> tuple[bool, bool] | None:
    """For each factor whether it is read as unsigned; `None` if the body is no sum of products."""
    product = _added_product(body) if len(body.args) == 3 else None
    if product is None:
        return None
    found: dict[SSAValue, bool] = {}
    for factor in product.operands:
        unsigned = False
        value = factor
        while (widening := made_by(value, *WIDENING)) is not None:
            unsigned = WIDENING[widening.name]
            value = widening.operands[0]
        found[value] = unsigned
    left, right = body.args[:2]
    if set(found) != {left, right}:
        return None
    return found[left], found[right]


def _added_product(body: Block) -> Operation | None:
    """The product that a body adds to its last argument, if that is what it does."""
    end = body.last_op
    if end is None or len(end.operands) != 1:
        return None
    addition = made_by(end.operands[0], *PRODUCTS_OF_SUMS)
    if addition is None:
        return None
    terms = [term for term in addition.operands if term is not body.args[-1]]
    return made_by(terms[0], PRODUCTS_OF_SUMS[addition.name]) if len(terms) == 1 else None
