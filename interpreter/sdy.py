"""The `sdy` dialect: its annotations say where values should lie, and change none.

`sdy.manual_computation` is not here: its body is the program of one device, which has a meaning
only after conversion to `shard`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ..dialects.sdy.collectives import SdyCollective
from ..runtime.abi.values import Value
from .frames import Exit, Frame
from .registry import Results, Routine, impl, impl_with_regions, terminates

terminates("sdy.return")


@impl(
    *("sdy.propagation_barrier", "sdy.reshard", "sdy.sharding_constraint", "sdy.data_flow_edge"),
    *(collective.name for collective in SdyCollective.__subclasses__()),
)
def _identity(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return operands


@impl("sdy.mesh", "sdy.sharding_group")
def _remark(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return ()


@impl_with_regions("sdy.named_computation")
def _named_computation(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    exit_: Exit = yield frame.run_region(op.regions[0], operands)
    return exit_.values
