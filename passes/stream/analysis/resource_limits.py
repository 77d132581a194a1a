"""What a scope says of the resources and of the work of its devices.

`stream.resources`: how large resources may be and where their parts may begin;
`stream.partitioning`: what the work is divided for.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ....dialects.stream.attributes import PartitioningConfigAttr, ResourceConfigAttr
from ....ir.flags import flags
from ....ir.regions import enclosing
from ....ir.slice_packing import ALIGNMENT

LIMITS = "stream.resources"


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What resources of a device may be, in bytes."""

    largest: int | None = None
    """`None` if that is not known."""
    alignment: int = ALIGNMENT
    """What offsets in them are multiples of."""
    index_bits: int = 64
    """The width of the indices that kernels are given."""
    alias_mutable_bindings: bool = False
    """Whether one binding may be of parts that are written and others that are read."""


def resource_limits(operation: Operation) -> ResourceLimits:
    """The limits where an operation stands: of the nearest scope around it, or else the flags."""
    for scope in enclosing(operation):
        config = scope.attributes.get(LIMITS)
        if isinstance(config, ResourceConfigAttr):
            largest, alignment, *_, index_bits = (each.value.data for each in config.numbers)
            aliases = config.alias_mutable_bindings.value.data != 0
            return ResourceLimits(largest or None, alignment or ALIGNMENT, index_bits, aliases)
    asked = flags()
    return ResourceLimits(
        asked.largest_allocation,
        asked.offset_alignment or ALIGNMENT,
        asked.index_bits or 64,
        asked.alias_mutable_bindings,
    )


FAVOR = "stream.partitioning"


def favor(operation: Operation) -> str:
    """What the work of devices is divided for where an operation stands."""
    for scope in enclosing(operation):
        config = scope.attributes.get(FAVOR)
        if isinstance(config, PartitioningConfigAttr):
            return config.favor.data
    return flags().favor
