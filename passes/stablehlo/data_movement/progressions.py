"""Find index tensors that count along a dimension, such as those of `x[jnp.arange(n), i]`.

JAX writes such an index as an iota, with a wrap of negative numbers, concatenated with the other
components. If component 0 of index vector k is known to be k, a gather reads at the loop's index
instead of at a number loaded from a tensor. Then a process needs only its own shard of a tensor
that is split along the counted dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import ge, gt, le, lt
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import attribute, integer, is_splat, number_list
from ....ir.syntax.keyword_attributes import word
from ....ir.tensor_types import part_at
from ....tiling.element_types import as_signed, as_unsigned, integer_range
from ..lowering.element_types import kind
from ..lowering.emitter import number_of, shape

Numbers = DenseIntOrFPElementsAttr[Any]

MAX_CONSTANT_SIZE = 4096
"""The maximum number of elements of a constant that is analysed."""


@dataclass(frozen=True, slots=True)
class Progression:
    """The integers `first`, `first + step`, ..., `count` of them, along a dimension of a tensor.

    The numbers are equal along all other dimensions. A constant tensor has `dimension` `None`.
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


_Slice = tuple[int, int] | None
"""The slice (dimension, index) of a tensor that is analysed; `None` means the whole tensor."""

_Known = dict[tuple[SSAValue, _Slice], Progression | None]


def index_progression(starts: SSAValue, vector: int, number: int) -> Progression | None:
    """Return the progression of component `number` of all index vectors, `None` if it is not one.

    `vector` is the dimension of `starts` that holds the components, or its rank if vectors have one
    component. The progression's dimension is one of `starts`.
    """
    return _progression(starts, (vector, number) if vector < len(shape(starts)) else None, {})


def _progression(value: SSAValue, at: _Slice, known: _Known) -> Progression | None:
    if (value, at) in known:
        return known[value, at]
    known[value, at] = None
    operation = value.owner
    if not isinstance(operation, Operation) or len(operation.results) != 1:
        return None
    rule = _RULES.get(operation.name)
    if rule is None or not kind(value.type).is_integer or min(shape(value), default=1) < 1:
        return None
    found = rule(operation, at, known)
    if found is not None and _fits(found, value):
        varies = found.step and found.count > 1
        known[value, at] = found if varies else Progression(found.first)
    return known[value, at]


def _fits(found: Progression, value: SSAValue) -> bool:
    """Return whether no number wraps in the element type."""
    element = kind(value.type)
    lowest, highest = integer_range(element.width, is_signed=element.name == "signed")
    return lowest <= found.least and found.most <= highest


