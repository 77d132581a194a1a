"""Inline Shardy's manual computations, whose body is the program of one device.

    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {}]>] ... (%y: tensor<4x8xf32>)

becomes a program on whole tensors: each process slices its shard out of `%x`, runs the body, and
gathers the shards of the results. The tensors of the body differ between the processes along the
manual axes, so propagation must not split them along these:

- if all axes are manual, the tensors are annotated as replicated;
- if some are free, the tensors have no annotation, and propagation splits them along the free axes.
  No manual axis reaches them, since slices and gathers at the border do not pass it on, and
  operands and results that it does not split are replicated along it. A dimension that a manual
  axis splits is reshaped to parts and their elements, so that free axes may split the elements.

`shard-simplify` removes the gathers before a slice, and the slices after a gather, which
partitioning introduces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.arith import CmpiOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp, TensorType, UnitAttr, i64
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.sdy.attributes import (
    AxisRef,
    DimensionSharding,
    Mesh,
    ShardingAttr,
    TensorSharding,
)
from ...dialects.sdy.dialect import ManualComputationOp
from ...dialects.shard.annotations import ShardOp
from ...dialects.shard.collective_base import Collective
from ...dialects.shard.collectives import AllGatherOp, AllSliceOp
from ...dialects.shard.process_arithmetic import ArithmeticBefore
from ...dialects.tensor.reshapes import ExpandShapeOp, collapse_shape
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from ...ir.regions import inner_blocks, walk
from ...ir.tensor_types import ranked, tensor_shape
from ...sharding.collective_rows import COLLECTIVES
from ...sharding.grid import Grid
from ...sharding.refinement import Refinement
from ...sharding.sharding import Axes
from ..inline_calls import inline_calls_of
from ..sharding.annotations.access import MANUAL_ATTRIBUTE, PURE_QUERIES, read_annotated

CONSTRAINTS = ("sdy.sharding_constraint", "sdy.reshard")

KEPT = (
    *("stablehlo.cholesky", "stablehlo.custom_call"),
    *("stablehlo.fft", "stablehlo.triangular_solve"),
)
"""StableHLO that has no conversion (`stablehlo/calls/kept_ops.py`)."""


@dataclass(frozen=True, slots=True)
class ImportedMesh:
    """A mesh, its grid, and the mapping from mesh axes and sub-axes to grid axes."""

    mesh: Mesh
    refinement: Refinement

    @property
    def grid(self) -> Grid:
        """The grid that replaces the mesh."""
        return self.refinement.fine

    def axes(self, references: tuple[AxisRef, ...]) -> Axes:
        """Return the grid axes for axes and sub-axes of the mesh."""
        result: list[int] = []
        names = [name for name, _ in self.mesh.axes]
        for reference in references:
            axis = names.index(reference.name)
            first, end = reference.extent(self.mesh.axes[axis][1])
            low = 1
            for part in self.refinement.parts[axis]:
                if first <= low < end:
                    result.append(part)
                low *= self.refinement.fine.shape[part] or 1
        return tuple(result)


Annotate = Callable[[SSAValue, TensorSharding, InsertPoint, bool], ShardOp]
"""Inserts an annotation of a value, which is for its users or not."""


def inline_manual_calls(module: ModuleOp) -> None:
    """Inline calls in manual computations: their callees are programs of one device, too."""
    found = [each for each in walk(module) if isinstance(each, ManualComputationOp)]
    if any(inner.name == "func.call" for each in found for inner in walk(each)):
        inline_calls_of(found, module)


def inline_manual_computation(
    operation: ManualComputationOp,
    meshes: Mapping[str | Mesh, ImportedMesh],
    annotate: Annotate,
) -> None:
    """Inline the body of a manual computation.

    Raises OperationError for StableHLO in the body, for shardings on several meshes, for an axis
    that is manual twice, and for a free axis before a manual one in a dimension.
    """
    for inner in walk(operation):
        if inner.name.partition(".")[0] in ("stablehlo", "chlo") and inner.name not in KEPT:
            raise OperationError(
                inner, "is in a manual computation: run convert-stablehlo-to-linalg first"
            )
    _Inlining(operation, meshes, annotate).run()


class _Inlining:
    """Inlines one computation and, after it, those nested in it."""

    def __init__(
        self,
        operation: ManualComputationOp,
        meshes: Mapping[str | Mesh, ImportedMesh],
        annotate: Annotate,
        outer_manual_axes: frozenset[str] = frozenset(),
    ) -> None:
        self._operation = operation
        self._outer_manual_axes = outer_manual_axes
        self._manual = outer_manual_axes | frozenset(operation.manual_axes.data)
        self._meshes = meshes
        self._annotate = annotate
        self._border = InsertPoint.before(operation)
        self._arithmetic = ArithmeticBefore(operation)
        shardings = (*operation.in_shardings.data, *operation.out_shardings.data)
        self._mesh = shardings[0].mesh if shardings else None
        names = () if self._mesh is None else [name for name, _ in meshes[self._mesh].mesh.axes]
        self._has_free_axes = not self._manual.issuperset(names)

    def run(self) -> None:
        operation = self._operation
        twice = self._outer_manual_axes & set(operation.manual_axes.data)
        if twice:
            raise OperationError(
                operation,
                f"is manual along {', '.join(sorted(twice))}, like the enclosing manual "
                "computation",
            )
        body = operation.body.block
        terminator = body.last_op
        assert terminator is not None
        moved = [inner for inner in body.ops if inner is not terminator]
        shardings = [self._at_border(each) for each in operation.in_shardings.data]
        leaving = [self._at_border(each) for each in operation.out_shardings.data]
        inside = [
            self._slice_operand(*pair) for pair in zip(operation.operands, shardings, strict=True)
        ]
        Rewriter.inline_block(body, self._border, inside)
        for inner in moved:
            self._convert_body_op(inner)
        results = [
            self._gather_result(value, sharding, result.type)
            for value, sharding, result in zip(
                terminator.operands,
                leaving,
                operation.results,
                strict=True,
            )
        ]
        Rewriter.erase_op(terminator)
        Rewriter.replace_op(operation, [], results)

    # The border.

    def _at_border(self, sharding: TensorSharding) -> TensorSharding:
        """Return the sharding of an operand or a result, closed in a nested computation."""
        if self._outer_manual_axes:
            _check_free(self._operation, sharding, self._outer_manual_axes)
        if self._has_free_axes:
            return self._replicated_along_manual_axes(sharding)
        return _closed(sharding) if self._outer_manual_axes else sharding

    def _replicated_along_manual_axes(self, sharding: TensorSharding) -> TensorSharding:
        """Return a sharding that propagation extends along free axes only."""
        stated = {axis.name for each in sharding.dimensions for axis in each.axes}
        stated |= {axis.name for axis in sharding.replicated}
        added = tuple(AxisRef(name) for name in sorted(self._manual - stated))
        return replace(sharding, replicated=(*sharding.replicated, *added))

    def _parts(self, sharding: TensorSharding) -> list[tuple[int, Axes]]:
        """Return the dimensions that manual axes split, each with these axes of the grid."""
        imported = self._imported(sharding)
        parts: list[tuple[int, Axes]] = []
        for index, dimension in enumerate(sharding.dimensions):
            count = sum(axis.name in self._manual for axis in dimension.axes)
            major = dimension.axes[:count]
            if major:
                parts.append((index, imported.axes(major)))
        return parts

    def _imported(self, sharding: TensorSharding) -> ImportedMesh:
        if sharding.mesh != self._mesh:
            raise OperationError(self._operation, "has shardings on more than one mesh")
        return self._meshes[sharding.mesh]

    def _slice_operand(self, value: SSAValue, sharding: TensorSharding) -> SSAValue:
        """Emit the slice of an operand that belongs to this process."""
        whole = ranked(value)
        if whole is None:
            return value
        parts = self._parts(sharding)
        grid = self._imported(sharding).grid
        value = self._annotate(value, sharding, self._border, True).result
        for dimension, axes in parts:
            value = self._cross(AllSliceOp, grid, value, dimension, axes)
        return value if self._has_free_axes else self._as_replicated(value, self._border).result

    def _gather_result(self, value: SSAValue, sharding: TensorSharding, result: object) -> SSAValue:
        """Emit the gather of a result's shards."""
        whole = ranked(value)
        if whole is None:
            return value
        grid = self._imported(sharding).grid
        # In reverse order of slicing, so that a gather and a slice cancel.
        for dimension, axes in reversed(self._parts(sharding)):
            value = self._cross(AllGatherOp, grid, value, dimension, axes)
        return self._annotate(value, sharding, self._border, False).result

    def _cross(
        self,
        kind: type[Collective],
        grid: Grid,
        value: SSAValue,
        dimension: int,
        axes: Axes,
    ) -> SSAValue:
        """Emit the slice or gather of a dimension along manual axes at the border.

        With free axes the dimension is divided into parts and their elements for it. Free axes
        split the elements, so they cross the border where manual axes split the parts.
        """
        held = ranked(value)
        assert held is not None
        count = grid.size(axes) or 1
        before, after, along = (1, count, "gather_axis")
        if kind is AllSliceOp:
            before, after, along = (count, 1, "slice_axis")
        sizes = list(held.get_shape())
        is_static = sizes[dimension] != DYNAMIC_INDEX
        sizes[dimension] //= before if is_static else 1
        part = TensorType(held.element_type, tuple(sizes), held.encoding)
        sizes[dimension] *= after if is_static else 1
        made = TensorType(held.element_type, sizes, held.encoding)
        expanded = self._in_parts(value, dimension, before)
        if not self._has_free_axes:
            return self._insert(kind(value, grid.name, axes, made, **{along: dimension}))
        groups = _groups(len(sizes), dimension)
        parts = _in_parts_type(part, dimension, before)
        value = self._insert(ExpandShapeOp(value, expanded, groups, parts))
        parts = _in_parts_type(part, dimension, after)
        value = self._insert(kind(value, grid.name, axes, parts, **{along: dimension}))
        return self._insert(collapse_shape(value, groups, made))

    def _in_parts(self, value: SSAValue, dimension: int, count: int) -> list[IndexOrInt]:
        """Return the sizes of a tensor with a dimension divided into `count` equal parts.

        A dynamic size is checked at run time.
        """
        arithmetic = self._arithmetic
        sizes: list[IndexOrInt] = [
            arithmetic.insert(DimOp(value, arithmetic.index(index))) if size is None else size
            for index, size in enumerate(tensor_shape(value) or ())
        ]
        rest = arithmetic.remainder(sizes[dimension], count)
        if isinstance(rest, SSAValue):
            is_whole = arithmetic.insert(CmpiOp(rest, arithmetic.index(0), "eq"))
            message = f"dimension {dimension} is split into {count} parts of unequal size"
            arithmetic.put(AssertOp(is_whole, message))
        sizes[dimension : dimension + 1] = [count, arithmetic.divide(sizes[dimension], count)]
        return sizes

    def _insert(self, made: Operation) -> SSAValue:
        made.location = self._operation.location
        if made.name in COLLECTIVES:
            self._mark(made)
        Rewriter.insert_op(made, self._border)
        return made.results[0]

    # The body.

    def _convert_body_op(self, operation: Operation) -> None:
        """Annotate the results of an op of the body, and the values of its regions."""
        if operation.name in CONSTRAINTS:
            self._close_constraint(operation)
            return
        if isinstance(operation, ManualComputationOp):
            _Inlining(operation, self._meshes, self._annotate, self._manual).run()
            return
        if operation.name in COLLECTIVES or operation.name in PURE_QUERIES:
            self._mark(operation)
        for block in inner_blocks(operation):
            for argument in block.args:
                if ranked(argument) is not None and not self._has_free_axes:
                    read_annotated(self._as_replicated(argument, InsertPoint.at_start(block)))
            for inner in list(block.ops):
                self._convert_body_op(inner)
        for result in operation.results:
            if ranked(result) is not None and not self._has_free_axes:
                read_annotated(self._as_replicated(result, InsertPoint.after(operation)))

    def _mark(self, operation: Operation) -> None:
        """Mark an operation as one of the program of one device, and say along which axes."""
        mark: Attribute = UnitAttr()
        if self._has_free_axes and self._mesh is not None:
            references = tuple(AxisRef(name) for name in sorted(self._manual))
            mark = DenseArrayBase.from_list(i64, self._meshes[self._mesh].axes(references))
        operation.attributes[MANUAL_ATTRIBUTE] = mark

    def _as_replicated(self, value: SSAValue, point: InsertPoint) -> ShardOp:
        assert self._mesh is not None
        whole = ranked(value)
        rank = 0 if whole is None else whole.get_num_dims()
        sharding = TensorSharding(self._mesh, (DimensionSharding(),) * rank)
        return self._annotate(value, sharding, point, False)

    def _close_constraint(self, operation: Operation) -> None:
        """Keep manual axes off a constraint of the body; without axes, nothing is left of it."""
        found = operation.properties["sharding"]
        assert isinstance(found, ShardingAttr)
        _check_free(operation, found.data, self._manual)
        if not any(each.axes for each in found.data.dimensions):
            Rewriter.replace_op(operation, [], [operation.operands[0]])
            return
        sharding = self._replicated_along_manual_axes(found.data)
        operation.properties["sharding"] = ShardingAttr(sharding)


