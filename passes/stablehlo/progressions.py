"""Indices that count along a dimension: of `x[jnp.arange(n), i]` row `k` is read for place `k`.

JAX writes such indices as an iota, wrapped where it is negative, and joined with the others. Who
knows that reads along a loop instead of at a number from a tensor: of what is split along the
counted dimension, a process then needs its own part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import eq, ge, gt, le, lt, ne
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from ...ir.attribute_access import attribute, integer, number_list
from .arithmetic import word
from .elements import kind
from .emitter import number_of, shape

Numbers = DenseIntOrFPElementsAttr[Any]

MOST_CONSTANTS = 4096
"""Longer lists of numbers are not looked at."""


@dataclass(frozen=True, slots=True)
class Progression:
    """Integers `first`, `first + step`, ... along a dimension of a tensor, all else being equal.

    There are `count` of them; the dimension of one number is `None`.
    """

    first: int
    step: int = 0
    dimension: int | None = None
    count: int = 1

    @property
    def last(self) -> int:
        """The last number."""
        return self.first + self.step * (self.count - 1)

    @property
    def least(self) -> int:
        """The smallest number."""
        return min(self.first, self.last)

    @property
    def most(self) -> int:
        """The largest number."""
        return max(self.first, self.last)

    @property
    def counts_up(self) -> bool:
        """Whether it is 0, 1, 2, ... along a dimension."""
        return self.dimension is not None and self.first == 0 and self.step == 1


def index_progression(starts: SSAValue, vector: int, number: int) -> Progression | None:
    """What one number of all index vectors is, by the dimensions of `starts`.

    `vector` is the dimension of the vectors, or the rank of `starts` if they have one number.
    """
    owner = starts.owner
    if (
        isinstance(owner, Operation)
        and owner.name == "stablehlo.concatenate"
        and integer(owner, "dimension") == vector
    ):
        for part in owner.operands:
            if number < shape(part)[vector]:
                return index_progression(part, vector, number)
            number -= shape(part)[vector]
    found = progression(starts)
    return None if found is None or found.dimension == vector else found


def progression(value: SSAValue) -> Progression | None:
    """What an integer tensor of StableHLO is, if that is a progression."""
    return _progression(value, {})


_Known = dict[SSAValue, Progression | None]


def _progression(value: SSAValue, known: _Known) -> Progression | None:
    if value in known:
        return known[value]
    known[value] = None
    operation = value.owner
    if not isinstance(operation, Operation) or len(operation.results) != 1:
        return None
    rule = _RULES.get(operation.name)
    if rule is None or not kind(value.type).is_integer or min(shape(value), default=1) < 1:
        return None
    found = rule(operation, known)
    if found is not None and _fits(found, value):
        known[value] = found if found.step else Progression(found.first)
    return known[value]


def _fits(found: Progression, value: SSAValue) -> bool:
    """Whether the numbers are what they would be in integers of any width."""
    element = kind(value.type)
    below = 1 << (element.width - 1) if element.name == "signed" else 0
    return -below <= found.least and found.most < (1 << element.width) - below


def _constant(operation: Operation, known: _Known) -> Progression | None:
    del known
    held, extents = attribute(operation, "value"), shape(operation.results[0])
    if not isinstance(held, DenseIntOrFPElementsAttr):
        return None
    element, numbers = kind(operation.results[0].type), cast("Numbers", held)

    def number(place: int) -> int:
        found = int(number_of(numbers, place).real) % (1 << element.width)
        is_negative = element.name == "signed" and found >> (element.width - 1)
        return found - (1 << element.width) if is_negative else found

    if numbers.is_splat():
        return Progression(number(0))
    if len(extents) != 1 or not 1 < extents[0] <= MOST_CONSTANTS:
        return None
    made = Progression(number(0), number(1) - number(0), 0, extents[0])
    is_even = all(number(k) == made.first + k * made.step for k in range(extents[0]))
    return made if is_even else None


def _iota(operation: Operation, known: _Known) -> Progression:
    del known
    dimension = integer(operation, "iota_dimension")
    return Progression(0, 1, dimension, shape(operation.results[0])[dimension])


def _broadcast(operation: Operation, known: _Known) -> Progression | None:
    found = _progression(operation.operands[0], known)
    if found is None or found.dimension is None:
        return found
    places = number_list(attribute(operation, "broadcast_dimensions"))
    return replace(found, dimension=places[found.dimension])


def _reshape(operation: Operation, known: _Known) -> Progression | None:
    """Dimensions of one element come and go."""
    found = _progression(operation.operands[0], known)
    if found is None or found.dimension is None:
        return found
    before, after = shape(operation.operands[0]), shape(operation.results[0])
    kept = [place for place, size in enumerate(before) if size != 1]
    places = [place for place, size in enumerate(after) if size != 1]
    if [before[place] for place in kept] != [after[place] for place in places]:
        return None
    return replace(found, dimension=places[kept.index(found.dimension)])


def _transpose(operation: Operation, known: _Known) -> Progression | None:
    found = _progression(operation.operands[0], known)
    if found is None or found.dimension is None:
        return found
    order = number_list(attribute(operation, "permutation"))
    return replace(found, dimension=list(order).index(found.dimension))


def _slice(operation: Operation, known: _Known) -> Progression | None:
    found = _progression(operation.operands[0], known)
    if found is None or found.dimension is None:
        return found
    start, stride = (
        number_list(attribute(operation, name))[found.dimension]
        for name in ("start_indices", "strides")
    )
    count = shape(operation.results[0])[found.dimension]
    return Progression(
        found.first + start * found.step, found.step * stride, found.dimension, count
    )


def _same(operation: Operation, known: _Known) -> Progression | None:
    return _progression(operation.operands[0], known)


def _pair(operation: Operation, known: _Known) -> tuple[Progression, Progression] | None:
    left, right = (_progression(operand, known) for operand in operation.operands)
    return None if left is None or right is None else (left, right)


def _sum(operation: Operation, known: _Known) -> Progression | None:
    pair = _pair(operation, known)
    if pair is None:
        return None
    sign = 1 if operation.name == "stablehlo.add" else -1
    left, right = pair
    if left.dimension is None:
        return replace(right, first=left.first + sign * right.first, step=sign * right.step)
    if right.dimension not in (None, left.dimension):
        return None
    first, step = left.first + sign * right.first, left.step + sign * right.step
    return replace(left, first=first, step=step)


def _product(operation: Operation, known: _Known) -> Progression | None:
    pair = _pair(operation, known)
    if pair is None:
        return None
    number, other = pair if pair[0].dimension is None else reversed(pair)
    if number.dimension is not None:
        return None
    return replace(other, first=number.first * other.first, step=number.first * other.step)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    **{"EQ": eq, "NE": ne, "GE": ge, "GT": gt, "LE": le, "LT": lt}
}


def _compare(operation: Operation, known: _Known) -> Progression | None:
    """Whether it is the same for all: the smallest and the largest numbers compare alike."""
    pair = _pair(operation, known)
    if pair is None:
        return None
    left, right = pair
    compare = _COMPARISONS[word(operation, "comparison_direction")]
    answers = {compare(a, b) for a in (left.least, left.most) for b in (right.least, right.most)}
    lies_between = left.least <= right.most and right.least <= left.most
    is_equality = compare in (eq, ne) and lies_between and not left.step == right.step == 0
    return None if len(answers) > 1 or is_equality else Progression(int(answers.pop()))


def _select(operation: Operation, known: _Known) -> Progression | None:
    chosen = _progression(operation.operands[0], known)
    if chosen is None:
        return None
    return _progression(operation.operands[1 if chosen.first else 2], known)


def _bound(operation: Operation, known: _Known) -> Progression | None:
    """The larger, or the smaller, where one of the two is that everywhere."""
    pair = _pair(operation, known)
    if pair is None:
        return None
    low, high = sorted(pair, key=lambda each: (each.least, each.most))
    if low.most > high.least:
        return None
    return high if operation.name == "stablehlo.maximum" else low


_RULES: dict[str, Callable[[Operation, _Known], Progression | None]] = {
    "stablehlo.constant": _constant,
    "stablehlo.iota": _iota,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": _reshape,
    "stablehlo.transpose": _transpose,
    "stablehlo.slice": _slice,
    "stablehlo.convert": _same,
    "sdy.sharding_constraint": _same,
    "stablehlo.add": _sum,
    "stablehlo.subtract": _sum,
    "stablehlo.multiply": _product,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.maximum": _bound,
    "stablehlo.minimum": _bound,
}
