"""The `mesh` dialect, from which `shard` comes: the same operations in the older spelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FlatSymbolRefAttr,
    IndexType,
    NoneAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue
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

from ..ir.syntax.assembly_format import Parsed, Syntax, values
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
from .shard.collectives import UpdateHaloDefinition
from .shard.dialect import Shard, operation_class
from .shard.grids import (
    GridDefinition,
    GridShapeDefinition,
    NeighborsLinearIndicesDefinition,
    OnGrid,
    ProcessLinearIndexDefinition,
    ProcessMultiIndexDefinition,
)
from .shard.syntax import INDEX, Clause, Clauses, Form, NamedResults, ShardingOperand, respelled


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
    SYNTAX: ClassVar[Syntax] = respelled(GridShapeDefinition.SYNTAX, MESH_SPELLING)

    name = "mesh.mesh_shape"


@irdl_op_definition
class GetShardingOp(GetShardingDefinition):
    """`mesh.get_sharding %t : tensor<8xf32> -> !mesh.sharding`, in the last days of `mesh`."""

    SPELLING: ClassVar[Spelling] = MESH_SPELLING

    name = "mesh.get_sharding"


class _ShardingOrAttribute(ShardingOperand):
    """`%s`, or `<@mesh0, [[0]]>`."""

    printed_attributes = ("shard",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        sharding = parser.parse_optional_unresolved_operand()
        if sharding is None:
            shard = MeshShardAttr.new(MeshShardAttr.parse_parameters(parser))
            parsed.attributes["shard"] = shard
        else:
            parsed.operands["sharding"] = [sharding]
            parsed.types["sharding"] = [MeshShardingType()]

    def print(self, printer: Printer, operation: Operation) -> None:
        shard = operation.properties.get("shard")
        if values(operation, "sharding"):
            super().print(printer, operation)
        elif isinstance(shard, MeshShardAttr):
            shard.print_parameters(printer)


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

    SYNTAX: ClassVar[Syntax] = (
        " $src to ",
        _ShardingOrAttribute(),
        Clauses((Clause("annotate_for_users", Form.FLAG, optional=True),), MESH_SPELLING),
        " attr-dict : type($src, $result)",
    )

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

    def verify_(self) -> None:
        if self.src.type != self.result.type:
            raise VerifyException(
                "failed to verify that all of {result, src} have same type, got "
                f"{self.result.type} and {self.src.type}"
            )
        super().verify_()
        if (self.sharding is None) == (self.shard is None):
            raise VerifyException("needs a sharding, either as an operand or as an attribute")
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

    SYNTAX: ClassVar[Syntax] = (
        " dimensions($shape) ",
        ShardingOperand(MESH_SPELLING),
        " $device attr-dict : type($result)",
    )

    def __init__(self, shape: Sequence[int | None], sharding: SSAValue, device: SSAValue) -> None:
        sizes = [DYNAMIC_INDEX if size is None else size for size in shape]
        super().__init__(
            operands=[sharding, device],
            properties={"shape": indices_attribute(sizes)},
            result_types=[[INDEX] * len(sizes)],
        )

    def verify_(self) -> None:
        super().verify_()
        if len(self.shape) != len(self.results):
            raise VerifyException(
                f"has {len(self.results)} results, expected one for each of {len(self.shape)} sizes"
            )
        for size in self.shape.get_values():
            if size < 0 and size != DYNAMIC_INDEX:
                raise VerifyException(f"sizes must not be negative, got {size}")


_ON_MESH = (
    NeighborsLinearIndicesDefinition,
    ProcessLinearIndexDefinition,
    ProcessMultiIndexDefinition,
    ShardingDefinition,
    UpdateHaloDefinition,
)
"""Operations that differ from those of `shard` in their words only."""


def _respelled(operation: type[Operation]) -> type[Operation] | None:
    """The operation of `mesh` that differs in its words only from one of `shard`."""
    definition = operation.__bases__[-1]
    spelling = MeshCollective if issubclass(definition, Collective) else OnMesh
    if definition not in _ON_MESH and spelling is OnMesh:
        return None
    name = operation.name.replace("shard.", "mesh.", 1)
    return operation_class(name, cast("type[OnGrid]", definition), MESH_SPELLING, spelling)


Mesh = Dialect(
    "mesh",
    [
        MeshOp,
        MeshShapeOp,
        GetShardingOp,
        ShardOp,
        ShardShapeOp,
        *(found for each in Shard.operations if (found := _respelled(each)) is not None),
    ],
    [MeshAxesArrayAttr, MeshReductionKindAttr, MeshShardAttr, MeshShardingType],
)
"""The dialect, complete."""
