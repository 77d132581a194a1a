"""Shardy's collectives and data-flow edges.

Like all of Shardy they are defined on whole tensors: result and operand are equal, and
`out_sharding` is the sharding of the result.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Data, OpaqueSyntaxAttribute, Operation
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import PURE, Rows
from .attributes import AxisRef, ShardingAttr, axes_text, axes_validation_error, parse_axes
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
            axes = parse_axes(parser)
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


row = Rows("sdy", {"sharding": ShardingAttr}, default="any")

_ListAttr = AxisListAttr | AxisListsAttr | AllToAllParametersAttr


class SdyCollective(SyntaxOperation, ABC):
    """Base of the collectives: `sdy.all_gather [{"x"}, {}] %t out_sharding=<...> : T`.

    The verifier asks that the result has the operand's type, and checks `out_sharding` and the
    listed axes on the mesh.
    """

    tensor = operand_def()
    result = result_def()
    out_sharding = prop_def(ShardingAttr)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        verify_same_type(self)
        verify_sharding(self, self.out_sharding.data, self.result.type)
        listed = next((p for p in self.properties.values() if isinstance(p, _ListAttr)), None)
        mesh = mesh_of(self, self.out_sharding.data)
        if listed is None or mesh is None:
            return
        error = axes_validation_error(tuple(listed.lists), mesh)
        if error is not None:
            raise VerifyException(error)
        rank = len(shape_or_empty(self.result.type))
        if isinstance(listed, AxisListsAttr) and len(listed.data) != rank:
            raise VerifyException(
                f"lists axes for {len(listed.data)} dimensions of a tensor of rank {rank}"
            )
        if isinstance(listed, AllToAllParametersAttr):
            for each in listed.data:
                if not (each.source < rank and each.target < rank) or each.source == each.target:
                    raise VerifyException(
                        f"'{each}' is not a valid all-to-all parameter for a tensor of rank {rank}"
                    )


_SYNTAX = " $tensor out_sharding=bare($out_sharding) attr-dict : type($tensor, $result)"


def verify_same_type(operation: Operation) -> None:
    """Check that operand and result have one type. Raises VerifyException."""
    source, result = operation.operands[0].type, operation.results[0].type
    if source != result:
        raise VerifyException(
            f"expected the result's type '{result}' to be the operand's '{source}'"
        )


@irdl_op_definition
class AllGatherOp(SdyCollective):
    """Gather along axes: remove them from the minor end of each dimension's axes."""

    name = "sdy.all_gather"
    gathering_axes = prop_def(AxisListsAttr)

    SYNTAX: ClassVar[Syntax] = " bare($gathering_axes)" + _SYNTAX


@irdl_op_definition
class AllSliceOp(SdyCollective):
    """Slice along axes: add them to the axes of each dimension."""

    name = "sdy.all_slice"
    slicing_axes = prop_def(AxisListsAttr)

    SYNTAX: ClassVar[Syntax] = " bare($slicing_axes)" + _SYNTAX


@irdl_op_definition
class AllToAllOp(SdyCollective):
    """Move axes from one dimension to another."""

    name = "sdy.all_to_all"
    params = prop_def(AllToAllParametersAttr)

    SYNTAX: ClassVar[Syntax] = " bare($params)" + _SYNTAX


@irdl_op_definition
class CollectivePermuteOp(SdyCollective):
    """Permute shards between devices, so that axes exchange their places."""

    name = "sdy.collective_permute"

    SYNTAX: ClassVar[Syntax] = _SYNTAX


@irdl_op_definition
class AllReduceOp(SdyCollective):
    """Sum along axes for which the reduction of the operand is pending."""

    name = "sdy.all_reduce"
    reduction_axes = prop_def(AxisListAttr)

    SYNTAX: ClassVar[Syntax] = " bare($reduction_axes)" + _SYNTAX


@irdl_op_definition
class ReduceScatterOp(SdyCollective):
    """Sum along axes for which the reduction is pending; the axes then split the result."""

    name = "sdy.reduce_scatter"
    reduce_scatter_axes = prop_def(AxisListsAttr)

    SYNTAX: ClassVar[Syntax] = " bare($reduce_scatter_axes)" + _SYNTAX


@irdl_op_definition
class ReplicatedToUnreducedOp(SdyCollective):
    """Leave the reduction over axes pending, along which the operand is replicated."""

    name = "sdy.replicated_to_unreduced"
    axes = prop_def(AxisListAttr)

    SYNTAX: ClassVar[Syntax] = " bare($axes)" + _SYNTAX


@irdl_op_definition
class ShardedToUnreducedOp(SdyCollective):
    """Leave the reduction over axes pending, along which the operand is split."""

    name = "sdy.sharded_to_unreduced"
    axes = prop_def(AxisListsAttr)

    SYNTAX: ClassVar[Syntax] = " bare($axes)" + _SYNTAX


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
