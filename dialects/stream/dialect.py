"""The `stream` dialect: what runs where and when, on bytes that stand for tensors.

Operations are in files by topic: executables, tensors, asynchronous operations and timepoints.
Those of IREE's later phases, as `stream.cmd.execute`, are none of ours: they stay generic.
"""

from __future__ import annotations

from ...ir.dialect_extension import dialect_of
from . import (
    async_ops,
    executables,
    regions,
    tensor_ops,
    types,
    workgroups,
)

Stream = dialect_of(
    "stream",
    async_ops,
    executables,
    regions,
    tensor_ops,
    types,
    workgroups,
)
