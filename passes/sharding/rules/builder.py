"""Helpers with which the rules are written: shapes, attributes, and a builder of rules."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import attribute
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import (
    DimensionFactors,
    Factor,
    FactorKind,
    FactorRule,
    Shards,
    TensorFactors,
    Window,
)
from ....sharding.sharding import ReductionKind


def integer(operation: Operation, name: str) -> int | None:
    """The value of an integer attribute, `None` where the operation has no such attribute."""
    found = attribute(operation, name)
    return found.value.data if isinstance(found, IntegerAttr) else None


def integers(operation: Operation, name: str) -> tuple[int, ...] | None:
    """The values of a dense integer array attribute, `None` where there is no such attribute."""
    found = attribute(operation, name)
    if not isinstance(found, DenseArrayBase):
        return None
    return tuple(int(value) for value in found.get_values())


def _nothing(value: SSAValue) -> list[DimensionFactors]:
    return [()] * len(tensor_shape(value) or ())


class RuleBuilder:
    """Collects the factors of one operation and how its operands and results are made of them.

    Operands and results that are never mentioned take part in nothing: they are `()` in every
    dimension, which means that each process needs or makes the whole of them.

    Methods raise IndexError for operands, results or dimensions that the operation does not have.
    """

    def __init__(self, operation: Operation) -> None:
        self._factors: list[Factor] = []
        self._operands = [_nothing(value) for value in operation.operands]
        self._results = [_nothing(value) for value in operation.results]
        self._windows: list[Window] = []

    def factor(
        self,
        size: int | None,
        kind: FactorKind = FactorKind.PASS_THROUGH,
        reductions: tuple[ReductionKind | None, ...] = (),
        shards: Shards | None = None,
    ) -> int:
        """Add a factor and return its index. `size` is negative, as in a type, or `None` where it
        is not known.

        Shards of what passes through may be empty, if `shards` does not say otherwise, others not.
        """
        if shards is None:
            shards = Shards.ANY if kind is FactorKind.PASS_THROUGH else Shards.FILLED
        size = None if size is not None and size < 0 else size
        self._factors.append(Factor(size, kind, reductions, shards))
        return len(self._factors) - 1

    def reduction(self, size: int | None, *kinds: ReductionKind) -> int:
        """Add a reduction factor; `kinds` has one entry per result."""
        return self.factor(size, FactorKind.REDUCTION, kinds)

    def operand(self, index: int, dimension: int, *factors: int) -> None:
        """Say of what factors a dimension of an operand is made, major to minor."""
        self._operands[index][dimension] = factors

    def result(self, index: int, dimension: int, *factors: int) -> None:
        """Say of what factors a dimension of a result is made, major to minor."""
        self._results[index][dimension] = factors

    def shared(
        self,
        dimension: int,
        size: int | None,
        kind: FactorKind = FactorKind.PASS_THROUGH,
        *,
        operand: int = 0,
        result: int | None = None,
        shards: Shards | None = None,
    ) -> None:
        """Add a factor that a dimension of an operand is and one of the result, by default its."""
        factor = self.factor(size, kind, shards=shards)
        self.operand(operand, dimension, factor)
        self.result(0, dimension if result is None else result, factor)

    def whole(self, dimension: int, before: int | None, after: int | None) -> None:
        """Say that a dimension of the first operand, and that of the result, are needed whole."""
        self.operand(0, dimension, self.factor(before, FactorKind.NEED_REPLICATION))
        self.result(0, dimension, self.factor(after, FactorKind.NEED_REPLICATION))

    def operand_dimensions(self, index: int, dimensions: Sequence[DimensionFactors]) -> None:
        """Say of what factors all dimensions of an operand are made."""
        self._operands[index] = list(dimensions)

    def result_dimensions(self, index: int, dimensions: Sequence[DimensionFactors]) -> None:
        """Say of what factors all dimensions of a result are made."""
        self._results[index] = list(dimensions)

    def window(self, window: Window) -> None:
        """Say what is read of a dimension of an operand along its permutation factor."""
        self._windows.append(window)

    def build(self) -> FactorRule:
        """The rule. Raises ValueError where a dimension has a factor that was never added."""
        operands: list[TensorFactors] = [tuple(dimensions) for dimensions in self._operands]
        results: list[TensorFactors] = [tuple(dimensions) for dimensions in self._results]
        return FactorRule(
            tuple(self._factors), tuple(operands), tuple(results), tuple(self._windows)
        )


def elementwise_rule(
    operation: Operation, count: int | None = None, per_channel: Sequence[int] = ()
) -> FactorRule | None:
    """The rule of an operation that computes each result element from those at the same place.

    An operand may have extent 1 where the result has more (it is broadcast along that
    dimension), or lack the dimensions of the result entirely when it is of rank 0. Operands that
    are not tensors play no part, and scalar operations have no factors. `None` where the ranks do
    not fit. Of the operands only the first `count` take part, if it is given; those of
    `per_channel` are lists along the result's last dimension.
    """
    builder = RuleBuilder(operation)
    shapes = [tensor_shape(result) for result in operation.results]
    shape = next((each for each in shapes if each is not None), None)
    if shape is None:
        return builder.build()
    factors = [builder.factor(size) for size in shape]
    for index, result_shape in enumerate(shapes):
        if result_shape is None:
            continue
        if len(result_shape) != len(shape):
            return None
        builder.result_dimensions(index, [(factor,) for factor in factors])
    for index, operand in enumerate(operation.operands[:count]):
        operand_shape = tensor_shape(operand)
        if not operand_shape:
            continue
        if len(operand_shape) != len(shape):
            return None
        builder.operand_dimensions(
            index,
            [
                () if extent == 1 and full != 1 else (factor,)
                for factor, extent, full in zip(factors, operand_shape, shape, strict=True)
            ],
        )
    for index in per_channel:
        builder.operand(index, 0, factors[-1])
    return builder.build()


Read = tuple[int, int]
"""The element of the operand that the first of the result is, and the step to the next."""


def same_rank_rule(
    operation: Operation, passes: Sequence[bool], reads: Sequence[Read | None] = ()
) -> FactorRule | None:
    """The rule of one tensor made from one of the same rank: some dimensions pass through.

    Of the others some are read at other places, from which element on and in what strides `reads`
    tells; the factor of these is the result's extent. The rest is needed whole.
    """
    before, after = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if before is None or after is None or not len(before) == len(after) == len(passes):
        return None
    builder = RuleBuilder(operation)
    for dimension, passing in enumerate(passes):
        extent, made = before[dimension], after[dimension]
        read = reads[dimension] if reads else None
        if passing:
            builder.shared(dimension, made if extent is None else extent)
        elif read is not None and extent is not None and made is not None:
            first, stride = read
            builder.shared(dimension, made, FactorKind.PERMUTATION)
            builder.window(Window(0, dimension, extent, stride, first))
        else:
            builder.whole(dimension, extent, made)
    return builder.build()
