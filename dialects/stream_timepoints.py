"""Timepoints of the `stream` dialect: what is ready when."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.syntax.resource_directives import Sized, SizedTypes, placed
from ..ir.syntax.rows import (
    ATTRIBUTES,
    ATTRIBUTES_WITH_KEYWORD,
    Operand,
    Operands,
    Optional,
    Syntax,
    SyntaxOperation,
    Type,
    Types,
)
from .affinity import AffinityOpInterface
from .stream_types import ResourceType, TimepointType

INDEX = IndexType()


@irdl_op_definition
class TimepointImmediateOp(SyntaxOperation):
    """The start of all time."""

    name = "stream.timepoint.immediate"
    result_timepoint = result_def(TimepointType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (ATTRIBUTES, " => ", Type("result_timepoint"))


@irdl_op_definition
class TimepointImportOp(SyntaxOperation):
    """The timepoint of fences that came from outside."""

    name = "stream.timepoint.import"
    sources = var_operand_def()
    affinity = opt_prop_def(Attribute)
    result_timepoint = result_def(TimepointType)
    traits = traits_def(AffinityOpInterface())

    SYNTAX: ClassVar[Syntax] = placed(
        Operands("sources"),
        " : (",
        Types("sources"),
        ") => ",
        Type("result_timepoint"),
    )


@irdl_op_definition
class TimepointExportOp(SyntaxOperation):
    """A timepoint as fences that go outside."""

    name = "stream.timepoint.export"
    await_timepoint = operand_def(TimepointType())
    affinity = opt_prop_def(Attribute)
    results_ = var_result_def()
    traits = traits_def(AffinityOpInterface())

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("await_timepoint"),
        " => (",
        Types("results_"),
        ")",
    )


@irdl_op_definition
class TimepointChainExternalOp(SyntaxOperation):
    """Signal fences of the caller when a timepoint is reached."""

    name = "stream.timepoint.chain_external"
    await_timepoint = operand_def(TimepointType())
    external_values = var_operand_def()
    affinity = opt_prop_def(Attribute)
    traits = traits_def(AffinityOpInterface())

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("await_timepoint"),
        " => (",
        Operands("external_values"),
        " : ",
        Types("external_values"),
        ")",
    )


@irdl_op_definition
class TimepointJoinOp(SyntaxOperation):
    """The last of several timepoints."""

    name = "stream.timepoint.join"
    await_timepoints = var_operand_def(TimepointType())
    result_timepoint = result_def(TimepointType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " max(",
        Operands("await_timepoints"),
        ") => ",
        Type("result_timepoint"),
        ATTRIBUTES_WITH_KEYWORD,
    )

    def verify_(self) -> None:
        super().verify_()
        if not self.await_timepoints:
            raise VerifyException("expects at least one timepoint")


@irdl_op_definition
class TimepointBarrierOp(SyntaxOperation):
    """A resource, and the timepoint at which it is ready."""

    name = "stream.timepoint.barrier"
    resource = operand_def(ResourceType)
    resource_size = operand_def(INDEX)
    affinity = opt_prop_def(Attribute)
    result = result_def(ResourceType)
    result_timepoint = result_def(TimepointType)
    traits = traits_def(AffinityOpInterface())

    SYNTAX: ClassVar[Syntax] = placed(
        Operand("resource"),
        " : ",
        Sized("resource", "resource_size", "result"),
        " => ",
        Type("result_timepoint"),
    )


@irdl_op_definition
class TimepointAwaitOp(SyntaxOperation):
    """Resources, once a timepoint is reached."""

    name = "stream.timepoint.await"
    resource_operands = var_operand_def(ResourceType)
    resource_operand_sizes = var_operand_def(INDEX)
    await_timepoint = operand_def(TimepointType())
    sync = opt_prop_def(Attribute)
    results_ = var_result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        Optional((" sync",), flag="sync"),
        " ",
        Operand("await_timepoint"),
        " => ",
        Operands("resource_operands"),
        " : ",
        SizedTypes("resource_operands", "resource_operand_sizes", "results_"),
        ATTRIBUTES_WITH_KEYWORD,
    )


STREAM_TIMEPOINT_OPERATIONS: list[type[Operation]] = [
    TimepointAwaitOp,
    TimepointBarrierOp,
    TimepointChainExternalOp,
    TimepointExportOp,
    TimepointImmediateOp,
    TimepointImportOp,
    TimepointJoinOp,
]
