"""The pipeline `convert-stream-to-hal`: from asynchronous operations to calls of a runtime."""

from __future__ import annotations

from xdsl.passes import ModulePass

from ..manager.named_pipeline import NamedPipeline, default_passes


class ConvertStreamToHalPass(NamedPipeline):
    """Schedule and allocate the work of devices, and convert it to calls of a runtime.

    The input is a tensor program that `data-tile` has lowered to `stream`.
    """

    name = "convert-stream-to-hal"

    def passes(self) -> tuple[ModulePass, ...]:
        """Return the stages; each is also a pass of its own."""
        return default_passes(
            "iree-stream-materialize-builtins",
            "iree-stream-materialize-copy-on-write",
            "iree-stream-refine-usage",
            "iree-stream-schedule-execution",
            "iree-stream-schedule-concurrency",
            "iree-stream-propagate-timepoints",
            "iree-stream-schedule-allocation",
            "iree-stream-automatic-reference-counting",
            "iree-stream-elide-timepoints",
            "iree-stream-pack-constants",
            "iree-stream-layout-slices",
            "iree-stream-pack-dispatch-operands",
            "iree-hal-materialize-interfaces",
            "iree-hal-conversion",
        )
