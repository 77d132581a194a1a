"""Recognise sums of products, as in matrix products and convolutions: bodies and operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....dialects.linalg.structured_view import StructuredView
from ....ir.linear_forms import linear
from ....runtime.abi.elements import F32, F64, NATIVE_WIDTHS, Element, integer_element
from ..code.ast_builder import Term
from ..elements.static_values import constant_attribute, shape_of, splat_value
from ..elements.writer import Indices, KernelWriter

I32 = integer_element(32)

TOTALS = (F32, F64, I32, integer_element(64))
"""The element types of sums, which have the same form in registers and in memory."""

_SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}
_WIDENINGS = {"arith.extf": False, "arith.extsi": False, "arith.extui": True}


@dataclass(frozen=True, slots=True)
class Factor:
    """A body argument that is multiplied, and whether it is zero-extended."""

    argument: int
    is_unsigned: bool

    def loaded(self, element: Element) -> Element:
        """Return the element type that vectors are loaded as; unsigned types are zero-extended."""
        return integer_element(element.width, unsigned=True) if self.is_unsigned else element

    def conversion(self, element: Element) -> str:
        """Return the scalar primitive's name that converts the factor to `element`."""
        return "convertf" if element.is_float else "convertui" if self.is_unsigned else "converti"


def product_factors(body: Block) -> tuple[Factor, Factor] | None:
    """Return the factors of `out + left * right`, possibly widened; `None` for other bodies."""
    last = body.last_op
    if last is None or len(body.args) != 3 or len(last.operands) != 1:
        return None
    total = last.operands[0].owner
    if not isinstance(total, Operation) or total.name not in _SUMS:
        return None
    others = [each for each in total.operands if each is not body.args[2]]
    if len(others) != 1:
        return None
    product = others[0].owner
    if not isinstance(product, Operation) or product.name != _SUMS[total.name]:
        return None
    left, right = (_factor(body, each) for each in product.operands)
    if left is None or right is None or {left.argument, right.argument} != {0, 1}:
        return None
    widened = sum(each not in body.args for each in product.operands)
    return (left, right) if sum(1 for _ in body.ops) == 3 + widened else None


def _factor(body: Block, value: SSAValue) -> Factor | None:
    is_unsigned = False
    owner = value.owner
    if isinstance(owner, Operation) and owner.name in _WIDENINGS:
        is_unsigned = _WIDENINGS[owner.name]
        value = owner.operands[0]
    return Factor(body.args.index(value), is_unsigned) if value in body.args else None


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a product.

    - `is_vector`: whether the column loop indexes it;
    - `is_stored`: whether it is in memory, neither fused nor constant;
    - `loaded`: the element type that vectors are loaded as.
    """

    value: SSAValue
    map: AffineMap
    element: Element
    factor: Factor
    is_vector: bool
    is_stored: bool
    stride: int = 1
    """How far apart the elements of a vector are in a row, 0 if they are in several rows."""

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements of a vector are adjacent in memory."""
        return self.stride == 1

    @property
    def loaded(self) -> Element:
        """The element type that vectors are loaded as."""
        return self.factor.loaded(self.element)

    def uses(self, loop: int) -> bool:
        """Return whether a loop indexes the operand."""
        return loop in self.map.used_dims()


def has_windows(view: StructuredView) -> bool:
    """Return whether an index of an operand is more than a single loop, as in convolutions."""
    return not all(isinstance(each, AffineDimExpr) for m in view.maps for each in m.results)


def operand_of(
    writer: KernelWriter, view: StructuredView, factor: Factor, row: int, total: Element
) -> Operand | None:
    """Return an input as an operand of a product.

    Returns `None` if the column loop indexes it, but its elements along that loop are not equally
    far apart.
    """
    value, affine_map = view.inputs[factor.argument], view.maps[factor.argument]
    element = writer.element_of(value)
    is_vector = row in affine_map.used_dims()
    stored = is_stored(writer, value)
    if is_vector:
        along = [each for each in affine_map.results if AffineDimExpr(row) in each.dfs()]
        index = linear(along[0])
        stride = 0 if index is None else index.coefficients.get(row, 0)
        is_row = stride > 0 and len(along) == 1
        in_row = stride if along[0] == affine_map.results[-1] else 0
        is_plain = element.is_float or (
            element.width in NATIVE_WIDTHS and element.width <= total.width
        )
        if not (is_row and stored and is_plain and shape_of(value)):
            return None
        return Operand(value, affine_map, element, factor, True, stored, in_row)
    return Operand(value, affine_map, element, factor, False, stored)


