"""The `stream` dialect: what runs where and when, on bytes that stand for tensors.

Operations are in files by topic: executables, tensors, asynchronous operations, resources,
commands and timepoints.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .stream_async import STREAM_ASYNC_OPERATIONS
from .stream_commands import STREAM_COMMAND_OPERATIONS
from .stream_executables import STREAM_EXECUTABLE_OPERATIONS
from .stream_files import STREAM_FILE_OPERATIONS
from .stream_resources import STREAM_RESOURCE_OPERATIONS
from .stream_tensor import STREAM_TENSOR_OPERATIONS
from .stream_tensor_elements import STREAM_TENSOR_ELEMENT_OPERATIONS
from .stream_timepoints import STREAM_TIMEPOINT_OPERATIONS
from .stream_types import (
    BindingType,
    ChannelType,
    FileType,
    ImmediateTimepointAttr,
    NamedParameterAttr,
    ResourceType,
    TimepointType,
)

Stream = Dialect(
    "stream",
    [
        *STREAM_ASYNC_OPERATIONS,
        *STREAM_COMMAND_OPERATIONS,
        *STREAM_EXECUTABLE_OPERATIONS,
        *STREAM_FILE_OPERATIONS,
        *STREAM_RESOURCE_OPERATIONS,
        *STREAM_TENSOR_ELEMENT_OPERATIONS,
        *STREAM_TENSOR_OPERATIONS,
        *STREAM_TIMEPOINT_OPERATIONS,
    ],
    [
        BindingType,
        ChannelType,
        FileType,
        ImmediateTimepointAttr,
        NamedParameterAttr,
        ResourceType,
        TimepointType,
    ],
)
