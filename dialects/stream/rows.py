"""Declarations shared by the rows of `stream` ops: short names of types, traits."""

from __future__ import annotations

from ...ir.lazy_patterns import LazyPatterns
from ...ir.syntax.rows import Rows
from ..util.types import BufferType
from .affinity import AffinityOpInterface
from .types import (
    DEVICE_RESOURCE,
    STAGING,
    TIMEPOINT,
    ChannelType,
    CollectiveAttr,
    FileType,
    ResourceType,
    TestFenceType,
    resources,
)

_PATTERNS = ("timepoint_patterns", "capture_patterns", "copy_patterns")
CANONICALIZATION = LazyPatterns(str(__package__), _PATTERNS)

row = Rows(
    "stream",
    {
        "channel": ChannelType(),
        "collective": CollectiveAttr,
        "fence": TestFenceType(),
        "file": FileType(),
        "host": BufferType(),
        "any_resource": ResourceType,
        "constant": resources("constant", "variable"),
        "resource": DEVICE_RESOURCE,
        "staging": STAGING,
        "timepoint": TIMEPOINT,
    },
    traits=(CANONICALIZATION,),
)

PLACED = (AffinityOpInterface(),)
