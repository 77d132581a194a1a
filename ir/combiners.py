"""Associative and commutative scalar operations, by which reductions combine partial results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf, nan

from xdsl.ir import Attribute

from ..sharding.sharding import ReductionKind
from ..tiling.element_types import integer_range
from .tensor_types import integer_width

Neutral = Callable[[Attribute], int | float]
"""Return the neutral element for an element type."""


@dataclass(frozen=True, slots=True)
class Combiner:
    """An operation that combines two partial results.

    - `operation`: the name of the scalar operation `operation(a, b)`;
    - `kind`: the equivalent collective reduction (for unsigned minimum and maximum, with the sign
      bit flipped). It is `GENERIC` if there is none (`maxnumf` and `minnumf`, which drop NaNs):
      then partial results are gathered and combined with `operation`;
    - `neutral(element_type)`: the neutral element, as a Python number.
    """

    operation: str
    kind: ReductionKind
    neutral: Neutral


def _smallest(scalar: Attribute) -> int:
    return integer_range(integer_width(scalar), is_signed=True)[0]


def _largest(*, is_signed: bool) -> Neutral:
    return lambda scalar: integer_range(integer_width(scalar), is_signed=is_signed)[1]


def _always(value: int | float) -> Neutral:
    return lambda _: value


COMPLEX_SUM = "complex.add"

# A sum of only -0.0 is -0.0: 0.0 would change its sign.
_ROWS: tuple[tuple[str, str, ReductionKind, Neutral], ...] = (
    ("arith.addf", "f", ReductionKind.SUM, _always(-0.0)),
    ("arith.addi", "su", ReductionKind.SUM, _always(0)),
    ("arith.mulf", "f", ReductionKind.PRODUCT, _always(1.0)),
    ("arith.muli", "su", ReductionKind.PRODUCT, _always(1)),
    ("arith.maximumf", "f", ReductionKind.MAX, _always(-inf)),
    ("arith.minimumf", "f", ReductionKind.MIN, _always(inf)),
    ("arith.maxsi", "s", ReductionKind.MAX, _smallest),
    ("arith.minsi", "s", ReductionKind.MIN, _largest(is_signed=True)),
    ("arith.maxui", "u", ReductionKind.MAX, _always(0)),
    ("arith.minui", "u", ReductionKind.MIN, _largest(is_signed=False)),
    ("arith.maxnumf", "f", ReductionKind.GENERIC, _always(nan)),
    ("arith.minnumf", "f", ReductionKind.GENERIC, _always(nan)),
    ("arith.andi", "su", ReductionKind.BITWISE_AND, _always(-1)),
    ("arith.ori", "su", ReductionKind.BITWISE_OR, _always(0)),
    ("arith.xori", "su", ReductionKind.BITWISE_XOR, _always(0)),
    (COMPLEX_SUM, "c", ReductionKind.SUM, _always(-0.0)),
)
"""Name, elements (floats, complex numbers, signed or unsigned integers), kind, neutral element."""

COMBINERS = {name: Combiner(name, kind, neutral) for name, _, kind, neutral in _ROWS}
"""The operations by name."""


@cache
def combining_operation(kind: ReductionKind, elements: str) -> str | None:
    """Return the operation of `arith` that computes a kind of reduction of elements.

    `elements` is `f` for floats, `s` or `u` for integers. Return `None` if there is none.
    """
    found = (name for name, of, own, _ in _ROWS if own is kind and elements in of)
    return None if kind is ReductionKind.GENERIC else next(found, None)
