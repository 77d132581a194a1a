"""Bodies that add a product to an accumulator, as of matrix products and convolutions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...runtime.abi.elements import Element, integer_element

_SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}
_WIDENINGS = {"arith.extf": False, "arith.extsi": False, "arith.extui": True}


@dataclass(frozen=True, slots=True)
class Factor:
    """An argument of a body that is multiplied, and whether it is widened without its sign."""

    argument: int
    is_unsigned: bool

    def loaded(self, element: Element) -> Element:
        """Its elements as vectors of them are widened."""
        return integer_element(element.width, unsigned=True) if self.is_unsigned else element

    def conversion(self, element: Element) -> str:
        """The scalar operation that makes it an `element`."""
        return "convertf" if element.is_float else "convertui" if self.is_unsigned else "converti"


def product_factors(body: Block) -> tuple[Factor, Factor] | None:
    """The factors of `out + left * right`, up to widening of both; `None` for other bodies."""
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
