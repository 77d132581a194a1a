"""Rules of linalg operations: structured ones, `softmax`, `pack` and `unpack`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ....dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ....dialects.shard.attributes import WHOLE_LOOPS_ATTRIBUTE
from ....ir.attribute_access import optional_integer, optional_integers
from ....ir.linear_forms import linear
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import (
    DimensionFactors,
    Factor,
    FactorKind,
    FactorRule,
    TensorFactors,
    Window,
)
from ....sharding.sharding import ReductionKind
from .builder import RuleBuilder, labelled_rule
from .combiners import combiner_of
from .registry import dialect_rule, sharding_rule


@dataclass(slots=True)
class _Loops:
    """Properties of the loops, collected while indexing maps are read."""

    iterators: tuple[IteratorType, ...]
    extents: Shape
    windowed: set[int]
    replicated: set[int]
    combines: bool
    """Whether partial results of all reductions can be combined."""

    def dimension(
        self, expression: AffineExpr, extent: int | None, *, is_written: bool
    ) -> DimensionFactors:
        """Return the factors of a dimension that is accessed at an affine expression of the loops.

        Only inputs have windows: elements of an output that no iteration writes belong to none of
        them.
        """
        if isinstance(expression, AffineDimExpr):
            return (expression.position,)
        form = linear(expression)
        if form is None:
            self.replicated |= expression.used_dims()
            return ()
        moving = {d: c for d, c in form.coefficients.items() if self.extents[d] != 1}
        if not moving:
            # One element is read along the dimension: there is nothing to split.
            return ()
        if len(moving) == 1:
            ((loop, coefficient),) = moving.items()
            if coefficient == 1 and extent is not None and extent == self.extents[loop]:
                return (loop,)
        leading = self._leading(moving)
        self.replicated |= moving.keys() - {leading}
        if (
            leading is None
            or is_written
            or any(moving[d] < 0 and self.extents[d] is None for d in moving)
        ):
            # The start of a window with an unknown extent would be known only at run time.
            self.replicated |= moving.keys()
            return ()
        self.windowed.add(leading)
        return (leading,)

    def _leading(self, moving: Mapping[int, int]) -> int | None:
        """Return the loop along which windows slide, and which may be split, or `None`.

        This is a parallel loop unless a reduction loop is longer. The gradient of a convolution's
        kernel is such a case: the loop over the image is split, and partial sums are added.
        """
        parallel = [d for d in moving if self.iterators[d] is IteratorType.PARALLEL]
        leading = max(parallel, key=lambda d: abs(moving[d]) * (self.extents[d] or 1), default=None)
        extents = {d: extent for d in moving if (extent := self.extents[d]) is not None}
        if not self.combines or len(extents) < len(moving):
            return leading
        summed = max(
            (d for d in moving if d not in parallel), key=extents.__getitem__, default=None
        )
        if summed is None or any(extents[d] >= extents[summed] for d in parallel):
            return leading
        return summed


def _factor(operation: Operation, loops: _Loops, loop: int, written: list[set[int]]) -> Factor:
    """Return the factor of one loop; `written` has the loops in each result's indexing map."""
    size = loops.extents[loop]
    if loop in loops.replicated:
        return Factor(size, FactorKind.NEED_REPLICATION)
    missing = [loop not in mentioned for mentioned in written]
    if loops.iterators[loop] is IteratorType.PARALLEL:
        if any(missing):
            return Factor(size, FactorKind.NEED_REPLICATION)
        kind = FactorKind.PERMUTATION if loop in loops.windowed else FactorKind.PASS_THROUGH
        return Factor(size, kind)
    if not all(missing):
        return Factor(size, FactorKind.NEED_REPLICATION)
    kinds: list[ReductionKind] = []
    for result in range(len(written)):
        combiner = combiner_of(operation, result)
        if combiner is None:
            return Factor(size, FactorKind.NEED_REPLICATION)
        kinds.append(combiner.kind)
    return Factor(size, FactorKind.REDUCTION, tuple(kinds))


def _dimensions(
    loops: _Loops, indexing: AffineMap, shape: Shape, *, is_written: bool
) -> tuple[DimensionFactors, ...]:
    dimensions = tuple(
        loops.dimension(expression, extent, is_written=is_written)
        for expression, extent in zip(indexing.results, shape, strict=True)
    )
    seen: set[int] = set()
    for factors in dimensions:
        # A diagonal: one process cannot hold the same block of both dimensions.
        loops.replicated |= seen & set(factors)
        seen |= set(factors)
    return dimensions


