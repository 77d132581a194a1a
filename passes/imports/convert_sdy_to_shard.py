"""`convert-sdy-to-shard`: convert Shardy's meshes and shardings to grids and annotations.

A JAX program that was lowered to linalg still has `sdy` attributes on its arguments and results,
and `sdy.sharding_constraint`s. After this pass it has `shard` annotations only:

- a mesh becomes a grid of the same name; sub-axes become separate grid axes, and the names of
  the axes are kept in `shard.axis_names`;
- the sharding of an argument annotates the value as it is produced, that of a result or a
  constraint annotates it for its users (`annotate_for_users`);
- open dimensions and priorities become attributes of the annotation;
- GSPMD strings in `mhlo.sharding` are converted to Shardy first (`mhlo_shardings.py`);
- Shardy's collectives become a change of sharding: an annotation of the value for its users;
- a manual computation is inlined (`manual_computation.py`);
- casts between `ui8` and `i8`, left by the conversion of StableHLO, become `tensor.bitcast`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.sdy.attributes import (
    DimensionSharding,
    Mesh,
    ShardingAttr,
    ShardingPerValueAttr,
    TensorSharding,
)
from ...dialects.sdy.collectives import SdyCollective
from ...dialects.sdy.dialect import DIRECTIONS, ManualComputationOp, NamedComputationOp
from ...dialects.sdy.meshes import MeshOp
from ...dialects.shard.annotations import ShardingOp, ShardOp
from ...dialects.shard.attributes import stated_lists
from ...dialects.shard.checks import AXIS_NAMES, DEVICES
from ...dialects.shard.grids import GridOp
from ...dialects.tensor.dialect import BitcastOp
from ...ir.attribute_access import integer
from ...ir.diagnostics import OperationError, remark
from ...ir.regions import point_after, walk
from ...ir.symbols import fresh_name
from ...ir.tensor_types import integer_width, ranked
from ...sharding.axis_names import sub_axis_names
from ...sharding.grid import Grid
from ...sharding.refinement import Refinement
from ...sharding.sharding import Axes, ReductionKind
from ..sharding.annotations.access import (
    DIMENSION_PRIORITIES_ATTRIBUTE,
    DIRECTION_ATTRIBUTE,
    GROUP_ATTRIBUTE,
    OPEN_DIMENSIONS_ATTRIBUTE,
    REPLICATED_AXES_ATTRIBUTE,
    SDY_SHARDING,
    read_annotated,
    read_constraints,
)
from .manual_computation import (
    ImportedMesh,
    inline_manual_calls,
    inline_manual_computation,
    is_unused_by_manual_computations,
)
from .mhlo_shardings import import_mhlo_shardings


class ConvertSdyToShardPass(ModulePass):
    """Convert Shardy's meshes and shardings to grids and annotations."""

    name = "convert-sdy-to-shard"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_sdy_to_shard(op)


def convert_sdy_to_shard(module: ModuleOp) -> None:
    """Convert a module in place. Raises OperationError for shardings that a grid cannot express."""
    import_mhlo_shardings(module)
    inline_manual_calls(module)
    read_constraints(module)
    _Conversion(module).convert()


