"""Recognise running reductions: nests whose element `i` combines the terms 0 to `i`, in order.

    %j, %i = linalg.index 2, linalg.index 1          # `%j` is a reduction
    %held = arith.select (%j == 0), %start, %result
    %new = arith.addf %held, %term
    %r = arith.select (%j <= %i), %new, %held        # `<` if element `i` leaves out term `i`
    linalg.yield %r

From the last term on, a running reduction reads term `n - 1 - %j` and compares `%j` with
`n - 1 - %i`.

Run as written, the nest takes `n * n` steps. One pass over the terms computes the same numbers, in
the same order: it stores what it has combined so far at each place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...ir.attribute_access import constant_integer, integer
from ...ir.locations import made_by
from .structured_view import StructuredView

_ORDERS = {(0, 3): True, (1, 5): True, (0, 2): False, (1, 4): False}
"""Whether term `i` counts, by the place of `%j` among the operands and `arith.cmpi`'s predicate:
`<=`, or `>=` with exchanged operands, and `<` or `>`.
"""


@dataclass(frozen=True, slots=True)
class RunningNest:
    """The parts of a running reduction.

    - `place`, `term`: the loop over the places of the results, and that over the terms;
    - `is_inclusive`: whether a place combines its own term;
    - `is_reversed`: whether term 0 belongs to the last place;
    - `starts`: what precedes the first term, for each result;
    - `held`: what a step has combined so far; the body computes it by a choice;
    - `operations`: the operations of a step that compute `combined` of `held` and the term.
    """

    place: int
    term: int
    is_inclusive: bool
    is_reversed: bool
    starts: tuple[SSAValue, ...]
    held: tuple[SSAValue, ...]
    operations: tuple[Operation, ...]
    combined: tuple[SSAValue, ...]


def running_nest(view: StructuredView) -> RunningNest | None:
    """Return the parts of a running reduction; `None` for another nest."""
    last = view.body.last_op
    if last is None or len(view.reduction_loops) != 1:
        return None
    (term,), same = view.reduction_loops, set(view.output_maps)
    chosen = [made_by(each, "arith.select") for each in last.operands]
    found = [each for each in chosen if each is not None]
    conditions = {each.operands[0] for each in found}
    if len(found) != len(chosen) or len(same) != 1 or len(conditions) != 1:
        return None
    order = _order(conditions.pop(), term)
    if order is None:
        return None
    place, is_inclusive, last_place, ordering = order
    choices = [made_by(each.operands[2], "arith.select") for each in found]
    firsts = [each for each in choices if each is not None]
    if len(firsts) != len(choices) or not all(_is_first(each, term) for each in firsts):
        return None
    accumulators = tuple(view.body.args[len(view.inputs) :])
    left_out = {*found, *firsts, *(each.operands[0].owner for each in firsts), *ordering, last}
    operations = tuple(each for each in view.body.ops if each not in left_out)
    running = RunningNest(
        *(place, term, is_inclusive, last_place is not None),
        tuple(each.operands[1] for each in firsts),
        tuple(each.results[0] for each in firsts),
        operations,
        tuple(each.operands[1] for each in found),
    )
    is_held = all(
        each.operands[2] is accumulator and accumulator.has_one_use()
        for each, accumulator in zip(firsts, accumulators, strict=True)
    )
    used = {value for each in operations for inner in each.walk() for value in inner.operands}
    hidden = {value for each in view.body.ops if each in left_out for value in each.results}
    if not used.isdisjoint(hidden.difference(running.held)):
        return None
    is_whole = last_place in (None, (view.loop_sizes()[place] or 0) - 1)
    return running if is_held and is_whole and _has_loops(view, running) else None


def _has_loops(view: StructuredView, running: RunningNest) -> bool:
    """Return whether only results depend on the place, and starts on no loop of the two."""
    sizes, output_map = view.loop_sizes(), view.output_maps[0]
    loops = [each.position for each in output_map.results if isinstance(each, AffineDimExpr)]
    kept = set(range(len(view.iterators))) - {running.term}
    inputs: dict[SSAValue, AffineMap] = dict(zip(view.body.args, view.input_maps, strict=False))
    return (
        sizes[running.place] == sizes[running.term] is not None
        and set(loops) == kept
        and len(loops) == len(output_map.results)
        and not any(running.place in each.used_dims() for each in view.input_maps)
        and not any(_loop_of(each) == running.place for each in running.operations)
        and all(
            each in inputs and running.term not in inputs[each].used_dims()
            for each in running.starts
        )
    )


def _order(
    condition: SSAValue, term: int
) -> tuple[int, bool, int | None, Sequence[Operation]] | None:
    """Return the loop over places, whether they include their terms, and the operations of a test.

    If places are counted from behind, the third number is the last one.
    """
    comparison = made_by(condition, "arith.cmpi")
    if comparison is None:
        return None
    owners = [each.owner for each in comparison.operands]
    number = next((i for i, each in enumerate(owners) if _loop_of(each) == term), 0)
    index, last = comparison.operands[1 - number], None
    difference = made_by(index, "arith.subi")
    if difference is not None:
        last, index = constant_integer(difference.operands[0]), difference.operands[1]
    place = _loop_of(index.owner)
    is_inclusive = _ORDERS.get((number, integer(comparison, "predicate")))
    is_known = _loop_of(owners[number]) == term != place and (last is None) == (difference is None)
    if place is None or is_inclusive is None or not is_known:
        return None
    operations = (comparison, difference, made_by(index, "linalg.index"))
    return place, is_inclusive, last, [each for each in operations if each is not None]


def _is_first(choice: Operation, term: int) -> bool:
    """Return whether a choice takes its first value at term 0 only."""
    comparison = made_by(choice.operands[0], "arith.cmpi")
    if comparison is None or integer(comparison, "predicate") != 0:
        return False
    index, zero = comparison.operands
    return _loop_of(index.owner) == term and constant_integer(zero) == 0


def _loop_of(owner: Operation | Block) -> int | None:
    """Return the loop whose index an operation returns, `None` for another operation."""
    if not isinstance(owner, Operation) or owner.name != "linalg.index":
        return None
    return integer(owner, "dim")
