"""Materialize the encodings of a host program early if all its devices have the same target."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ...dialects.hal.affinities import device_affinity
from ...dialects.hal.targets import ExecutableTargetAttr, device_globals
from ...dialects.stream.affinity import TargetsUnknownError
from ...ir.structural_hash import AttributeNumbers
from ..stream.analysis.affinity_targets import AffinityTargets
from .materialize_encoding_into_nop import materialize_encoding_into_nop
from .materialize_host_encoding import MaterializeHostEncodingPass

AT_RUN_TIME = "vmvx"
"""The backend that chooses tiles when programs run, so its tensors are packed later."""


class MaterializeHomogeneousEncodingsPass(ModulePass):
    """Lower encoded tensors for the only target of a module; drop encodings if it has several."""

    name = "iree-global-opt-materialize-homogeneous-encodings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = _targets(ctx, op)
        if len(targets) != 1:
            materialize_encoding_into_nop().apply(ctx, op)
            return
        (target,) = targets
        if not isinstance(target, ExecutableTargetAttr) or target.backend.data != AT_RUN_TIME:
            MaterializeHostEncodingPass().apply(ctx, op)


def _targets(ctx: Context, module: ModuleOp) -> set[Attribute]:
    """Return the targets of a module's devices, as far as they are known."""
    affinities = AffinityTargets(ctx, module, AttributeNumbers())
    found: set[Attribute] = set()
    for name, operation in device_globals(module).items():
        try:
            targets = affinities.targets(device_affinity(name), operation)
        except TargetsUnknownError:
            continue
        found.update(target.target for target in targets)
    return found
