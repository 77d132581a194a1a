"""Choose hints for LLVM's loop passes from the `ast` of a kernel."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

LoopHint = tuple[str] | tuple[str, int]
"""The name of a hint, and its number if it has one."""

_NOT_UNROLLED: LoopHint = ("llvm.loop.unroll.disable",)

_LONG = frozenset({"exp", "log", "tanh", "erf", "maximumf", "minimumf"})
"""Operations that are long dependence chains: vectorised loops interleave several of them."""

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
    loops = _loops(body)
    if loops:
        return [_NOT_UNROLLED] if any(map(_stays, loops)) else []
    hints: list[LoopHint] = []
    if chains := _long_chains(body):
        hints.append(("llvm.loop.interleave.count", max(1, _INTERLEAVED // chains)))
    if _is_short_row(bounds, body, assignments):
        hints.append(_NOT_UNROLLED)
    return hints


def has_loop(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements contain a loop."""
    return bool(_loops(body))


def stores(body: Sequence[ast.stmt]) -> Counter[str]:
    """Count the assignments to each variable."""
    return Counter(
        node.id
        for each in _statements(body)
        for target in _targets(each)
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def _targets(statement: ast.stmt) -> Sequence[ast.expr]:
    match statement:
        case ast.Assign(targets):
            return targets
        case ast.AugAssign(target) | ast.For(target):
            return (target,)
        case _:
            return ()


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those nested in them; `ast.walk` would visit all expressions, too."""
    for each in body:
        yield each
        if isinstance(each, ast.For | ast.While | ast.If):
            yield from _statements(each.body)
            yield from _statements(each.orelse)


def _long_chains(body: Sequence[ast.stmt]) -> int:
    """Return how often an innermost loop calls one primitive of a `_LONG` operation, at most."""
    called = Counter(
        node.func.id
        for each in body
        for node in ast.walk(each)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    counts = (count for name, count in called.items() if name.partition("_")[0] in _LONG)
    return max(counts, default=0)


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
        and all(count == assignments[name] for name, count in stores(body).items())
    )


def _loops(body: Sequence[ast.stmt]) -> list[ast.For | ast.While]:
    return [each for each in _statements(body) if isinstance(each, ast.For | ast.While)]


def _stays(loop: ast.For | ast.While) -> bool:
    """Whether LLVM does not unroll a loop fully.

    Then unrolling the one around it gains nothing: it copies this one, which takes most of the
    time, and each copy is compiled.
    """
    if isinstance(loop, ast.While):
        return True
    if not isinstance(loop.iter, ast.Call):
        return False
    turns = _turns(loop.iter.args)
    return turns is None or turns >= _SHORT.start


def _turns(bounds: Sequence[ast.expr]) -> int | None:
    """Return the trip count of a loop with constant bounds and a step of 1."""
    match bounds:
        case [ast.Constant(int(stop))]:
            return stop
        case [ast.Constant(int(start)), ast.Constant(int(stop))]:
            return stop - start
        case _:
            return None
