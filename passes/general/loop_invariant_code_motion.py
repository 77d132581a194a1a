"""Loop-invariant code motion under MLIR's name."""

from __future__ import annotations

from xdsl.transforms import loop_invariant_code_motion as upstream


class LoopInvariantCodeMotionPass(upstream.LoopInvariantCodeMotionPass):
    """Move loop-invariant operations out of `scf.for`."""

    name = "loop-invariant-code-motion"
