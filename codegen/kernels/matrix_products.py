"""Structured operations as matrix products: which loops are rows, columns, depth and a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.linalg.structured_view import IteratorType, StructuredView
from ...ir.index_folding import FoldingIndices, V
from ...runtime.abi.elements import F32, F64, NATIVE_WIDTHS, Element
from ..microkernels.products import Tile, tile_of_product
from .product_sums import I32, Factor, product_factors

DEPTH_BLOCK = 4096
"""Bytes of depth, in each row or column of a panel, that are multiplied at a time at most."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """The loops of a product by their part in it, and the type that sums are kept in.

    `factors` are those of its operands, in their order, and `elements` what they are multiplied
    as.
    """

    view: StructuredView
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    element: Element
    factors: tuple[Factor, Factor]
    elements: tuple[Element, Element]

    @property
    def tile(self) -> Tile:
        """What is multiplied at once."""
        return tile_of_product(*self.elements, self.element)

    def depth_blocks(self, indices: FoldingIndices[V], depth: int | V) -> tuple[int | V, int | V]:
        """The words of depth, and those that are multiplied at a time: equal parts."""
        tile = self.tile
        steps, words = tile.steps(indices, depth), tile.words(indices, depth)
        most = DEPTH_BLOCK // self.element.storage_bytes
        blocks = indices.ceiling_divide(words, most)
        return words, indices.multiply(indices.ceiling_divide(steps, blocks), tile.step)

    @property
    def microkernel(self) -> str:
        """The name of the primitive that multiplies panels."""
        tile, terms = self.tile, "_".join(each.name for each in self.elements)
        if tile.step > 1:
            return f"amx_{terms}"
        sums = f"{self.element.name}_{tile.rows}_{tile.columns}"
        return f"words_{terms}_{sums}" if tile.is_as_stored else f"microkernel_{sums}"


def contraction_of(
    view: StructuredView, element_of: Callable[[SSAValue], Element]
) -> Contraction | None:
    """A structured operation as a matrix product in `f32` or `f64`, or in `i32` of integers that
    fit 16 bits, if it is one."""
    if len(view.inputs) != 2 or len(view.outputs) != 1:
        return None
    element, factors = element_of(view.outputs[0]), product_factors(view.body)
    if factors is None or element not in (F32, F64, I32):
        return None
    if element == I32:
        for each in factors:
            width = element_of(view.inputs[each.argument]).width
            if width not in NATIVE_WIDTHS or width + each.is_unsigned > 16:
                return None
    uses = [_loops_of(each) for each in view.maps]
    if any(each is None for each in uses):
        return None
    left, right, result = (frozenset(each or ()) for each in uses)
    groups: dict[tuple[bool, bool, bool], list[int]] = {}
    for loop, iterator in enumerate(view.iterators):
        is_parallel = iterator is IteratorType.PARALLEL
        kind = (loop in left, loop in right, loop in result)
        if is_parallel != kind[2]:
            return None
        groups.setdefault(kind, []).append(loop)
    batch, rows, columns, depth = (
        tuple(groups.pop(kind, ()))
        for kind in (
            (True, True, True),
            (True, False, True),
            (False, True, True),
            (True, True, False),
        )
    )
    if groups or not (rows and columns and depth):
        return None
    left, right = sorted(factors, key=lambda each: each.argument)
    loaded = (
        left.loaded(element_of(view.inputs[0])),
        right.loaded(element_of(view.inputs[1])),
    )
    return Contraction(view, batch, rows, columns, depth, element, (left, right), loaded)


def _loops_of(affine_map: AffineMap) -> list[int] | None:
    """The loops of a map whose results are different loops."""
    loops = [each.position for each in affine_map.results if isinstance(each, AffineDimExpr)]
    complete = len(loops) == len(affine_map.results) and len(set(loops)) == len(loops)
    return loops if complete else None
