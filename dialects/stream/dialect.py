"""The `stream` dialect: what runs where and when, on bytes that stand for tensors.

Operations are in files by topic: executables, tensors, asynchronous operations, resources,
commands and timepoints.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .async_ops import STREAM_ASYNC_OPERATIONS
from .commands import STREAM_COMMAND_OPERATIONS
from .executables import STREAM_EXECUTABLE_OPERATIONS
from .regions import STREAM_TIMEPOINT_OPERATIONS
from .resources import STREAM_FILE_OPERATIONS, STREAM_RESOURCE_OPERATIONS
from .tensor_elements import STREAM_TENSOR_ELEMENT_OPERATIONS
from .tensor_ops import STREAM_TENSOR_OPERATIONS
from .types import (
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