def _constant(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    held, extents = attribute(operation, "value"), shape(operation.results[0])
    if not isinstance(held, DenseIntOrFPElementsAttr):
        return None
    element, numbers = kind(operation.results[0].type), cast("Numbers", held)
    read = as_signed if element.name == "signed" else as_unsigned
    if is_splat(numbers):
        return Progression(read(int(number_of(numbers).real), element.width))
    if len(extents) != 1 or not 1 < extents[0] <= MAX_CONSTANT_SIZE:
        return None
    values = [read(int(cast(Any, each)), element.width) for each in numbers.get_values()]
    if at is not None:
        return Progression(values[at[1]])
    first, step = values[0], values[1] - values[0]
    is_even = all(value == first + k * step for k, value in enumerate(values))
    return Progression(first, step, 0, len(values)) if is_even else None


def _iota(operation: Operation, at: _Slice, known: _Known) -> Progression:
    dimension = integer(operation, "iota_dimension")
    if at is not None and at[0] == dimension:
        return Progression(at[1])
    return Progression(0, 1, dimension, shape(operation.results[0])[dimension])


def _moved(
    operation: Operation, at: _Slice, known: _Known, targets: Mapping[int, int]
) -> Progression | None:
    """Return the operand's progression with its dimensions mapped by `targets`.

    Dimensions that are not mapped have size 1.
    """
    inside: _Slice = None
    if at is not None:
        source = next((before for before, after in targets.items() if after == at[0]), None)
        if source is not None:
            extent = shape(operation.operands[0])[source]
            inside = source, at[1] if extent > 1 else 0
    found = _progression(operation.operands[0], inside, known)
    if found is None or found.dimension is None:
        return found
    return replace(found, dimension=targets[found.dimension])


def _broadcast(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    targets = number_list(attribute(operation, "broadcast_dimensions"))
    return _moved(operation, at, known, dict(enumerate(targets)))


def _reshape(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    """Handle a reshape that only adds and removes dimensions of size 1."""
    before, after = shape(operation.operands[0]), shape(operation.results[0])
    sources = [dimension for dimension, size in enumerate(before) if size != 1]
    targets = [dimension for dimension, size in enumerate(after) if size != 1]
    if [before[each] for each in sources] != [after[each] for each in targets]:
        return None
    return _moved(operation, at, known, dict(zip(sources, targets, strict=True)))


def _transpose(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    order = number_list(attribute(operation, "permutation"))
    return _moved(operation, at, known, {before: after for after, before in enumerate(order)})


def _slice(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    starts, strides = (
        number_list(attribute(operation, name)) for name in ("start_indices", "strides")
    )
    inside = None if at is None else (at[0], starts[at[0]] + at[1] * strides[at[0]])
    found = _progression(operation.operands[0], inside, known)
    if found is None or found.dimension is None:
        return found
    start, stride = starts[found.dimension], strides[found.dimension]
    count = shape(operation.results[0])[found.dimension]
    first = found.first + start * found.step
    return Progression(first, found.step * stride, found.dimension, count)


def _joined(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    """Handle a concatenation at a position along its dimension: it reads one operand."""
    if at is None or at[0] != (joined := integer(operation, "dimension")):
        return None
    found = part_at(operation.operands, joined, at[1])
    return found and _progression(found[0], (joined, found[1]), known)


def _same(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    return _progression(operation.operands[0], at, known)


def _all(operation: Operation, at: _Slice, known: _Known) -> list[Progression] | None:
    """Return the progressions of all operands, `None` if one has none.

    Operands of rank 0 are broadcast.
    """
    found = [
        _progression(operand, at if shape(operand) else None, known)
        for operand in operation.operands
    ]
    kept = [each for each in found if each is not None]
    return kept if len(kept) == len(found) else None


def _sum(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    pair = _all(operation, at, known)
    if pair is None:
        return None
    left, right = pair
    if operation.name == "stablehlo.subtract":
        right = replace(right, first=-right.first, step=-right.step)
    if None not in (left.dimension, right.dimension) and left.dimension != right.dimension:
        return None
    along = right if left.dimension is None else left
    return replace(along, first=left.first + right.first, step=left.step + right.step)


def _product(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    pair = _all(operation, at, known)
    if pair is None:
        return None
    number, other = sorted(pair, key=lambda each: each.dimension is not None)
    if number.dimension is not None:
        return None
    return replace(other, first=number.first * other.first, step=number.first * other.step)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {"GE": ge, "GT": gt, "LE": le, "LT": lt}


def _compare(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    """Handle a comparison that is constant: all pairs of extreme numbers give the same result."""
    pair = _all(operation, at, known)
    compare = _COMPARISONS.get(word(operation, "comparison_direction"))
    if pair is None or compare is None:
        return None
    left, right = pair
    answers = {compare(a, b) for a in (left.least, left.most) for b in (right.least, right.most)}
    return Progression(int(answers.pop())) if len(answers) == 1 else None


def _select(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    chosen = operation.operands[0]
    found = _progression(chosen, at if shape(chosen) else None, known)
    if found is None:
        return None
    return _progression(operation.operands[1 if found.first else 2], at, known)


def _lower(one: Progression, other: Progression) -> tuple[Progression, Progression] | None:
    """Return both in order if one is nowhere above the other, else `None`."""
    low, high = sorted((one, other), key=lambda each: (each.least, each.most))
    return (low, high) if low.most <= high.least else None


def _bound(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    pair = _all(operation, at, known)
    ordered = None if pair is None else _lower(*pair)
    if ordered is None:
        return None
    return ordered[1 if operation.name == "stablehlo.maximum" else 0]


def _clamp(operation: Operation, at: _Slice, known: _Known) -> Progression | None:
    """Handle a clamp: the minimum of the upper bound and the maximum with the lower bound."""
    found = _all(operation, at, known)
    if found is None:
        return None
    raised = _lower(found[0], found[1])
    lowered = None if raised is None else _lower(raised[1], found[2])
    return None if lowered is None else lowered[0]


_RULES: dict[str, Callable[[Operation, _Slice, _Known], Progression | None]] = {
    "stablehlo.constant": _constant,
    "stablehlo.iota": _iota,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": _reshape,
    "stablehlo.transpose": _transpose,
    "stablehlo.slice": _slice,
    "stablehlo.concatenate": _joined,
    "stablehlo.convert": _same,
    "sdy.sharding_constraint": _same,
    "stablehlo.add": _sum,
    "stablehlo.subtract": _sum,
    "stablehlo.multiply": _product,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.maximum": _bound,
    "stablehlo.minimum": _bound,
    "stablehlo.clamp": _clamp,
}
