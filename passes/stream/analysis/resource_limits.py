"""Read limits on resources and the partitioning goal from the attributes of a scope.

`stream.resources` says how large resources may be and how their parts are aligned;
`stream.partitioning` says what the division of work should favor.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ....dialects.stream.types import PartitioningConfigAttr, ResourceConfigAttr
from ....ir.flags import flags
from ....ir.regions import enclosing
from ....ir.slice_packing import ALIGNMENT

LIMITS = "stream.resources"


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits on the resources of a device, in bytes."""

    largest: int | None = None
    """The largest size of a resource; `None` if it is not known."""
    alignment: int = ALIGNMENT
    """Offsets into resources are multiples of this."""
    index_bits: int = 64
    """The width of the indices that kernels receive."""
    alias_mutable_bindings: bool = False
    """Whether one binding may cover both written and read ranges."""


def resource_limits(operation: Operation) -> ResourceLimits:
    """Return the limits of the nearest scope around an operation that has any, else the flags'."""
    for scope in enclosing(operation):
        config = scope.attributes.get(LIMITS)
        if isinstance(config, ResourceConfigAttr):
            return ResourceLimits(
                config.max_allocation_size.value.data or None,
                config.min_buffer_offset_alignment.value.data or ALIGNMENT,
                config.index_bits.value.data,
                config.alias_mutable_bindings.value.data != 0,
            )
    asked = flags()
    return ResourceLimits(
        asked.largest_allocation,
        asked.offset_alignment or ALIGNMENT,
        asked.index_bits,
        asked.alias_mutable_bindings,
    )


FAVOR = "stream.partitioning"


def favor(operation: Operation) -> str:
    """Return the goal of partitioning at an operation, from the nearest scope or the flags."""
    for scope in enclosing(operation):
        config = scope.attributes.get(FAVOR)
        if isinstance(config, PartitioningConfigAttr):
            return config.favor.data
    return flags().favor
