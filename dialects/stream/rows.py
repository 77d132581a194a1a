"""Declarations shared by the rows of `stream` ops: short names of types, traits."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, StringAttr

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
)

INDEX = IndexType()
PLACED = (AffinityOpInterface(),)
