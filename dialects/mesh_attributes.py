"""The attributes and the type of `mesh`, in its own spelling."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NoneAttr, SymbolRefAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..sharding.sharding import Axes, ReductionKind
from .shard_attributes import (
    AxesArrayAttr,
    AxesAttr,
    ReductionKindAttr,
    ShardingType,
    Spelling,
    parse_axes,
    print_axes,
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