def _windows(
    loops: _Loops, view: StructuredView, tensors: Sequence[TensorFactors]
) -> tuple[Window, ...]:
    """Return the windows of input dimensions read at sums of loops, if extents are known."""
    found: list[Window] = []
    for index, value in enumerate(view.inputs):
        shape = tensor_shape(value) or ()
        for dimension, (extent, factors) in enumerate(zip(shape, tensors[index], strict=True)):
            expression = view.maps[index].results[dimension]
            form = None if isinstance(expression, AffineDimExpr) else linear(expression)
            if extent is None or form is None or len(factors) != 1:
                continue
            (split,) = factors
            iterations = {loop: loops.extents[loop] for loop in form.coefficients} | {split: 1}
            known = {loop: extent for loop, extent in iterations.items() if extent is not None}
            if len(known) == len(iterations):
                first, last = form.bounds(known)
                stride = form.coefficients[split]
                found.append(Window(index, dimension, extent, stride, first, last + 1 - first))
    return tuple(found)


@dialect_rule("linalg")
def structured_rule(operation: Operation) -> FactorRule | None:
    """Return the rule of a structured operation on tensors; `None` for any other operation."""
    view = structured_view(operation)
    if view is None:
        return None
    outputs = range(len(view.outputs) if IteratorType.REDUCTION in view.iterators else 0)
    combines = all(combiner_of(operation, output) is not None for output in outputs)
    whole = set(optional_integers(operation, WHOLE_LOOPS_ATTRIBUTE) or ())
    loops = _Loops(view.iterators, view.loop_sizes(), set(), whole, combines)
    values = (*view.inputs, *view.outputs)
    tensors = [
        _dimensions(loops, indexing, shape, is_written=index >= len(view.inputs))
        if (shape := tensor_shape(value)) is not None
        else ()
        for index, (value, indexing) in enumerate(zip(values, view.maps, strict=True))
    ]
    # On tensors each output has one result; on buffers there is nothing to split.
    results = tensors[len(view.inputs) :] if operation.results else []
    written = [
        {loop for expression in indexing.results for loop in expression.used_dims()}
        for indexing in view.maps[len(view.inputs) :]
    ]
    factors = tuple(_factor(operation, loops, loop, written) for loop in range(len(view.iterators)))
    windows = _windows(loops, view, tensors) if loops.windowed else ()
    return FactorRule(factors, tuple(tensors), tuple(results), windows)


@sharding_rule("linalg.softmax")
def softmax(operation: Operation) -> FactorRule | None:
    """Return the rule of a softmax: the normalised dimension is needed whole."""
    dimensions = range(len(tensor_shape(operation.operands[0]) or ()))
    normalised = optional_integer(operation, "dimension")
    if normalised is None or not operation.results:
        return None
    return labelled_rule(operation, [dimensions] * 2, [dimensions], whole={normalised})


def _packing_rule(
    operation: Operation, plain: Shape | None, packed: Shape | None, *, packs: bool
) -> FactorRule | None:
    """Return the rule of `pack` or `unpack`, which have the same two sides.

    If tiles fill a tiled dimension exactly, it has the factors tile count and tile. Tiles are not
    split, so shards of the plain tensor consist of whole tiles. Otherwise the dimension needs
    replication.
    """
    positions = optional_integers(operation, "inner_dims_pos")
    tiles = optional_integers(operation, "static_inner_tiles")
    if plain is None or packed is None or positions is None or tiles is None:
        return None
    if not operation.results:
        return None
    permutation = optional_integers(operation, "outer_dims_perm") or tuple(range(len(plain)))
    builder = RuleBuilder(operation)
    whole, passes = FactorKind.NEED_REPLICATION, FactorKind.PASS_THROUGH
    plain_side: list[tuple[int, ...]] = []
    packed_side: list[tuple[int, ...]] = [()] * len(packed)
    outer_place = {dimension: place for place, dimension in enumerate(permutation)}
    for dimension, extent in enumerate(plain):
        count = packed[outer_place[dimension]]
        if dimension not in positions:
            factor = builder.factor(extent if extent is not None else count)
            plain_side.append((factor,))
            packed_side[outer_place[dimension]] = (factor,)
            continue
        order = positions.index(dimension)
        exact = extent is not None and count is not None and extent == count * tiles[order]
        outer = builder.factor(count, passes if exact else whole)
        inner = builder.factor(tiles[order] if tiles[order] > 0 else None, whole)
        plain_side.append((outer, inner) if exact else (outer,))
        packed_side[outer_place[dimension]] = (outer,)
        packed_side[len(plain) + order] = (inner,)
    source, destination = (plain_side, packed_side) if packs else (packed_side, plain_side)
    builder.operand_dimensions(0, source)
    builder.operand_dimensions(1, destination)
    builder.result_dimensions(0, destination)
    return builder.build()


@sharding_rule("linalg.pack")
def pack(operation: Operation) -> FactorRule | None:
    """Return the rule from plain to packed."""
    plain, packed = (tensor_shape(operand) for operand in operation.operands[:2])
    return _packing_rule(operation, plain, packed, packs=True)


@sharding_rule("linalg.unpack")
def unpack(operation: Operation) -> FactorRule | None:
    """Return the rule from packed to plain."""
    packed, plain = (tensor_shape(operand) for operand in operation.operands[:2])
    return _packing_rule(operation, plain, packed, packs=False)
