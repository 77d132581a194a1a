"""Materialize the encodings of host functions that run on a single target.

This is for programs that are not split into dispatches. A function is lowered as a kernel is, with
the solver of the target on which its operations are placed. Functions without placement are left.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ...dialects.stream.affinity import TargetSolver, TargetsUnknownError, affinity_of
from ...ir.attribute_access import boundary_entries
from ...ir.diagnostics import Note, OperationError
from ...ir.host_programs import ABI_AFFINITY, FUNCTIONS
from ...ir.structural_hash import AttributeNumbers
from ..stream.analysis.affinity_targets import AffinityTargets
from .materialize_device_encoding import KernelLowering
from .packed.layouts import KernelLayouts


class MaterializeHostEncodingPass(ModulePass):
    """Lower encoded tensors of functions to packed tensors of the target that they run on."""

    name = "iree-codegen-materialize-host-encoding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        affinities = AffinityTargets(ctx, op, AttributeNumbers())
        for function in tuple(op.body.block.ops):
            if function.name not in FUNCTIONS:
                continue
            targets = _targets(function, affinities)
            if len(targets) > 1:
                raise OperationError(
                    function,
                    f"runs on {len(targets)} targets, but its tensors can have the layout of only "
                    "one: use data-tile, which chooses layouts for each device",
                    [Note(f"one is {target}") for target in targets],
                )
            if targets:
                solvers = tuple(target.solver for target in targets.values())
                KernelLowering(function, KernelLayouts(solvers, has_own_target=True)).lower()


def _targets(function: Operation, affinities: AffinityTargets) -> dict[Attribute, TargetSolver]:
    """Return the targets of a function; empty if it is not placed or its targets are not known."""
    try:
        return {
            target.target: target
            for affinity in dict.fromkeys(_affinities(function))
            for target in affinities.targets(affinity, function)
        }
    except TargetsUnknownError:
        return {}


def _affinities(function: Operation) -> Iterator[Attribute]:
    """Yield the affinities of a function's arguments and operations."""
    for entry in boundary_entries(function, "arg_attrs"):
        if ABI_AFFINITY in entry:
            yield entry[ABI_AFFINITY]
    for operation in function.walk():
        if operation is not function and (affinity := affinity_of(operation)) is not None:
            yield affinity
