"""`compile`: from an annotated tensor program to packed tiles on every device, as one pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from .data_tile import DataTilePass
from .manager.named_pipeline import NamedPipeline
from .sharding.spmd import SpmdPass


@dataclass(frozen=True)
class CompilePass(NamedPipeline):
    """Partition, then tile."""

    name = "compile"

    data_tiling: bool = True
    """Whether contractions get layouts of their own; else every tensor is stored in rows."""

    encode_convolutions: bool = False
    """Whether convolutions get layouts of their own, too."""

    host_layouts: bool = False
    """Whether this machine has layouts of its own, for modules that name no device. Its kernels lay
    out what they read, which is never slower."""

    def passes(self) -> tuple[ModulePass, ...]:
        """The stages of `spmd`, then those of `data-tile`."""
        tile = DataTilePass(self.data_tiling, self.encode_convolutions, self.host_layouts)
        # StableHLO has been converted by the first stage of all.
        return (*SpmdPass().passes(), *tile.passes()[1:])
