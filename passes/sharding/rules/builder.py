"""Build factor rules: a builder, and the rules of elementwise and of same-rank operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ....ir.tensor_types import tensor_shape
from ....sharding.factors import (
    DimensionFactors,
    Factor,
    FactorKind,
    FactorRule,
    ShardRequirement,
    TensorFactors,
    Window,
)
from ....sharding.sharding import ReductionKind


def _nothing(value: SSAValue) -> list[DimensionFactors]:
    return [()] * len(tensor_shape(value) or ())


class RuleBuilder:
    """Builds the factor rule of one operation.

    Operands and results that are never mentioned have no factors in any dimension, so each process
    needs or makes the whole of them. Methods raise IndexError for operands, results or dimensions
    that the operation does not have.
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
        shards: ShardRequirement | None = None,
    ) -> int:
        """Add a factor and return its index.

        `size` is negative, as in a type, or `None` if it is unknown. By default, shards of a
        pass-through factor may be empty, and those of other factors may not.
        """
        if shards is None:
            shards = (
                ShardRequirement.ANY if kind is FactorKind.PASS_THROUGH else ShardRequirement.FILLED
            )
        size = None if size is not None and size < 0 else size
        self._factors.append(Factor(size, kind, reductions, shards))
        return len(self._factors) - 1

    def reduction(self, size: int | None, *kinds: ReductionKind) -> int:
        """Add a reduction factor and return its index; `kinds` has one entry per result."""
        return self.factor(size, FactorKind.REDUCTION, kinds)

    def operand(self, index: int, dimension: int, *factors: int) -> None:
        """Set the factors of one dimension of an operand, major to minor."""
        self._operands[index][dimension] = factors

    def result(self, index: int, dimension: int, *factors: int) -> None:
        """Set the factors of one dimension of a result, major to minor."""
        self._results[index][dimension] = factors

    def shared(
        self,
        dimension: int,
        size: int | None,
        kind: FactorKind = FactorKind.PASS_THROUGH,
        *,
        operand: int = 0,
        result: int | None = None,
        shards: ShardRequirement | None = None,
    ) -> None:
        """Add a factor for a dimension of an operand and, by default, the same of the result."""
        factor = self.factor(size, kind, shards=shards)
        self.operand(operand, dimension, factor)
        self.result(0, dimension if result is None else result, factor)

    def needs_replication(self, dimension: int, before: int | None, after: int | None) -> None:
        """Add separate NEED_REPLICATION factors for a dimension of the first operand and result.

        `before` and `after` are the extents of the two.
        """
        self.operand(0, dimension, self.factor(before, FactorKind.NEED_REPLICATION))
        self.result(0, dimension, self.factor(after, FactorKind.NEED_REPLICATION))

    def operand_dimensions(self, index: int, dimensions: Sequence[DimensionFactors]) -> None:
        """Set the factors of all dimensions of an operand."""
        self._operands[index] = list(dimensions)

    def result_dimensions(self, index: int, dimensions: Sequence[DimensionFactors]) -> None:
        """Set the factors of all dimensions of a result."""
        self._results[index] = list(dimensions)

    def window(self, window: Window) -> None:
        """Add the window of an operand's dimension along its permutation factor."""
        self._windows.append(window)

    def build(self) -> FactorRule:
        """Return the rule. Raises ValueError if a dimension has a factor that was never added."""
        operands: list[TensorFactors] = [tuple(dimensions) for dimensions in self._operands]
        results: list[TensorFactors] = [tuple(dimensions) for dimensions in self._results]
        return FactorRule(
            tuple(self._factors), tuple(operands), tuple(results), tuple(self._windows)
        )


def elementwise_rule(
    operation: Operation, count: int | None = None, per_channel: Sequence[int] = ()
) -> FactorRule | None:
    """Return the rule of an operation that is elementwise, with broadcasts.

    An operand may have extent 1 where the result has more (it is broadcast along that dimension),
    and operands of rank 0 have no factors. Operands that are not tensors are ignored, and scalar
    operations have no factors. Only the first `count` operands take part, if it is given; operands
    listed in `per_channel` are vectors along the result's last dimension. Returns `None` if ranks
    differ.
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


StridedRead = tuple[int, int]
"""(first, stride): result element `i` is operand element `first + i * stride`."""


def same_rank_rule(
    operation: Operation, passes: Sequence[bool], reads: Sequence[StridedRead | None] = ()
) -> FactorRule | None:
    """Return the rule of an operation whose first operand and result have the same rank.

    Dimensions for which `passes` is true pass through. Others with known extents and an entry in
    `reads` are permutations whose factor has the result's extent; the rest need replication.
    Returns `None` if ranks differ.
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
            builder.needs_replication(dimension, extent, made)
    return builder.build()
