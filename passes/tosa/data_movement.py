"""Convert the constants of TOSA, and operations that move elements."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.tosa.operation_kinds import constant_numbers
from ...ir.attribute_access import attribute, element_type, integer, integers
from ...ir.index import IndexOrInt
from ..stablehlo.data_movement.shapes import broadcast, reverse, transpose
from ..stablehlo.lowering.emitter import Emitter, dims
from .elementwise import Scalars
from .rules import only_element, tosa_rule


@tosa_rule("tosa.const")
def _const(e: Emitter, op: Operation) -> SSAValue | None:
    value = attribute(op, "values")
    if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        return None
    return e.insert(ConstantOp(cast(Any, value)))


@tosa_rule("tosa.identity")
def _identity(e: Emitter, op: Operation) -> SSAValue:
    return op.operands[0]


@tosa_rule("tosa.transpose")
def _transpose(e: Emitter, op: Operation) -> SSAValue:
    return transpose(e, op.operands[0], integers(op, "perms"))


@tosa_rule("tosa.reverse")
def _reverse(e: Emitter, op: Operation) -> SSAValue:
    return reverse(e, op.operands[0], [integer(op, "axis")])


@tosa_rule("tosa.concat")
def _concat(e: Emitter, op: Operation) -> SSAValue:
    return e.concatenate(op.operands, integer(op, "axis"))


@tosa_rule("tosa.reshape")
def _reshape(e: Emitter, op: Operation) -> SSAValue | None:
    source = op.operands[0]
    wanted = constant_numbers(op.operands[1])
    if wanted is None:
        return None
    count = e.product(e.sizes(source))
    rest = prod(size for size in wanted if size >= 0)
    if rest == 0 and -1 in wanted:
        return None
    return e.reshape(source, [e.divide(count, rest) if size < 0 else size for size in wanted])


@tosa_rule("tosa.slice")
def _slice(e: Emitter, op: Operation) -> SSAValue | None:
    source = op.operands[0]
    starts, lengths = map(constant_numbers, op.operands[1:])
    if starts is None or lengths is None:
        return None
    sizes = [
        e.subtract(size, start) if length < 0 else length
        for size, start, length in zip(e.sizes(source), starts, lengths, strict=True)
    ]
    return e.extract_slice(source, starts, sizes)


@tosa_rule("tosa.pad")
def _pad(e: Emitter, op: Operation) -> SSAValue | None:
    source, _, filler = op.operands
    widths = constant_numbers(op.operands[1])
    if widths is None:
        return None
    return e.pad(source, widths[::2], widths[1::2], only_element(e, filler))


@tosa_rule("tosa.tile")
def _tile(e: Emitter, op: Operation) -> SSAValue | None:
    """Repeat each dimension along a new one before it, and merge the two."""
    source = op.operands[0]
    times = constant_numbers(op.operands[1])
    if times is None:
        return None
    sizes = e.sizes(source)
    both = [each for pair in zip(times, sizes, strict=True) for each in pair]
    repeated = broadcast(e, source, both, range(1, len(both), 2))
    return e.reshape(repeated, [e.multiply(*pair) for pair in zip(times, sizes, strict=True)])


@tosa_rule("tosa.gather")
def _gather(e: Emitter, op: Operation) -> SSAValue:
    values, indices = op.operands
    sizes: list[IndexOrInt] = [*e.sizes(indices), e.size(values, 2)]
    empty = e.empty(sizes, element_type(values.type))

    def body(inner: Emitter, args: Scalars) -> Scalars:
        place = [inner.loop_index(0), inner.to_index(args[0]), inner.loop_index(2)]
        return [inner.element(values, place)]

    return e.loops([indices], [dims(0, 1, loops=3)], [empty], None, body)[0]
