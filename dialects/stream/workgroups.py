"""What a kernel asks about its workgroup, in the `flow`, `stream` and `hal` dialects alike."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation


class WorkgroupNumber(SyntaxOperation):
    """A number about workgroups along one dimension."""

    dimension = prop_def(IntegerAttr)
    result = result_def(IndexType())
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = "[index($dimension)] attr-dict : type($result)"

    def verify_(self) -> None:
        super().verify_()
        if not 0 <= self.dimension.value.data < 3:
            raise VerifyException(
                f"dimension {self.dimension.value.data} out of bounds of workgroup dimensions; "
                "must be in [0, 3)"
            )


class BoundedWorkgroupNumber(WorkgroupNumber):
    """A number about workgroups that may be known to be at most `upper_bound`."""

    upper_bound = opt_prop_def(IntegerAttr)

    SYNTAX: ClassVar[Syntax] = (
        "[index($dimension)]( upper_bound index($upper_bound))? attr-dict : type($result)"
    )


@irdl_op_definition
class FlowWorkgroupIdOp(WorkgroupNumber):
    """Which workgroup this is."""

    name = "flow.dispatch.workgroup.id"


@irdl_op_definition
class FlowWorkgroupCountOp(WorkgroupNumber):
    """How many workgroups there are."""

    name = "flow.dispatch.workgroup.count"


@irdl_op_definition
class FlowWorkgroupSizeOp(WorkgroupNumber):
    """How many invocations a workgroup has."""

    name = "flow.dispatch.workgroup.size"


@irdl_op_definition
class StreamWorkgroupIdOp(WorkgroupNumber):
    """Which workgroup this is."""

    name = "stream.dispatch.workgroup.id"


@irdl_op_definition
class StreamWorkgroupCountOp(WorkgroupNumber):
    """How many workgroups there are."""

    name = "stream.dispatch.workgroup.count"


@irdl_op_definition
class StreamWorkgroupSizeOp(WorkgroupNumber):
    """How many invocations a workgroup has."""

    name = "stream.dispatch.workgroup.size"


@irdl_op_definition
class HalWorkgroupIdOp(BoundedWorkgroupNumber):
    """Which workgroup this is."""

    name = "hal.interface.workgroup.id"


@irdl_op_definition
class HalWorkgroupCountOp(BoundedWorkgroupNumber):
    """How many workgroups there are."""

    name = "hal.interface.workgroup.count"


@irdl_op_definition
class HalWorkgroupSizeOp(BoundedWorkgroupNumber):
    """How many invocations a workgroup has."""

    name = "hal.interface.workgroup.size"
