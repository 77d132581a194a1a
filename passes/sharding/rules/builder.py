"""Build factor rules: a builder, rules as einsums, and those of elementwise and same-rank ops."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

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
from .combiners import combiner_of


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


Labels = Sequence[Hashable]
"""One label for each dimension of a tensor. `None`, or no label, means that it has no factor."""


def labelled_rule(
    operation: Operation,
    operands: Sequence[Labels],
    results: Sequence[Labels],
    *,
    whole: Collection[Hashable] = (),
    reduced: Collection[Hashable] = (),
    shards: ShardRequirement | None = None,
) -> FactorRule | None:
    """Return the rule in which dimensions with the same label share a factor, as in an einsum.

    `labelled_rule(op, ("mk", "kn"), ("mn",), reduced="k")` is the rule of a product. Labels in
    `whole` need replication, and results are partial along those in `reduced`. An operand may have
    extent 1 where others have more: it is broadcast along that dimension, which has no factor.

    Returns `None` if a tensor has fewer dimensions than labels, or the reduction is not known.
    """
    extents: dict[Hashable, int | None] = {}
    for values, all_labels in ((operation.results, results), (operation.operands, operands)):
        made = set(extents)
        for value, labels in zip(values, all_labels, strict=False):
            shape = tensor_shape(value) or ()
            if len(shape) < len(labels):
                return None
            for label, extent in zip(labels, shape, strict=False):
                is_known = extents.get(label) is not None or (extent == 1 and label in made)
                extents[label] = extents.get(label) if is_known else extent
    extents.pop(None, None)
    combiners = [combiner_of(operation, index) for index in range(len(results))] if reduced else []
    kinds = [combiner.kind for combiner in combiners if combiner is not None]
    if len(kinds) < len(combiners):
        return None
    builder = RuleBuilder(operation)
    factors: dict[Hashable, int] = {}
    for label, extent in extents.items():
        kind = FactorKind.NEED_REPLICATION if label in whole else FactorKind.PASS_THROUGH
        if label in reduced:
            factors[label] = builder.reduction(extent, *kinds)
        else:
            factors[label] = builder.factor(extent, kind, shards=shards)
    for index, labels in enumerate(results):
        for dimension, label in enumerate(labels):
            builder.result(index, dimension, *([] if label is None else [factors[label]]))
    for index, labels in enumerate(operands):
        shape = tensor_shape(operation.operands[index]) or ()
        for dimension, label in enumerate(labels):
            is_broadcast = shape[dimension] == 1 and extents.get(label) != 1
            has_factor = label is not None and not is_broadcast
            builder.operand(index, dimension, *([factors[label]] if has_factor else []))
    return builder.build()


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
    ranks = [len(tensor_shape(result) or ()) for result in operation.results]
    rank = max(ranks, default=0)
    operands = [range(len(tensor_shape(value) or ())) for value in operation.operands[:count]]
    if {*ranks, *map(len, operands)} - {0, rank}:
        return None
    operands += [range(0)] * (len(operation.operands) - len(operands))
    for index in per_channel:
        operands[index] = range(rank - 1, rank)
    return labelled_rule(operation, operands, [range(each) for each in ranks])


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
