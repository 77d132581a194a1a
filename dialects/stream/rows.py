"""Declarations shared by the rows of `stream` ops: short names of types, traits."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, StringAttr

from ...ir.lazy_patterns import LazyPatterns
from ...ir.syntax.rows import Rows
from ..util.types import BufferType
from .affinity import AffinityOpInterface
from .types import (
    BindingType,
    ChannelType,
    CollectiveAttr,
    FileType,
    ResourceType,
    TestFenceType,
    TimepointType,
)

CANONICALIZATION = LazyPatterns(f"{__package__}.canonicalization")

row = Rows(
    "stream",
    {
        "binding": BindingType(),
        "channel": ChannelType(),
        "collective": CollectiveAttr,
        "fence": TestFenceType(),
        "file": FileType(),
        "host": BufferType(),
        "resource": ResourceType,
        "staging": ResourceType(StringAttr("staging")),
        "timepoint": TimepointType(),
    },
    traits=(CANONICALIZATION,),
)

INDEX = IndexType()
PLACED = (AffinityOpInterface(),)
