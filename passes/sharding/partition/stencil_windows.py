"""Compute what a process reads beyond its own shard when a loop of a stencil is split.

A dimension read at `3 * i + 2 * k + 1` with `i` split needs, for iterations [a, b) of `i`, the
elements from `3 * a + 1` to the last that `k` reaches from `b - 1`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ....dialects.linalg.structured_view import structured_view
from ....ir.index import IndexOrInt
from ....ir.linear_forms import Linear, linear
from ....sharding.factors import FactorKind, Window
from ....sharding.local_shape import core_size
from ....sharding.sharding import Sharding
from .fetch_sections import Interval, Section, fetch_sections
from .partitioner import OpSharding
from .shifted_operands import rule_windows


@dataclass(frozen=True, slots=True)
class SummedLoops:
    """A dimension read at a linear combination of loops, of which `leading` is split."""

    dimension: int
    leading: int
    form: Linear
    known: Window | None
    """The window in the operation's rule; `None` if sizes are unknown."""


def summed_loops_of(chosen: OpSharding, index: int) -> list[SummedLoops]:
    """Return the dimensions of an input that are read at a split loop combined with other loops."""
    view = structured_view(chosen.operation)
    if view is None:
        return []
    found: list[SummedLoops] = []
    indexing = view.maps[index]
    for dimension, (expression, factors) in enumerate(
        zip(indexing.results, chosen.rule.operands[index], strict=True)
    ):
        if isinstance(expression, AffineDimExpr) or len(factors) != 1:
            continue
        form = linear(expression)
        if form is None or not chosen.axes(factors[0]):
            continue
        if chosen.rule.factors[factors[0]].kind is FactorKind.PASS_THROUGH:
            # The other loops have one iteration each, so a process reads only its own shard.
            continue
        known = rule_windows(chosen, index).get(dimension)
        found.append(SummedLoops(dimension, factors[0], form, known))
    return found


def local_maps(chosen: OpSharding) -> dict[str, Attribute]:
    """Return the properties of the local copy, with indexing maps relative to its sections."""
    properties = dict(chosen.operation.properties)
    view = structured_view(chosen.operation)
    if view is None or "indexing_maps" not in properties:
        return properties
    maps = list(view.maps)
    for index, indexing in enumerate(maps[: len(view.inputs)]):
        results = list(indexing.results)
        for window in summed_loops_of(chosen, index):
            results[window.dimension] = _from_section(chosen, window)
        maps[index] = AffineMap(indexing.num_dims, indexing.num_symbols, tuple(results))
    if tuple(maps) != view.maps:
        properties["indexing_maps"] = ArrayAttr([AffineMapAttr(each) for each in maps])
    return properties


def _from_section(chosen: OpSharding, window: SummedLoops) -> AffineExpr:
    """Return a window's index expression relative to the lowest index that it reads."""
    expression: AffineExpr | None = None
    constant = 0
    for loop, coefficient in window.form.coefficients.items():
        if coefficient < 0:
            # Loops with a negative coefficient are split evenly.
            size = core_size(chosen.rule.factors[loop].size, chosen.loop_sharding(loop), 0)
            assert size is not None
            constant -= coefficient * (size - 1)
        term = AffineExpr.dimension(loop)
        term = term if coefficient == 1 else term * coefficient
        expression = term if expression is None else expression + term
    assert expression is not None
    return expression + constant if constant else expression


def loop_start(chosen: OpSharding, loop: int) -> IndexOrInt:
    """Return where this process's part of a loop begins."""
    return _loop_interval(chosen, loop)[0]


def _loop_interval(chosen: OpSharding, loop: int) -> tuple[IndexOrInt, IndexOrInt]:
    """Return where this process's part of a loop begins, and how many iterations it has."""
    size = loop_size(chosen, loop)
    return chosen.emitter.shard_interval(size, chosen.loop_sharding(loop), 0)


def loop_size(chosen: OpSharding, loop: int) -> IndexOrInt:
    """Return the number of iterations of a whole loop.

    Raises ValueError if the size is dynamic and no tensor has it as a dimension.
    """
    known = chosen.rule.factors[loop].size
    if known is not None:
        return known
    view = structured_view(chosen.operation)
    assert view is not None
    values = (*view.inputs, *view.outputs)
    for value, indexing in reversed(list(zip(values, view.maps, strict=True))):
        for dimension, expression in enumerate(indexing.results):
            if isinstance(expression, AffineDimExpr) and expression.position == loop:
                return chosen.partitioner.global_size(value, dimension)
    raise ValueError(f"loop {loop} of {chosen.operation.name} has no size")


def fetch_windows(
    chosen: OpSharding,
    original: SSAValue,
    sharding: Sharding,
    windows: list[SummedLoops],
) -> SSAValue:
    """Return the sections of an operand that this process's windows read."""
    sections = [
        Section(
            window.dimension,
            chosen.axes(window.leading),
            _known_windows(chosen, window),
            lambda value, window=window: _dynamic_window(chosen, value, window),
        )
        for window in windows
    ]
    return fetch_sections(chosen.partitioner, original, sharding, sections)


def _known_windows(chosen: OpSharding, window: SummedLoops) -> list[Interval] | None:
    """Return the interval that each part of the leading loop reads; `None` if unknown."""
    iterations = chosen.rule.factors[window.leading].size
    if window.known is None or iterations is None or not chosen.grid.is_static:
        return None
    return [window.known.read(*part) for part in chosen.loop_parts(window.leading)]


def _dynamic_window(
    chosen: OpSharding, value: SSAValue, window: SummedLoops
) -> tuple[IndexOrInt, IndexOrInt]:
    """Emit the start of the section in the whole dimension, and its length."""
    emitter = chosen.emitter
    start, iterations = _loop_interval(chosen, window.leading)
    stride = window.form.coefficients[window.leading]
    low: IndexOrInt = window.form.constant
    span: IndexOrInt = 1
    for loop, coefficient in window.form.coefficients.items():
        if loop != window.leading:
            last = emitter.subtract(loop_size(chosen, loop), 1)
            reach = emitter.multiply(last, abs(coefficient))
            span = emitter.add(span, reach)
            if coefficient < 0:
                low = emitter.subtract(low, reach)
    first = emitter.add(emitter.multiply(start, stride), low)
    length = emitter.add(emitter.multiply(emitter.subtract(iterations, 1), stride), span)
    # A process without iterations reads nothing, but its start must be within bounds.
    length = emitter.maximum(emitter.multiply(length, emitter.minimum(iterations, 1)), 0)
    room = emitter.subtract(emitter.dimension(value, window.dimension), length)
    return emitter.minimum(first, room), length
