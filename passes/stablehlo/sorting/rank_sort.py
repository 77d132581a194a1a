"""Sort short dimensions stably: the rank of an element is the number of those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from ....ir.attribute_access import element_type
from ....ir.index import IndexOrInt
from ..lowering.emitter import Emitter, dims, shape

Less = Callable[[Emitter, Sequence[SSAValue], Sequence[SSAValue]], SSAValue]
"""Emits whether one tuple of elements, one of each key, comes before another."""


def ranks(
    e: Emitter,
    keys: Sequence[SSAValue],
    dimension: int,
    less: Less,
    *,
    are_unequal: bool = False,
    whole: Sequence[int] = (),
) -> SSAValue:
    """Return how many elements come before each one along a dimension: less, or equal and in front.

    With `are_unequal` there are no equal elements, which saves a comparison. Neither the dimension
    nor those of `whole` are split over devices.
    """
    rank = len(shape(keys[0]))
    sizes = e.sizes(keys[0])
    here = dims(*range(rank), loops=rank + 1)
    there = dims(*(rank if i == dimension else i for i in range(rank)), loops=rank + 1)
    count = len(keys)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        mine, others = args[:count], args[count : 2 * count]
        comes_before = less(inner, others, mine)
        if not are_unequal:
            is_more = less(inner, mine, others)
            in_front = inner.compare_integers(
                "slt", inner.loop_index(rank), inner.loop_index(dimension)
            )
            equal = inner.select(is_more, inner.constant(0, is_more.type), in_front)
            comes_before = inner.either(comes_before, equal)
        one = inner.op("arith.extui", comes_before, to=i64)
        return [inner.op("arith.addi", args[-1], one)]

    return e.loops(
        [*keys, *keys],
        [*[here] * count, *[there] * count],
        [e.fill(e.constant(0, i64), sizes)],
        [here],
        body,
        whole=(*whole, dimension, rank),
    )[0]


def placed(
    e: Emitter, value: SSAValue, found: SSAValue, dimension: int, whole: Sequence[int] = ()
) -> SSAValue:
    """Return a tensor with each element moved to its rank.

    Each element of the result is a reduction over all candidates, of which one matches. Neither the
    dimension nor those of `whole` are split over devices.
    """
    rank = len(shape(value))
    here = dims(*range(rank), loops=rank + 1)
    there = dims(*(rank if i == dimension else i for i in range(rank)), loops=rank + 1)
    sizes: list[IndexOrInt] = e.sizes(value)
    element = element_type(value.type)
    is_integer = isinstance(element, IntegerType)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_here = inner.compare_integers(
            "eq", args[1], inner.from_index(inner.loop_index(dimension), i64)
        )
        if not is_integer:
            return [inner.select(is_here, args[0], args[2])]
        # Unlike a select, a sum is vectorised.
        one = inner.select(is_here, args[0], inner.constant(0, element))
        return [inner.op("arith.addi", args[2], one)]

    return e.loops(
        [value, found],
        [there, there],
        [e.fill(e.constant(0, element), sizes)],
        [here],
        body,
        whole=(*whole, dimension, rank),
    )[0]
