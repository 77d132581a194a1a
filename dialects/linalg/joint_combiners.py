"""Recognise reductions whose results combine jointly, such as a maximum and its index.

In such a body each result is either its accumulator or a candidate, chosen by comparisons between
the two: `select(a > b, a, b)` and `select(a > b, i, j)`. The outcome depends only on the order of
the numbers of each result. So the body is evaluated on all pairs and triples of a few numbers,
including NaN. It can be split if it is associative, and if the initial value may take part again
without changing the result. Shards are combined in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import isnan, nan

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.attribute_access import integer
from ...tiling.element_types import INDEX_BITS
from ..arith.canonicalization import evaluate
from .structured_view import StructuredView

MANY = 3
"""Maximum number of results; with more there are too many triples to evaluate."""

_FLOATS = (nan, 0.0, 1.0, 2.0)
_INTEGERS = (-1, 0, 1)
"""Enough numbers to realise every order of three; as unsigned numbers, -1 is the largest."""

_BIT = IntegerType(1)

Number = float | int
Numbers = tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class JointCombiner:
    """The combination of the partial results of all results of a reduction.

    `operations` compute `results` from `accumulators` and `candidates`, of which there is one per
    result. Candidates are computed from elements and loop indices alone.
    """

    candidates: tuple[SSAValue, ...]
    accumulators: tuple[SSAValue, ...]
    operations: tuple[Operation, ...]
    results: tuple[SSAValue, ...]


def joint_combiner(view: StructuredView) -> JointCombiner | None:
    """Return the joint combiner of a reduction's body; `None` if it is not known to be one."""
    terminator = view.body.last_op
    count = len(view.outputs)
    loops = [kind for kind in view.iterators if kind.name == "REDUCTION"]
    if terminator is None or not 1 < count <= MANY or len(loops) != 1:
        # With several reduction loops, the order of shards is not that of the elements.
        return None
    accumulators = tuple(view.body.args[len(view.inputs) :])
    results = tuple(terminator.operands)
    found = _combining(view.body, accumulators, results)
    return found if found is not None and _splits(found) else None


def _combining(
    body: Block, accumulators: tuple[SSAValue, ...], results: tuple[SSAValue, ...]
) -> JointCombiner | None:
    candidates: list[SSAValue] = []
    dependent: set[SSAValue] = set(accumulators)
    operations: list[Operation] = []
    for operation in body.ops:
        if operation is not body.last_op and not dependent.isdisjoint(operation.operands):
            dependent.update(operation.results)
            operations.append(operation)
    for accumulator, result in zip(accumulators, results, strict=True):
        chosen = _chosen(result, accumulator, dependent)
        if chosen is None or not isinstance(accumulator.type, AnyFloat | IntegerType):
            return None
        candidates.append(chosen)
    # Comparisons of candidates alone, such as `x != x`, belong to the combination as well.
    known = {*accumulators, *candidates}
    needed: list[Operation] = []
    for operation in body.ops:
        if operation.name in _EVALUATED and known.issuperset(operation.operands):
            known.update(operation.results)
            needed.append(operation)
    if not known.issuperset(results) or not set(operations) <= set(needed):
        return None
    pairs = [set(pair) for pair in zip(accumulators, candidates, strict=True)]
    if not all(_is_within(operation, pairs, results) for operation in needed):
        return None
    return JointCombiner(tuple(candidates), accumulators, tuple(needed), results)


def _is_within(
    operation: Operation, pairs: list[set[SSAValue]], results: tuple[SSAValue, ...]
) -> bool:
    """Return whether an operation compares numbers of one result, or combines conditions."""
    if operation.name == "arith.select":
        return operation.results[0] in results or operation.results[0].type == _BIT
    if operation.name in _COMPARING:
        return any(pair.issuperset(operation.operands) for pair in pairs)
    return True


def _chosen(result: SSAValue, accumulator: SSAValue, dependent: set[SSAValue]) -> SSAValue | None:
    """Return the alternative to the accumulator in a result, or `None`."""
    owner = result.owner
    if not isinstance(owner, Operation) or not (
        owner.name == "arith.select" or owner.name in _LARGER
    ):
        return None
    others = [value for value in owner.operands[-2:] if value is not accumulator]
    return others[0] if len(others) == 1 and others[0] not in dependent else None


