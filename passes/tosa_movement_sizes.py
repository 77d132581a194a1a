"""How large the results of `tosa` operations are that move, join, cut or look up elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import OpResult, SSAValue

from ..ir.locations import builder_before
from .sharding.rules.builder import integer
from .sharding.rules.tosa_shapes import constant_shape
from .tosa_window_sizes import scaled

if TYPE_CHECKING:
    from .dimension_sizes import DimensionSizes

Size: TypeAlias = SSAValue | int
Rule = Callable[["DimensionSizes", OpResult, int], Size | None]


def _argmax(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """The searched dimension is left out."""
    axis = integer(value.op, "axis")
    return None if axis is None else sizes.size(value.op.operands[0], index + (index >= axis))


def _concat(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    operands = value.op.operands
    if integer(value.op, "axis") != index:
        return sizes.size(operands[0], index)
    total: SSAValue | None = None
    known = 0
    for operand in operands:
        size = sizes.size(operand, index)
        if isinstance(size, int):
            known += size
        elif total is None:
            total = size
        else:
            total = builder_before(value.op).insert(AddiOp(total, size)).result
    return known if total is None else scaled(sizes, value, total, 1, known, 1)


def _gather(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Batch and channels are the table's, rows those of the indices."""
    return sizes.size(value.op.operands[1 if index == 1 else 0], index)


def _pad(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    widths = constant_shape(value.op, 1)
    if widths is None:
        return None
    added = sum(widths[2 * index : 2 * index + 2])
    return scaled(sizes, value, sizes.size(value.op.operands[0], index), 1, added, 1)


def _reshape(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """The only extent that is not known holds what the others leave of all elements."""
    result, divisor, factor = value.type, 1, 1
    if not isinstance(result, TensorType):
        return None
    for place, extent in enumerate(result.get_shape()):
        if place != index:
            divisor *= extent
            if extent == DYNAMIC_INDEX:
                return None
    unknown: SSAValue | None = None
    for size in sizes.sizes(value.op.operands[0]):
        if isinstance(size, int):
            factor *= size
        elif unknown is None:
            unknown = size
        else:
            return None
    if divisor == 0:
        return 0
    return scaled(sizes, value, 1 if unknown is None else unknown, factor, 0, divisor)


def _slice(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    del sizes
    lengths = constant_shape(value.op, 2)
    return None if lengths is None or lengths[index] < 0 else lengths[index]


def _source(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[0], index)


def _tile(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    multiples = constant_shape(value.op, 1)
    if multiples is None:
        return None
    return scaled(sizes, value, sizes.size(value.op.operands[0], index), multiples[index], 0, 1)


TOSA_MOVEMENT_SIZES: dict[str, Rule] = {
    "tosa.argmax": _argmax,
    "tosa.concat": _concat,
    "tosa.gather": _gather,
    "tosa.pad": _pad,
    "tosa.reshape": _reshape,
    "tosa.scatter": _source,
    "tosa.slice": _slice,
    "tosa.table": _source,
    "tosa.tile": _tile,
}
"""Where the sizes of a result are, by operation."""
