"""How large the results of `tosa` operations are: broadcasts, reductions and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.arith import MaxSIOp
from xdsl.dialects.builtin import TensorType
from xdsl.ir import OpResult, SSAValue

from ..ir.attribute_access import attribute, number_list
from ..ir.locations import builder_before

if TYPE_CHECKING:
    from .dimension_sizes import DimensionSizes

Size: TypeAlias = SSAValue | int
Rule = Callable[["DimensionSizes", OpResult, int], Size | None]


def _broadcast(count: int) -> Rule:
    """The common size of the first operands, of which some may have one element instead."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
        found: Size = 1
        for operand in value.op.operands[:count]:
            if not isinstance(operand.type, TensorType):
                continue
            size = sizes.size(operand, index)
            if size in (1, found):
                continue
            if isinstance(size, int) or found == 1:
                found = size
            elif isinstance(found, SSAValue):
                builder = builder_before(value.op)
                found = builder.insert(MaxSIOp(found, size)).result
        return found

    return rule


def _like_source(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[0], index)


def _product(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[1 if index == 2 else 0], index)


def _transposed(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    order = number_list(attribute(value.op, "perms"))
    return sizes.size(value.op.operands[0], order[index]) if index < len(order) else None


UNARY = (
    "abs bitwise_not cast ceil clamp clz cos erf exp floor identity log logical_not negate"
    " reciprocal rescale reverse rsqrt sigmoid sin tanh"
)
BINARY = (
    "add arithmetic_right_shift bitwise_and bitwise_or bitwise_xor equal greater greater_equal"
    " intdiv logical_and logical_left_shift logical_or logical_right_shift logical_xor maximum"
    " minimum mul pow sub"
)
REDUCTIONS = "all any max min product sum"

TOSA_SIZES: dict[str, Rule] = {
    **{f"tosa.{name}": _like_source for name in UNARY.split()},
    **{f"tosa.{name}": _broadcast(2) for name in BINARY.split()},
    **{f"tosa.reduce_{name}": _like_source for name in REDUCTIONS.split()},
    "tosa.matmul": _product,
    "tosa.select": _broadcast(3),
    "tosa.transpose": _transposed,
}
"""Where the sizes of a result are, by operation; a reduced dimension has a size in the type."""