LONG_ROW = 2048
"""Bytes of a row from which on reading down a column is slow, so that packed panels pay off."""


def has_far_scalars(operand: Operand, sizes: Indices, reductions: Sequence[int]) -> bool:
    """Return whether the scalars of a sum are in long separate rows, each on another page."""
    last = operand.map.results[-1:]
    if operand.is_vector or not last or not isinstance(last[0], AffineDimExpr):
        return False
    row = last[0].position
    size = sizes[row]
    is_far = isinstance(size, int) and size * operand.element.storage_bytes >= LONG_ROW
    return row not in reductions and is_far


CACHE_WAY, CACHE_WAYS = 4096, 8
"""Bytes of a way of the L1 cache, and its ways on most CPUs.

Addresses that are a multiple of this apart share a set: it holds that many of their lines.
"""


def rows_in_cache(operands: Sequence[Operand], loop: int | None, size: Term) -> Term:
    """Return the most points of a loop at which the L1 cache holds all operands, at most `size`."""
    if loop is None:
        return 1
    if not any(_shares_cache_set(each, loop) for each in operands):
        return size
    return min(size, CACHE_WAYS) if isinstance(size, int) else CACHE_WAYS


def _shares_cache_set(operand: Operand, loop: int) -> bool:
    """Return whether the elements at all points of a loop are in one set of the L1 cache."""
    stride = operand.element.storage_bytes
    sizes = shape_of(operand.value)
    for index, size in zip(reversed(operand.map.results), reversed(sizes), strict=True):
        if loop in index.used_dims():
            return index == AffineDimExpr(loop) and stride % CACHE_WAY == 0
        if size < 1:
            break
        stride *= size
    return False


def paired_loop(
    operands: tuple[Operand, Operand],
    shared: Operand,
    reductions: Sequence[int],
    sizes: Indices,
    total: Element,
) -> int | None:
    """Return the loop of which two terms of narrow integers are multiplied and added at once.

    The terms must be adjacent in the operand that gives scalars, and their number even. Returns
    `None` if there is no such loop.
    """
    numbers = [each for each in operands if not each.is_vector]
    if total != I32 or len(numbers) != 1 or not numbers[0].is_stored:
        return None
    for each in operands:
        width = each.element.width + each.factor.is_unsigned
        if width > 16 or each.element.width not in NATIVE_WIDTHS:
            return None
    last = numbers[0].map.results[-1]
    if not isinstance(last, AffineDimExpr) or last.position not in reductions:
        return None
    others = AffineMap(numbers[0].map.num_dims, 0, numbers[0].map.results[:-1])
    size = sizes[last.position]
    is_even = isinstance(size, int) and size % 2 == 0
    is_alone = last.position not in others.used_dims() and shared.uses(last.position)
    return last.position if is_even and is_alone and shared.is_contiguous else None


def initial_scalar(writer: KernelWriter, output: SSAValue) -> Term | None:
    """Return the scalar that fills a constant or fused tensor, `None` for others."""
    attribute = constant_attribute(output)
    if attribute is not None and splat_value(attribute) is not None:
        return writer.element(output, ())
    owner = output.owner
    if writer.is_fused(output) and isinstance(owner, Operation) and owner.name == "linalg.fill":
        return writer.scalar(owner.operands[0])
    return None


def initial_vector(
    writer: KernelWriter, output: SSAValue, position: Term, total: Element, lanes: int
) -> Term:
    """Return a vector of initial values of a stored or filled tensor, at a row-major position."""
    splat = initial_scalar(writer, output)
    if splat is None:
        return writer.load_vector(output, position, total, total, lanes)
    return writer.code.call(f"vsplat_{total.name}_{lanes}", splat)


def is_stored(writer: KernelWriter, value: SSAValue) -> bool:
    """Return whether the elements of a tensor are in memory, so that vectors can be loaded."""
    return not writer.is_fused(value) and constant_attribute(value) is None
