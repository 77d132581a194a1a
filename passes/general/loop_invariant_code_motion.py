"""Loop-invariant code motion under MLIR's name."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.transforms import loop_invariant_code_motion as upstream


@dataclass(frozen=True)
class LoopInvariantCodeMotionPass(upstream.LoopInvariantCodeMotionPass):
    """Move loop-invariant operations out of `scf.for`."""

    name = "loop-invariant-code-motion"
