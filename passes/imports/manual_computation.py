"""Manual computations of Shardy, whose body is the program of one device, as part of the program.

    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {}]>] ... (%y: tensor<4x8xf32>)

becomes what every process does with whole tensors: it slices its part out of `%x`, runs the body,
and gathers the parts of the results. The tensors of the body
differ between the processes of the manual axes, so they are annotated as whole on each, and
propagation has nothing to decide there. What partitioning gathers in front of a slice, and slices
after a gathering, `shard-simplify` takes out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
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
from ...dialects.shard.dialect import AllGatherOp, AllSliceOp
from ...ir.attribute_access import block_of
from ...ir.diagnostics import OperationError
from ...ir.regions import inner_blocks, walk
from ...ir.tensor_types import ranked
from ...sharding.collectives import COLLECTIVES
from ...sharding.grid import Grid
from ...sharding.sharding import Axes
from ..inline_calls import inline_calls_of
from ..sharding.annotations.access import MANUAL_ATTRIBUTE, PURE_QUERIES, read_annotated

CONSTRAINTS = ("sdy.sharding_constraint", "sdy.reshard")


class ImportedMesh(Protocol):
    """A mesh, and the grid that stands for it."""

    @property
    def grid(self) -> Grid: ...

    def axes(self, references: tuple[AxisRef, ...]) -> Axes: ...


Annotate = Callable[[SSAValue, TensorSharding, Block, Operation | None, bool], ShardOp]
"""Insert an annotation of a value before an operation, or at the end of a block."""


def inline_manual_calls(module: ModuleOp) -> None:
    """Inline what manual computations call: it is written for one device, too."""
    found = [each for each in walk(module) if isinstance(each, ManualComputationOp)]
    if any(inner.name == "func.call" for each in found for inner in walk(each)):
        inline_calls_of(found, module)


def inline_manual_computation(
    operation: ManualComputationOp,
    mesh_of: Callable[[str | Mesh], ImportedMesh],
    annotate: Annotate,
) -> None:
    """Put the body in the place of a manual computation. Raises OperationError."""
    for inner in walk(operation):
        if inner is not operation and inner.name.partition(".")[0] in ("stablehlo", "chlo"):
            raise OperationError(
                inner, "is in a manual computation: run convert-stablehlo-to-linalg first"
            )
    _Inlining(operation, mesh_of, annotate).run()


class _Inlining:
    """How one computation takes its place in the program, and those in it, outer ones first."""

    def __init__(
        self,
        operation: ManualComputationOp,
        mesh_of: Callable[[str | Mesh], ImportedMesh],
        annotate: Annotate,
        around: frozenset[str] = frozenset(),
    ) -> None:
        self._operation = operation
        self._around = around
        self._manual = around | frozenset(operation.manual_axes.data)
        self._mesh_of = mesh_of
        self._annotate = annotate
        self._block = block_of(operation)
        shardings = (*operation.in_shardings.data, *operation.out_shardings.data)
        self._mesh = shardings[0].mesh if shardings else None

    def run(self) -> None:
        operation = self._operation
        twice = self._around & set(operation.manual_axes.data)
        if twice:
            raise OperationError(
                operation,
                f"is manual along {', '.join(sorted(twice))}, where the computation around it is",
            )
        body = operation.body.block
        terminator = body.last_op
        assert terminator is not None
        moved = [inner for inner in body.ops if inner is not terminator]
        shardings = [self._at_border(each) for each in operation.in_shardings.data]
        leaving = [self._at_border(each) for each in operation.out_shardings.data]
        inside = [self._enter(*pair) for pair in zip(operation.operands, shardings, strict=True)]
        Rewriter.inline_block(body, InsertPoint.before(operation), inside)
        for inner in moved:
            self._fix(inner)
        results = [
            self._leave(value, sharding, result.type)
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
        """The sharding of an operand or a result, closed where an axis is manual around it."""
        if not self._around:
            return sharding
        return _closed(self._operation, sharding, self._around)

    def _parts(self, sharding: TensorSharding) -> list[tuple[int, Axes]]:
        """The dimensions that the manual axes split, and the grid's axes that do."""
        imported = self._imported(sharding)
        parts: list[tuple[int, Axes]] = []
        for index, dimension in enumerate(sharding.dimensions):
            count = sum(axis.name in self._manual for axis in dimension.axes)
            major = dimension.axes[:count]
            if any(axis.name not in self._manual for axis in major):
                raise OperationError(
                    self._operation,
                    f"splits dimension {index} along {dimension}, where a free axis comes before a"
                    " manual one",
                )
            if major:
                parts.append((index, imported.axes(major)))
        return parts

    def _imported(self, sharding: TensorSharding) -> ImportedMesh:
        if sharding.mesh != self._mesh:
            raise OperationError(self._operation, "has shardings on more than one mesh")
        return self._mesh_of(sharding.mesh)

    def _enter(self, value: SSAValue, sharding: TensorSharding) -> SSAValue:
        """This process's part of an operand."""
        whole = ranked(value)
        if whole is None:
            return value
        parts = self._parts(sharding)
        grid = self._imported(sharding).grid
        value = self._annotate(value, sharding, self._block, self._operation, True).result
        for dimension, axes in parts:
            shape = list(whole.get_shape())
            shape[dimension] = self._divided(shape[dimension], grid.size(axes) or 1)
            whole = TensorType(whole.element_type, shape, whole.encoding)
            value = self._insert(AllSliceOp(value, grid.name, axes, whole, slice_axis=dimension))
        return self._whole(value)

    def _divided(self, size: int, parts: int) -> int:
        if size < 0:
            raise OperationError(
                self._operation, "takes a tensor of open size, which is not supported"
            )
        return size // parts

    def _leave(self, value: SSAValue, sharding: TensorSharding, result: object) -> SSAValue:
        """The whole tensor of a result."""
        whole = ranked(value)
        if whole is None:
            return value
        grid = self._imported(sharding).grid
        # The other way round than slicing, so that each takes back the other.
        for dimension, axes in reversed(self._parts(sharding)):
            shape = list(whole.get_shape())
            shape[dimension] *= grid.size(axes) or 1
            whole = TensorType(whole.element_type, shape, whole.encoding)
            value = self._insert(AllGatherOp(value, grid.name, axes, whole, gather_axis=dimension))
        return self._annotate(value, sharding, self._block, self._operation, False).result

    def _insert(self, made: Operation) -> SSAValue:
        made.location = self._operation.location
        made.attributes[MANUAL_ATTRIBUTE] = UnitAttr()
        self._block.insert_op_before(made, self._operation)
        return made.results[0]

    # The body.

    def _fix(self, operation: Operation) -> None:
        """Annotate what an operation of the body makes, inside of it as well."""
        if operation.name in CONSTRAINTS:
            self._close_constraint(operation)
            return
        if isinstance(operation, ManualComputationOp):
            _Inlining(operation, self._mesh_of, self._annotate, self._manual).run()
            return
        if operation.name in COLLECTIVES or operation.name in PURE_QUERIES:
            operation.attributes[MANUAL_ATTRIBUTE] = UnitAttr()
        for block in inner_blocks(operation):
            for argument in block.args:
                if ranked(argument) is not None:
                    self._hold(argument, block, block.first_op)
            for inner in list(block.ops):
                self._fix(inner)
        for result in operation.results:
            if ranked(result) is not None:
                self._hold(result, block_of(operation), operation.next_op)

    def _hold(self, value: SSAValue, block: Block, before: Operation | None) -> None:
        """Annotate a value as whole, for all that use it."""
        read_annotated(self._annotate(value, self._nowhere(value), block, before, False))

    def _whole(self, value: SSAValue) -> SSAValue:
        return self._annotate(
            value, self._nowhere(value), self._block, self._operation, False
        ).result

    def _nowhere(self, value: SSAValue) -> TensorSharding:
        assert self._mesh is not None
        whole = ranked(value)
        rank = 0 if whole is None else whole.get_num_dims()
        return TensorSharding(self._mesh, (DimensionSharding(),) * rank)

    def _close_constraint(self, operation: Operation) -> None:
        """A constraint of the body is closed: no manual axis may come in."""
        found = operation.properties["sharding"]
        assert isinstance(found, ShardingAttr)
        closed = _closed(operation, found.data, self._manual)
        if not any(each.axes for each in closed.dimensions):
            Rewriter.replace_op(operation, [], [operation.operands[0]])
            return
        operation.properties["sharding"] = ShardingAttr(closed)


def _closed(
    operation: Operation, sharding: TensorSharding, manual: frozenset[str]
) -> TensorSharding:
    """A sharding along other axes than the manual ones around an operation, and never along them.

    Raises OperationError.
    """
    named = {axis.name for each in sharding.dimensions for axis in each.axes}
    if named & manual:
        raise OperationError(
            operation,
            f"splits along {', '.join(sorted(named & manual))}, where the computation around it is"
            " manual",
        )
    closed = tuple(replace(each, is_open=False) for each in sharding.dimensions)
    return replace(sharding, dimensions=closed)


def nothing_manual(operations: Sequence[Operation], mesh: str) -> bool:
    """Whether no manual computation is on a mesh."""
    return not any(
        isinstance(each, ManualComputationOp)
        and any(sharding.mesh == mesh for sharding in each.in_shardings.data)
        for each in operations
    )
