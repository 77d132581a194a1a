"""The `hal` dialect: devices, the commands that run on them, and the interface to callers."""

from __future__ import annotations

from ...ir.dialect_extension import dialect_of
from ..stream import workgroups
from . import (
    affinities,
    attributes,
    buffers,
    commands,
    executables,
    external_dispatches,
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
    external_dispatches,
    interface,
    objects,
    targets,
    types,
    workgroups,
    interfaces=[HalAffinityAnalysis()],
)
