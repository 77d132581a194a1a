"""The `stream` dialect: asynchronous execution on resources that hold the bytes of tensors.

The ops are in files by topic: executables, tensors, asynchronous ops, resources, commands and
timepoints.
"""

from __future__ import annotations

from ...ir.dialect_extension import dialect_of
from . import (
    async_ops,
    channels,
    commands,
    executables,
    functions,
    parameters,
    regions,
    resources,
    storage,
    tensor_ops,
    types,
    workgroups,
)

Stream = dialect_of(
    "stream",
    async_ops,
    channels,
    commands,
    executables,
    functions,
    parameters,
    regions,
    resources,
    storage,
    tensor_ops,
    types,
    workgroups,
)
