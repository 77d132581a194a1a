"""Types of the `hal` dialect: the runtime objects that a program holds."""

from __future__ import annotations

from ...ir.dialect_extension import plain_type

AllocatorType = plain_type("hal.allocator", "An allocator of buffers.")
BufferType = plain_type("hal.buffer", "Memory that a device can access.")
BufferViewType = plain_type("hal.buffer_view", "A buffer with a shape and an element type.")
ChannelType = plain_type("hal.channel", "A group of devices that take part in collectives.")
CommandBufferType = plain_type(
    "hal.command_buffer", "Recorded commands that a device queue executes."
)
EventType = plain_type(
    "hal.event", "A synchronisation point between commands of one command buffer."
)
ExecutableType = plain_type("hal.executable", "Kernels that are loaded on a device.")
FenceType = plain_type(
    "hal.fence", "A set of points on timelines, which can be waited for and signalled."
)
FileType = plain_type("hal.file", "A file with queue-ordered reads and writes.")
SemaphoreType = plain_type(
    "hal.semaphore", "An increasing counter that queues wait for and signal."
)
