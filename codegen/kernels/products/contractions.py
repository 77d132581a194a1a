"""View structured operations as matrix products: which loops are batch, rows, columns and depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.linalg.structured_view import IteratorType, StructuredView
from ....ir.index_folding import FoldingIndices, V
from ....ir.linear_forms import loops_of
from ....runtime.abi.elements import F32, F64, NATIVE_WIDTHS, Element
from ...microkernels.products import Tile, tile_of_product
from .factors import I32, Factor, product_factors

DEPTH_BLOCK = 4096
"""The most bytes of depth, in each row or column of a panel, that are multiplied at a time."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """The loops of a matrix product by their role, and the element type of the sums.

    `factors` are its operands in order, and `elements` the types that they are multiplied as.
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
        """What the microkernel multiplies at once."""
        return tile_of_product(*self.elements, self.element)

    def depth_blocks(self, indices: FoldingIndices[V], depth: int | V) -> tuple[int | V, int | V]:
        """Return the words of the depth, and the words multiplied at a time, in equal parts."""
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
    """Return a structured operation as a matrix product, `None` if it is none.

    Sums must be `f32` or `f64`, or `i32` of operands that fit in 16 bits. `element_of` may raise
    for unsupported element types.
    """
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
    """Return the loops of a map whose results are distinct loops, `None` for other maps."""
    loops = loops_of(affine_map)
    complete = len(loops) == len(affine_map.results) and len(set(loops)) == len(loops)
    return loops if complete else None
