"""`data-tile`: from a tensor program to one whose kernels work on packed tiles, as one pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from .named_pipeline import NamedPipeline, default_passes

ENCODE = ("set-encoding", "propagate-encodings")
"""What asks for layouts; without it every tensor is stored in rows."""


@dataclass(frozen=True)
class DataTilePass(NamedPipeline):
    """Set encodings, form dispatches, settle layouts per device, and lower to packed tiles."""

    name = "data-tile"

    data_tiling: bool = True
    """Whether contractions get layouts of their own."""

    def passes(self) -> tuple[ModulePass, ...]:
        """The stages; each can be run alone under its own name."""
        return default_passes(
            "strip-annotations",
            "assign-devices",
            "inline-calls",
            "convert-elementwise-to-linalg",
            *(ENCODE if self.data_tiling else ()),
            "form-dispatches",
            "hoist-encodings",
            "wrap-entry-points",
            "convert-to-stream",
            "specialize-processes",
            "specialize-encodings",
            "pack-constants",
            "merge-globals",
            "iree-stream-materialize-encodings",
            "encode-host-tensors",
            "encode-device-tensors",
            "materialize-encodings",
            "verify-collectives",
        )