class _Conversion:
    """Converts one module: meshes first, then op by op."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._operations = list(walk(module))
        self._meshes: dict[str | Mesh, ImportedMesh] = {}

    def convert(self) -> None:
        self._import_meshes()
        handlers: dict[str, Callable[[Operation], None]] = {
            "func.func": self._function,
            "sdy.sharding_constraint": self._constraint,
            "sdy.reshard": self._constraint,
            "sdy.named_computation": self._named_computation,
            "sdy.manual_computation": self._manual_computation,
            "sdy.data_flow_edge": self._data_flow_edge,
            "sdy.func_data_flow_edge": self._data_flow_edge,
            "sdy.propagation_barrier": self._barrier,
            "sdy.sharding_group": self._group,
            "builtin.unrealized_conversion_cast": self._sign_cast,
        }
        for operation in self._operations:
            handler = handlers.get(operation.name)
            if operation.parent is None and operation is not self._module:
                continue  # A constraint without axes, erased with its manual computation.
            if handler is not None:
                handler(operation)
            elif isinstance(operation, SdyCollective):
                self._constrain(operation, operation.out_sharding)
            elif SDY_SHARDING in operation.attributes:
                self._annotate_results(operation)

    # Meshes.

    def _import_meshes(self) -> None:
        """Replace every mesh by a grid, with axes split wherever a sharding uses a sub-axis."""
        meshes: dict[str | Mesh, tuple[Mesh, MeshOp | None]] = {}
        for operation in self._operations:
            if isinstance(operation, MeshOp):
                meshes[operation.sym_name.data] = (operation.mesh.data, operation)
        cuts: dict[str | Mesh, list[set[int]]] = {}
        for operation in self._operations:
            for sharding in _shardings_at(operation):
                if not isinstance(sharding.mesh, str):
                    meshes.setdefault(sharding.mesh, (sharding.mesh, None))
                if sharding.mesh not in meshes:
                    raise OperationError(
                        operation, f"refers to mesh @{sharding.mesh}, which is not defined"
                    )
                mesh = meshes[sharding.mesh][0]
                known = cuts.setdefault(sharding.mesh, [set() for _ in mesh.axes])
                _collect_cuts(mesh, sharding, known)
        taken = {key for key in meshes if isinstance(key, str)}
        used = next((key for key, (mesh, _) in meshes.items() if mesh.axes), None)
        for key, (mesh, operation) in sorted(meshes.items(), key=lambda item: item[0] != used):
            if used is not None and not mesh.axes and not mesh.device_ids:
                # JAX's empty mesh: its tensors are replicated on the devices of the used mesh.
                self._meshes[key] = self._meshes[used]
                if operation is not None:
                    Rewriter.erase_op(operation)
                continue
            name = key if isinstance(key, str) else fresh_name("mesh", taken)
            taken.add(name)
            self._meshes[key] = self._import_mesh(name, mesh, operation, cuts.get(key))

    def _import_mesh(
        self, name: str, mesh: Mesh, operation: MeshOp | None, cuts: list[set[int]] | None
    ) -> ImportedMesh:
        origin = operation or self._module
        if mesh.axes and mesh.device_ids:
            if not is_unused_by_manual_computations(self._operations, name):
                raise OperationError(
                    origin,
                    "has device ids that are not in order, which a grid cannot express for manual "
                    "computations",
                )
            remark(
                "sharding",
                origin,
                "is renumbered: results do not depend on the device that holds a shard",
            )
        # A mesh without axes, or of one device, becomes a grid of one process.
        grid = Grid(name, tuple(size for _, size in mesh.axes) or (1,))
        try:
            refinement = Refinement.cut(grid, cuts or [()] * grid.rank)
        except ValueError as error:
            raise OperationError(
                origin, f"is used with sub-axes that do not nest: {error}"
            ) from error
        made = GridOp(name, refinement.fine.shape)
        names = [name for name, _ in mesh.axes]
        names = sub_axis_names(names, grid.shape, refinement.fine.shape) if names else []
        made.attributes[AXIS_NAMES] = ArrayAttr([StringAttr(text) for text in names])
        if operation is not None and DEVICES in operation.attributes:
            made.attributes[DEVICES] = operation.attributes[DEVICES]
        made.location = origin.location
        if operation is None:
            Rewriter.insert_op(made, InsertPoint.at_start(self._module.body.block))
        else:
            Rewriter.replace_op(operation, made, [])
        return ImportedMesh(mesh, refinement)

    # Annotations.

    def _annotate(
        self, value: SSAValue, sharding: TensorSharding, point: InsertPoint, for_users: bool
    ) -> ShardOp:
        """Insert an annotation of a value, with the location of the op that follows it."""
        imported, before = self._meshes[sharding.mesh], point.insert_before
        if not imported.mesh.axes and imported.mesh.device_ids:
            raise OperationError(
                before or self._module,
                f"is only on device {imported.mesh.device_ids[0]} of mesh @{sharding.mesh}, which "
                "a grid cannot express",
            )
        lists = [imported.axes(dimension.axes) for dimension in sharding.dimensions]
        unreduced = imported.axes(sharding.unreduced)
        made = ShardingOp(
            imported.refinement.fine.name,
            stated_lists(lists),
            partial=(ReductionKind.SUM, unreduced) if unreduced else None,
        )
        annotation = ShardOp(value, made.result, for_users)
        replicated = imported.axes(sharding.replicated)
        self._set_openness_and_priorities(annotation, sharding, replicated)
        for operation in (made, annotation):
            if before is not None:
                operation.location = before.location
            Rewriter.insert_op(operation, point)
        return annotation

    def _set_openness_and_priorities(
        self, annotation: ShardOp, sharding: TensorSharding, replicated: Axes
    ) -> None:
        """Store open dimensions, replicated axes and priorities in the annotation's attributes."""
        dimensions = sharding.dimensions
        listed = [index for index, dimension in enumerate(dimensions) if dimension.is_open]
        if listed:
            attributes = annotation.attributes
            attributes[OPEN_DIMENSIONS_ATTRIBUTE] = DenseArrayBase.from_list(i64, listed)
            if replicated:
                attributes[REPLICATED_AXES_ATTRIBUTE] = DenseArrayBase.from_list(i64, replicated)
        priorities = [dimension.priority or 0 for dimension in dimensions]
        if any(priorities):
            annotation.attributes[DIMENSION_PRIORITIES_ATTRIBUTE] = DenseArrayBase.from_list(
                i64, priorities
            )

    def _annotate_for_users(
        self, value: SSAValue, sharding: TensorSharding, operation: Operation, index: int
    ) -> None:
        """Annotate an operand of an op for that op."""
        annotation = self._annotate(value, sharding, InsertPoint.before(operation), True)
        operation.operands[index] = annotation.result

    def _function(self, operation: Operation) -> None:
        if not isinstance(operation, FuncOp):
            return
        given, operation.arg_attrs = _split_shardings(operation.arg_attrs)
        wanted, operation.res_attrs = _split_shardings(operation.res_attrs)
        blocks = operation.body.blocks
        if not blocks:
            return
        entry = blocks[0]
        start = InsertPoint.at_start(entry)
        for argument, sharding in zip(entry.args, given, strict=False):
            if sharding is None or not isinstance(argument.type, TensorType):
                continue
            read_annotated(self._annotate(argument, sharding, start, False))
        for block in blocks:
            terminator = block.last_op
            if not isinstance(terminator, ReturnOp):
                continue
            for index, (value, sharding) in enumerate(
                zip(terminator.operands, wanted, strict=False)
            ):
                if sharding is not None and isinstance(value.type, TensorType):
                    self._annotate_for_users(value, sharding, terminator, index)

    def _constraint(self, operation: Operation) -> None:
        """Replace a constraint: an annotation for its users or, without users, of its producer."""
        assert isinstance(operation.properties["sharding"], ShardingAttr)
        self._constrain(operation, operation.properties["sharding"].data)

    def _constrain(self, operation: Operation, sharding: TensorSharding) -> None:
        used, point = operation.results[0].first_use is not None, InsertPoint.before(operation)
        annotation = self._annotate(operation.operands[0], sharding, point, used)
        Rewriter.replace_op(operation, [], [annotation.result])

    def _annotate_results(self, operation: Operation) -> None:
        """Annotate the results of an op that has a sharding attribute."""
        found = operation.attributes.pop(SDY_SHARDING)
        if not isinstance(found, ShardingPerValueAttr):
            raise OperationError(operation, f"has {SDY_SHARDING} = {found}, expected a list")
        point = InsertPoint.after(operation)
        for result, sharding in zip(operation.results, found.data, strict=False):
            if isinstance(result.type, TensorType):
                read_annotated(self._annotate(result, sharding, point, False))

    # Ops that are inlined, dropped or replaced.

    def _named_computation(self, operation: Operation) -> None:
        """Inline the body of a named computation, with its arguments and results annotated."""
        assert isinstance(operation, NamedComputationOp)
        point, body = InsertPoint.before(operation), operation.body.block
        terminator = body.last_op
        assert terminator is not None

        def annotated(
            values: Sequence[SSAValue], shardings: ShardingPerValueAttr | None, for_users: bool
        ) -> Sequence[SSAValue]:
            if shardings is None:
                return values
            return [
                self._annotate(value, sharding, point, for_users).result
                if isinstance(value.type, TensorType)
                else value
                for value, sharding in zip(values, shardings.data, strict=True)
            ]

        inside = annotated(operation.operands, operation.in_shardings, True)
        Rewriter.inline_block(body, point, inside)
        results = annotated(terminator.operands, operation.out_shardings, False)
        Rewriter.erase_op(terminator)
        Rewriter.replace_op(operation, [], results)

    def _manual_computation(self, operation: Operation) -> None:
        assert isinstance(operation, ManualComputationOp)
        inline_manual_computation(operation, self._meshes, self._annotate)

    def _data_flow_edge(self, operation: Operation) -> None:
        """Annotate the carried value; without a sharding, propagation finds the edge itself."""
        sharding = operation.properties.get("sharding")
        if isinstance(sharding, ShardingAttr):
            self._constrain(operation, sharding.data)
        else:
            Rewriter.replace_op(operation, [], operation.operands)

    def _barrier(self, operation: Operation) -> None:
        """Replace a barrier by an open annotation across which propagation is limited."""
        annotation = self._annotate_open(operation, InsertPoint.before(operation), True)
        if annotation is None:
            Rewriter.replace_op(operation, [], operation.operands)
            return
        direction = StringAttr(DIRECTIONS[integer(operation, "allowed_direction")])
        annotation.attributes[DIRECTION_ATTRIBUTE] = direction
        Rewriter.replace_op(operation, [], [annotation.result])

    def _group(self, operation: Operation) -> None:
        """Replace the membership of a group by an open annotation with the number of the group."""
        point = point_after(operation.operands[0])
        annotation = self._annotate_open(operation, point, False)
        if annotation is not None:
            annotation.attributes[GROUP_ATTRIBUTE] = operation.properties["group_id"]
            read_annotated(annotation)
        Rewriter.erase_op(operation)

    def _annotate_open(
        self, operation: Operation, point: InsertPoint, for_users: bool
    ) -> ShardOp | None:
        """Annotate an op's operand with a sharding all of whose dimensions are open.

        Returns `None` if there is no mesh.
        """
        mesh = next((key for key, each in self._meshes.items() if each.mesh.axes), None)
        type_ = operation.operands[0].type
        if mesh is None or not isinstance(type_, TensorType):
            return None
        rank = type_.get_num_dims()  # pyright: ignore[reportUnknownMemberType]
        sharding = TensorSharding(mesh, (DimensionSharding((), True),) * rank)
        return self._annotate(operation.operands[0], sharding, point, for_users)

    def _sign_cast(self, operation: Operation) -> None:
        """Replace a cast between integers of equal width, left by StableHLO, by a bitcast."""
        if len(operation.operands) != 1 or len(operation.results) != 1:
            return
        source, result = ranked(operation.operands[0]), ranked(operation.results[0])
        if source is None or result is None or source.get_shape() != result.get_shape():
            return
        width = _width(source.element_type)
        if width is not None and width == _width(result.element_type):
            cast = BitcastOp.create(
                operands=operation.operands, result_types=(result,), location=operation.location
            )
            Rewriter.replace_op(operation, cast)


