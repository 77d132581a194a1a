"""`data-tile`: the pipeline from a tensor program to kernels that work on packed tiles."""

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
    """Whether contractions get packed layouts; else every tensor is stored in row-major order."""

    encode_convolutions: bool = False
    """Whether convolutions get packed layouts, too."""

    host_layouts: bool = True
    """Whether modules that name no device use this machine's packed layouts."""

    def passes(self) -> tuple[ModulePass, ...]:
        """Return the passes, each of which can be run alone under its own name."""
        encode = (SetEncodingPass(self.encode_convolutions), PropagateEncodingsPass())
        tensors = (
            *default_passes("expand-unfoldable-constants", "convert-stablehlo-to-linalg"),
            *default_passes("convert-linalg-ext-to-linalg"),
            *default_passes("tosa-to-scf", "variables-to-util", "convert-tosa-to-linalg"),
            *default_passes("simplify-sizes", "strip-annotations"),
            AssignDevicesPass(layouts=self.host_layouts),
            *default_passes("inline-calls", "linalg-detensorize", "scf-uplift-while-to-for"),
            *default_passes("convert-elementwise-to-linalg"),
        )
        regions = default_passes("form-dispatches", "hoist-encodes-to-initializers")
        interface = WrapEntryPointsPass(inline=True)
        buffers = default_passes(
            "convert-to-stream",
            "specialize-processes",
            "specialize-encodings",
            "fold-constant-encodes",
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
