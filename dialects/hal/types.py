"""Types of the `hal` dialect: the runtime objects that a program holds."""

from __future__ import annotations

from ...ir.dialect_extension import plain_type

AllocatorType = plain_type("hal.allocator", "Where buffers come from.")
BufferType = plain_type("hal.buffer", "Bytes that a device can reach.")
BufferViewType = plain_type("hal.buffer_view", "A buffer with a shape and an element type.")
ChannelType = plain_type("hal.channel", "A group of devices that talk to each other.")
CommandBufferType = plain_type("hal.command_buffer", "Commands that a device runs together.")
EventType = plain_type("hal.event", "What commands of one command buffer wait for.")
ExecutableType = plain_type("hal.executable", "Kernels that are loaded on a device.")
FenceType = plain_type("hal.fence", "A point of time that can be waited for.")
FileType = plain_type("hal.file", "Bytes that are read and written in the order of queues.")
SemaphoreType = plain_type(
    "hal.semaphore", "A number that grows, which queues wait for and signal."
)
