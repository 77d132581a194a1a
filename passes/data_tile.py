"""`data-tile`: from a tensor program to one whose kernels work on packed tiles, as one pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from .encoding.propagate_encodings import PropagateEncodingsPass
from .encoding.set_encoding import SetEncodingPass
from .hal.assign_devices import AssignDevicesPass
from .hal.wrap_entry_points import WrapEntryPointsPass
from .manager.named_pipeline import NamedPipeline, default_passes


@dataclass(frozen=True)
class DataTilePass(NamedPipeline):
    """Set encodings, form dispatches, resolve layouts per device, and lower to packed tiles."""

    name = "data-tile"

    data_tiling: bool = True
    """Whether contractions get layouts of their own; else every tensor is stored in rows."""

    encode_convolutions: bool = False
    """Whether convolutions get layouts of their own, too."""

    host_layouts: bool = True
    """Whether this machine has layouts of its own, for modules that name no device."""

    def passes(self) -> tuple[ModulePass, ...]:
        """The stages; each can be run alone under its own name."""
        encode = (SetEncodingPass(self.encode_convolutions), PropagateEncodingsPass())
        tensors = (
            *default_passes("convert-stablehlo-to-linalg", "convert-tm-tensor-to-linalg"),
            *default_passes("simplify-sizes", "strip-annotations"),
            AssignDevicesPass(layouts=self.host_layouts),
            *default_passes("inline-calls", "convert-elementwise-to-linalg"),
        )
        regions = default_passes("form-dispatches", "hoist-encodings")
        interface = WrapEntryPointsPass(inline=True)
        buffers = default_passes(
            "convert-to-stream",
            "specialize-processes",
            "specialize-encodings",
            "pack-constants",
            "merge-globals",
            "place-relayouts",
            "iree-stream-materialize-encodings",
            "encode-host-tensors",
            "encode-device-tensors",
            "materialize-encodings",
            "verify-collectives",
        )
        encoded = encode if self.data_tiling else ()
        return (*tensors, *encoded, *regions, interface, *buffers)
