"""The `mesh` dialect, from which `shard` comes: the same operations in the older spelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FlatSymbolRefAttr,
    IndexType,
    NoneAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..sharding.sharding import Axes, ReductionKind
from .shard.annotations import GetShardingDefinition, ShardingDefinition, sharding_definition
from .shard.attributes import (
    AxesArrayAttr,
    AxesAttr,
    IndicesAttr,
    ReductionKindAttr,
    ShardingType,
    Spelling,
    axes_attribute,
    indices_attribute,
    parse_axes,
    print_axes,
)
from .shard.checks import (
    check_sharding_by_itself,
    check_sharding_of_tensor,
    check_sharding_on_grid,
    resolve_grid,
)
from .shard.collective_base import Collective
from .shard.collectives import (
    AllGatherDefinition,
    AllReduceDefinition,
    AllSliceDefinition,
    AllToAllDefinition,
    ReduceScatterDefinition,
    ShiftDefinition,
    UpdateHaloDefinition,
)
from .shard.grids import (
    GridDefinition,
    GridShapeDefinition,
    NeighborsLinearIndicesDefinition,
    OnGrid,
    ProcessLinearIndexDefinition,
    ProcessMultiIndexDefinition,
)
from .shard.rooted_collectives import (
    BroadcastDefinition,
    GatherDefinition,
    RecvDefinition,
    ReduceDefinition,
    ScatterDefinition,
    SendDefinition,
)
from .shard.syntax import (
    INDEX,
    Clause,
    Form,
    NamedResults,
    parse_attributes,
    parse_clauses,
    parse_dimensions,
    print_attributes,
    print_dimensions,
)


@irdl_attr_definition
class MeshAxesArrayAttr(AxesArrayAttr):
    """`#mesh<axisarray[[0], []]>`."""

    name = "mesh.axisarray"


@irdl_attr_definition
class MeshReductionKindAttr(ReductionKindAttr):
    """`#mesh.partial<max>`, and `<max>` in operations, as LLVM 19 has it.

    Later versions write `#mesh<partial max>` and `max`, which is read as well.
    """

    name = "mesh.partial"

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            super().print_parameters(printer)


@irdl_attr_definition
class MeshShardingType(ShardingType):
    """`!mesh.sharding`."""

    name = "mesh.sharding"


@irdl_attr_definition
class MeshShardAttr(ParametrizedAttribute):
    """A sharding as an attribute, as LLVM 19 and older have it.

    `#mesh.shard<@mesh0, [[0]], partial = sum[1]>`, in `mesh.shard` without the `#mesh.shard`.
    """

    name = "mesh.shard"

    mesh: SymbolRefAttr
    split_axes: MeshAxesArrayAttr
    partial_type: MeshReductionKindAttr | NoneAttr
    partial_axes: AxesAttr | NoneAttr

    @property
    def partial(self) -> tuple[ReductionKind, Axes] | None:
        """The pending reduction and its axes."""
        if isinstance(self.partial_type, NoneAttr) or isinstance(self.partial_axes, NoneAttr):
            return None
        return self.partial_type.reduction, self.partial_axes.get_values()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            mesh = SymbolRefAttr(parser.parse_symbol_name())
            parser.parse_punctuation(",")
            split_axes = MeshAxesArrayAttr.parse_lists(parser)
            if parser.parse_optional_punctuation(",") is None:
                return (mesh, split_axes, NoneAttr(), NoneAttr())
            parser.parse_keyword("partial")
            parser.parse_punctuation("=")
            kind = MeshReductionKindAttr.parse_keyword(parser)
            return (mesh, split_axes, kind, parse_axes(parser))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_symbol_name(self.mesh.root_reference.data)
            printer.print_string(", ")
            self.split_axes.print_parameters(printer)
            kind, axes = self.partial_type, self.partial_axes
            if not isinstance(kind, NoneAttr) and not isinstance(axes, NoneAttr):
                printer.print_string(f", partial = {kind.kind.data}")
                print_axes(printer, axes)


MESH_SPELLING = Spelling(
    "mesh",
    MeshAxesArrayAttr,
    MeshReductionKindAttr,
    MeshShardingType,
    words={"grid": "mesh", "grid_axes": "mesh_axes"},
    kind_prefix="",
)


class OnMesh(OnGrid):
    """Names of the properties that refer to a mesh."""

    SPELLING: ClassVar[Spelling] = MESH_SPELLING

    grid = prop_def(FlatSymbolRefAttr, prop_name="mesh")


class MeshCollective(OnMesh, Collective):
    """Names of the properties of a collective."""

    grid_axes = prop_def(AxesAttr, default_value=axes_attribute(()), prop_name="mesh_axes")


@irdl_op_definition
class MeshOp(GridDefinition):
    """`mesh.mesh @mesh0(shape = 2x?x4)`."""

    SPELLING: ClassVar[Spelling] = MESH_SPELLING

    name = "mesh.mesh"


@irdl_op_definition
class MeshShapeOp(OnMesh, GridShapeDefinition):
    """`mesh.mesh_shape @mesh0 axes = [1] : index`."""

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("mesh_shape",)

    name = "mesh.mesh_shape"


@irdl_op_definition
class ShardingOp(OnMesh, ShardingDefinition):
    """`mesh.sharding @mesh0 split_axes = [[0]] partial = sum[1] : !mesh.sharding`."""

    name = "mesh.sharding"


@irdl_op_definition
class GetShardingOp(GetShardingDefinition):
    """`mesh.get_sharding %t : tensor<8xf32> -> !mesh.sharding`, in the last days of `mesh`."""

    SPELLING: ClassVar[Spelling] = MESH_SPELLING

    name = "mesh.get_sharding"


_SHARD_CLAUSES = (Clause("annotate_for_users", Form.FLAG, optional=True),)


@irdl_op_definition
class ShardOp(NamedResults):
    """`mesh.shard %t to %s : T`, or `mesh.shard %t to <@mesh0, [[0]]> : T` of LLVM 19."""

    SPELLING: ClassVar[Spelling] = MESH_SPELLING

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("sharding_annotated",)

    name = "mesh.shard"

    src = operand_def(TensorType)
    sharding = opt_operand_def(MeshShardingType)
    shard = opt_prop_def(MeshShardAttr)
    annotate_for_users = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(
        self, src: SSAValue, sharding: SSAValue | MeshShardAttr, annotate_for_users: bool = False
    ) -> None:
        is_value = isinstance(sharding, SSAValue)
        super().__init__(
            operands=[src, [sharding] if is_value else []],
            properties={
                "shard": None if is_value else sharding,
                "annotate_for_users": UnitAttr() if annotate_for_users else None,
            },
            result_types=[src.type],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        sharding = parser.parse_optional_unresolved_operand()
        shard = None if sharding else MeshShardAttr.new(MeshShardAttr.parse_parameters(parser))
        properties = parse_clauses(parser, _SHARD_CLAUSES, MESH_SPELLING).properties
        if shard is not None:
            properties["shard"] = shard
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        tensor_type = parser.parse_type()
        operands = [parser.resolve_operand(source, tensor_type)]
        if sharding is not None:
            operands.append(parser.resolve_operand(sharding, MeshShardingType()))
        return cls.create(
            operands=operands,
            properties=properties,
            result_types=[tensor_type],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.src)
        printer.print_string(" to ")
        if self.sharding is not None:
            printer.print_ssa_value(self.sharding)
        elif self.shard is not None:
            self.shard.print_parameters(printer)
        if self.annotate_for_users is not None:
            printer.print_string(" annotate_for_users")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if (self.sharding is None) == (self.shard is None):
            raise VerifyException("needs a sharding, either as an operand or as an attribute")
        if self.src.type != self.result.type:
            raise VerifyException(
                f"result has type {self.result.type}, expected that of the source, {self.src.type}"
            )
        if self.shard is not None:
            mesh = resolve_grid(self, self.shard.mesh, MESH_SPELLING)
            axes, partial = self.shard.split_axes.lists(), self.shard.partial
            check_sharding_by_itself(axes, (), (), partial, "mesh")
            check_sharding_on_grid(mesh, axes, (), partial, "mesh")
            check_sharding_of_tensor(self.src.type, mesh, axes, (), (), partial)
        elif self.sharding is not None:
            definition = sharding_definition(self.sharding)
            if definition is not None:
                definition.check_tensor(self.src.type)


@irdl_op_definition
class ShardShapeOp(NamedResults):
    """The local shape on the device of a number: `mesh.shard_shape 8x4 %s %i : index, index`.

    Of a dynamic size only `?` is known, not its value.
    """

    SPELLING: ClassVar[Spelling] = MESH_SPELLING

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("shard_shape",)

    name = "mesh.shard_shape"

    shape = prop_def(IndicesAttr)
    sharding = operand_def(MeshShardingType)
    device = operand_def(IndexType)
    result = var_result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(self, shape: Sequence[int | None], sharding: SSAValue, device: SSAValue) -> None:
        sizes = [DYNAMIC_INDEX if size is None else size for size in shape]
        super().__init__(
            operands=[sharding, device],
            properties={"shape": indices_attribute(sizes)},
            result_types=[[INDEX] * len(sizes)],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        shape = parse_dimensions(parser)
        sharding = parser.parse_unresolved_operand()
        device = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {"shape": indices_attribute(shape)}
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(
            operands=[
                parser.resolve_operand(sharding, MeshShardingType()),
                parser.resolve_operand(device, INDEX),
            ],
            properties=properties,
            result_types=types,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_dimensions(printer, self.shape.get_values())
        for operand in self.operands:
            printer.print_string(" ")
            printer.print_ssa_value(operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    def verify_(self) -> None:
        if len(self.shape) != len(self.results):
            raise VerifyException(
                f"has {len(self.results)} results, expected one for each of {len(self.shape)} sizes"
            )
        for size in self.shape.get_values():
            if size < 0 and size != DYNAMIC_INDEX:
                raise VerifyException(f"sizes must not be negative, got {size}")


@irdl_op_definition
class ProcessMultiIndexOp(OnMesh, ProcessMultiIndexDefinition):
    """`mesh.process_multi_index on @mesh0 axes = [0] : index`."""

    name = "mesh.process_multi_index"


@irdl_op_definition
class ProcessLinearIndexOp(OnMesh, ProcessLinearIndexDefinition):
    """`mesh.process_linear_index on @mesh0 : index`."""

    name = "mesh.process_linear_index"


@irdl_op_definition
class NeighborsLinearIndicesOp(OnMesh, NeighborsLinearIndicesDefinition):
    """`mesh.neighbors_linear_indices on @mesh0[%i] split_axes = [0] : index, index`."""

    name = "mesh.neighbors_linear_indices"


@irdl_op_definition
class UpdateHaloOp(OnMesh, UpdateHaloDefinition):
    """`mesh.update_halo %t on @mesh0 split_axes = [[0]] halo_sizes = [1, 1] : tensor<8xf32>`."""

    name = "mesh.update_halo"


@irdl_op_definition
class AllGatherOp(MeshCollective, AllGatherDefinition):
    """See `AllGatherDefinition`."""

    name = "mesh.all_gather"


@irdl_op_definition
class AllReduceOp(MeshCollective, AllReduceDefinition):
    """See `AllReduceDefinition`."""

    name = "mesh.all_reduce"


@irdl_op_definition
class AllSliceOp(MeshCollective, AllSliceDefinition):
    """See `AllSliceDefinition`."""

    name = "mesh.all_slice"


@irdl_op_definition
class AllToAllOp(MeshCollective, AllToAllDefinition):
    """See `AllToAllDefinition`."""

    name = "mesh.all_to_all"


@irdl_op_definition
class BroadcastOp(MeshCollective, BroadcastDefinition):
    """See `BroadcastDefinition`."""

    name = "mesh.broadcast"


@irdl_op_definition
class GatherOp(MeshCollective, GatherDefinition):
    """See `GatherDefinition`."""

    name = "mesh.gather"


@irdl_op_definition
class ReduceOp(MeshCollective, ReduceDefinition):
    """See `ReduceDefinition`."""

    name = "mesh.reduce"


@irdl_op_definition
class ReduceScatterOp(MeshCollective, ReduceScatterDefinition):
    """See `ReduceScatterDefinition`."""

    name = "mesh.reduce_scatter"


@irdl_op_definition
class ScatterOp(MeshCollective, ScatterDefinition):
    """See `ScatterDefinition`."""

    name = "mesh.scatter"


@irdl_op_definition
class SendOp(MeshCollective, SendDefinition):
    """See `SendDefinition`."""

    name = "mesh.send"


@irdl_op_definition
class RecvOp(MeshCollective, RecvDefinition):
    """See `RecvDefinition`."""

    name = "mesh.recv"


@irdl_op_definition
class ShiftOp(MeshCollective, ShiftDefinition):
    """See `ShiftDefinition`."""

    name = "mesh.shift"


Mesh = Dialect(
    "mesh",
    [
        MeshOp,
        MeshShapeOp,
        ShardingOp,
        GetShardingOp,
        ShardOp,
        ShardShapeOp,
        ProcessMultiIndexOp,
        ProcessLinearIndexOp,
        NeighborsLinearIndicesOp,
        UpdateHaloOp,
        AllGatherOp,
        AllReduceOp,
        AllSliceOp,
        AllToAllOp,
        BroadcastOp,
        GatherOp,
        ReduceOp,
        ReduceScatterOp,
        ScatterOp,
        SendOp,
        RecvOp,
        ShiftOp,
    ],
    [MeshAxesArrayAttr, MeshReductionKindAttr, MeshShardAttr, MeshShardingType],
)
"""The dialect, complete."""
