"""Rules of `tosa` operations: elementwise, reductions, products, and data movement."""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.tosa.operation_kinds import (
    ELEMENTWISE,
    LEADING_OPERANDS,
    REDUCTIONS,
    constant_numbers,
)
from ....ir.attribute_access import optional_integer, optional_integers
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorRule
from .builder import elementwise_rule, labelled_rule, same_rank_rule
from .registry import sharding_rule

sharding_rule(*(f"tosa.{name}" for name in ELEMENTWISE))(elementwise_rule)


@sharding_rule(*(f"tosa.{name}" for name in LEADING_OPERANDS))
def elementwise_with_parameters(operation: Operation) -> FactorRule | None:
    """Return the elementwise rule of the leading operands, and of per-channel parameters."""
    count = LEADING_OPERANDS[operation.name.removeprefix("tosa.")]
    per_channel = operation.name == "tosa.rescale" and optional_integer(operation, "per_channel")
    return elementwise_rule(operation, count, per_channel=(1, 2) if per_channel else ())


@sharding_rule(*(f"tosa.reduce_{name}" for name in REDUCTIONS))
def reduce(operation: Operation) -> FactorRule | None:
    """Return the rule of a reduction of dimension `axis` to extent 1; others pass through."""
    axis, dimensions = _axis_and_dimensions(operation)
    kept = [None if each == axis else each for each in dimensions]
    if axis not in dimensions:
        return None
    return labelled_rule(operation, [dimensions], [kept], reduced={axis})


def _axis_and_dimensions(operation: Operation) -> tuple[int | None, range]:
    """Return the attribute `axis`, and the dimensions of the first operand."""
    rank = len(tensor_shape(operation.operands[0]) or ())
    return optional_integer(operation, "axis"), range(rank)


@sharding_rule("tosa.matmul")
def matmul(operation: Operation) -> FactorRule | None:
    """Return the rule of a batched product; zero points are needed whole."""
    return labelled_rule(operation, ("bmk", "bkn"), ("bmn",), reduced="k")


@sharding_rule("tosa.transpose")
def transpose(operation: Operation) -> FactorRule | None:
    """Return the rule of a transpose: dimension `d` of the result is dimension `perms[d]`."""
    order = optional_integers(operation, "perms")
    return None if order is None else labelled_rule(operation, [sorted(order)], [order])


@sharding_rule("tosa.pad")
def pad(operation: Operation) -> FactorRule | None:
    """Return the rule of padding: padded dimensions are shifted, others pass through."""
    padding = constant_numbers(operation.operands[1])
    rank = len(tensor_shape(operation.operands[0]) or ())
    if padding is None or len(padding) != 2 * rank:
        return same_rank_rule(operation, [False] * rank)
    passes = [not any(padding[2 * d : 2 * d + 2]) for d in range(rank)]
    return same_rank_rule(operation, passes, [(-low, 1) for low in padding[::2]])


@sharding_rule("tosa.slice")
def slice_(operation: Operation) -> FactorRule | None:
    """Return the rule of a slice: dimensions that it does not cover completely are shifted."""
    shape, starts = tensor_shape(operation.operands[0]), constant_numbers(operation.operands[1])
    result = tensor_shape(operation.results[0])
    if shape is None or result is None:
        return None
    if starts is None or None in result:
        return same_rank_rule(operation, [False] * len(shape))
    passes = [
        start == 0 and before is not None and before == after
        for start, before, after in zip(starts, shape, result, strict=True)
    ]
    return same_rank_rule(operation, passes, [(start, 1) for start in starts])


@sharding_rule("tosa.tile")
def tile(operation: Operation) -> FactorRule | None:
    """Return the rule of a tiling: dimensions that are not repeated pass through."""
    shape, multiples = tensor_shape(operation.operands[0]), constant_numbers(operation.operands[1])
    if shape is None:
        return None
    return same_rank_rule(operation, [multiple == 1 for multiple in multiples or (0,) * len(shape)])


@sharding_rule("tosa.reverse")
def reverse(operation: Operation) -> FactorRule | None:
    """Return the rule of a reversal: one dimension is permuted, others pass through."""
    shape, axis = tensor_shape(operation.operands[0]), optional_integer(operation, "axis")
    if shape is None or axis is None:
        return None
    reads = [None if size is None else (size - 1, -1) for size in shape]
    return same_rank_rule(operation, [d != axis for d in range(len(shape))], reads)


@sharding_rule("tosa.argmax")
def argmax(operation: Operation) -> FactorRule | None:
    """Return the rule of an argmax: the searched dimension is needed whole, and dropped."""
    axis, dimensions = _axis_and_dimensions(operation)
    kept = [each for each in dimensions if each != axis]
    if axis not in dimensions:
        return None
    return labelled_rule(operation, [dimensions], [kept], whole={axis})


@sharding_rule("tosa.gather")
def gather(operation: Operation) -> FactorRule | None:
    """Return the rule of a look-up of rows in a table for each batch."""
    return labelled_rule(operation, ("ntc", "nw"), ("nwc",), whole="t")


@sharding_rule("tosa.scatter")
def scatter(operation: Operation) -> FactorRule | None:
    """Return the rule of writes of rows to a table for each batch."""
    return labelled_rule(operation, ("ntc", "nw", "nwc"), ("ntc",), whole="tw")


@sharding_rule("tosa.resize")
def resize(operation: Operation) -> FactorRule | None:
    """Return the rule of a resize: images are needed whole, as windows depend on an operand."""
    return labelled_rule(operation, ("nhwc",), ("nyxc",), whole="hwyx")
