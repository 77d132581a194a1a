"""Collectives and messages that name one device of a group: a root, destination or source."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from ...ir.syntax.assembly_format import Syntax
from ...sharding.collective_rows import BROADCAST, GATHER, RECV, REDUCE, SCATTER, SEND
from .attributes import CANONICALIZATION, IndicesAttr, ReductionKindAttr
from .collective_base import TENSOR, Collective, DimensionAttr, collective_syntax
from .syntax import Clause, Form


class RootedCollective(Collective, ABC):
    """Base of the collectives in which one device of each group, the root, has another role."""

    DEVICE: ClassVar[str] = "root"

    input = operand_def(TENSOR)
    root_dynamic = var_operand_def(IndexType)
    root = prop_def(IndicesAttr)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), CANONICALIZATION)


@irdl_op_definition
class BroadcastOp(RootedCollective):
    """Copy the root's tensor to every device of a group.

    `shard.broadcast %t on @g grid_axes = [0] root = [0] : (tensor<2xi8>) -> tensor<2xi8>`
    """

    name = BROADCAST.operation

    SYNTAX: ClassVar[Syntax] = collective_syntax(BROADCAST)
    TAKES_SCALARS: ClassVar[bool] = True


@irdl_op_definition
class GatherOp(RootedCollective):
    """Concatenate the tensors of a group along `gather_axis` on the root; undefined elsewhere.

    `shard.gather %t on @g grid_axes = [1] gather_axis = 1 root = [1] : (tensor<2x2xi8>) ->
    tensor<2x4xi8>`
    """

    name = GATHER.operation

    SYNTAX: ClassVar[Syntax] = collective_syntax(GATHER)

    gather_axis = prop_def(DimensionAttr)


@irdl_op_definition
class ReduceOp(RootedCollective):
    """Reduce the tensors of a group elementwise on the root; undefined elsewhere.

    `shard.reduce %t on @g grid_axes = [1] reduction = max root = [1] : (tensor<4xf32>) ->
    tensor<4xf64>`
    """

    name = REDUCE.operation

    SYNTAX: ClassVar[Syntax] = collective_syntax(REDUCE)
    TAKES_SCALARS: ClassVar[bool] = True

    reduction = prop_def(ReductionKindAttr)


@irdl_op_definition
class ScatterOp(RootedCollective):
    """Split the root's tensor along `scatter_axis` and give each device of a group its piece.

    `shard.scatter %t on @g grid_axes = [0] scatter_axis = 0 root = [1] : (tensor<2x2xi8>) ->
    tensor<1x2xi8>`
    """

    name = SCATTER.operation

    SYNTAX: ClassVar[Syntax] = collective_syntax(SCATTER)

    scatter_axis = prop_def(DimensionAttr)


@irdl_op_definition
class SendOp(Collective):
    """Send a tensor to one device of the group.

    `shard.send %t on @g grid_axes = [0] destination = [1] : (tensor<2xi8>) -> tensor<2xi8>`

    The op is not pure: it has an effect even if its result is unused.
    """

    name = SEND.operation

    DEVICE: ClassVar[str] = "destination"
    SYNTAX: ClassVar[Syntax] = collective_syntax(
        SEND, Clause("destination", Form.INDEX_LIST, dynamic="destination_dynamic")
    )

    input = operand_def(TENSOR)
    destination_dynamic = var_operand_def(IndexType)
    destination = prop_def(IndicesAttr)
    result = result_def(TENSOR)

    traits = traits_def(CANONICALIZATION)


@irdl_op_definition
class RecvOp(Collective):
    """Receive a tensor from one device of the group, or from any if no source is given.

    `shard.recv %t on @g grid_axes = [0] source = [1] : (tensor<2xi8>) -> tensor<2xi8>`

    The op is not pure.
    """

    name = RECV.operation

    DEVICE: ClassVar[str] = "source"
    SYNTAX: ClassVar[Syntax] = collective_syntax(
        RECV, Clause("source", Form.INDEX_LIST, True, "source_dynamic", set_when_absent=False)
    )

    input = operand_def(TENSOR)
    source_dynamic = var_operand_def(IndexType)
    source = opt_prop_def(IndicesAttr)
    result = result_def(TENSOR)

    traits = traits_def(CANONICALIZATION)
