"""`compile`: the pipeline from an annotated tensor program to packed tiles on every device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from .data_tile import DataTilePass
from .manager.named_pipeline import NamedPipeline
from .sharding.spmd import SpmdPass


@dataclass(frozen=True)
class CompilePass(NamedPipeline):
    """Partition an annotated program, then lower it to data-tiled kernels."""

    name = "compile"

    data_tiling: bool = True
    """Whether contractions get packed layouts; else every tensor is stored in row-major order."""

    encode_convolutions: bool = False
    """Whether convolutions get packed layouts, too."""

    host_layouts: bool = False
    """Whether modules that name no device use this machine's packed layouts; else tensors are
    stored in row-major order and kernels pack their operands, which is never slower."""

    def passes(self) -> tuple[ModulePass, ...]:
        """Return the passes of `spmd`, then those of `data-tile`."""
        tile = DataTilePass(self.data_tiling, self.encode_convolutions, self.host_layouts)
        # `spmd` has converted StableHLO already.
        rest = (each for each in tile.passes() if each.name != "convert-stablehlo-to-linalg")
        return (*SpmdPass().passes(), *rest)
