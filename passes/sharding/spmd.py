"""`spmd`: the pipeline from an annotated program to the program of one device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from ..manager.named_pipeline import NamedPipeline, default_passes


@dataclass(frozen=True)
class SpmdPass(NamedPipeline):
    """Import annotations, give every tensor a sharding, partition, and simplify.

    Loops then carry scalars instead of tensors of rank 0, and count where they can.
    """

    name = "spmd"

    def passes(self) -> tuple[ModulePass, ...]:
        """Return the passes of the pipeline, each with its default options."""
        return default_passes(
            "expand-unfoldable-constants",
            "convert-stablehlo-to-linalg",
            "convert-linalg-ext-to-linalg",
            "tosa-to-scf",
            "variables-to-util",
            "simplify-sizes",
            "convert-mesh-to-shard",
            "convert-sdy-to-shard",
            "sharding-propagation",
            "shard-complete",
            "shard-partition",
            "shard-simplify",
            "linalg-detensorize",
            "scf-uplift-while-to-for",
        )
