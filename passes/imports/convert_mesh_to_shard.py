"""`convert-mesh-to-shard`: replace what a program in memory has of `mesh`.

Text of `mesh` is read as `shard`, so a program that our tools have read has none. A compiler that
builds operations of `mesh` itself runs this pass first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

<<<<<<< HEAD
from ...dialects.mesh import translate_mesh
=======
from ...dialects import mesh
from ...dialects.mesh import (
    MeshAxesArrayAttr,
    MeshReductionKindAttr,
    MeshShardAttr,
    MeshShardingType,
)
from ...dialects.shard import dialect as shard
from ...dialects.shard.annotations import ShardingDefinition
from ...dialects.shard.attributes import (
    ShardAxesArrayAttr,
    ShardReductionKindAttr,
    ShardShardingType,
)
from ...dialects.shard.checks import check_partial, resolve_grid
from ...ir.diagnostics import Note, OperationError
from ...ir.regions import walk
from ...sharding.sharding import Axes, ReductionKind
from ..sharding.process_arithmetic import ArithmeticBefore

_MESH_NAMES = {"shard.grid": "mesh.mesh", "shard.grid_shape": "mesh.mesh_shape"}

SHARD_OPERATIONS = {
    _MESH_NAMES.get(operation.name, operation.name.replace("shard.", "mesh.", 1)): operation
    for operation in shard.Shard.operations
    if operation is not shard.ShardShapeOp
}
"""The operations that only change words, by their names in `mesh`."""

_PROPERTY_NAMES = {"mesh": "grid", "mesh_axes": "grid_axes"}
>>>>>>> first


@dataclass(frozen=True)
class ConvertMeshToShardPass(ModulePass):
    """Write what a program in memory has of `mesh` as `shard`."""

    name = "convert-mesh-to-shard"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
<<<<<<< HEAD
        translate_mesh(op)
=======
        convert_mesh_to_shard(op)


def convert_mesh_to_shard(module: ModuleOp) -> None:
    """Convert a module in place. Raises OperationError for what has no counterpart in `shard`."""
    _Conversion().convert_module(module)


@dataclass
class _Conversion:
    """The conversion of one module."""

    converted: dict[Attribute, Attribute] = field(default_factory=dict[Attribute, Attribute])
    """Attributes already seen, and what became of them."""

    def convert_module(self, module: ModuleOp) -> None:
        """Convert in place. Meshes come first: shapes of shards ask their grid for its extents."""
        operations = list(walk(module))
        for operation in operations:
            if operation.name == "mesh.mesh":
                self.convert_operation(operation)
        for operation in operations:
            if operation.name != "mesh.mesh":
                self.convert_operation(operation)

    def convert_operation(self, operation: Operation) -> None:
        """Convert one operation, and what it holds of `mesh` where it is of another dialect."""
        if isinstance(operation, mesh.ShardShapeOp):
            self.convert_shard_shape(operation)
        elif operation.name in SHARD_OPERATIONS:
            self.respell(operation)
        else:
            self.convert_foreign(operation)

    def convert(self, operation: Operation, attribute: Attribute) -> Attribute:
        """The attribute or type with all of `mesh` in it written as `shard`."""
        known = self.converted.get(attribute)
        if known is None:
            known = self.converted[attribute] = self._convert(operation, attribute)
        return known

    def _convert(self, operation: Operation, attribute: Attribute) -> Attribute:
        match attribute:
            case MeshShardingType():
                return ShardShardingType()
            case MeshAxesArrayAttr():
                return ShardAxesArrayAttr.from_lists(attribute.lists())
            case MeshReductionKindAttr():
                return ShardReductionKindAttr.from_kind(attribute.reduction)
            case MeshShardAttr():
                raise OperationError(
                    operation,
                    f"holds {attribute} outside mesh.shard, which has no counterpart in shard",
                    [Note("annotate the value with mesh.shard instead")],
                )
            case ArrayAttr():
                return ArrayAttr([self.convert(operation, item) for item in attribute.data])
            case DictionaryAttr():
                return DictionaryAttr(
                    {key: self.convert(operation, item) for key, item in attribute.data.items()}
                )
            case ParametrizedAttribute():
                before = attribute.parameters
                after = [self.convert(operation, parameter) for parameter in before]
                same = all(new is old for new, old in zip(after, before, strict=True))
                return attribute if same else type(attribute).new(after)
            case _:
                return attribute

    def respell(self, operation: Operation) -> None:
        """Replace an operation by that of `shard` with the same definition."""
        operands = list(operation.operands)
        properties = dict(operation.properties)
        held = properties.pop("shard", None)
        if isinstance(held, MeshShardAttr):
            self.check_partial(operation, held.mesh, held.partial)
        elif isinstance(operation, ShardingDefinition):
            self.check_partial(operation, operation.grid, operation.partial)
        if isinstance(operation, mesh.ShardOp) and isinstance(held, MeshShardAttr):
            sharding = shard.ShardingOp(held.mesh, held.split_axes.lists(), partial=held.partial)
            self.replace(operation, [sharding], keep=True)
            operands.append(sharding.result)
        new = SHARD_OPERATIONS[operation.name].create(
            operands=operands,
            result_types=[self.convert(operation, t) for t in operation.result_types],
            properties={
                _PROPERTY_NAMES.get(key, key): self.convert(operation, value)
                for key, value in properties.items()
            },
            attributes={
                key: self.convert(operation, value) for key, value in operation.attributes.items()
            },
        )
        self.replace(operation, [new])

    @staticmethod
    def check_partial(
        operation: Operation, mesh: SymbolRefAttr, partial: tuple[ReductionKind, Axes] | None
    ) -> None:
        """Refuse a pending reduction that `mesh` may have, though nothing could finish it."""
        try:
            check_partial(resolve_grid(operation, mesh, shard.SHARD_SPELLING), partial, "mesh")
        except VerifyException as error:
            raise OperationError(operation, str(error)) from error

    def convert_shard_shape(self, operation: mesh.ShardShapeOp) -> None:
        """Give the device by coordinates: those of its number, row-major on the grid."""
        sizes = operation.shape.get_values()
        if DYNAMIC_INDEX in sizes:
            raise OperationError(
                operation,
                f"size {sizes.index(DYNAMIC_INDEX)} is dynamic and its value is not an operand, "
                "so there is nothing that shard.shard_shape could be given",
            )
        sharding = operation.sharding.owner
        if not isinstance(sharding, shard.ShardingOp):
            raise OperationError(
                operation, "needs a sharding made by mesh.sharding, to know the coordinates"
            )
        grid = sharding.resolve_grid()
        arithmetic = ArithmeticBefore(operation)
        device = arithmetic.coordinates(grid, operation.device, range(grid.rank))
        self.replace(operation, [shard.ShardShapeOp(sizes, operation.sharding, device)])

    def convert_foreign(self, operation: Operation) -> None:
        """Convert the attributes and types of an operation of another dialect, in place."""
        for attributes in (operation.properties, operation.attributes):
            for key, value in attributes.items():
                attributes[key] = self.convert(operation, value)
        values: list[SSAValue] = list(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                values += block.args
        for value in values:
            new_type = self.convert(operation, value.type)
            if new_type != value.type:
                Rewriter.replace_value_with_new_type(value, new_type)

    @staticmethod
    def replace(operation: Operation, new: Sequence[Operation], keep: bool = False) -> None:
        """Put new operations in the place of one, or before it, with its location."""
        block = operation.parent
        if block is None:
            raise OperationError(operation, "has no block to be replaced in")
        for created in new:
            created.location = operation.location
        block.insert_ops_before(list(new), operation)
        if not keep:
            for old, result in zip(operation.results, new[-1].results, strict=True):
                result.name_hint = old.name_hint
                old.replace_all_uses_with(result)
            block.erase_op(operation)
>>>>>>> first
