"""Shardy's collectives and data-flow edges.

Like all of Shardy they are defined on whole tensors: result and operand are equal, and
`out_sharding` is the sharding of the result.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Data, OpaqueSyntaxAttribute, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import PURE, RowOperation, Rows
from .attributes import (
    AxisRef,
    ShardingAttr,
    TensorSharding,
    axes_text,
    axes_validation_error,
    parse_axes,
)
from .meshes import mesh_of, shape_or_empty, verify_sharding

Axes = tuple[AxisRef, ...]


@dataclass(frozen=True, slots=True)
class AllToAllParameter:
    """Axes that are moved from one dimension to another: `{"b"}: 0->2`."""

    axes: Axes
    source: int
    target: int

    def __str__(self) -> str:
        return f"{axes_text(self.axes)}: {self.source}->{self.target}"


@irdl_attr_definition
class AxisListAttr(OpaqueSyntaxAttribute, Data[Axes]):
    """`#sdy<axis_ref_list{"a", "b":(1)2}>`."""

    name = "sdy.axis_ref_list"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Axes:
        return parse_axes(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(axes_text(self.data))

    @property
    def lists(self) -> Sequence[Axes]:
        """The lists of axes in the attribute."""
        return (self.data,)


@irdl_attr_definition
class AxisListsAttr(OpaqueSyntaxAttribute, Data[tuple[Axes, ...]]):
    """`#sdy<list_of_axis_ref_lists[{"a"}, {}]>`: the axes of each dimension."""

    name = "sdy.list_of_axis_ref_lists"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Axes, ...]:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_axes(parser))
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("[" + ", ".join(map(axes_text, self.data)) + "]")

    @property
    def lists(self) -> Sequence[Axes]:
        """The lists of axes in the attribute."""
        return self.data


@irdl_attr_definition
class AllToAllParametersAttr(OpaqueSyntaxAttribute, Data[tuple[AllToAllParameter, ...]]):
    """`#sdy<all_to_all_param_list[{"b"}: 0->2]>`."""

    name = "sdy.all_to_all_param_list"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[AllToAllParameter, ...]:
        def entry() -> AllToAllParameter:
            position = parser.pos
            axes = parse_axes(parser)
            if not axes:
                parser.raise_error("expected an axis to move", position)
            parser.parse_punctuation(":")
            source = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation("->")
            return AllToAllParameter(
                axes, source, parser.parse_integer(allow_boolean=False, allow_negative=False)
            )

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, entry))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("[" + ", ".join(map(str, self.data)) + "]")

    @property
    def lists(self) -> Sequence[Axes]:
        """The lists of axes in the attribute."""
        return tuple(each.axes for each in self.data)


row = Rows(
    "sdy",
    {
        "axis_list": AxisListAttr,
        "axis_lists": AxisListsAttr,
        "moves": AllToAllParametersAttr,
        "sharding": ShardingAttr,
    },
    default="any",
)

_ListAttr = AxisListAttr | AxisListsAttr | AllToAllParametersAttr


class SdyCollective(SyntaxOperation, ABC):
    """Base of the collectives: `sdy.all_gather [{"x"}, {}] %t out_sharding=<...> : T`.

    The verifier asks that the result has the operand's type, and checks `out_sharding` and the
    listed axes on the mesh.
    """

    @property
    def out_sharding(self) -> TensorSharding:
        """The sharding of the result."""
        return cast(ShardingAttr, self.properties["out_sharding"]).data

    def verify_(self) -> None:
        super().verify_()
        verify_same_type(self)
        verify_sharding(self, self.out_sharding, self.results[0].type)
        listed = next((p for p in self.properties.values() if isinstance(p, _ListAttr)), None)
        mesh = mesh_of(self, self.out_sharding)
        if listed is None or mesh is None:
            return
        error = axes_validation_error(tuple(listed.lists), mesh)
        if error is not None:
            raise VerifyException(error)
        rank = len(shape_or_empty(self.results[0].type))
        if isinstance(listed, AxisListsAttr) and len(listed.data) != rank:
            raise VerifyException(
                f"lists axes for {len(listed.data)} dimensions of a tensor of rank {rank}"
            )
        if isinstance(listed, AllToAllParametersAttr):
            moved = [end for each in listed.data for end in (each.source, each.target)]
            if max(moved, default=rank) >= rank or len(set(moved)) != len(moved):
                raise VerifyException(
                    f"expected different dimensions of a tensor of rank {rank} in an all-to-all, "
                    f"got {moved}"
                )


def verify_same_type(operation: Operation) -> None:
    """Check that operand and result have one type. Raises VerifyException."""
    source, result = operation.operands[0].type, operation.results[0].type
    if source != result:
        raise VerifyException(
            f"expected the result's type '{result}' to be the operand's '{source}'"
        )


def _collective(name: str, listed: str, doc: str) -> type[RowOperation]:
    """Return the class of a collective; `listed` is the property that lists axes, or empty."""
    prefix = f" bare(${listed.partition(':')[0]})" if listed else ""
    return row(
        name,
        f"tensor -> result | {listed} out_sharding:sharding",
        f"{prefix} $tensor out_sharding=bare($out_sharding) attr-dict : type($tensor, $result)",
        traits=PURE,
        base=SdyCollective,
        doc=doc,
    )


AllGatherOp = _collective(
    "all_gather",
    "gathering_axes:axis_lists",
    "Gather along axes: remove them from the minor end of each dimension's axes.",
)
AllSliceOp = _collective(
    "all_slice",
    "slicing_axes:axis_lists",
    "Slice along axes: add them to the axes of each dimension.",
)
AllToAllOp = _collective(
    "all_to_all",
    "params:moves",
    "Move axes from one dimension to another.",
)
CollectivePermuteOp = _collective(
    "collective_permute",
    "",
    "Permute shards between devices, so that axes exchange their places.",
)
AllReduceOp = _collective(
    "all_reduce",
    "reduction_axes:axis_list",
    "Sum along axes for which the reduction of the operand is pending.",
)
ReduceScatterOp = _collective(
    "reduce_scatter",
    "reduce_scatter_axes:axis_lists",
    "Sum along axes for which the reduction is pending; the axes then split the result.",
)
ReplicatedToUnreducedOp = _collective(
    "replicated_to_unreduced",
    "axes:axis_list",
    "Leave the reduction over axes pending, along which the operand is replicated.",
)
ShardedToUnreducedOp = _collective(
    "sharded_to_unreduced",
    "axes:axis_lists",
    "Leave the reduction over axes pending, along which the operand is split.",
)


def _verify_edge(edge: Operation) -> None:
    verify_same_type(edge)
    sharding = edge.properties.get("sharding")
    if isinstance(sharding, ShardingAttr):
        verify_sharding(edge, sharding.data, edge.results[0].type)


DataFlowEdgeOp = row(
    "data_flow_edge",
    "input -> result | sharding:sharding?",
    " $input( sharding=bare($sharding))? attr-dict : type($input, $result)",
    traits=PURE,
    verify=_verify_edge,
    doc="Hold the one sharding of a loop or branch value: `sdy.data_flow_edge %t : T`.",
)

FuncDataFlowEdgeOp = row(
    "func_data_flow_edge",
    "input -> result",
    " $input attr-dict : type($input, $result)",
    traits=PURE,
    # Shardy also asks for a call or an argument as operand; inlining makes others.
    verify=verify_same_type,
    doc="Join the two sides of a call: `sdy.func_data_flow_edge %argument_or_result : T`.",
)