def _width(scalar: Attribute) -> int | None:
    return integer_width(scalar) if scalar.name == IntegerType.name else None


def _shardings_at(operation: Operation) -> Iterator[TensorSharding]:
    """Yield every sharding that an op holds."""
    for attributes in (operation.properties, operation.attributes):
        for attribute in attributes.values():
            yield from _shardings_in(attribute)


def _shardings_in(attribute: Attribute) -> Iterator[TensorSharding]:
    match attribute:
        case ShardingAttr():
            yield attribute.data
        case ShardingPerValueAttr():
            yield from attribute.data
        case ArrayAttr():
            inner: tuple[Attribute, ...] = attribute.data  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            for each in inner:
                yield from _shardings_in(each)
        case DictionaryAttr():
            for each in attribute.data.values():
                yield from _shardings_in(each)
        case _:
            pass


def _collect_cuts(mesh: Mesh, sharding: TensorSharding, cuts: list[set[int]]) -> None:
    """Add the positions at which a sharding needs the mesh's axes to be split."""
    names = [name for name, _ in mesh.axes]
    lists = (
        *(dimension.axes for dimension in sharding.dimensions),
        sharding.replicated,
        sharding.unreduced,
    )
    for axes in lists:
        for reference in axes:
            if reference.sub_axis is not None and reference.name in names:
                axis = names.index(reference.name)
                cuts[axis].update(reference.extent(mesh.axes[axis][1]))


def _split_shardings(
    attributes: ArrayAttr[DictionaryAttr] | None,
) -> tuple[list[TensorSharding | None], ArrayAttr[DictionaryAttr] | None]:
    """Split the attributes of arguments or results into their shardings and the others."""
    if attributes is None:
        return [], None
    shardings: list[TensorSharding | None] = []
    rest: list[DictionaryAttr] = []
    for entry in attributes.data:
        found = entry.data.get(SDY_SHARDING)
        shardings.append(found.data if isinstance(found, ShardingAttr) else None)
        rest.append(DictionaryAttr({k: v for k, v in entry.data.items() if k != SDY_SHARDING}))
    return shardings, ArrayAttr(rest) if any(entry.data for entry in rest) else None