def _splits(combiner: JointCombiner) -> bool:
    """Return whether shards may be reduced separately and then combined.

    Each shard starts from the initial value. With `f` for the body, `s` for an initial value, and
    `a` and `b` for values reachable from it, this requires `f(a, s) = a` and `f(a, f(b, x)) =
    f(f(a, b), x)`.
    """
    domains = [
        _FLOATS if isinstance(value.type, AnyFloat) else _INTEGERS
        for value in combiner.accumulators
    ]
    items = [tuple(map(_plain, numbers)) for numbers in product(*domains)]
    table: dict[tuple[Numbers, Numbers], Numbers] = {}
    for held, given in product(items, items):
        found = _evaluate(combiner, held, given)
        if found is None:
            return False
        table[held, given] = found
    for start in items:
        reached = _reached(start, items, table)
        if any(table[a, start] != a for a in reached) or any(
            table[a, table[b, x]] != table[table[a, b], x]
            for a, b, x in product(reached, reached, items)
        ):
            return False
    return True


def _reached(
    start: Numbers, items: list[Numbers], table: dict[tuple[Numbers, Numbers], Numbers]
) -> list[Numbers]:
    """Return all values that the reduction can reach from an initial value."""
    found = {start: None}
    pending = [start]
    while pending:
        held = pending.pop()
        for item in items:
            result = table[held, item]
            if result not in found:
                found[result] = None
                pending.append(result)
    return list(found)


class _NotANumber(float):
    """A NaN that is equal to itself, so that results can be compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NotANumber)

    def __hash__(self) -> int:
        return 0


_NAN = _NotANumber(nan)


def _plain(number: Number) -> Number:
    return _NAN if isnan(number) else number


def _evaluate(combiner: JointCombiner, held: Numbers, given: Numbers) -> Numbers | None:
    """Evaluate the combination on numbers; `None` for an unsupported operation."""
    values: dict[SSAValue, Number] = dict(zip(combiner.accumulators, held, strict=True))
    values |= dict(zip(combiner.candidates, given, strict=True))
    for operation in combiner.operations:
        operands = [values[operand] for operand in operation.operands]
        found = _EVALUATED[operation.name](operation, operands)
        if found is None:
            return None
        values[operation.results[0]] = found
    return tuple(_plain(values[result]) for result in combiner.results)


_EQUAL, _GREATER, _LESS = 1, 2, 4
_ORDERS = (*range(8), *range(1, 7), 0, 7)
"""The orders of two numbers for which each predicate of floats holds; from 8 on, it holds for NaN.
"""


def _compare_floats(operation: Operation, operands: list[Number]) -> Number:
    predicate, (left, right) = integer(operation, "predicate"), operands
    if isnan(left) or isnan(right):
        return int(predicate >= 8)
    order = _EQUAL if left == right else _GREATER if left > right else _LESS
    return int(bool(_ORDERS[predicate] & order))


def _compute_integer(operation: Operation, operands: list[Number]) -> Number | None:
    return evaluate(operation, [int(operand) for operand in operands], INDEX_BITS)


def _on_bits(
    combine: Callable[[bool, bool], bool],
) -> Callable[[Operation, list[Number]], Number | None]:
    def evaluate(operation: Operation, operands: list[Number]) -> Number | None:
        is_bit = operation.results[0].type == _BIT
        return combine(bool(operands[0]), bool(operands[1])) if is_bit else None

    return evaluate


def _unless_nan(
    choose: Callable[[Number, Number], Number],
) -> Callable[[Operation, list[Number]], Number]:
    return lambda _, operands: nan if any(map(isnan, operands)) else choose(*operands)


def _without_nan(
    choose: Callable[[Number, Number], Number],
) -> Callable[[Operation, list[Number]], Number]:
    def evaluate(_: Operation, operands: list[Number]) -> Number:
        numbers = [number for number in operands if not isnan(number)]
        return choose(*numbers) if len(numbers) == 2 else next(iter(numbers), nan)

    return evaluate


_LARGER: dict[str, Callable[[Operation, list[Number]], Number | None]] = {
    "arith.maximumf": _unless_nan(max),
    "arith.minimumf": _unless_nan(min),
    "arith.maxnumf": _without_nan(max),
    "arith.minnumf": _without_nan(min),
    "arith.maxsi": _compute_integer,
    "arith.minsi": _compute_integer,
}
"""Operations that return one of their operands."""

_EVALUATED: dict[str, Callable[[Operation, list[Number]], Number | None]] = {
    **_LARGER,
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compute_integer,
    "arith.select": lambda _, operands: operands[1] if operands[0] else operands[2],
    "arith.andi": _on_bits(lambda a, b: a & b),
    "arith.ori": _on_bits(lambda a, b: a | b),
    "arith.xori": _on_bits(lambda a, b: a ^ b),
}

_COMPARING = frozenset({*_LARGER, "arith.cmpf", "arith.cmpi"})