def _in_parts_type(part: TensorType, dimension: int, count: int) -> TensorType:
    """Return the type of `count` parts along a dimension, which is in front of the part's."""
    sizes = list(part.get_shape())
    sizes.insert(dimension, count)
    return TensorType(part.element_type, sizes, part.encoding)


def _groups(rank: int, divided: int) -> list[range]:
    """Return for each dimension those after it is divided in two: [0], [1, 2], [3] for 1 of 3."""
    first = [each + (each > divided) for each in range(rank)]
    return [range(each, each + 1 + (i == divided)) for i, each in enumerate(first)]


def _check_free(operation: Operation, sharding: TensorSharding, manual: frozenset[str]) -> None:
    """Raise OperationError if a sharding uses an axis that is manual around the op."""
    named = {axis.name for each in sharding.dimensions for axis in each.axes}
    if named & manual:
        raise OperationError(
            operation,
            f"splits along {', '.join(sorted(named & manual))}, along which the enclosing "
            "computation is manual",
        )


def _closed(sharding: TensorSharding) -> TensorSharding:
    """Return a sharding with all dimensions closed."""
    closed = tuple(replace(each, is_open=False) for each in sharding.dimensions)
    return replace(sharding, dimensions=closed)


def is_unused_by_manual_computations(operations: Sequence[Operation], mesh: str) -> bool:
    """Return whether no manual computation uses a mesh."""
    return not any(
        isinstance(each, ManualComputationOp)
        and any(sharding.mesh == mesh for sharding in each.in_shardings.data)
        for each in operations
    )
