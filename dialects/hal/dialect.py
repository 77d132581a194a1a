"""The `hal` dialect: devices, what runs on them, and what callers pass."""

from __future__ import annotations

from ...ir.dialect_extension import dialect_of
from ..stream import workgroups
from . import (
    affinities,
    attributes,
    buffers,
    commands,
    executables,
    interface,
    objects,
    targets,
    types,
)
from .affinities import HalAffinityAnalysis

Hal = dialect_of(
    "hal",
    affinities,
    attributes,
    buffers,
    commands,
    executables,
    interface,
    objects,
    targets,
    types,
    workgroups,
    interfaces=[HalAffinityAnalysis()],
)
