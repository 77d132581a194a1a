"""Choose hints for LLVM's loop passes from the `ast` of a kernel."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

LoopHint = tuple[str] | tuple[str, int]
"""The name of a hint, and its number if it has one."""

_LONG = ("exp_", "log_", "tanh_", "erf_", "sigmoid_", "maximumf_", "minimumf_")
"""Primitives that are long dependence chains: vectorised loops interleave several of them."""

_INTERLEAVED = 4
"""The number of vectors that such a loop computes at once: of one chain, or of several."""

_SHORT = range(8, 65)
"""Trip counts of loops that LLVM would unroll although they fill vectors."""


def loop_hints(
    bounds: Sequence[ast.expr], body: Sequence[ast.stmt], assignments: Mapping[str, int]
) -> list[LoopHint]:
    """Return the hints of a `for` over `range(*bounds)`.

    `assignments` counts all assignments of the function to each variable.
    """
    hints: list[LoopHint] = []
    if chains := _long_chains(body):
        hints.append(("llvm.loop.interleave.count", max(1, _INTERLEAVED // chains)))
    if _is_short_row(bounds, body, assignments) or _keeps_loop(body):
        hints.append(("llvm.loop.unroll.disable",))
    return hints


def has_loop(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements contain a loop."""
    return any(isinstance(node, ast.For | ast.While) for each in body for node in ast.walk(each))


def stores(body: Sequence[ast.stmt]) -> Counter[str]:
    """Count the assignments to each variable."""
    return Counter(
        node.id
        for each in body
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def _long_chains(body: Sequence[ast.stmt]) -> int:
    """Return how often an innermost loop calls the same of the `_LONG` primitives, at most."""
    if has_loop(body):
        return 0
    called = Counter(
        node.func.id
        for each in body
        for node in ast.walk(each)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return max((count for name, count in called.items() if name.startswith(_LONG)), default=0)


def _is_short_row(
    bounds: Sequence[ast.expr], body: Sequence[ast.stmt], assignments: Mapping[str, int]
) -> bool:
    """Whether an innermost loop computes a few elements, each alone.

    Were it unrolled, LLVM would make vectors of the turns of the loop around it, whose elements
    do not lie side by side.
    """
    turns = _turns(bounds)
    return (
        turns is not None
        and turns in _SHORT
        and not has_loop(body)
        and all(count == assignments[name] for name, count in stores(body).items())
    )


def _keeps_loop(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop inside of this one stays a loop.

    Then unrolling gains nothing: it copies the inner loop, which takes most of the time, and each
    copy is compiled.
    """
    nodes = (node for each in body for node in ast.walk(each))
    return any(
        isinstance(node, ast.While)
        or (
            isinstance(node, ast.For)
            and isinstance(node.iter, ast.Call)
            and ((turns := _turns(node.iter.args)) is None or turns >= _SHORT.start)
        )
        for node in nodes
    )


def _turns(bounds: Sequence[ast.expr]) -> int | None:
    """Return the trip count of a loop with constant bounds and a step of 1."""
    match bounds:
        case [ast.Constant(int(stop))]:
            return stop
        case [ast.Constant(int(start)), ast.Constant(int(stop))]:
            return stop - start
        case _:
            return None
