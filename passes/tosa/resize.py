"""Convert `tosa.resize` to loops that read up to four elements of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import Operation, SSAValue

from ...dialects.tosa.operation_kinds import constant_numbers
from ...ir.attribute_access import text
from ...ir.index import IndexOrInt
from ..stablehlo.elementwise.conversions import convert
from ..stablehlo.lowering.element_types import Kind, operand_kind, result_kind
from ..stablehlo.lowering.emitter import Emitter, shape
from .elementwise import F32, I64, Scalars
from .rules import tosa_rule


@dataclass(frozen=True, slots=True)
class _Sampling:
    """Samples along a dimension: number `i` lies at `(i * step + offset) / parts`."""

    extent: int
    parts: int
    step: int
    offset: int

    def neighbours(self, e: Emitter, number: IndexOrInt) -> tuple[list[IndexOrInt], IndexOrInt]:
        """Return both neighbours of a sample, and its distance from the first, times `parts`."""
        # No offset is less than -parts, and indices are divided as unsigned numbers.
        place = e.add(e.multiply(number, self.step), self.offset + self.parts)
        low = e.add(e.divide(place, self.parts), -1)
        last = self.extent - 1
        both = [e.maximum(e.minimum(each, last), 0) for each in (low, e.add(low, 1))]
        return both, e.remainder(place, self.parts)


@tosa_rule("tosa.resize")
def _resize(e: Emitter, op: Operation) -> SSAValue | None:
    image, samplings = op.operands[0], _samplings(op)
    if samplings is None:
        return None
    batch, _, _, channels = e.sizes(image)
    counts = shape(op.results[0])[1:3]
    empty = e.empty([batch, *counts, channels], result_kind(op).type)
    weigh = _interpolated if "BILINEAR" in text(op, "mode").upper() else _nearest

    def body(inner: Emitter, args: Scalars) -> Scalars:
        around = [
            each.neighbours(inner, inner.loop_index(1 + i)) for i, each in enumerate(samplings)
        ]
        return [weigh(inner, op, samplings, around)]

    return e.loops([], [], [empty], None, body)[0]


def _samplings(op: Operation) -> list[_Sampling] | None:
    """Return the samplings of rows and columns; `None` if they are not known, or are wrong."""
    scale, offsets, borders = (constant_numbers(each) for each in op.operands[1:])
    extents, results = shape(op.operands[0])[1:3], shape(op.results[0])[1:3]
    if scale is None or offsets is None or borders is None or min(extents) < 1:
        return None
    found: list[_Sampling] = []
    pairs = (scale[:2], scale[2:])
    for extent, count, (parts, step), offset, border in zip(
        extents, results, pairs, offsets, borders, strict=True
    ):
        if parts < 1 or step < 1 or offset < -parts or border >= parts:
            return None
        reach = (extent - 1) * parts - offset + border
        if reach < 0 or reach != (count - 1) * step:
            return None
        found.append(_Sampling(extent, parts, step, offset))
    return found


Neighbours = Sequence[tuple[list[IndexOrInt], IndexOrInt]]


def _read(e: Emitter, op: Operation, row: IndexOrInt, column: IndexOrInt) -> SSAValue:
    return e.element(op.operands[0], [e.loop_index(0), row, column, e.loop_index(3)])


def _nearest(
    e: Emitter, op: Operation, samplings: Sequence[_Sampling], around: Neighbours
) -> SSAValue:
    """Read the nearest element; the later one if two are as near."""
    places: list[IndexOrInt] = []
    for sampling, ((low, high), distance) in zip(samplings, around, strict=True):
        twice = e.index(e.multiply(distance, 2))
        is_later = e.compare_integers("sge", twice, e.index(sampling.parts))
        places.append(e.select(is_later, e.index(high), e.index(low)))
    return _read(e, op, *places)


def _interpolated(
    e: Emitter, op: Operation, samplings: Sequence[_Sampling], around: Neighbours
) -> SSAValue:
    """Add the four neighbours, each times its weights; narrow floats in f32, integers in i64.

    The weights along a dimension add up to 1, those of integers to `parts`.
    """
    source = operand_kind(op)
    wide = I64 if source.name != "float" else F32 if source.is_narrow_float else source
    weights = [
        _weights(e, sampling, distance, wide)
        for sampling, (_, distance) in zip(samplings, around, strict=True)
    ]
    add, multiply = ("arith.addi", "arith.muli") if wide is I64 else ("arith.addf", "arith.mulf")
    total = e.constant(0, wide.type)
    (rows, _), (columns, _) = around
    for (row, height), (column, width) in product(
        zip(rows, weights[0], strict=True), zip(columns, weights[1], strict=True)
    ):
        term = convert(e, _read(e, op, row, column), source, wide)
        total = e.op(add, total, e.op(multiply, e.op(multiply, term, height), width))
    return convert(e, total, wide, result_kind(op))


def _weights(e: Emitter, sampling: _Sampling, distance: IndexOrInt, wide: Kind) -> Scalars:
    number = e.from_index(e.index(distance), I64.type)
    if wide is I64:
        return [e.op("arith.subi", e.constant(sampling.parts, I64.type), number), number]
    parts = e.constant(float(sampling.parts), wide.type)
    share = e.op("arith.divf", convert(e, number, I64, wide), parts)
    return [e.op("arith.subf", e.constant(1.0, wide.type), share), share]
